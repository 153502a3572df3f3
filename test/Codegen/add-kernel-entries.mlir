// RUN: heddle-opt %s -heddle-add-kernel-entries | FileCheck %s

// CHECK: llvm.func @k(%[[ARGS:.*]]: !llvm.ptr, %[[BLOCK:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr) attributes {heddle.family = "rows"
// CHECK: %[[P0:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK: %[[B0:.*]] = llvm.load %[[P0]]
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[B1:.*]] = llvm.load %[[P1]]
// CHECK: llvm.call @k.body(%[[B0]], %[[B1]], %[[BLOCK]], %[[SCRATCH]])
// CHECK: llvm.func internal @k.body
llvm.func @k(%a: !llvm.ptr, %b: !llvm.ptr, %block: i64, %scratch: !llvm.ptr) attributes {heddle.family = "rows"} {
  llvm.return
}

// Functions that are no kernels keep their convention.
// CHECK: llvm.func @helper(%{{.*}}: i64)
llvm.func @helper(%a: i64) {
  llvm.return
}
