// Attention: groups of heads, masks of all kinds, bias, sinks, score regions.

func.func @plain(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>) -> tensor<2x5x2x4xf32> {
  %o = heddle.attention %q, %k, %v : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}

func.func @lse_and_out(%q: tensor<2x4x5x3xf32>, %k: tensor<2x2x6x3xf32>, %v: tensor<2x2x6x4xf32>)
    -> (tensor<2x4x5x4xf32>, tensor<2x4x5xf32>) {
  %o, %l = heddle.attention %q, %k, %v layout = bhsd {scale = 0.75}
    : tensor<2x4x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x2x6x4xf32> -> tensor<2x4x5x4xf32>, tensor<2x4x5xf32>
  return %o, %l : tensor<2x4x5x4xf32>, tensor<2x4x5xf32>
}

func.func @lse_alone(%q: tensor<1x5x2x3xf32>, %k: tensor<1x6x2x3xf32>, %v: tensor<1x6x2x4xf32> {test.constant}) -> tensor<1x2x5xf32> {
  %o, %l = heddle.attention %q, %k, %v : tensor<1x5x2x3xf32>, tensor<1x6x2x3xf32>, tensor<1x6x2x4xf32> -> tensor<1x5x2x4xf32>, tensor<1x2x5xf32>
  return %l : tensor<1x2x5xf32>
}

func.func @rows_without_keys(%q: tensor<1x7x2x3xf32>, %k: tensor<1x4x1x3xf32>, %v: tensor<1x4x1x4xf32>) -> tensor<1x7x2x4xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<intersection<causal_lower_right, window<4, 0>>>}
    : tensor<1x7x2x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x4xf32> -> tensor<1x7x2x4xf32>
  return %o : tensor<1x7x2x4xf32>
}

func.func @one_tensor_three_times(%x: tensor<1x5x2x3xf32>) -> tensor<1x5x2x3xf32> {
  %o = heddle.attention %x, %x, %x {mask = #heddle.mask<causal>} : tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32> -> tensor<1x5x2x3xf32>
  return %o : tensor<1x5x2x3xf32>
}

func.func @attention_twice(%q: tensor<1x5x2x3xf32>, %k: tensor<1x5x2x3xf32>) -> tensor<1x5x2x3xf32> {
  %o = heddle.attention %q, %k, %k : tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32> -> tensor<1x5x2x3xf32>
  %p = heddle.attention %o, %k, %q : tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32> -> tensor<1x5x2x3xf32>
  return %p : tensor<1x5x2x3xf32>
}

func.func @masks_of_operands(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>,
    %qs: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 7 : i32, 0 : i32, 1 : i32, 2 : i32, 3 : i32, 3 : i32]},
    %ks: tensor<2x6xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32, 0 : i32, 0 : i32, 1 : i32, 1 : i32, 2 : i32, 3 : i32, 5 : i32]},
    %n: tensor<2xi32> {test.values = [4 : i32, 6 : i32]}) -> tensor<2x5x2x4xf32> {
  %m = arith.constant dense<[[[[true, true, false, true, true, true]]]]> : tensor<1x1x1x6xi1>
  %o = heddle.attention %q, %k, %v query_segments(%qs : tensor<2x5xi32>) key_segments(%ks : tensor<2x6xi32>)
    key_lengths(%n : tensor<2xi32>) mask_tensor(%m : tensor<1x1x1x6xi1>)
    : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}

func.func @bias_of_pairs(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>, %b: tensor<1x2x5x6xf32>)
    -> tensor<2x5x2x4xf32> {
  %o = heddle.attention %q, %k, %v bias(%b : tensor<1x2x5x6xf32>) : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}

func.func @bias_of_keys(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>, %b: tensor<2x1x1x6xf32>)
    -> tensor<2x5x2x4xf32> {
  %o = heddle.attention %q, %k, %v bias(%b : tensor<2x1x1x6xf32>) : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}

func.func @bias_of_queries_and_of_heads(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32> {test.zero}, %b: tensor<1x2x1x1xf32>,
    %c: tensor<1x1x5x1xf32>) -> (tensor<2x2x5xf32>, tensor<2x2x5xf32>) {
  %o, %l = heddle.attention %q, %k, %v bias(%b : tensor<1x2x1x1xf32>) : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>, tensor<2x2x5xf32>
  %p, %m = heddle.attention %q, %k, %v bias(%c : tensor<1x1x5x1xf32>) : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>, tensor<2x2x5xf32>
  return %l, %m : tensor<2x2x5xf32>, tensor<2x2x5xf32>
}

func.func @sinks(%q: tensor<2x5x2x3xf32>, %k: tensor<2x3x1x3xf32>, %v: tensor<2x3x1x4xf32>, %s: tensor<2xf32>)
    -> (tensor<2x5x2x4xf32>, tensor<2x2x5xf32>) {
  %o, %l = heddle.attention %q, %k, %v sinks(%s : tensor<2xf32>) {mask = #heddle.mask<causal_lower_right>}
    : tensor<2x5x2x3xf32>, tensor<2x3x1x3xf32>, tensor<2x3x1x4xf32> -> tensor<2x5x2x4xf32>, tensor<2x2x5xf32>
  return %o, %l : tensor<2x5x2x4xf32>, tensor<2x2x5xf32>
}

func.func @softcap(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>) -> tensor<2x5x2x4xf32> {
  %o = heddle.attention %q, %k, %v score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 0.5 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %cap : f32
    heddle.yield %y : f32
  } : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}

// The slope of a head comes from a table that is not differentiated.
func.func @slopes(%q: tensor<2x5x2x3xf32>, %k: tensor<2x6x2x3xf32>, %v: tensor<2x6x2x4xf32>) -> tensor<2x5x2x4xf32> {
  %table = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %o = heddle.attention %q, %k, %v score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %slope = tensor.extract %table[%h] : tensor<2xf32>
    %ii = arith.index_cast %i : index to i32
    %jj = arith.index_cast %j : index to i32
    %d = arith.subi %jj, %ii : i32
    %f = arith.sitofp %d : i32 to f32
    %p = arith.mulf %slope, %f : f32
    %e = arith.mulf %s, %s : f32
    %y = arith.addf %e, %p : f32
    heddle.yield %y : f32
  } : tensor<2x5x2x3xf32>, tensor<2x6x2x3xf32>, tensor<2x6x2x4xf32> -> tensor<2x5x2x4xf32>
  return %o : tensor<2x5x2x4xf32>
}
