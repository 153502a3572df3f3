// The relative error of an exponential does not grow with its argument.

// RUN: %check %s %t

// e^x e^(1-x) is e, for x with few bits; four times its error counts.
func.func @of_large_arguments(%n: tensor<4000xf32>) -> tensor<4000xf32> {
  %scale = arith.constant dense<20.0> : tensor<4000xf32>
  %low = arith.constant dense<-80.0> : tensor<4000xf32>
  %high = arith.constant dense<80.0> : tensor<4000xf32>
  %one = arith.constant dense<1.0> : tensor<4000xf32>
  %four = arith.constant dense<4.0> : tensor<4000xf32>
  %three_e = arith.constant dense<8.15484548537713571> : tensor<4000xf32>
  %s = arith.mulf %n, %scale : tensor<4000xf32>
  %t = arith.maximumf %s, %low : tensor<4000xf32>
  %u = arith.minimumf %t, %high : tensor<4000xf32>
  %x = math.floor %u : tensor<4000xf32>
  %y = arith.subf %one, %x : tensor<4000xf32>
  %a = math.exp %x : tensor<4000xf32>
  %b = math.exp %y : tensor<4000xf32>
  %e = arith.mulf %a, %b : tensor<4000xf32>
  %f = arith.mulf %e, %four : tensor<4000xf32>
  %r = arith.subf %f, %three_e : tensor<4000xf32>
  return %r : tensor<4000xf32>
}

// Zero, infinite and not a number where they have to be.
func.func @beyond_the_range() -> tensor<8xf32> {
  %x = arith.constant dense<[1000.0, -1000.0, 3.0e38, -3.0e38, 0x7F800000, 0xFF800000, 0x7FC00000, 0.0]> : tensor<8xf32>
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
