// Pointers of every kind, and atomics.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.mlir.global internal constant @primes(dense<[2, 3, 5, 7]> : tensor<4xi32>) : !llvm.array<4 x i32>

llvm.func internal @add_to(%p: !llvm.ptr, %v: i32) {
  %old = llvm.load %p : !llvm.ptr -> i32
  %new = llvm.add %old, %v : i32
  llvm.store %new, %p : i32, !llvm.ptr
  llvm.return
}

// y[t] = t + prime[t mod 4], once through a generic pointer into global, shared
// and local memory each: three times.
llvm.func @generic(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %ps = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %local = llvm.alloca %c1 x i32 : (i32) -> !llvm.ptr
  %table = llvm.mlir.addressof @primes : !llvm.ptr
  %m = llvm.and %t, %c3 : i32
  %pp = llvm.getelementptr %table[%m] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %prime = llvm.load %pp : !llvm.ptr -> i32
  %v = llvm.add %t, %prime : i32
  llvm.store %c0, %py : i32, !llvm.ptr<1>
  llvm.store %c0, %ps : i32, !llvm.ptr<3>
  llvm.store %c0, %local : i32, !llvm.ptr
  %gg = llvm.addrspacecast %py : !llvm.ptr<1> to !llvm.ptr
  %gs = llvm.addrspacecast %ps : !llvm.ptr<3> to !llvm.ptr
  llvm.call @add_to(%gg, %v) : (!llvm.ptr, i32) -> ()
  llvm.call @add_to(%gs, %v) : (!llvm.ptr, i32) -> ()
  llvm.call @add_to(%local, %v) : (!llvm.ptr, i32) -> ()
  %a = llvm.load %py : !llvm.ptr<1> -> i32
  %b = llvm.load %ps : !llvm.ptr<3> -> i32
  %c = llvm.load %local : !llvm.ptr -> i32
  %ab = llvm.add %a, %b : i32
  %abc = llvm.add %ab, %c : i32
  llvm.store %abc, %py : i32, !llvm.ptr<1>
  llvm.return
}

// Shared addresses of 32 bits, swizzled by their own bits. y[t] = t.
llvm.func @narrow(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c28 = llvm.mlir.constant(28 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %base = llvm.ptrtoint %shared : !llvm.ptr<3> to i32
  %o = llvm.mul %t, %c4 : i32
  %a = llvm.add %base, %o : i32
  %s = llvm.xor %a, %c28 : i32
  %p = llvm.inttoptr %s : i32 to !llvm.ptr<3>
  llvm.store %t, %p : i32, !llvm.ptr<3>
  %v = llvm.load %p : !llvm.ptr<3> -> i32
  llvm.store %v, %py : i32, !llvm.ptr<1>
  llvm.return
}

// y: largest t, number of threads that won a lock, 64-bit sum of t, the
// smallest float of -t; the sum by way of shared memory.
llvm.func @atomics(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %t64 = llvm.zext %t : i32 to i64
  %zero64 = llvm.mlir.constant(0 : i64) : i64
  %f = llvm.sitofp %t : i32 to f32
  %n = llvm.fneg %f : f32
  %lock = llvm.getelementptr %y[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %wins = llvm.getelementptr %y[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %least = llvm.getelementptr %y[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %sum = llvm.getelementptr %y[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %first = llvm.icmp "eq" %t, %c0 : i32
  llvm.cond_br %first, ^init, ^go
^init:
  llvm.store %zero64, %shared : i64, !llvm.ptr<3>
  llvm.br ^go
^go:
  nvvm.barrier
  %a = llvm.atomicrmw max %y, %t monotonic : !llvm.ptr<1>, i32
  %b = llvm.cmpxchg %lock, %c0, %c1 acq_rel monotonic : !llvm.ptr<1>, i32
  %won = llvm.extractvalue %b[1] : !llvm.struct<(i32, i1)>
  %w = llvm.zext %won : i1 to i32
  %c = llvm.atomicrmw add %wins, %w monotonic : !llvm.ptr<1>, i32
  %d = llvm.atomicrmw fmin %least, %n monotonic : !llvm.ptr<1>, f32
  %e = llvm.atomicrmw add %shared, %t64 monotonic : !llvm.ptr<3>, i64
  nvvm.barrier
  llvm.cond_br %first, ^last, ^end
^last:
  %s = llvm.load %shared : !llvm.ptr<3> -> i64
  llvm.store %s, %sum : i64, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}
