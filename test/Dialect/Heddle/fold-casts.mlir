// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fold-casts,canonicalize))' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @rounding_what_was_widened_is_nothing
// CHECK-SAME: (%[[X:.*]]: tensor<8xbf16>)
// CHECK-NEXT: return %[[X]]
func.func @rounding_what_was_widened_is_nothing(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %e = tensor.empty() : tensor<8xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %0 = arith.extf %a : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = arith.truncf %wide : tensor<8xf32> to tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Another 16-bit type has other bits, and a rounded value is not the wide one.

// CHECK-LABEL: func.func @other_casts_stay
// CHECK: arith.truncf {{.*}} to tensor<8xf16>
// CHECK: arith.truncf
// CHECK: arith.extf
func.func @other_casts_stay(%x: tensor<8xbf16>, %f: tensor<8xf32>) -> (tensor<8xf16>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %0 = arith.extf %a : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = arith.truncf %wide : tensor<8xf32> to tensor<8xf16>
  %n = arith.truncf %f : tensor<8xf32> to tensor<8xbf16>
  %w = arith.extf %n : tensor<8xbf16> to tensor<8xf32>
  return %y, %w : tensor<8xf16>, tensor<8xf32>
}
