// y[t] = f(x[t]) for each approximate function, and the packed conversions.

llvm.func @ex2(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %r = heddle_nvvm.ex2.approx.ftz %v
  llvm.store %r, %py : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @lg2(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %r = heddle_nvvm.lg2.approx.ftz %v
  llvm.store %r, %py : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @rcp(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %r = nvvm.rcp.approx.ftz.f %v : f32
  llvm.store %r, %py : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @rsqrt(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %r = heddle_nvvm.rsqrt.approx.ftz %v
  llvm.store %r, %py : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @tanh(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %r = heddle_nvvm.tanh.approx %v
  llvm.store %r, %py : f32, !llvm.ptr<1>
  llvm.return
}
// Words 3t .. 3t+2 of y: (x, -x) as bf16x2, as f16x2, and x as tf32.
llvm.func @convert(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %t3 = llvm.mul %t, %c3 : i32
  %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %py = llvm.getelementptr %y[%t3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %py1 = llvm.getelementptr %py[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %py2 = llvm.getelementptr %py[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %v = llvm.load %px : !llvm.ptr<1> -> f32
  %n = llvm.fneg %v : f32
  %b = nvvm.convert.f32x2.to.bf16x2 %v, %n {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  %h = nvvm.convert.f32x2.to.f16x2 %v, %n {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
  %f = nvvm.convert.float.to.tf32 %v {rnd = #nvvm.fp_rnd_mode<rna>}
  llvm.store %b, %py : vector<2xbf16>, !llvm.ptr<1>
  llvm.store %h, %py1 : vector<2xf16>, !llvm.ptr<1>
  llvm.store %f, %py2 : i32, !llvm.ptr<1>
  llvm.return
}
// Every collective once; y has 11 words a lane.
llvm.func @collectives(%y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  // Segments of 8 lanes: mask 0x18 in bits 8-12, bound 7.
  %seg = llvm.mlir.constant(6175 : i32) : i32
  %segup = llvm.mlir.constant(6144 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %p0 = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %p1 = llvm.getelementptr %p0[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p2 = llvm.getelementptr %p0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p3 = llvm.getelementptr %p0[96] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p4 = llvm.getelementptr %p0[128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p5 = llvm.getelementptr %p0[160] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p6 = llvm.getelementptr %p0[192] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p7 = llvm.getelementptr %p0[224] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p8 = llvm.getelementptr %p0[256] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p9 = llvm.getelementptr %p0[288] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p10 = llvm.getelementptr %p0[320] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %idx = nvvm.shfl.sync idx %all, %lane, %c3, %seg : i32 -> i32
  %up = nvvm.shfl.sync up %all, %lane, %c1, %segup : i32 -> i32
  %down = nvvm.shfl.sync down %all, %lane, %c1, %seg {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %dv = llvm.extractvalue %down[0] : !llvm.struct<(i32, i1)>
  %dp = llvm.extractvalue %down[1] : !llvm.struct<(i32, i1)>
  %dpi = llvm.zext %dp : i1 to i32
  %upp = nvvm.shfl.sync up %all, %lane, %c3, %segup {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %upv = llvm.extractvalue %upp[0] : !llvm.struct<(i32, i1)>
  %upi = llvm.extractvalue %upp[1] : !llvm.struct<(i32, i1)>
  // Bound 5 of segments of 8: lane 7 of each does not exist for idx.
  %seg5 = llvm.mlir.constant(6149 : i32) : i32
  %idxp = nvvm.shfl.sync idx %all, %lane, %lane, %seg5 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %idxv = llvm.extractvalue %idxp[0] : !llvm.struct<(i32, i1)>
  %idxi = llvm.extractvalue %idxp[1] : !llvm.struct<(i32, i1)>
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %upw = llvm.zext %upi : i1 to i32
  %uph = llvm.shl %upw, %c16 : i32
  %upb = llvm.or %uph, %upv : i32
  %idxw = llvm.zext %idxi : i1 to i32
  %idxh = llvm.shl %idxw, %c16 : i32
  %idxb = llvm.or %idxh, %idxv : i32
  %p11 = llvm.getelementptr %p0[352] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p12 = llvm.getelementptr %p0[384] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  llvm.store %upb, %p11 : i32, !llvm.ptr<1>
  llvm.store %idxb, %p12 : i32, !llvm.ptr<1>
  %bit = llvm.and %lane, %c1 : i32
  %odd = llvm.icmp "ne" %bit, %c0 : i32
  %ballot = nvvm.vote.sync ballot %all, %odd -> i32
  %any = nvvm.vote.sync any %all, %odd -> i1
  %every = nvvm.vote.sync all %all, %odd -> i1
  // Not all lanes agree; all agree on yes; all agree on no.
  %mixed = nvvm.vote.sync uni %all, %odd -> i1
  %yes = llvm.icmp "ule" %lane, %c31 : i32
  %agreed = nvvm.vote.sync uni %all, %yes -> i1
  %no = llvm.icmp "ugt" %lane, %c31 : i32
  %denied = nvvm.vote.sync uni %all, %no -> i1
  %mixedi = llvm.zext %mixed : i1 to i32
  %agreedi = llvm.zext %agreed : i1 to i32
  %deniedi = llvm.zext %denied : i1 to i32
  %agreed2 = llvm.shl %agreedi, %c1 : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %denied4 = llvm.shl %deniedi, %c2 : i32
  %uni0 = llvm.or %mixedi, %agreed2 : i32
  %uni = llvm.or %uni0, %denied4 : i32
  %p13 = llvm.getelementptr %p0[416] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  llvm.store %uni, %p13 : i32, !llvm.ptr<1>
  %anyi = llvm.zext %any : i1 to i32
  %everyi = llvm.zext %every : i1 to i32
  %two = llvm.shl %anyi, %c1 : i32
  %votes = llvm.or %two, %everyi : i32
  %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
  %leader = nvvm.elect.sync -> i1
  %leaderi = llvm.zext %leader : i1 to i32
  %count = nvvm.barrier #nvvm.reduction<popc> %bit -> i32
  %least = nvvm.redux.sync umin %lane, %all : i32 -> i32
  // Bytes 3, 2 of one word and 1, 0 of the other.
  %selector = llvm.mlir.constant(0x3254 : i32) : i32
  %low = llvm.mlir.constant(0x33221100 : i32) : i32
  %high = llvm.mlir.constant(0x77665544 : i32) : i32
  %bytes = nvvm.prmt #nvvm.permute_mode<default> %selector, %low, %high : i32
  llvm.store %count, %p8 : i32, !llvm.ptr<1>
  llvm.store %least, %p9 : i32, !llvm.ptr<1>
  llvm.store %bytes, %p10 : i32, !llvm.ptr<1>
  llvm.store %idx, %p0 : i32, !llvm.ptr<1>
  llvm.store %up, %p1 : i32, !llvm.ptr<1>
  llvm.store %dv, %p2 : i32, !llvm.ptr<1>
  llvm.store %dpi, %p3 : i32, !llvm.ptr<1>
  llvm.store %ballot, %p4 : i32, !llvm.ptr<1>
  llvm.store %votes, %p5 : i32, !llvm.ptr<1>
  llvm.store %sum, %p6 : i32, !llvm.ptr<1>
  llvm.store %leaderi, %p7 : i32, !llvm.ptr<1>
  llvm.return
}
