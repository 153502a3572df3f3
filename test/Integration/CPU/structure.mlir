// Functions as a whole: what is returned, how often, unused arguments, regions
// of the graph level, several functions of a module.

// RUN: %check %s %t

func.func @argument_is_returned(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  return %x : tensor<3x5xf32>
}

func.func @argument_is_returned_twice_and_used(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %y = arith.addf %x, %x : tensor<3x5xf32>
  return %x, %y, %x : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

func.func @value_is_returned_twice(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %y = arith.addf %x, %x : tensor<3x5xf32>
  return %y, %y : tensor<3x5xf32>, tensor<3x5xf32>
}

func.func @value_and_a_view_of_it_are_returned(%x: tensor<3x5xf32>) -> (tensor<15xf32>, tensor<3x5xf32>, tensor<5xf32>) {
  %y = math.tanh %x : tensor<3x5xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<3x5xf32> into tensor<15xf32>
  %s = tensor.extract_slice %y[2, 0] [1, 5] [1, 1] : tensor<3x5xf32> to tensor<5xf32>
  return %c, %y, %s : tensor<15xf32>, tensor<3x5xf32>, tensor<5xf32>
}

// EXPECT 0: [1, 2, 3]
// EXPECT 1: [2.5, 2.5, 2.5, 2.5]
// EXPECT 2: [True, False]
// EXPECT 3: [-1, 5]
func.func @constants_are_returned() -> (tensor<3xf32>, tensor<2x2xf32>, tensor<2xi1>, tensor<2xi64>) {
  %a = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = arith.constant dense<2.5> : tensor<2x2xf32>
  %c = arith.constant dense<[true, false]> : tensor<2xi1>
  %d = arith.constant dense<[-1, 5]> : tensor<2xi64>
  return %a, %b, %c, %d : tensor<3xf32>, tensor<2x2xf32>, tensor<2xi1>, tensor<2xi64>
}

func.func @fill_is_returned() -> tensor<3x40xf32> {
  %c = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<3x40xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<3x40xf32>) -> tensor<3x40xf32>
  return %f : tensor<3x40xf32>
}

func.func @constants_of_every_width(%x: tensor<3xbf16>, %y: tensor<3xf16>, %z: tensor<3xi8>) -> (tensor<3xbf16>, tensor<3xf16>, tensor<3xi8>) {
  %a = arith.constant dense<[1.0, -2.0, 0.5]> : tensor<3xbf16>
  %b = arith.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf16>
  %c = arith.constant dense<[1, -2, 100]> : tensor<3xi8>
  %d = arith.addf %x, %a : tensor<3xbf16>
  %e = arith.mulf %y, %b : tensor<3xf16>
  %f = arith.addi %z, %c : tensor<3xi8>
  return %d, %e, %f : tensor<3xbf16>, tensor<3xf16>, tensor<3xi8>
}

func.func @unused_arguments(%x: tensor<3x5xf32>, %unused: tensor<1000xf32>, %y: tensor<3x5xf32>, %dead: tensor<5xf32>) -> tensor<3x5xf32> {
  %d = math.exp %dead : tensor<5xf32>
  %z = arith.subf %y, %x : tensor<3x5xf32>
  return %z : tensor<3x5xf32>
}

func.func @checkpoints_nest(%x: tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>) {
  %y:2 = heddle.checkpoint policy<full> (%a = %x) : (tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>) {
    %b = math.tanh %a : tensor<3x40xf32>
    %c = heddle.checkpoint policy<dots_saveable> (%d = %b) : (tensor<3x40xf32>) -> tensor<3x40xf32> {
      %e = heddle.name %d "tag" : tensor<3x40xf32>
      %f = arith.mulf %e, %e : tensor<3x40xf32>
      heddle.yield %f : tensor<3x40xf32>
    }
    heddle.yield %b, %c : tensor<3x40xf32>, tensor<3x40xf32>
  }
  return %y#0, %y#1 : tensor<3x40xf32>, tensor<3x40xf32>
}

func.func @layers(%x: tensor<8xf32>, %ws: tensor<5x8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) invariant(%c = %s)
      policy<full> : (tensor<8xf32>, tensor<5x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    %0 = arith.mulf %h, %w : tensor<8xf32>
    %1 = arith.addf %0, %c : tensor<8xf32>
    heddle.yield %1 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

func.func @layers_in_reverse(%x: tensor<8xf32>, %ws: tensor<5x8xf32>) -> tensor<8xf32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) policy<none> reverse
      : (tensor<8xf32>, tensor<5x8xf32>) -> tensor<8xf32> {
    %0 = arith.addf %h, %w : tensor<8xf32>
    %1 = math.tanh %0 : tensor<8xf32>
    heddle.yield %1 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

func.func @values_of_each_layer(%x: tensor<8xf32>, %ws: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
  %y:2 = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) policy<none>
      : (tensor<8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %0 = arith.addf %h, %w : tensor<8xf32>
    %1 = math.tanh %0 : tensor<8xf32>
    heddle.yield %1, %0 : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0, %y#1 : tensor<8xf32>, tensor<5x8xf32>
}

// The outputs stand by layer, whatever the direction.
func.func @values_of_each_layer_in_reverse(%x: tensor<8xf32>, %ws: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>, tensor<5xf32>) {
  %y:3 = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) reverse
      : (tensor<8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>, tensor<5xf32>) {
    %0 = arith.addf %h, %w : tensor<8xf32>
    %1 = math.tanh %0 : tensor<8xf32>
    %z = arith.constant dense<0.0> : tensor<f32>
    %s = linalg.reduce { arith.addf } ins(%1 : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0]
    heddle.yield %1, %0, %s : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  }
  return %y#0, %y#1, %y#2 : tensor<8xf32>, tensor<5x8xf32>, tensor<5xf32>
}

func.func @no_layers(%x: tensor<8xf32>, %ws: tensor<0x8xf32>) -> tensor<8xf32> {
  %y:2 = heddle.layer_scan carried(%h = %x) stacked(%w = %ws)
      : (tensor<8xf32>, tensor<0x8xf32>) -> (tensor<8xf32>, tensor<0x8xf32>) {
    %0 = arith.addf %h, %w : tensor<8xf32>
    heddle.yield %0, %0 : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0 : tensor<8xf32>
}

// A value that many later kernels read must not be written over.
func.func @long_lived_value(%x: tensor<33x40xf32>, %w: tensor<40x40xf32>) -> tensor<33x40xf32> {
  %z = arith.constant dense<0.0> : tensor<33x40xf32>
  %a = math.tanh %x : tensor<33x40xf32>
  %b = linalg.matmul ins(%a, %w : tensor<33x40xf32>, tensor<40x40xf32>) outs(%z : tensor<33x40xf32>) -> tensor<33x40xf32>
  %c = arith.addf %b, %a : tensor<33x40xf32>
  %d = linalg.matmul ins(%c, %w : tensor<33x40xf32>, tensor<40x40xf32>) outs(%z : tensor<33x40xf32>) -> tensor<33x40xf32>
  %e = arith.addf %d, %c : tensor<33x40xf32>
  %f = linalg.matmul ins(%e, %w : tensor<33x40xf32>, tensor<40x40xf32>) outs(%z : tensor<33x40xf32>) -> tensor<33x40xf32>
  %g = arith.mulf %f, %a : tensor<33x40xf32>
  return %g : tensor<33x40xf32>
}

// Results as scratch: the second result's buffer may hold the first one's input.
func.func @chain_into_results(%x: tensor<33x40xf32>) -> (tensor<33xf32>, tensor<33x40xf32>) {
  %a = math.exp %x : tensor<33x40xf32>
  %z = arith.constant dense<0.0> : tensor<33xf32>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<33x40xf32>) outs(%z : tensor<33xf32>) dimensions = [1]
  %e = tensor.empty() : tensor<33x40xf32>
  %b = linalg.broadcast ins(%s : tensor<33xf32>) outs(%e : tensor<33x40xf32>) dimensions = [1]
  %y = arith.divf %a, %b : tensor<33x40xf32>
  return %s, %y : tensor<33xf32>, tensor<33x40xf32>
}

func.func @attention_with_equal_operands(%x: tensor<2x40x2x8xf32>) -> tensor<2x40x2x8xf32> {
  %a = math.tanh %x : tensor<2x40x2x8xf32>
  %o = heddle.attention %a, %a, %a : tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32> -> tensor<2x40x2x8xf32>
  return %o : tensor<2x40x2x8xf32>
}

// The query dies in the attention, which may write over it; the second one must
// not, because key and query are one value.
func.func @attention_over_its_query(%x: tensor<2x40x2x8xf32>, %y: tensor<2x40x2x8xf32>) -> (tensor<2x40x2x8xf32>, tensor<2x2x40xf32>) {
  %a = math.tanh %x : tensor<2x40x2x8xf32>
  %o = heddle.attention %a, %y, %y : tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32> -> tensor<2x40x2x8xf32>
  %p, %lse = heddle.attention %o, %o, %y : tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32>, tensor<2x40x2x8xf32> -> tensor<2x40x2x8xf32>, tensor<2x2x40xf32>
  return %p, %lse : tensor<2x40x2x8xf32>, tensor<2x2x40xf32>
}

// A table of slopes that the score region reads.
func.func @score_region_reads_a_table(%q: tensor<1x40x3x8xf32>, %slopes: tensor<3xf32>) -> tensor<1x40x3x8xf32> {
  %o = heddle.attention %q, %q, %q score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %slope = tensor.extract %slopes[%h] : tensor<3xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %p = arith.mulf %slope, %df : f32
    %y = arith.addf %s, %p : f32
    heddle.yield %y : f32
  } {mask = #heddle.mask<causal>} : tensor<1x40x3x8xf32>, tensor<1x40x3x8xf32>, tensor<1x40x3x8xf32> -> tensor<1x40x3x8xf32>
  return %o : tensor<1x40x3x8xf32>
}

// A bias by distance, read per pair.
func.func @score_region_reads_relative_positions(%q: tensor<1x40x3x8xf32>, %table: tensor<3x79xf32>) -> tensor<1x40x3x8xf32> {
  %o = heddle.attention %q, %q, %q score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 39 : index
    %d = arith.subi %j, %i : index
    %e = arith.addi %d, %c : index
    %p = tensor.extract %table[%h, %e] : tensor<3x79xf32>
    %y = arith.addf %s, %p : f32
    heddle.yield %y : f32
  } : tensor<1x40x3x8xf32>, tensor<1x40x3x8xf32>, tensor<1x40x3x8xf32> -> tensor<1x40x3x8xf32>
  return %o : tensor<1x40x3x8xf32>
}

// Elements of index are 64 bits at the boundary.
// REFERENCE: none
// INPUT 0: [1, 2, 5000000000]
// EXPECT 0: [2, 4, 10000000000]
func.func @index_elements(%x: tensor<3xindex>) -> tensor<3xindex> {
  %y = arith.addi %x, %x : tensor<3xindex>
  return %y : tensor<3xindex>
}
