// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-verify-tiles

// expected-error@+1 {{contract T: expected one scf.forall over the grid}}
func.func private @a_kernel_has_a_grid(%x: memref<4xf32>) attributes {heddle.family = "matmul"} {
  return
}

// -----

func.func private @buffers_are_not_read_directly(%x: memref<4xf32>) attributes {heddle.family = "matmul"} {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{contract T: is not in the list of tile ops}}
    %v = memref.load %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func private @tiles_are_static(%x: memref<4xf32>, %n: index) attributes {heddle.family = "matmul"} {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{contract T: expected a static tile, got 'tensor<?xf32>'}}
    %v = tensor.empty(%n) : tensor<?xf32>
  }
  return
}
