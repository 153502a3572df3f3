// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the remat, layer, differentiation and
// indexing ops.

// -----

// /*checkpoint_c1*/
func.func @checkpoint_arguments_have_the_types_of_inputs(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected block arguments with the types of the inputs ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  "heddle.checkpoint"(%x) <{policy = #heddle.policy<full>}> ({
  ^bb0(%a: tensor<5xf32>):
    heddle.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

// /*checkpoint_c2*/
func.func @checkpoint_yields_its_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the region to yield the result types ('tensor<4xf32>'), got ()}}
  %0 = heddle.checkpoint policy<full> (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
  }
  return
}

// -----

// /*name_c1*/
func.func @name_is_not_empty(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a name of at least one character, got an empty one}}
  %0 = heddle.name %x "" : tensor<4xf32>
  return
}

// -----

// /*layer_scan_c1*/
func.func @there_is_a_stacked_operand(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected at least one stacked operand, which says how many layers there are, got none}}
  %0 = heddle.layer_scan carried(%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    heddle.yield %a : tensor<8xf32>
  }
  return
}

// -----

// /*layer_scan_c1*/
func.func @stacked_operands_have_a_layer_axis(%x: tensor<8xf32>, %w: tensor<3x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected stacked operand 1 of rank at least 1, got 'tensor<f32>'}}
  heddle.layer_scan stacked(%a = %w, %b = %s) : (tensor<3x8xf32>, tensor<f32>) -> () {
  }
  return
}

// -----

// /*layer_scan_c2*/
func.func @stacked_operands_agree_on_layers(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected 3 layers in stacked operand 1, got 8}}
  heddle.layer_scan stacked(%a = %w, %b = %x) : (tensor<3x8xf32>, tensor<8xf32>) -> () {
  }
  return
}

// -----

// /*layer_scan_c3*/
func.func @block_arguments_of_stacked_operands_lack_the_layer_axis(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected block arguments ('tensor<8xf32>') for carried values, slices of stacked ones and invariants, got ('tensor<3x8xf32>')}}
  "heddle.layer_scan"(%w) <{operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%a: tensor<3x8xf32>):
    heddle.yield
  }) : (tensor<3x8xf32>) -> ()
  return
}

// -----

// /*layer_scan_c4*/
func.func @carried_values_are_yielded_first(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected the region to yield the types of the carried values ('tensor<8xf32>') first, got ()}}
  heddle.layer_scan carried(%h = %x) stacked(%a = %w) : (tensor<8xf32>, tensor<3x8xf32>) -> () {
  }
  return
}

// -----

// /*layer_scan_c5*/
func.func @every_yielded_value_has_a_result(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected one result per yielded value, 2, got 1}}
  %0 = heddle.layer_scan carried(%h = %x) stacked(%a = %w) : (tensor<8xf32>, tensor<3x8xf32>) -> tensor<8xf32> {
    heddle.yield %a, %h : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// /*layer_scan_c5*/
func.func @per_layer_outputs_are_stacked(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{expected result 1 of type 'tensor<3x8xf32>', got 'tensor<8xf32>'}}
  %0:2 = heddle.layer_scan carried(%h = %x) stacked(%a = %w) : (tensor<8xf32>, tensor<3x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    heddle.yield %a, %h : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// /*layer_scan_c5*/
func.func @per_layer_outputs_are_tensors(%w: tensor<3xindex>) {
  // expected-error @+1 {{expected per-layer outputs to be ranked tensors, got 'index'}}
  %0 = heddle.layer_scan stacked(%a = %w) : (tensor<3xindex>) -> tensor<3xindex> {
    %1 = tensor.extract %a[] : tensor<index>
    heddle.yield %1 : index
  }
  return
}

// -----

// /*value_and_grad_c1*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @wrt_names_arguments(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected distinct argument numbers below 2 in wrt, got [2]}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [2]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c1*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @wrt_names_an_argument_once(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected distinct argument numbers below 2 in wrt, got [0, 0]}}
  %0:3 = heddle.value_and_grad @loss(%w, %n) wrt [0, 0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c1*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @wrt_is_not_empty(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected at least one argument number in wrt, got none}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt []
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c2*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @wrt_names_float_arguments(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected argument 1 to be a ranked float tensor, as it is in wrt, got 'tensor<4xi32>'}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [1]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c3*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @there_is_a_gradient_per_argument(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected one gradient per argument in wrt, 1, got 2}}
  %0:3 = heddle.value_and_grad @loss(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c3*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @gradient_has_the_type_of_its_argument(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected gradient of argument 0 of type 'tensor<4xf32>', got 'tensor<4xbf16>'}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xbf16>)
  return
}

// -----

// /*value_and_grad_c4*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<1xf32>
func.func @value_is_one_float(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected a float or a rank-0 float tensor as value, got 'tensor<1xf32>'}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<1xf32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c5*/
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @callee_exists(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected a function named @lost, found none}}
  %0:2 = heddle.value_and_grad @lost(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c5*/
// expected-note @+1 {{the function is here}}
func.func private @loss(tensor<4xf32>) -> tensor<f32>
func.func @callee_takes_the_inputs(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected inputs of types ('tensor<4xf32>') for @loss, got ('tensor<4xf32>', 'tensor<4xi32>')}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*value_and_grad_c6*/
// expected-note @+1 {{the function is here}}
func.func private @loss(tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
func.func @callee_returns_the_value_only(%w: tensor<4xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{expected @loss to return one 'tensor<f32>', got ('tensor<f32>', 'tensor<4xf32>')}}
  %0:2 = heddle.value_and_grad @loss(%w, %n) wrt [0]
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

// /*gather_c1*/
func.func @table_has_rows(%t: tensor<f32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected a table of rank at least 1, got 'tensor<f32>'}}
  %0 = heddle.gather %t[%i] : tensor<f32>, tensor<2xi32> -> tensor<2xf32>
  return
}

// -----

// /*gather_c2*/
func.func @indices_are_integers(%t: tensor<5x4xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{expected indices of integers or index, got 'tensor<2xf32>'}}
  %0 = heddle.gather %t[%i] : tensor<5x4xf32>, tensor<2xf32> -> tensor<2x4xf32>
  return
}

// -----

// /*gather_c3*/
func.func @clip_needs_a_row(%t: tensor<0x4xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected a table with at least one row to clip indices to, got 'tensor<0x4xf32>'; use mode = drop}}
  %0 = heddle.gather %t[%i] : tensor<0x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  return
}

// -----

// /*gather_c4*/
func.func @output_is_a_row_per_index(%t: tensor<5x4xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected output of type 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0 = heddle.gather %t[%i] : tensor<5x4xf32>, tensor<2xi32> -> tensor<4x2xf32>
  return
}

// -----

// /*scatter_add_c1*/
func.func @base_has_rows(%t: tensor<f32>, %u: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected a base of rank at least 1, got 'tensor<f32>'}}
  %0 = heddle.scatter_add %u into %t[%i] : tensor<2xf32>, tensor<f32>, tensor<2xi32>
  return
}

// -----

// /*scatter_add_c2*/
func.func @scatter_indices_are_integers(%t: tensor<5xf32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{expected indices of integers or index, got 'tensor<2xf32>'}}
  %0 = heddle.scatter_add %u into %t[%u] : tensor<2xf32>, tensor<5xf32>, tensor<2xf32>
  return
}

// -----

// /*scatter_add_c3*/
func.func @scatter_clip_needs_a_row(%t: tensor<0xf32>, %u: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected a base with at least one row to clip indices to, got 'tensor<0xf32>'; use mode = drop}}
  %0 = heddle.scatter_add %u into %t[%i] : tensor<2xf32>, tensor<0xf32>, tensor<2xi32>
  return
}

// -----

// /*scatter_add_c4*/
func.func @updates_are_a_row_per_index(%t: tensor<5x4xf32>, %u: tensor<2x3xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{expected updates of type 'tensor<2x4xf32>', got 'tensor<2x3xf32>'}}
  %0 = heddle.scatter_add %u into %t[%i] : tensor<2x3xf32>, tensor<5x4xf32>, tensor<2xi32>
  return
}

// -----

// /*random_bits_c1*/
func.func @bits_are_i32(%s: tensor<i64>) {
  // expected-error @+1 {{expected a static tensor of i32, got 'tensor<4xi64>'}}
  %0 = heddle.random_bits %s, %s : tensor<i64>, tensor<i64> -> tensor<4xi64>
  return
}

// -----

// /*random_bits_c1*/
func.func @bits_are_static(%s: tensor<i64>) {
  // expected-error @+1 {{expected a static tensor of i32, got 'tensor<?xi32>'}}
  %0 = heddle.random_bits %s, %s : tensor<i64>, tensor<i64> -> tensor<?xi32>
  return
}
