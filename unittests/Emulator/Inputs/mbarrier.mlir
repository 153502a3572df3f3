// Asynchronous copies that complete on mbarriers. The mbarrier is at the start
// of shared memory, data from byte 128 on.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

// Thread t copies 16 bytes of x with cp.async; the mbarrier tracks all copies;
// thread t then takes the bytes of thread n - 1 - t. `expected` arrivals.
llvm.func @tracked(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %expected: i32, %wait: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %bar = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %data = llvm.getelementptr %bar[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %first = llvm.icmp "eq" %t, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  nvvm.mbarrier.init %bar, %expected : !llvm.ptr<3>, i32
  llvm.br ^ready
^ready:
  nvvm.barrier
  %ps = llvm.getelementptr %data[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.mbarrier.arrive %bar {noinc = true} : !llvm.ptr<3>
  %does = llvm.icmp "ne" %wait, %c0 : i32
  llvm.cond_br %does, ^wait, ^read
^wait:
  nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  llvm.br ^read
^read:
  %last = llvm.sub %n, %c1 : i32
  %from = llvm.sub %last, %t : i32
  %pf = llvm.getelementptr %data[%from] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  %v = llvm.load %pf : !llvm.ptr<3> -> vector<4xf32>
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  llvm.store %v, %py : vector<4xf32>, !llvm.ptr<1>
  llvm.return
}

// Thread 0 starts two bulk copies of 256 bytes each, into two stages in turn;
// everybody polls for the phase and adds both stages.
llvm.func @bulk(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %bytes: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c256 = llvm.mlir.constant(256 : i32) : i32
  %fzero = llvm.mlir.constant(0.0 : f32) : f32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %bar = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %data = llvm.getelementptr %bar[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %data7 = llvm.addrspacecast %data : !llvm.ptr<3> to !llvm.ptr<7>
  %first = llvm.icmp "eq" %t, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  llvm.br ^ready
^ready:
  nvvm.barrier
  llvm.br ^step(%c0, %fzero : i32, f32)
^step(%i: i32, %sum: f32):
  llvm.cond_br %first, ^issue, ^poll
^issue:
  nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
  %at = llvm.mul %i, %c256 : i32
  %px = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  nvvm.cp.async.bulk.shared.cluster.global %data7, %px, %bar, %c256 : !llvm.ptr<7>, !llvm.ptr<1>
  llvm.br ^poll
^poll:
  %done = nvvm.mbarrier.test.wait %bar, %i : !llvm.ptr<3>, i32 -> i1
  llvm.cond_br %done, ^read, ^poll
^read:
  %ps = llvm.getelementptr %data[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %ps : !llvm.ptr<3> -> f32
  %next = llvm.fadd %sum, %v : f32
  nvvm.barrier
  %i1 = llvm.add %i, %c1 : i32
  %more = llvm.icmp "ult" %i1, %c2 : i32
  llvm.cond_br %more, ^step(%i1, %next : i32, f32), ^store
^store:
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %next, %py : f32, !llvm.ptr<1>
  llvm.return
}
