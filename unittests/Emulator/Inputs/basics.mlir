// Kernels without matrix units: addition, a reduction with shuffles, a
// transpose through shared memory.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

// z[i] = x[i] + y[i] for i < n.
llvm.func @vector_add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %z: !llvm.ptr<1>, %n: i64)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %ntid = nvvm.read.ptx.sreg.ntid.x : i32
  %cta = nvvm.read.ptx.sreg.ctaid.x : i32
  %base = llvm.mul %cta, %ntid : i32
  %i32 = llvm.add %base, %tid : i32
  %i = llvm.zext %i32 : i32 to i64
  %in = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %in, ^body, ^end
^body:
  %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %pz = llvm.getelementptr %z[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %vx = llvm.load %px : !llvm.ptr<1> -> f32
  %vy = llvm.load %py : !llvm.ptr<1> -> f32
  %vz = llvm.fadd %vx, %vy : f32
  llvm.store %vz, %pz : f32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// The sum of the block's lanes by butterflies.
llvm.func internal @warp_sum(%v: f32) -> f32 {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %clamp = llvm.mlir.constant(31 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %s16 = nvvm.shfl.sync bfly %all, %v, %c16, %clamp : f32 -> f32
  %a16 = llvm.fadd %v, %s16 : f32
  %s8 = nvvm.shfl.sync bfly %all, %a16, %c8, %clamp : f32 -> f32
  %a8 = llvm.fadd %a16, %s8 : f32
  %s4 = nvvm.shfl.sync bfly %all, %a8, %c4, %clamp : f32 -> f32
  %a4 = llvm.fadd %a8, %s4 : f32
  %s2 = nvvm.shfl.sync bfly %all, %a4, %c2, %clamp : f32 -> f32
  %a2 = llvm.fadd %a4, %s2 : f32
  %s1 = nvvm.shfl.sync bfly %all, %a2, %c1, %clamp : f32 -> f32
  %a1 = llvm.fadd %a2, %s1 : f32
  llvm.return %a1 : f32
}

// y[block] = sum of 256 elements of x; warps meet in static shared memory.
llvm.mlir.global internal @partial() {addr_space = 3 : i32} : !llvm.array<8 x f32>

llvm.func @block_sum(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256>} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %c256 = llvm.mlir.constant(256 : i32) : i32
  %fzero = llvm.mlir.constant(0.0 : f32) : f32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %cta = nvvm.read.ptx.sreg.ctaid.x : i32
  %base = llvm.mul %cta, %c256 : i32
  %i = llvm.add %base, %tid : i32
  %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %s = llvm.call @warp_sum(%v) : (f32) -> f32
  %lane = llvm.and %tid, %c31 : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %shared = llvm.mlir.addressof @partial : !llvm.ptr<3>
  %first = llvm.icmp "eq" %lane, %zero : i32
  llvm.cond_br %first, ^write, ^meet
^write:
  %pw = llvm.getelementptr %shared[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %s, %pw : f32, !llvm.ptr<3>
  llvm.br ^meet
^meet:
  nvvm.barrier
  %inwarp0 = llvm.icmp "eq" %warp, %zero : i32
  llvm.cond_br %inwarp0, ^last, ^end
^last:
  %has = llvm.icmp "ult" %lane, %c8 : i32
  llvm.cond_br %has, ^read, ^add(%fzero : f32)
^read:
  %pr = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %r = llvm.load %pr : !llvm.ptr<3> -> f32
  llvm.br ^add(%r : f32)
^add(%part: f32):
  %total = llvm.call @warp_sum(%part) : (f32) -> f32
  llvm.cond_br %first, ^store, ^end
^store:
  %py = llvm.getelementptr %y[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %total, %py : f32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// Transposes a 32x32 tile; rows of shared memory are `pitch` floats apart, and
// the column is swizzled with the row's bits in `swizzle`.
llvm.func @transpose(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %pitch: i32, %swizzle: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 8>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %tx = nvvm.read.ptx.sreg.tid.x : i32
  %ty = nvvm.read.ptx.sreg.tid.y : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  llvm.br ^load(%ty : i32)
^load(%row: i32):
  %g = llvm.mul %row, %c32 : i32
  %gi = llvm.add %g, %tx : i32
  %px = llvm.getelementptr %x[%gi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %s = llvm.mul %row, %pitch : i32
  %sb = llvm.and %row, %swizzle : i32
  %sc = llvm.xor %tx, %sb : i32
  %si = llvm.add %s, %sc : i32
  %ps = llvm.getelementptr %shared[%si] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %v, %ps : f32, !llvm.ptr<3>
  %next = llvm.add %row, %c8 : i32
  %more = llvm.icmp "ult" %next, %c32 : i32
  llvm.cond_br %more, ^load(%next : i32), ^meet
^meet:
  nvvm.barrier
  llvm.br ^store(%ty : i32)
^store(%col: i32):
  %t = llvm.mul %tx, %pitch : i32
  %tb = llvm.and %tx, %swizzle : i32
  %tc = llvm.xor %col, %tb : i32
  %ti = llvm.add %t, %tc : i32
  %pt = llvm.getelementptr %shared[%ti] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %w = llvm.load %pt : !llvm.ptr<3> -> f32
  %o = llvm.mul %col, %c32 : i32
  %oi = llvm.add %o, %tx : i32
  %py = llvm.getelementptr %y[%oi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %w, %py : f32, !llvm.ptr<1>
  %next2 = llvm.add %col, %c8 : i32
  %more2 = llvm.icmp "ult" %next2, %c32 : i32
  llvm.cond_br %more2, ^store(%next2 : i32), ^end
^end:
  llvm.return
}
