// RUN: heddle-compile %s --emit=llvm --cpu=x86-64-v4 -o %t.v4.ll
// RUN: FileCheck %s < %t.v4.ll
// RUN: FileCheck %s --check-prefix=SOFTMAX < %t.v4.ll
// RUN: heddle-compile %s --emit=llvm --cpu=x86-64-v3 -o %t.v3.ll
// RUN: FileCheck %s < %t.v3.ll
// RUN: heddle-compile %s --target=sm_80 --emit=mlir | FileCheck %s --check-prefix=GPU

// Absent pairs are -inf and NaN has to go through: no instruction and no
// function may say that neither occurs, or the guards are folded away.

// CHECK-NOT: {{(^|[ "])(nnan|ninf|fast|no-nans-fp-math|no-infs-fp-math)[ "]}}
// CHECK: define {{.*}}@attention_1_300_2_8_f32
// CHECK-NOT: {{(^|[ "])(nnan|ninf|fast|no-nans-fp-math|no-infs-fp-math)[ "]}}

// GPU-NOT: {{fastmath<[^>]*(nnan|ninf|fast)}}
// GPU: llvm.func @attention_1_300_2_8_f32
// GPU-NOT: {{fastmath<[^>]*(nnan|ninf|fast)}}

// The files that are checked hold the kernels' arithmetic.
// SOFTMAX: fcmp
// SOFTMAX: select
func.func @masked_by_a_set_and_operands(
    %q: tensor<1x300x2x8xf32>, %k: tensor<1x300x2x8xf32>, %v: tensor<1x300x2x8xf32>,
    %b: tensor<1x1x1x300xf32>, %m: tensor<1x1x300x300xi1>, %n: tensor<1xi32>)
    -> (tensor<1x300x2x8xf32>, tensor<1x2x300xf32>) {
  %o, %lse = heddle.attention %q, %k, %v bias(%b : tensor<1x1x1x300xf32>)
      key_lengths(%n : tensor<1xi32>) mask_tensor(%m : tensor<1x1x300x300xi1>)
      {mask = #heddle.mask<causal>}
    : tensor<1x300x2x8xf32>, tensor<1x300x2x8xf32>, tensor<1x300x2x8xf32> -> tensor<1x300x2x8xf32>, tensor<1x2x300xf32>
  return %o, %lse : tensor<1x300x2x8xf32>, tensor<1x2x300xf32>
}

func.func @softmax(%x: tensor<40x50xf32>) -> tensor<40x50xf32> {
  %e = tensor.empty() : tensor<40x50xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<40x50xf32>) outs(%e : tensor<40x50xf32>) -> tensor<40x50xf32>
  return %y : tensor<40x50xf32>
}
