// Each kernel is right or wrong by a flag of the caller.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32} : !llvm.array<0 x i8>

// shared[t] = x[t]; y[t] = shared[t + 1 mod n]; shared[t] = 0.
// Flags: 1 write first, 2 block barrier, 4 warp barrier between, 8 block barrier
// before the last write, 16 a shuffle after the first write.
llvm.func @neighbour(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %flags: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %fzero = llvm.mlir.constant(0.0 : f32) : f32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %mine = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %f1 = llvm.and %flags, %c1 : i32
  %is1 = llvm.icmp "ne" %f1, %c0 : i32
  llvm.cond_br %is1, ^write, ^maybe2
^write:
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  llvm.store %v, %mine : f32, !llvm.ptr<3> loc("first write")
  llvm.br ^maybe2
^maybe2:
  %f2 = llvm.and %flags, %c2 : i32
  %is2 = llvm.icmp "ne" %f2, %c0 : i32
  llvm.cond_br %is2, ^block, ^maybe4
^block:
  nvvm.barrier
  llvm.br ^maybe4
^maybe4:
  %f4 = llvm.and %flags, %c4 : i32
  %is4 = llvm.icmp "ne" %f4, %c0 : i32
  llvm.cond_br %is4, ^warp, ^maybe16
^warp:
  nvvm.bar.warp.sync %all : i32
  llvm.br ^maybe16
^maybe16:
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %f16 = llvm.and %flags, %c16 : i32
  %is16 = llvm.icmp "ne" %f16, %c0 : i32
  llvm.cond_br %is16, ^shuffle, ^read
^shuffle:
  %s = nvvm.shfl.sync idx %all, %t, %c0, %c31 : i32 -> i32
  llvm.br ^read
^read:
  %t1 = llvm.add %t, %c1 : i32
  %other = llvm.urem %t1, %n : i32
  %theirs = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %w = llvm.load %theirs : !llvm.ptr<3> -> f32 loc("read")
  llvm.store %w, %py : f32, !llvm.ptr<1>
  %f8 = llvm.and %flags, %c8 : i32
  %is8 = llvm.icmp "ne" %f8, %c0 : i32
  llvm.cond_br %is8, ^block2, ^last
^block2:
  nvvm.barrier
  llvm.br ^last
^last:
  llvm.store %fzero, %mine : f32, !llvm.ptr<3> loc("last write")
  llvm.return
}

// The same through global memory: y[t] = t, then z[t] = y[t + 1 mod n].
llvm.func @global_neighbour(%y: !llvm.ptr<1>, %z: !llvm.ptr<1>, %n: i32, %barrier: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %pz = llvm.getelementptr %z[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %t, %py : i32, !llvm.ptr<1>
  %is = llvm.icmp "ne" %barrier, %c0 : i32
  llvm.cond_br %is, ^meet, ^read
^meet:
  nvvm.barrier
  llvm.br ^read
^read:
  %t1 = llvm.add %t, %c1 : i32
  %other = llvm.urem %t1, %n : i32
  %po = llvm.getelementptr %y[%other] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %v = llvm.load %po : !llvm.ptr<1> -> i32
  llvm.store %v, %pz : i32, !llvm.ptr<1>
  llvm.return
}

// Neighbours own the halves of a word, in shared and in global memory.
llvm.func @halves(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %ps = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i16
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
  %h = llvm.trunc %t : i32 to i16
  llvm.store %h, %ps : i16, !llvm.ptr<3>
  %v = llvm.load %ps : !llvm.ptr<3> -> i16
  llvm.store %v, %ps : i16, !llvm.ptr<3>
  llvm.store %v, %py : i16, !llvm.ptr<1>
  %w = llvm.load %py : !llvm.ptr<1> -> i16
  llvm.store %w, %py : i16, !llvm.ptr<1>
  llvm.return
}

// Neighbours own the bytes of a word, in shared and in global memory; with a
// shift, several threads own the same byte.
llvm.func @bytes(%y: !llvm.ptr<1>, %shift: i32, %global: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %i = llvm.lshr %t, %shift : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %ps = llvm.getelementptr %shared[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %b = llvm.trunc %i : i32 to i8
  %isGlobal = llvm.icmp "ne" %global, %c0 : i32
  llvm.cond_br %isGlobal, ^there, ^here
^here:
  llvm.store %b, %ps : i8, !llvm.ptr<3> loc("shared byte")
  %v = llvm.load %ps : !llvm.ptr<3> -> i8
  llvm.store %v, %ps : i8, !llvm.ptr<3>
  llvm.br ^end
^there:
  llvm.store %b, %py : i8, !llvm.ptr<1> loc("global byte")
  %w = llvm.load %py : !llvm.ptr<1> -> i8
  llvm.store %w, %py : i8, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// Everybody adds to one place; thread 0 reads it after a barrier or without.
llvm.func @sum(%y: !llvm.ptr<1>, %z: !llvm.ptr<1>, %barrier: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1.0 : f32) : f32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %o = llvm.atomicrmw fadd %y, %one monotonic : !llvm.ptr<1>, f32
  %is = llvm.icmp "ne" %barrier, %c0 : i32
  llvm.cond_br %is, ^meet, ^next
^meet:
  nvvm.barrier
  llvm.br ^next
^next:
  %first = llvm.icmp "eq" %t, %c0 : i32
  llvm.cond_br %first, ^read, ^end
^read:
  %v = llvm.load %y : !llvm.ptr<1> -> f32
  llvm.store %v, %z : f32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// A vector of four floats at x + offset floats.
llvm.func @wide(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i64) attributes {nvvm.kernel} {
  %px = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> vector<4xf32>
  llvm.store %v, %y : vector<4xf32>, !llvm.ptr<1>
  llvm.return
}

// Thread t copies 16 bytes of x to shared memory and hands them on to y.
// Flags: 1 wait, 2 barrier and take those of thread t + 1, 4 take those of
// thread t + 1 without a barrier, 8 overwrite x before waiting.
llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %flags: i32, %bytes: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c6 = llvm.mlir.constant(6 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %ps = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  nvvm.cp.async.shared.global %ps, %px, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  %f8 = llvm.and %flags, %c8 : i32
  %is8 = llvm.icmp "ne" %f8, %c0 : i32
  llvm.cond_br %is8, ^overwrite, ^maybe1
^overwrite:
  llvm.store %t, %px : i32, !llvm.ptr<1>
  llvm.br ^maybe1
^maybe1:
  %f1 = llvm.and %flags, %c1 : i32
  %is1 = llvm.icmp "ne" %f1, %c0 : i32
  llvm.cond_br %is1, ^wait, ^maybe2
^wait:
  nvvm.cp.async.wait.group 0
  llvm.br ^maybe2
^maybe2:
  %f2 = llvm.and %flags, %c2 : i32
  %is2 = llvm.icmp "ne" %f2, %c0 : i32
  llvm.cond_br %is2, ^block, ^read
^block:
  nvvm.barrier
  llvm.br ^read
^read:
  %f6 = llvm.and %flags, %c6 : i32
  %is6 = llvm.icmp "ne" %f6, %c0 : i32
  %t1 = llvm.add %t, %c1 : i32
  %next = llvm.urem %t1, %n : i32
  %from = llvm.select %is6, %next, %t : i1, i32
  %pf = llvm.getelementptr %shared[%from] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  %v = llvm.load %pf : !llvm.ptr<3> -> vector<4xf32>
  llvm.store %v, %py : vector<4xf32>, !llvm.ptr<1>
  llvm.return
}

// Threads at or above `limit` go another way.
// mode 0: they skip the barrier and wait at a shuffle; 1: they meet at another
// barrier; 2: they return; 3: everybody meets.
llvm.func @diverge(%limit: i32, %mode: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %below = llvm.icmp "ult" %t, %limit : i32
  %together = llvm.icmp "eq" %mode, %c3 : i32
  %here = llvm.or %below, %together : i1
  llvm.cond_br %here, ^meet, ^other
^meet:
  nvvm.barrier0 loc("main barrier")
  llvm.br ^end
^other:
  %is0 = llvm.icmp "eq" %mode, %c0 : i32
  llvm.cond_br %is0, ^shuffle, ^other1
^shuffle:
  %s = nvvm.shfl.sync idx %all, %t, %c0, %c31 : i32 -> i32
  llvm.br ^end
^other1:
  %is1 = llvm.icmp "eq" %mode, %c1 : i32
  llvm.cond_br %is1, ^meet1, ^end
^meet1:
  nvvm.barrier0 loc("second barrier")
  llvm.br ^end
^end:
  llvm.return
}

// Lanes vote with a mask that depends on their half of the warp.
llvm.func @masks(%low: i32, %high: i32) attributes {nvvm.kernel} {
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %yes = llvm.mlir.constant(true) : i1
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %islow = llvm.icmp "ult" %lane, %c16 : i32
  %mask = llvm.select %islow, %low, %high : i1, i32
  %v = nvvm.vote.sync ballot %mask, %yes -> i32
  nvvm.barrier0
  llvm.return
}

// Two warps: the second stores, arrives at barrier 1 of `count` threads; the
// first waits at it and reads.
llvm.func @producer(%y: !llvm.ptr<1>, %count: i32) attributes {nvvm.kernel} {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %first = llvm.icmp "ult" %t, %c32 : i32
  llvm.cond_br %first, ^consume, ^produce
^produce:
  %i = llvm.sub %t, %c32 : i32
  %ps = llvm.getelementptr %shared[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %i, %ps : i32, !llvm.ptr<3>
  nvvm.barrier.arrive id = %c1 number_of_threads = %count
  llvm.br ^end
^consume:
  nvvm.barrier id = %c1 number_of_threads = %count
  %pr = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %pr : !llvm.ptr<3> -> i32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %py : i32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}
