// Stock mlir-opt loads the dialect and its passes.

// RUN: mlir-opt %s --load-dialect-plugin=%heddle_plugin | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%heddle_plugin --load-pass-plugin=%heddle_plugin \
// RUN:   --pass-pipeline='builtin.module(heddle-decompose-attention)' | FileCheck %s --check-prefix=DECOMPOSED
// REQUIRES: heddle-plugin

// CHECK-LABEL: func @attention_in_stock_mlir_opt
// CHECK: heddle.attention
// DECOMPOSED-LABEL: func @attention_in_stock_mlir_opt
// DECOMPOSED-NOT: heddle.attention
// DECOMPOSED: linalg.generic
func.func @attention_in_stock_mlir_opt(%q: tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32> {
  %0 = heddle.attention %q, %q, %q : tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32> -> tensor<1x2x2x3xf32>
  return %0 : tensor<1x2x2x3xf32>
}
