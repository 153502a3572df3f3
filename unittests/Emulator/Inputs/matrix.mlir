// Products on matrix units: C (16 x 8, f32) = A (16 x K, row major) times
// B (8 x K: columns of the product contiguous).

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

// One warp, bf16, tiles of 16 along K. Two buffers of 768 bytes: A tile at 0
// (16 rows of 32 bytes), B tile at 512 (8 rows of 32 bytes). The copy of the
// next tile is in flight while the current one is multiplied.
llvm.func @gemm_bf16(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %k: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c7 = llvm.mlir.constant(7 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c15 = llvm.mlir.constant(15 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c512 = llvm.mlir.constant(512 : i32) : i32
  %c768 = llvm.mlir.constant(768 : i32) : i32
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  // Copies: lane l moves 16 bytes of A row l/2, and lanes 0-15 of B row l/2.
  %row = llvm.lshr %lane, %c1 : i32
  %half = llvm.and %lane, %c1 : i32
  %half8 = llvm.mul %half, %c8 : i32
  %rowk = llvm.mul %row, %k : i32
  %source = llvm.add %rowk, %half8 : i32
  %row32 = llvm.mul %row, %c32 : i32
  %half16 = llvm.mul %half, %c16 : i32
  %target = llvm.add %row32, %half16 : i32
  %copiesb = llvm.icmp "ult" %lane, %c16 : i32
  // ldmatrix: lanes 0-15 name rows at column 0, lanes 16-31 at column 8.
  %mrow = llvm.and %lane, %c15 : i32
  %mhalf = llvm.lshr %lane, %c4 : i32
  %mrow32 = llvm.mul %mrow, %c32 : i32
  %mhalf16 = llvm.mul %mhalf, %c16 : i32
  %aoff = llvm.add %mrow32, %mhalf16 : i32
  // B: lanes 0-7 rows at column 0, lanes 8-15 at column 8.
  %brow = llvm.and %lane, %c7 : i32
  %bh0 = llvm.lshr %lane, %c3 : i32
  %bhalf = llvm.and %bh0, %c1 : i32
  %brow32 = llvm.mul %brow, %c32 : i32
  %bhalf16 = llvm.mul %bhalf, %c16 : i32
  %boff0 = llvm.add %brow32, %bhalf16 : i32
  %boff = llvm.add %boff0, %c512 : i32
  llvm.br ^copy(%c0, %c0, %zero, %zero, %zero, %zero : i32, i32, f32, f32, f32, f32)

// Starts the copy of the tile at column %kk into buffer %at, if there is one.
^copy(%kk: i32, %at: i32, %d0: f32, %d1: f32, %d2: f32, %d3: f32):
  %has = llvm.icmp "slt" %kk, %k : i32
  llvm.cond_br %has, ^issue, ^commit
^issue:
  %sa = llvm.add %source, %kk : i32
  %pa = llvm.getelementptr %a[%sa] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %ta = llvm.add %target, %at : i32
  %da = llvm.getelementptr %shared[%ta] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  nvvm.cp.async.shared.global %da, %pa, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.cond_br %copiesb, ^issueb, ^commit
^issueb:
  %pb = llvm.getelementptr %b[%sa] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %tb = llvm.add %ta, %c512 : i32
  %db = llvm.getelementptr %shared[%tb] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  nvvm.cp.async.shared.global %db, %pb, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.br ^commit
^commit:
  nvvm.cp.async.commit.group
  %isfirst = llvm.icmp "eq" %kk, %c0 : i32
  %nextk = llvm.add %kk, %c16 : i32
  %nextat = llvm.sub %c768, %at : i32
  llvm.cond_br %isfirst, ^copy(%nextk, %nextat, %d0, %d1, %d2, %d3 : i32, i32, f32, f32, f32, f32), ^multiply
// The tile before the newest has arrived: it lies in the other buffer.
^multiply:
  nvvm.cp.async.wait.group 1
  nvvm.bar.warp.sync %all : i32
  %pA0 = llvm.add %aoff, %nextat : i32
  %pA = llvm.getelementptr %shared[%pA0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %fa = nvvm.ldmatrix %pA {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %pB0 = llvm.add %boff, %nextat : i32
  %pB = llvm.getelementptr %shared[%pB0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %fb = nvvm.ldmatrix %pB {num = 2 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
  %a0 = llvm.extractvalue %fa[0] : !llvm.struct<(i32, i32, i32, i32)>
  %a1 = llvm.extractvalue %fa[1] : !llvm.struct<(i32, i32, i32, i32)>
  %a2 = llvm.extractvalue %fa[2] : !llvm.struct<(i32, i32, i32, i32)>
  %a3 = llvm.extractvalue %fa[3] : !llvm.struct<(i32, i32, i32, i32)>
  %b0 = llvm.extractvalue %fb[0] : !llvm.struct<(i32, i32)>
  %b1 = llvm.extractvalue %fb[1] : !llvm.struct<(i32, i32)>
  %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%d0, %d1, %d2, %d3] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %e0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  %e1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
  %e2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
  %e3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
  // The other lanes have read the buffer that the next copy overwrites.
  nvvm.bar.warp.sync %all : i32
  // %kk is the newest tile; while it is within K there is one more to do.
  %more = llvm.icmp "slt" %kk, %k : i32
  llvm.cond_br %more, ^copy(%nextk, %nextat, %e0, %e1, %e2, %e3 : i32, i32, f32, f32, f32, f32), ^store
^store:
  %group = llvm.lshr %lane, %c2 : i32
  %member = llvm.and %lane, %c3 : i32
  %col = llvm.mul %member, %c2 : i32
  %g8 = llvm.mul %group, %c8 : i32
  %upper = llvm.add %g8, %col : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %lower = llvm.add %upper, %c64 : i32
  %pu = llvm.getelementptr %c[%upper] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pl = llvm.getelementptr %c[%lower] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %u0 = llvm.mlir.poison : vector<2xf32>
  %u1 = llvm.insertelement %e0, %u0[%c0 : i32] : vector<2xf32>
  %u2 = llvm.insertelement %e1, %u1[%c1 : i32] : vector<2xf32>
  %l1 = llvm.insertelement %e2, %u0[%c0 : i32] : vector<2xf32>
  %l2 = llvm.insertelement %e3, %l1[%c1 : i32] : vector<2xf32>
  llvm.store %u2, %pu : vector<2xf32>, !llvm.ptr<1>
  llvm.store %l2, %pl : vector<2xf32>, !llvm.ptr<1>
  llvm.return
}

// Fragments straight from memory, one mma each: register r of lane l is word
// 32 r + l of its operand.
llvm.func @mma_f16(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %pa = llvm.getelementptr %a[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf16>
  %pb = llvm.getelementptr %b[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf16>
  %pc = llvm.getelementptr %c[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf16>
  %pd = llvm.getelementptr %d[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf16>
  %pa1 = llvm.getelementptr %pa[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %pa2 = llvm.getelementptr %pa[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %pa3 = llvm.getelementptr %pa[96] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %pb1 = llvm.getelementptr %pb[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %pc1 = llvm.getelementptr %pc[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %pd1 = llvm.getelementptr %pd[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf16>
  %a0 = llvm.load %pa : !llvm.ptr<1> -> vector<2xf16>
  %a1 = llvm.load %pa1 : !llvm.ptr<1> -> vector<2xf16>
  %a2 = llvm.load %pa2 : !llvm.ptr<1> -> vector<2xf16>
  %a3 = llvm.load %pa3 : !llvm.ptr<1> -> vector<2xf16>
  %b0 = llvm.load %pb : !llvm.ptr<1> -> vector<2xf16>
  %b1 = llvm.load %pb1 : !llvm.ptr<1> -> vector<2xf16>
  %c0 = llvm.load %pc : !llvm.ptr<1> -> vector<2xf16>
  %c1 = llvm.load %pc1 : !llvm.ptr<1> -> vector<2xf16>
  %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  %d0 = llvm.extractvalue %r[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  %d1 = llvm.extractvalue %r[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.store %d0, %pd : vector<2xf16>, !llvm.ptr<1>
  llvm.store %d1, %pd1 : vector<2xf16>, !llvm.ptr<1>
  llvm.return
}

llvm.func @mma_tf32(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %d: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %pa = llvm.getelementptr %a[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %pb = llvm.getelementptr %b[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %pd = llvm.getelementptr %d[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pa1 = llvm.getelementptr %pa[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %pa2 = llvm.getelementptr %pa[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %pa3 = llvm.getelementptr %pa[96] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %pb1 = llvm.getelementptr %pb[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %pd1 = llvm.getelementptr %pd[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pd2 = llvm.getelementptr %pd[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %pd3 = llvm.getelementptr %pd[96] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %a0 = llvm.load %pa : !llvm.ptr<1> -> i32
  %a1 = llvm.load %pa1 : !llvm.ptr<1> -> i32
  %a2 = llvm.load %pa2 : !llvm.ptr<1> -> i32
  %a3 = llvm.load %pa3 : !llvm.ptr<1> -> i32
  %b0 = llvm.load %pb : !llvm.ptr<1> -> i32
  %b1 = llvm.load %pb1 : !llvm.ptr<1> -> i32
  %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %r[0] : !llvm.struct<(f32, f32, f32, f32)>
  %d1 = llvm.extractvalue %r[1] : !llvm.struct<(f32, f32, f32, f32)>
  %d2 = llvm.extractvalue %r[2] : !llvm.struct<(f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %r[3] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %d0, %pd : f32, !llvm.ptr<1>
  llvm.store %d1, %pd1 : f32, !llvm.ptr<1>
  llvm.store %d2, %pd2 : f32, !llvm.ptr<1>
  llvm.store %d3, %pd3 : f32, !llvm.ptr<1>
  llvm.return
}

// A transposed 8 x 8 matrix: ldmatrix.trans out of shared memory, stmatrix
// back, rows of 16 bytes at a pitch given by the caller.
llvm.func @transpose8(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %pitch: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %c7 = llvm.mlir.constant(7 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  %px = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %py = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %group = llvm.lshr %lane, %c2 : i32
  %member = llvm.and %lane, %c3 : i32
  %m4 = llvm.mul %member, %c4 : i32
  %r = llvm.mul %group, %pitch : i32
  %w = llvm.add %r, %m4 : i32
  %pw = llvm.getelementptr %shared[%w] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %v = llvm.load %px : !llvm.ptr<1> -> i32
  llvm.store %v, %pw : i32, !llvm.ptr<3>
  nvvm.bar.warp.sync %all : i32
  %row = llvm.and %lane, %c7 : i32
  %rowat = llvm.mul %row, %pitch : i32
  %prow = llvm.getelementptr %shared[%rowat] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %t = nvvm.ldmatrix %prow {num = 1 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
  nvvm.bar.warp.sync %all : i32
  nvvm.stmatrix %prow, %t {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32
  nvvm.bar.warp.sync %all : i32
  %o = llvm.load %pw : !llvm.ptr<3> -> i32
  llvm.store %o, %py : i32, !llvm.ptr<1>
  llvm.return
}
