// Profilers see the lines of the model in the kernels of a model.

// RUN: heddle-compile %s --target=sm_80 --emit=ptx --line-info -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: heddle-compile %s --target=sm_80 --emit=ptx | FileCheck %s --check-prefix=NONE

// CHECK: .entry attention_1_70_2_32_bf16_q{{[0-9]+}}_k{{[0-9]+}}_w{{[0-9]+}}_s{{[0-9]+}}(
// CHECK: .loc [[FILE:[0-9]+]] [[#@LINE+11]]
// CHECK: mma.sync
// CHECK: .entry elementwise_2_70_f32_{{[a-z0-9_]+}}(
// CHECK: .loc [[FILE]] [[#@LINE+10]]
// CHECK: st.global
// CHECK: .file [[FILE]] "{{.*}}model-line-info.mlir"
// NONE-NOT: .loc
// NONE-NOT: .file
// NONE: .entry
func.func @two(%q: tensor<1x70x2x32xbf16>, %k: tensor<1x70x2x32xbf16>, %v: tensor<1x70x2x32xbf16>,
               %x: tensor<2x70xf32>) -> (tensor<1x70x2x32xbf16>, tensor<2x70xf32>) {
  %o = heddle.attention %q, %k, %v
    : tensor<1x70x2x32xbf16>, tensor<1x70x2x32xbf16>, tensor<1x70x2x32xbf16> -> tensor<1x70x2x32xbf16>
  %y = math.exp %x : tensor<2x70xf32>
  return %o, %y : tensor<1x70x2x32xbf16>, tensor<2x70xf32>
}
