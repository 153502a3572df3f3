// RUN: heddle-opt %s -heddle-expand-vector-math | FileCheck %s

// CHECK-LABEL: func.func @logarithm_becomes_arithmetic
// CHECK-NOT: math.log
// CHECK: math.fma
func.func @logarithm_becomes_arithmetic(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.log %x : vector<16xf32>
  return %y : vector<16xf32>
}
