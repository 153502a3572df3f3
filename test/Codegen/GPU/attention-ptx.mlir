// RUN: heddle-compile %s --target=sm_80 --emit=ptx -o - | FileCheck %s

// Attention of bf16 by tensor cores, asynchronous copies and hardware
// exponentials, all in registers and shared memory.

// CHECK-NOT: .local
// CHECK: .entry attention
// CHECK-NOT: .local
// CHECK: cp.async.cg.shared.global
// CHECK-NOT: .local
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: .local
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: .local
// CHECK: ex2.approx.ftz.f32
// CHECK-NOT: .local
func.func @causal(%q: tensor<1x256x2x64xbf16>, %k: tensor<1x256x2x64xbf16>, %v: tensor<1x256x2x64xbf16>) -> tensor<1x256x2x64xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x256x2x64xbf16>, tensor<1x256x2x64xbf16>, tensor<1x256x2x64xbf16> -> tensor<1x256x2x64xbf16>
  return %o : tensor<1x256x2x64xbf16>
}
