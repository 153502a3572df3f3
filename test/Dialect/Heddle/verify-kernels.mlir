// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-verify-kernels

// expected-error@+1 {{contract K: expected buffers, got argument of type 'tensor<4xf32>'}}
func.func @tensors_are_not_buffers(%x: tensor<4xf32>) {
  return
}

// -----

func.func @no_compute_outside_kernels(%x: memref<16xi8>) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{contract K: expected launches, copies and views of buffers only}}
  %v = memref.load %x[%c] : memref<16xi8>
  return
}
