// Structured ops: generics with projected-permutation maps, named ops, softmax,
// largest and smallest.

func.func @matmul(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<4x5xf32>) outs(%c : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

func.func @batch_matmul(%a: tensor<2x3x4xf32>, %b: tensor<2x4x2xf32>) -> tensor<2x3x2xf32> {
  %c = arith.constant dense<0.0> : tensor<2x3x2xf32>
  %y = linalg.batch_matmul ins(%a, %b : tensor<2x3x4xf32>, tensor<2x4x2xf32>) outs(%c : tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return %y : tensor<2x3x2xf32>
}

func.func @matvec_and_dot(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %d: tensor<3xf32>) -> tensor<f32> {
  %c = arith.constant dense<0.0> : tensor<3xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %v = linalg.matvec ins(%a, %b : tensor<3x4xf32>, tensor<4xf32>) outs(%c : tensor<3xf32>) -> tensor<3xf32>
  %y = linalg.dot ins(%v, %d : tensor<3xf32>, tensor<3xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Products of rounded operands, accumulated in f32 and rounded.
func.func @matmul_of_casts(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xbf16> {
  %c = arith.constant dense<0.0> : tensor<3x5xf32>
  %ah = arith.truncf %a : tensor<3x4xf32> to tensor<3x4xbf16>
  %bh = arith.truncf %b : tensor<4x5xf32> to tensor<4x5xbf16>
  %p = linalg.matmul ins(%ah, %bh : tensor<3x4xbf16>, tensor<4x5xbf16>) outs(%c : tensor<3x5xf32>) -> tensor<3x5xf32>
  %y = arith.truncf %p : tensor<3x5xf32> to tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// One contraction over two axes, with a transposed result and a batch axis.
func.func @contraction(%a: tensor<2x3x4x5xf32>, %b: tensor<5x2x4x2xf32>) -> tensor<2x2x3xf32> {
  %c = arith.constant dense<0.0> : tensor<2x2x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, m, n, k, l) -> (b, m, k, l)>,
      affine_map<(b, m, n, k, l) -> (l, b, k, n)>, affine_map<(b, m, n, k, l) -> (b, n, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<2x3x4x5xf32>, tensor<5x2x4x2xf32>) outs(%c : tensor<2x2x3xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2x3xf32>
  return %y : tensor<2x2x3xf32>
}

// A body with several ops, a broadcast, a transposition and an axis of size one.
func.func @elementwise_body(%a: tensor<3x4xf32>, %r: tensor<3xf32> {test.low = 0.5 : f64, test.high = 2.0 : f64},
                            %t: tensor<4x3xf32>, %u: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %r, %t, %u : tensor<3x4xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<3x1xf32>)
      outs(%e : tensor<3x4xf32>) {
  ^bb0(%x: f32, %s: f32, %z: f32, %v: f32, %o: f32):
    %c = arith.constant 0.5 : f32
    %0 = arith.divf %x, %s : f32
    %1 = math.tanh %0 : f32
    %2 = arith.mulf %1, %z : f32
    %3 = math.fma %v, %2, %c : f32
    %4 = arith.maximumf %3, %z : f32
    linalg.yield %4 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// Element 1 of an axis that no loop indexes.
func.func @constant_position(%a: tensor<3x4xf32>) -> tensor<3xf32> attributes {test.no_cpu} {
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 1)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%a : tensor<3x4xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.exp %x : f32
    linalg.yield %0 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// Reads what it writes over.
func.func @reads_its_output(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<3x4xf32>) outs(%b : tensor<3x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.mulf %x, %o : f32
    %1 = arith.mulf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// Positions select; results of two kinds.
func.func @index_and_two_results(%a: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>) {
  %e = tensor.empty() : tensor<3x4xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %y, %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<3x4xf32>, tensor<4xf32>)
      outs(%e, %f : tensor<3x4xf32>, tensor<4x3xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32, %p: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %i, %j : index
    %0 = arith.mulf %x, %w : f32
    %1 = arith.select %c, %0, %x : f32
    %2 = math.sin %0 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<3x4xf32>, tensor<4x3xf32>)
  return %y, %z : tensor<3x4xf32>, tensor<4x3xf32>
}

// Sums: the term may come first, be subtracted, or be an addend of fma.
func.func @sums(%a: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %z = arith.constant dense<1.0> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%a, %b : tensor<3x4xf32>, tensor<3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %0 = arith.subf %acc, %x : f32
    %1 = math.fma %x, %w, %0 : f32
    %2 = math.exp %w : f32
    %3 = arith.addf %2, %1 : f32
    linalg.yield %3 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// A term that does not depend on the loop it is summed over.
func.func @sum_of_copies(%b: tensor<3xf32>, %c: tensor<4xf32> {test.constant}) -> tensor<3xf32> {
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%b, %c : tensor<3xf32>, tensor<4xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %0 = math.sin %x : f32
    %1 = arith.addf %0, %w : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// A 16-bit accumulator.
func.func @sum_in_bf16(%a: tensor<3x4xf32>, %i: tensor<3xf32>) -> tensor<3xbf16> {
  %h = arith.truncf %a : tensor<3x4xf32> to tensor<3x4xbf16>
  %z = arith.truncf %i : tensor<3xf32> to tensor<3xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%h : tensor<3x4xbf16>) outs(%z : tensor<3xbf16>) {
  ^bb0(%x: bf16, %acc: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.extf %acc : bf16 to f32
    %3 = arith.addf %2, %1 : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}

func.func @named_ops(%a: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %e = tensor.empty() : tensor<3x4xf32>
  %t = tensor.empty() : tensor<4x3xf32>
  %s = linalg.reduce ins(%a : tensor<3x4xf32>) outs(%z : tensor<3xf32>) dimensions = [1]
    (%in: f32, %acc: f32) {
      %0 = arith.mulf %in, %in : f32
      %1 = arith.addf %0, %acc : f32
      linalg.yield %1 : f32
    }
  %w = linalg.broadcast ins(%s : tensor<3xf32>) outs(%e : tensor<3x4xf32>) dimensions = [1]
  %m = linalg.map ins(%w, %a : tensor<3x4xf32>, tensor<3x4xf32>) outs(%e : tensor<3x4xf32>)
    (%p: f32, %q: f32, %o: f32) {
      %0 = arith.mulf %p, %q : f32
      linalg.yield %0 : f32
    }
  %n = linalg.transpose ins(%m : tensor<3x4xf32>) outs(%t : tensor<4x3xf32>) permutation = [1, 0]
  %y = linalg.exp ins(%n : tensor<4x3xf32>) outs(%t : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// A scalar that fills a tensor and is read by a body.
func.func @fill(%a: tensor<f32>, %b: tensor<3xf32>) -> tensor<3xf32> attributes {test.no_cpu} {
  %s = tensor.extract %a[] : tensor<f32>
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%s, %f, %b : f32, tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%x: f32, %v: f32, %w: f32, %o: f32):
    %0 = arith.mulf %x, %w : f32
    %1 = arith.mulf %0, %v : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

func.func @softmax(%a: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %e = tensor.empty() : tensor<2x3x4xf32>
  %y = linalg.softmax dimension(1) ins(%a : tensor<2x3x4xf32>) outs(%e : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// The maximum that shifts an exponential cancels.
func.func @softmax_by_parts(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %lowest = arith.constant dense<0xFF800000> : tensor<3xf32>
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %e = tensor.empty() : tensor<3x4xf32>
  %m = linalg.reduce { arith.maximumf } ins(%a : tensor<3x4xf32>) outs(%lowest : tensor<3xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %m : tensor<3x4xf32>, tensor<3xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %0 = arith.subf %x, %w : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4xf32>
  %s = linalg.reduce { arith.addf } ins(%p : tensor<3x4xf32>) outs(%zero : tensor<3xf32>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<3x4xf32>, tensor<3xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %0 = arith.divf %x, %w : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

func.func @largest_of_products(%a: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3xf32> {
  %lowest = arith.constant dense<0xFF800000> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%a, %b : tensor<3x4xf32>, tensor<4xf32>) outs(%lowest : tensor<3xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %0 = arith.mulf %x, %w : f32
    %1 = arith.maximumf %0, %acc : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// The initial value takes part.
func.func @smallest_with_initial_value(%a: tensor<3x4xf32>, %i: tensor<4xf32> {test.low = -1.1 : f64, test.high = -0.4 : f64}) -> tensor<4xf32> {
  %y = linalg.reduce { arith.minnumf } ins(%a : tensor<3x4xf32>) outs(%i : tensor<4xf32>) dimensions = [0]
  return %y : tensor<4xf32>
}

// A layer norm with scale and shift, then GELU by tanh.
func.func @norm_and_gelu(%a: tensor<3x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %e = tensor.empty() : tensor<3x4xf32>
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<3x4xf32>) outs(%zero : tensor<3xf32>) dimensions = [1]
  %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %sum : tensor<3x4xf32>, tensor<3xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %c = arith.constant 4.0 : f32
    %0 = arith.divf %s, %c : f32
    %1 = arith.subf %x, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%centred : tensor<3x4xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %0 = arith.mulf %x, %x : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%centred, %squares, %g, %b : tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%x: f32, %v: f32, %s: f32, %t: f32, %o: f32):
    %n = arith.constant 4.0 : f32
    %eps = arith.constant 1.0e-3 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %k = arith.constant 0.797884583 : f32
    %k3 = arith.constant 4.471500e-02 : f32
    %0 = arith.divf %v, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %x, %2 : f32
    %4 = arith.mulf %3, %s : f32
    %5 = arith.addf %4, %t : f32
    %6 = arith.mulf %5, %5 : f32
    %7 = arith.mulf %6, %5 : f32
    %8 = arith.mulf %7, %k3 : f32
    %9 = arith.addf %5, %8 : f32
    %10 = arith.mulf %9, %k : f32
    %11 = math.tanh %10 : f32
    %12 = arith.addf %11, %one : f32
    %13 = arith.mulf %5, %half : f32
    %14 = arith.mulf %13, %12 : f32
    linalg.yield %14 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

func.func @region_by_checkpoint_and_name(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = heddle.checkpoint policy<save_names<["e"]>> (%p = %a, %q = %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
    %0 = math.exp %p : tensor<3xf32>
    %1 = heddle.name %0 "e" : tensor<3xf32>
    %2 = arith.mulf %1, %q : tensor<3xf32>
    heddle.yield %2 : tensor<3xf32>
  }
  return %y : tensor<3xf32>
}
