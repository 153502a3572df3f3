// Two warps exchange floats through shared memory without a barrier, and store
// behind the end of the result.
gpu.module @faulty {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<64 x f32>
  llvm.func @faulty(%y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>, heddle.grid = 1 : i64, heddle.signature = () -> tensor<32xf32>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %s = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %one, %s : f32, !llvm.ptr<3>
    %other = llvm.sub %c63, %t : i32
    %r = llvm.getelementptr %tile[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %r : !llvm.ptr<3> -> f32
    %p = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
