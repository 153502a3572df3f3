// RUN: heddle-opt %s -convert-cpu-to-llvm | FileCheck %s

// Arithmetic, vectors, masks, control flow and functions in one conversion;
// what has no instruction calls libm.

// CHECK-LABEL: llvm.func @k(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[BLOCK:.*]]: i64, %{{.*}}: !llvm.ptr) attributes {heddle.family = "rows"}
// CHECK: llvm.intr.fma
// CHECK: llvm.icmp "sgt"
// CHECK: llvm.intr.masked.store
// CHECK: llvm.cond_br
// CHECK: llvm.call @erff
// CHECK: llvm.return
func.func @k(%args: !llvm.ptr, %block: i64, %scratch: !llvm.ptr) attributes {heddle.family = "rows"} {
  %n = arith.index_cast %block : i64 to index
  %three = affine.apply affine_map<(d0) -> (d0 + 3)>(%n)
  %v = llvm.load %args : !llvm.ptr -> vector<8xf32>
  %w = math.fma %v, %v, %v : vector<8xf32>
  %mask = vector.create_mask %three : vector<8xi1>
  llvm.intr.masked.store %w, %args, %mask {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  %c0 = arith.constant 0 : index
  %zero = arith.cmpi eq, %n, %c0 : index
  cf.cond_br %zero, ^first, ^end
^first:
  %s = llvm.load %scratch : !llvm.ptr -> f32
  %e = math.erf %s : f32
  llvm.store %e, %scratch : f32, !llvm.ptr
  cf.br ^end
^end:
  return
}
