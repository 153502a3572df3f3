// What ptxas says becomes an error of its own; none leaves a file.
// DEFINE: %{cubin} = heddle-compile %s --emit=cubin --target=sm_80 --ptxas=%S/Inputs/fake-ptxas.sh -o %t.cubin
// RUN: rm -f %t.cubin

// PTX that is newer than ptxas: both versions and the option that lowers it.
// RUN: env FAKE_RELEASE=12.3 not %{cubin} --ptx-version=8.4 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: expected PTX that ptxas of CUDA 12.3 knows, up to ISA 8.3, got ISA 8.4; pass --ptx-version=8.3 or a newer ptxas as --ptxas=FILE

// RUN: env FAKE_STATUS=255 FAKE_REPORT="ptxas x.ptx, line 5; fatal : oops\nptxas fatal : aborted" not %{cubin} 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: error: '{{.*}}fake-ptxas.sh' fails on PTX for sm_80: ptxas x.ptx, line 5; fatal : oops; ptxas fatal : aborted

// RUN: env FAKE_REPORT="ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'k'" not %{cubin} 2>&1 | FileCheck %s --check-prefix=WGMMA
// WGMMA: error: ptxas serialised wgmma: ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources

// RUN: env FAKE_RELEASE=unknown not %{cubin} 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: error: expected ptxas of the CUDA toolkit, got '{{.*}}fake-ptxas.sh', which does not say its release
// RUN: not ls %t.cubin

// RUN: not heddle-compile %s --emit=cubin --target=sm_80 --ptxas=%t.none -o %t.cubin 2>&1 | FileCheck %s --check-prefix=ABSENT -DFILE=%t.none
// RUN: env PATH=/nowhere CUDA_HOME=%t.home not heddle-compile %s --emit=cubin --target=sm_80 -o %t.cubin 2>&1 | FileCheck %s --check-prefix=PLACES -DHOME=%t.home
// PLACES: found none at PATH, [[HOME]]/bin/ptxas; install it
// ABSENT: error: expected ptxas of the CUDA toolkit, found none at [[FILE]]; install it, set CUDA_HOME, pass --ptxas=FILE, or emit PTX, which the driver compiles

// A kernel that ptxas does not mention is no error; the facts are what it says.
// RUN: env FAKE_REPORT="ptxas info    : Compiling entry function 'k' for 'sm_80'\nptxas info    : Function properties for k\n    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\nptxas info    : Used 40 registers, 1 bytes smem, 360 bytes cmem[0]" %{cubin} --report | FileCheck %s --check-prefix=REPORT
// REPORT: kernel k: 40 registers, 8 and 4 bytes of spill stores and loads, 16 bytes of stack, 1 bytes of static shared memory{{$}}
// RUN: grep .version %t.cubin

gpu.module @kernels {
  llvm.func @k(%y: !llvm.ptr<1>, %v: i32) attributes {nvvm.kernel} {
    llvm.store %v, %y : i32, !llvm.ptr<1>
    llvm.return
  }
}
