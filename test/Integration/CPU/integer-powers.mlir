// Powers with integer exponents.

// RUN: %check %s %t

// INPUT 0: [-2, 0.5, 3, -1, 1.0000001, 2, 0, -1.5]
// EXPECT 0: [-8, 4, 1, -1, 1.0001193, 4, 1, -1.5]
func.func @exponents_of_each_element(%x: tensor<8xf32>) -> tensor<8xf32> {
  %n = arith.constant dense<[3, -2, 0, -7, 1000, 2, 0, 1]> : tensor<8xi32>
  %y = math.fpowi %x, %n : tensor<8xf32>, tensor<8xi32>
  return %y : tensor<8xf32>
}

func.func @exponents_of_64_bits(%x: tensor<8xf32>) -> tensor<8xf32> {
  %n = arith.constant dense<[3, -2, 0, -7, 5, 2, 0, 1]> : tensor<8xi64>
  %y = math.fpowi %x, %n : tensor<8xf32>, tensor<8xi64>
  return %y : tensor<8xf32>
}

func.func @in_bf16(%x: tensor<40xbf16>) -> tensor<40xbf16> {
  %n = arith.constant dense<3> : tensor<40xi32>
  %y = math.fpowi %x, %n : tensor<40xbf16>, tensor<40xi32>
  return %y : tensor<40xbf16>
}

func.func @in_f64(%x: tensor<40xf64>) -> tensor<40xf64> {
  %n = arith.constant dense<-3> : tensor<40xi32>
  %y = math.fpowi %x, %n : tensor<40xf64>, tensor<40xi32>
  return %y : tensor<40xf64>
}

func.func @small_constants_and_large_ones(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) {
  %e = tensor.empty() : tensor<40xf32>
  %y:3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : tensor<40xf32>) outs(%e, %e, %e : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) {
  ^bb0(%v: f32, %o0: f32, %o1: f32, %o2: f32):
    %cube = arith.constant 3 : i32
    %minus = arith.constant -2 : i32
    %many = arith.constant 9 : i32
    %a = math.fpowi %v, %cube : f32, i32
    %b = math.fpowi %v, %minus : f32, i32
    %c = math.fpowi %v, %many : f32, i32
    linalg.yield %a, %b, %c : f32, f32, f32
  } -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>)
  return %y#0, %y#1, %y#2 : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
}
