// RUN: heddle-opt %s -verify-diagnostics -split-input-file

llvm.func @operands_are_f32(%x: f64) -> f32 {
  // expected-error@+1 {{operand #0 must be 32-bit float, but got 'f64'}}
  %a = "heddle_nvvm.ex2.approx.ftz"(%x) : (f64) -> f32
  llvm.return %a : f32
}

// -----

llvm.func @results_are_f32(%x: f32) -> f16 {
  // expected-error@+1 {{result #0 must be 32-bit float, but got 'f16'}}
  %a = "heddle_nvvm.tanh.approx"(%x) : (f32) -> f16
  llvm.return %a : f16
}
