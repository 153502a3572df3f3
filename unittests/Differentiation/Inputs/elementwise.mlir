// Rules of arith and math, one function each: as ops of the graph, and the
// binary ones with every operand wanted.

func.func @negf(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.negf %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @absf(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.absf %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @acos(%x: tensor<5xf32> {test.low = -0.9 : f64, test.high = 0.9 : f64}) -> tensor<5xf32> {
  %y = math.acos %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @acosh(%x: tensor<5xf32> {test.low = 1.3 : f64, test.high = 3.0 : f64}) -> tensor<5xf32> {
  %y = math.acosh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @asin(%x: tensor<5xf32> {test.low = -0.9 : f64, test.high = 0.9 : f64}) -> tensor<5xf32> {
  %y = math.asin %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @asinh(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.asinh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @atan(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.atan %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @atanh(%x: tensor<5xf32> {test.low = -0.8 : f64, test.high = 0.8 : f64}) -> tensor<5xf32> {
  %y = math.atanh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @cbrt(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.cbrt %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @cos(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.cos %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @cosh(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.cosh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @erf(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.erf %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @erfc(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.erfc %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @exp(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.exp %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @exp2(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.exp2 %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @expm1(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.expm1 %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @log(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.log %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @log10(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.log10 %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @log1p(%x: tensor<5xf32> {test.low = -0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.log1p %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @log2(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.log2 %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @rsqrt(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.rsqrt %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @sin(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.sin %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @sinh(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.sinh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @sqrt(%x: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.sqrt %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @tan(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.tan %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @tanh(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.tanh %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @ceil(%x: tensor<5xf32> {test.zero}) -> tensor<5xf32> {
  %y = math.ceil %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @floor(%x: tensor<5xf32> {test.zero}) -> tensor<5xf32> {
  %y = math.floor %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @round(%x: tensor<5xf32> {test.zero, test.low = 0.6 : f64, test.high = 1.4 : f64}) -> tensor<5xf32> {
  %y = math.round %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @roundeven(%x: tensor<5xf32> {test.zero, test.low = 0.6 : f64, test.high = 1.4 : f64}) -> tensor<5xf32> {
  %y = math.roundeven %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @trunc(%x: tensor<5xf32> {test.zero}) -> tensor<5xf32> {
  %y = math.trunc %x : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @addf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.addf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @subf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.subf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @mulf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.mulf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @divf(%a: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}, %b: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = arith.divf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @maximumf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.maximumf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @minimumf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.minimumf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @maxnumf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.maxnumf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @minnumf(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = arith.minnumf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

// The number wins over a NaN, and has the whole gradient.
func.func @maxnumf_and_minnumf_of_a_nan(%a: tensor<5xf32>) -> tensor<5xf32> {
  %nan = arith.constant dense<0x7FC00000> : tensor<5xf32>
  %x = arith.maxnumf %nan, %a : tensor<5xf32>
  %y = arith.minnumf %x, %nan : tensor<5xf32>
  %z = arith.mulf %y, %y : tensor<5xf32>
  return %z : tensor<5xf32>
}

func.func @atan2(%a: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}, %b: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.atan2 %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @powf(%a: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}, %b: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}) -> tensor<5xf32> {
  %y = math.powf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @remf(%a: tensor<5xf32> {test.low = 2.0 : f64, test.high = 2.9 : f64}, %b: tensor<5xf32> {test.low = 0.8 : f64, test.high = 0.9 : f64}) -> tensor<5xf32> {
  %y = arith.remf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @copysign(%a: tensor<5xf32>, %b: tensor<5xf32> {test.zero}) -> tensor<5xf32> {
  %y = math.copysign %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @fma(%a: tensor<5xf32>, %b: tensor<5xf32>, %c: tensor<5xf32>) -> tensor<5xf32> {
  %y = math.fma %a, %b, %c : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @clampf(%a: tensor<5xf32> {test.low = -0.8 : f64, test.high = 1.1 : f64}, %b: tensor<5xf32> {test.low = -0.5 : f64, test.high = -0.1 : f64}, %c: tensor<5xf32> {test.low = 0.2 : f64, test.high = 0.8 : f64}) -> tensor<5xf32> attributes {test.no_cpu} {
  %y = math.clampf %a to [%b, %c] : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @select(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %c = arith.cmpf ogt, %a, %b : tensor<5xf32>
  %p = arith.mulf %a, %a : tensor<5xf32>
  %y = arith.select %c, %p, %b : tensor<5xi1>, tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @fpowi(%a: tensor<5xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64}, %n: tensor<5xi32> {test.values = [3 : i32, 0 : i32, -2 : i32, 1 : i32, 2 : i32]}) -> tensor<5xf32> {
  %y = math.fpowi %a, %n : tensor<5xf32>, tensor<5xi32>
  return %y : tensor<5xf32>
}

func.func @sincos(%x: tensor<5xf32>) -> tensor<5xf32> attributes {test.no_cpu} {
  %s, %c = math.sincos %x : tensor<5xf32>
  %y = arith.mulf %s, %c : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @casts(%a: tensor<5xf32>) -> tensor<5xf32> {
  %h = arith.truncf %a : tensor<5xf32> to tensor<5xbf16>
  %w = arith.extf %h : tensor<5xbf16> to tensor<5xf32>
  %y = arith.mulf %w, %a : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @used_by_many(%a: tensor<5xf32>) -> tensor<5xf32> {
  %e = math.exp %a : tensor<5xf32>
  %s = math.sin %e : tensor<5xf32>
  %p = arith.mulf %e, %s : tensor<5xf32>
  %q = arith.addf %p, %e : tensor<5xf32>
  %y = arith.divf %q, %e : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @constant_argument(%a: tensor<5xf32>, %b: tensor<5xf32> {test.constant}) -> tensor<5xf32> {
  %y = arith.mulf %a, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @unused_argument(%a: tensor<5xf32>, %b: tensor<5xf32> {test.zero}) -> tensor<5xf32> {
  %y = math.exp %a : tensor<5xf32>
  return %y : tensor<5xf32>
}
