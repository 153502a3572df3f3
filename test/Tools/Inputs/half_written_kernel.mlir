// 32 threads write half of 64 floats.
gpu.module @half {
  llvm.func @half(%y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, heddle.grid = 1 : i64, heddle.signature = () -> tensor<64xf32>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %p = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %one, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
