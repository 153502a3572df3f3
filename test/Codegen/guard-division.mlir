// RUN: heddle-opt %s -heddle-guard-division | FileCheck %s

// The divisor is replaced where it is 0, or where the quotient overflows.
// CHECK-LABEL: func.func @signed
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1
// CHECK: %[[LOW:.*]] = arith.cmpi eq, %arg0
// CHECK: %[[MINUS:.*]] = arith.cmpi eq, %arg1
// CHECK: %[[OVER:.*]] = arith.andi %[[LOW]], %[[MINUS]]
// CHECK: %[[BAD:.*]] = arith.ori %[[ZERO]], %[[OVER]]
// CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %arg1
// CHECK: %[[Q:.*]] = arith.divsi %arg0, %[[SAFE]]
// CHECK: arith.select %[[ZERO]], %{{.*}}, %[[Q]]
func.func @signed(%a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %q = arith.divsi %a, %b : vector<8xi32>
  return %q : vector<8xi32>
}

// CHECK-LABEL: func.func @unsigned_has_no_overflow
// CHECK: arith.cmpi eq, %arg1
// CHECK-NOT: arith.cmpi
// CHECK: arith.remui
func.func @unsigned_has_no_overflow(%a: i64, %b: i64) -> i64 {
  %q = arith.remui %a, %b : i64
  return %q : i64
}

// CHECK-LABEL: func.func @constants_need_no_guard
// CHECK-NOT: arith.select
// CHECK: return
func.func @constants_need_no_guard(%a: index, %v: vector<4xi32>) -> (index, vector<4xi32>) {
  %c = arith.constant 12 : index
  %s = arith.constant dense<3> : vector<4xi32>
  %q = arith.divui %a, %c : index
  %r = arith.remsi %v, %s : vector<4xi32>
  return %q, %r : index, vector<4xi32>
}
