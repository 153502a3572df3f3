// What the CPU compiler does not take gives one error that says what to do.

// RUN: %check %s %t

// ERROR: expected a tensor result outside of regions, got 'f32'; keep the value in a tensor of rank 0
func.func @scalars_between_ops(%x: tensor<f32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %e = tensor.extract %x[] : tensor<f32>
  %s = tensor.splat %e : tensor<4x5xf32>
  %z = arith.addf %s, %y : tensor<4x5xf32>
  return %z : tensor<4x5xf32>
}

// ERROR: 'tensor.gather' op has no kernel yet; run it with --device=reference
func.func @tensor_gather(%x: tensor<4x5xf32>, %i: tensor<3x1xindex>) -> tensor<3x1x5xf32> {
  %g = tensor.gather %x[%i] gather_dims([0]) : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3x1x5xf32>
  return %g : tensor<3x1x5xf32>
}

// ERROR: 'tensor.from_elements' op has no form on scalars on the CPU; run the model with --device=reference
func.func @tensors_inside_a_body() -> tensor<2xindex> {
  %g = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.from_elements %i, %i : tensor<2xindex>
    %d = tensor.extract %e[%i] : tensor<2xindex>
    tensor.yield %d : index
  } : tensor<2xindex>
  return %g : tensor<2xindex>
}

// ERROR: expected a static shape, got tensor<?x4xf32>; compile one specialisation per shape
func.func @dynamic_shape(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// ERROR: expected pairs of real tensors for complex values
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  return %x : tensor<4xcomplex<f32>>
}

// ERROR: 'scf.for' is not part of a model
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %b = math.exp %a : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// ERROR: i4
func.func @narrow_integers(%x: tensor<4xi4>) -> tensor<4xi4> {
  %y = arith.addi %x, %x : tensor<4xi4>
  return %y : tensor<4xi4>
}

// ERROR: expected a dense constant, got sparse
func.func @sparse_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  %y = arith.addf %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}

// ERROR: expected no chunk_states on a CPU, got chunk = 2; use --target=sm_80 or another GPU
func.func @states_of_chunks(%u: tensor<1x4x4xf32>, %a: tensor<4x3xf32>, %b: tensor<1x4x3xf32>) -> (tensor<1x4x4xf32>, tensor<1x1x4x3xf32>) {
  %y, %s = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2} : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<4x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32> -> tensor<1x4x4xf32>, chunk_states tensor<1x1x4x3xf32>
  return %y, %s : tensor<1x4x4xf32>, tensor<1x1x4x3xf32>
}
