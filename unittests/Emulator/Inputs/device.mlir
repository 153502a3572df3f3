// Kernels that take what a command list passes.

// y[i] = x[i] + scale for i < n, scale an i64.
llvm.func @add_scalar(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %scale: i64, %n: i64)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
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
  %vx = llvm.load %px : !llvm.ptr<1> -> f32
  %s = llvm.sitofp %scale : i64 to f32
  %v = llvm.fadd %vx, %s : f32
  llvm.store %v, %py : f32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// table[b][i] = b for the 32 elements of each buffer b of a table.
llvm.func @number(%table: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %cta = nvvm.read.ptx.sreg.ctaid.x : i32
  %entry = llvm.getelementptr %table[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  %address = llvm.load %entry : !llvm.ptr<1> -> i64
  %buffer = llvm.inttoptr %address : i64 to !llvm.ptr<1>
  %p = llvm.getelementptr %buffer[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.sitofp %cta : i32 to f32
  llvm.store %v, %p : f32, !llvm.ptr<1>
  llvm.return
}
