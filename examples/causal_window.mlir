// Causal attention to the last 64 positions, in f32 and in bf16.
//
//   build/bin/heddle-compile examples/causal_window.mlir -o build/local.heddle --report
//   build/bin/heddle-run build/local.heddle --function=local_f32 --check=reference
//   build/bin/heddle-run build/local.heddle --function=local_bf16 --check=reference
//
// A mask is a set of visible (query, key) positions. Both bounds of a window are
// inclusive: window<63, 0> reaches from i - 63 to i. Key tiles without a visible
// position are never visited, so the FLOPs in the report are far below those of
// full attention; only tiles that the mask cuts carry mask code.
//
// The bf16 result passes when its error is at most 1.5 times that of an
// evaluation in f64 which rounds to bf16 where the model says so.
//
// REQUIRES: heddle-compile, heddle-run
// RUN: heddle-compile %s -o %t.heddle
// RUN: heddle-run %t.heddle --function=local_f32 --check=reference | FileCheck %s --check-prefix=F32
// RUN: heddle-run %t.heddle --function=local_bf16 --check=reference | FileCheck %s --check-prefix=BF16

// F32: result 0{{.*}}: float32[1,500,8,32]
// F32-NEXT: all finite
// F32-NEXT: matches the reference device

// BF16: result 0{{.*}}: bfloat16[1,500,8,32]
// BF16-NEXT: all finite
// BF16-NEXT: matches the reference device

func.func @local_f32(%query: tensor<1x500x8x32xf32> {heddle.arg_name = "query"},
                     %key: tensor<1x500x8x32xf32> {heddle.arg_name = "key"},
                     %value: tensor<1x500x8x32xf32> {heddle.arg_name = "value"})
    -> tensor<1x500x8x32xf32> {
  %out = heddle.attention %query, %key, %value
      {mask = #heddle.mask<intersection<causal, window<63, 0>>>}
      : tensor<1x500x8x32xf32>, tensor<1x500x8x32xf32>, tensor<1x500x8x32xf32>
      -> tensor<1x500x8x32xf32>
  return %out : tensor<1x500x8x32xf32>
}

// Two query heads share one key head: head h of 8 reads key head h / 2 of 4.
func.func @local_bf16(%query: tensor<1x500x8x32xbf16> {heddle.arg_name = "query"},
                      %key: tensor<1x500x4x32xbf16> {heddle.arg_name = "key"},
                      %value: tensor<1x500x4x32xbf16> {heddle.arg_name = "value"})
    -> tensor<1x500x8x32xbf16> {
  %out = heddle.attention %query, %key, %value
      {mask = #heddle.mask<intersection<causal, window<63, 0>>>}
      : tensor<1x500x8x32xbf16>, tensor<1x500x4x32xbf16>, tensor<1x500x4x32xbf16>
      -> tensor<1x500x8x32xbf16>
  return %out : tensor<1x500x8x32xbf16>
}
