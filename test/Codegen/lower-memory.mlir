// RUN: heddle-opt %s -heddle-lower-memory -split-input-file -verify-diagnostics -canonicalize | FileCheck %s

// A kernel takes the runtime's table of buffers, a block number and scratch.

// CHECK-LABEL: func.func @k(
// CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr, %[[BLOCK:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK: %[[B0:.*]] = llvm.load %[[ARGS]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[B1:.*]] = llvm.load %[[P1]]
// A row is 32 bytes: the element type of the address scales the block.
// CHECK: %[[ROW:.*]] = llvm.getelementptr %[[B0]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<32 x i8>
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ROW]][12]
// CHECK: %[[V:.*]] = llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.store %[[V]], %{{.*}} {alignment = 4 : i64}
func.func @k(%x: memref<4x8xf32>, %y: memref<4xf32>, %block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
  %c3 = arith.constant 3 : index
  %v = memref.load %x[%block, %c3] : memref<4x8xf32>
  memref.store %v, %y[%block] : memref<4xf32>
  return
}

// -----

// Accesses that differ by a constant share the rest of their address, and what
// an outer loop fixes is computed there.

// CHECK-LABEL: func.func @shared_addresses
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[II:.*]] = arith.index_cast %[[I]]
// CHECK: %[[ROW:.*]] = llvm.getelementptr %{{.*}}[%[[II]]] : {{.*}}, !llvm.array<1024 x i8>
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[JJ:.*]] = arith.index_cast %[[J]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ROW]][%[[JJ]]] : {{.*}}, !llvm.array<4 x i8>
// CHECK: llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[AT]][1024] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: llvm.load %[[NEXT]]
// CHECK-NOT: arith.muli
func.func @shared_addresses(%x: memref<64x256xf32>, %block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c63 = arith.constant 63 : index
  %c256 = arith.constant 256 : index
  scf.for %i = %c0 to %c63 step %c1 {
    scf.for %j = %c0 to %c256 step %c16 {
      %a = vector.load %x[%i, %j] : memref<64x256xf32>, vector<16xf32>
      %next = arith.addi %i, %c1 : index
      %b = vector.load %x[%next, %j] : memref<64x256xf32>, vector<16xf32>
      %s = arith.addf %a, %b : vector<16xf32>
      vector.store %s, %x[%i, %j] : memref<64x256xf32>, vector<16xf32>
    }
  }
  return
}

// -----

// Views of scratch are constants beside its pointer.

// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[SCRATCH:[^:]*]]: !llvm.ptr)
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[SCRATCH]][136] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: llvm.store %{{.*}}, %[[AT]] {alignment = 2 : i64} : bf16, !llvm.ptr
func.func @views(%block: index, %scratch: memref<256xi8>) attributes {heddle.family = "rows"} {
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1.0 : bf16
  %v = memref.view %scratch[%c128][] : memref<256xi8> to memref<8xbf16>
  memref.store %one, %v[%c4] : memref<8xbf16>
  return
}

// -----

// A subview of a subview keeps the strides of the whole; masked accesses and
// gathers carry their mask.

// CHECK-LABEL: func.func @masked
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[104]
// CHECK: llvm.intr.masked.load %[[AT]], %{{.*}}, %{{.*}} {alignment = 4 : i32}
// CHECK: llvm.intr.masked.store %{{.*}}, %{{.*}}, %{{.*}} {alignment = 4 : i32}
// CHECK: %[[PTRS:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
// CHECK: llvm.intr.masked.gather %[[PTRS]]
func.func @masked(%x: memref<8x8xf32>, %block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %mask = vector.create_mask %c3 : vector<4xi1>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %at = arith.constant dense<[0, 2, 1, 0]> : vector<4xi32>
  %rows = memref.subview %x[1, 0] [4, 8] [2, 1] : memref<8x8xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  %part = memref.subview %rows[1, 2] [2, 4] [1, 1] : memref<4x8xf32, strided<[16, 1], offset: 8>> to memref<2x4xf32, strided<[16, 1], offset: 26>>
  %v = vector.maskedload %part[%c0, %c0], %mask, %zero : memref<2x4xf32, strided<[16, 1], offset: 26>>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %x[%c0, %c0], %mask, %v : memref<8x8xf32>, vector<4xi1>, vector<4xf32>
  %g = vector.gather %x[%c3, %c0] [%at], %mask, %zero : memref<8x8xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.store %g, %x[%c0, %c0] : memref<8x8xf32>, vector<4xf32>
  return
}

// -----

module {
  // A constant table becomes flat read-only data; index elements are 64 bits.

  // CHECK: llvm.mlir.global private constant @table(dense<[1, 2, 3, 4]> : tensor<4xi64>) {{.*}} : !llvm.array<4 x i64>
  memref.global "private" constant @table : memref<2x2xindex> = dense<[[1, 2], [3, 4]]>
  // CHECK-LABEL: func.func @reads_table
  // CHECK: %[[T:.*]] = llvm.mlir.addressof @table
  // CHECK: llvm.getelementptr %[[T]][24]
  // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
  func.func @reads_table(%y: memref<1xindex>, %block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = memref.get_global @table : memref<2x2xindex>
    %v = memref.load %t[%c1, %c1] : memref<2x2xindex>
    memref.store %v, %y[%c0] : memref<1xindex>
    return
  }
}

// -----

func.func @strides_are_static(%x: memref<8xf32, strided<[?]>>, %block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a buffer of static strides, got 'memref<8xf32, strided<[?]>>'}}
  %v = memref.load %x[%c0] : memref<8xf32, strided<[?]>>
  return
}

// -----

func.func @no_allocation_in_a_kernel(%block: index, %scratch: memref<64xi8>) attributes {heddle.family = "rows"} {
  // expected-error @below {{has no lowering to pointers in a kernel}}
  %a = memref.alloc() : memref<4xf32>
  return
}
