// B and C with the type of the result: as many states as channels. The blocks of
// all channels read them, so that no result is written over them.

// RUN: %check %s %t

func.func @b_dies_at_the_scan(%u: tensor<1x40x128xf32>, %dt: tensor<1x40x128xf32>, %a: tensor<128x128xf32>, %raw: tensor<1x40x128xf32>, %c: tensor<1x40x128xf32>) -> tensor<1x40x128xf32> {
  %b = math.tanh %raw : tensor<1x40x128xf32>
  %abs = math.absf %a : tensor<128x128xf32>
  %rate = arith.negf %abs : tensor<128x128xf32>
  %y = heddle.selective_scan %u, %dt, %rate, %b, %c {delta_softplus}
    : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32> -> tensor<1x40x128xf32>
  return %y : tensor<1x40x128xf32>
}

func.func @c_dies_at_the_scan(%u: tensor<1x40x128xf32>, %dt: tensor<1x40x128xf32>, %a: tensor<128x128xf32>, %b: tensor<1x40x128xf32>, %raw: tensor<1x40x128xf32>) -> tensor<1x40x128xf32> {
  %c = math.tanh %raw : tensor<1x40x128xf32>
  %abs = math.absf %a : tensor<128x128xf32>
  %rate = arith.negf %abs : tensor<128x128xf32>
  %y = heddle.selective_scan %u, %dt, %rate, %b, %c {delta_softplus}
    : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32> -> tensor<1x40x128xf32>
  return %y : tensor<1x40x128xf32>
}

func.func @b_is_donated(%u: tensor<1x40x128xf32>, %dt: tensor<1x40x128xf32>, %a: tensor<128x128xf32>, %b: tensor<1x40x128xf32> {heddle.donated}, %c: tensor<1x40x128xf32>) -> tensor<1x40x128xf32> {
  %abs = math.absf %a : tensor<128x128xf32>
  %rate = arith.negf %abs : tensor<128x128xf32>
  %y = heddle.selective_scan %u, %dt, %rate, %b, %c {delta_softplus}
    : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32> -> tensor<1x40x128xf32>
  return %y : tensor<1x40x128xf32>
}

func.func @one_value_is_u_and_b(%raw: tensor<1x40x128xf32>, %dt: tensor<1x40x128xf32>, %a: tensor<128x128xf32>, %c: tensor<1x40x128xf32>) -> tensor<1x40x128xf32> {
  %u = math.tanh %raw : tensor<1x40x128xf32>
  %abs = math.absf %a : tensor<128x128xf32>
  %rate = arith.negf %abs : tensor<128x128xf32>
  %y = heddle.selective_scan %u, %dt, %rate, %u, %c {delta_softplus}
    : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32> -> tensor<1x40x128xf32>
  return %y : tensor<1x40x128xf32>
}

func.func @gradient(%u: tensor<1x40x128xf32>, %dt: tensor<1x40x128xf32>, %a: tensor<128x128xf32>, %raw: tensor<1x40x128xf32>, %c: tensor<1x40x128xf32>, %dy: tensor<1x40x128xf32>) -> (tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32>) {
  %b = math.tanh %raw : tensor<1x40x128xf32>
  %abs = math.absf %a : tensor<128x128xf32>
  %rate = arith.negf %abs : tensor<128x128xf32>
  %g:5 = heddle.selective_scan_grad %u, %dt, %rate, %b, %c, %dy {delta_softplus}
    : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32> -> (tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32>)
  return %g#0, %g#1, %g#2, %g#3, %g#4 : tensor<1x40x128xf32>, tensor<1x40x128xf32>, tensor<128x128xf32>, tensor<1x40x128xf32>, tensor<1x40x128xf32>
}
