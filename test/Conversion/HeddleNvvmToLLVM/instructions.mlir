// RUN: heddle-opt %s --convert-heddle-nvvm-to-llvm | FileCheck %s
// RUN: heddle-opt %s --convert-heddle-nvvm-to-llvm | mlir-translate --mlir-to-llvmir | llc -mtriple=nvptx64 -mcpu=sm_90 -mattr=+ptx80 | FileCheck %s --check-prefix=PTX

// The instructions of the table, as LLVM's code generator spells them.

// CHECK-LABEL: llvm.func @instructions
// PTX-LABEL: instructions(
llvm.func @instructions(%x: f32) -> f32 {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%{{.*}}) : (f32) -> f32
  // PTX: ex2.approx.ftz.f32
  %a = heddle_nvvm.ex2.approx.ftz %x
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  // PTX: lg2.approx.ftz.f32
  %b = heddle_nvvm.lg2.approx.ftz %a
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
  // PTX: rsqrt.approx.ftz.f32
  %c = heddle_nvvm.rsqrt.approx.ftz %b
  // CHECK: llvm.inline_asm "tanh.approx.f32 $0, $1;", "=f,f" %{{.*}} : (f32) -> f32
  // PTX: tanh.approx.f32
  %d = heddle_nvvm.tanh.approx %c
  // CHECK-NOT: heddle_nvvm
  llvm.return %d : f32
}

// What upstream has needs no op of ours.

// PTX-LABEL: upstream(
llvm.func @upstream(%x: f32, %y: f32, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>) -> f32 {
  // PTX: rcp.approx.ftz.f32
  %a = nvvm.rcp.approx.ftz.f %x : f32
  // PTX: max.NaN.f32
  %b = llvm.intr.maximum(%a, %y) : (f32, f32) -> f32
  // PTX: min.f32
  %c = llvm.intr.minnum(%b, %y) : (f32, f32) -> f32
  // PTX: atom.global.add.f32
  %d = llvm.atomicrmw fadd %g, %c monotonic : !llvm.ptr<1>, f32
  // PTX: atom.shared.add.f32
  %e = llvm.atomicrmw fadd %s, %d monotonic : !llvm.ptr<3>, f32
  // PTX: cvt.rn.bf16x2.f32
  %f = nvvm.convert.f32x2.to.bf16x2 %e, %y {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  // PTX: st.global
  llvm.store %f, %g : vector<2xbf16>, !llvm.ptr<1>
  llvm.return %e : f32
}
