// RUN: heddle-opt %s --heddle-split-scans=threads=4 | FileCheck %s
// RUN: heddle-opt %s --heddle-split-scans="threads=4 matrix-units" | FileCheck %s --check-prefix=GPU

// Two sequences, 100 channels in four tiles of 32 lanes: four blocks to a
// sequence for eight in all.
// CHECK-LABEL: func @sums_over_blocks_are_reductions
// CHECK: %{{.*}}, %{{.*}}, %[[GA:.*]], %[[GB:.*]], %{{.*}}, %[[GD:.*]] = heddle.selective_scan_grad {{.*}}partial_sums = 4
// CHECK-SAME: -> (tensor<2x5x100xbf16>, tensor<2x5x100xbf16>, tensor<2x100x3xf32>, tensor<4x2x5x3xf32>, tensor<4x2x5x3xf32>{{ ?}}, d tensor<2x100xf32>)
// CHECK: %[[A:.*]] = tensor.collapse_shape %[[GA]] {{\[}}[0], [1, 2]] : tensor<2x100x3xf32> into tensor<2x300xf32>
// CHECK: %[[SUM:.*]] = linalg.reduce { arith.addf } ins(%[[A]] : tensor<2x300xf32>)
// CHECK: %[[DA:.*]] = tensor.expand_shape %[[SUM]] {{\[}}[0, 1]] {{.*}} into tensor<100x3xf32>
// CHECK: %[[B:.*]] = tensor.collapse_shape %[[GB]] {{\[}}[0], [1, 2, 3]] : tensor<4x2x5x3xf32> into tensor<4x30xf32>
// CHECK: linalg.reduce { arith.addf } ins(%[[B]] : tensor<4x30xf32>)
// CHECK: %[[DB:.*]] = arith.truncf {{.*}} : tensor<2x5x3xf32> to tensor<2x5x3xbf16>
// CHECK: %[[DD:.*]] = linalg.reduce { arith.addf } ins(%[[GD]] : tensor<2x100xf32>)
// CHECK: return %[[DA]], %[[DB]], %[[DD]]

// On a GPU parts are blocks of threads, whatever the chip. One block has the 100 channels
// of a sequence, and its sums the type of b. Few parts are added side by side.
// GPU-LABEL: func @sums_over_blocks_are_reductions
// GPU: heddle.selective_scan_grad {{.*}}partial_sums = 1 : i64
// GPU-SAME: tensor<2x100x3xf32>, tensor<1x2x5x3xbf16>, tensor<1x2x5x3xbf16>
// GPU: %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1, 2]] : tensor<2x100x3xf32> into tensor<600xf32>
// GPU: %[[FIRST:.*]] = tensor.extract_slice %[[FLAT]][0] [300] [1]
// GPU: %[[SECOND:.*]] = tensor.extract_slice %[[FLAT]][300] [300] [1]
// GPU: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[FIRST]], %[[SECOND]] : tensor<300xf32>, tensor<300xf32>) outs(%{{.*}} : tensor<300xf32>)
// GPU-NOT: arith.truncf
func.func @sums_over_blocks_are_reductions(%u: tensor<2x5x100xbf16>, %a: tensor<100x3xf32>, %b: tensor<2x5x3xbf16>, %d: tensor<100xf32>)
    -> (tensor<100x3xf32>, tensor<2x5x3xbf16>, tensor<100xf32>) {
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<100xf32>)
    : tensor<2x5x100xbf16>, tensor<2x5x100xbf16>, tensor<100x3xf32>, tensor<2x5x3xbf16>, tensor<2x5x3xbf16>, tensor<2x5x100xbf16>
    -> (tensor<2x5x100xbf16>, tensor<2x5x100xbf16>, tensor<100x3xf32>, tensor<2x5x3xbf16>, tensor<2x5x3xbf16>, d tensor<100xf32>)
  return %0#2, %0#3, %0#5 : tensor<100x3xf32>, tensor<2x5x3xbf16>, tensor<100xf32>
}

// Sequences alone feed the workers: one block to each, and nothing to add but
// over the batch.
// CHECK-LABEL: func @one_part_is_the_whole
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[GC:.*]] = heddle.selective_scan_grad {{.*}}partial_sums = 1
// CHECK: %[[DC:.*]] = tensor.collapse_shape %[[GC]] {{\[}}[0, 1], [2], [3], [4]] : tensor<1x8x5x2x3xf32> into tensor<8x5x2x3xf32>
// CHECK: return %[[DC]]
func.func @one_part_is_the_whole(%u: tensor<8x5x100xf32>, %a: tensor<100x3xf32>, %b: tensor<8x5x2x3xf32>) -> tensor<8x5x2x3xf32> {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<8x5x100xf32>, tensor<8x5x100xf32>, tensor<100x3xf32>, tensor<8x5x2x3xf32>, tensor<8x5x2x3xf32>, tensor<8x5x100xf32>
    -> (tensor<8x5x100xf32>, tensor<8x5x100xf32>, tensor<100x3xf32>, tensor<8x5x2x3xf32>, tensor<8x5x2x3xf32>)
  return %0#4 : tensor<8x5x2x3xf32>
}

// A tile of 16 channels has 64 MiB of partial sums for all sequences, and 32 MiB of
// states at the start of chunks of 16 steps: 8 blocks, of 16 tiles each, have 768 MiB.
// GPU-LABEL: func @partial_sums_are_bounded
// GPU: heddle.selective_scan_grad {{.*}}partial_sums = 8
// GPU-SAME: tensor<8x4x16384x128xf32>{{ ?}}, scratch tensor<32704x2048xf32>)
func.func @partial_sums_are_bounded(%u: tensor<4x16384x2048xf32>, %a: tensor<2048x128xf32>, %b: tensor<4x16384x128xf32>) -> tensor<4x16384x2048xf32> {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<4x16384x2048xf32>, tensor<4x16384x2048xf32>, tensor<2048x128xf32>, tensor<4x16384x128xf32>, tensor<4x16384x128xf32>, tensor<4x16384x2048xf32> -> (tensor<4x16384x2048xf32>, tensor<4x16384x2048xf32>, tensor<2048x128xf32>, tensor<4x16384x128xf32>, tensor<4x16384x128xf32>)
  return %0#0 : tensor<4x16384x2048xf32>
}

// 313 tiles of 128 channels, in turn.
// GPU-LABEL: func @given_states_need_no_scratch
// GPU: heddle.selective_scan_grad {{.*}} chunk_states({{.*}}) {chunk = 32 : i64, partial_sums = 105 : i64}
// GPU-SAME: tensor<105x2x130x16xf32>{{ ?}})
// CHECK-LABEL: func @given_states_need_no_scratch
// CHECK-NOT: chunk = 32
func.func @given_states_need_no_scratch(%u: tensor<2x130x40000xf32>, %a: tensor<40000x16xf32>, %b: tensor<2x130x16xf32>, %h: tensor<2x4x40000x16xf32>) -> tensor<2x130x40000xf32> {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u chunk_states(%h : tensor<2x4x40000x16xf32>) {chunk = 32}
    : tensor<2x130x40000xf32>, tensor<2x130x40000xf32>, tensor<40000x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, tensor<2x130x40000xf32> -> (tensor<2x130x40000xf32>, tensor<2x130x40000xf32>, tensor<40000x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>)
  return %0#0 : tensor<2x130x40000xf32>
}

// Blocks of 64 channels leave partial sums. They round once, where they are stored.
// GPU-LABEL: func @few_parts_are_added_in_registers
// GPU: heddle.selective_scan_grad {{.*}}partial_sums = 4 : i64
// GPU: linalg.generic {{.*}}iterator_types = ["parallel"]} ins({{.*}} : tensor<160xf32>, tensor<160xf32>, tensor<160xf32>, tensor<160xf32>) outs(%{{.*}} : tensor<160xbf16>)
// GPU-COUNT-3: arith.addf
// GPU-NEXT: %[[SUM:.*]] = arith.truncf
// GPU-NEXT: linalg.yield %[[SUM]]
func.func @few_parts_are_added_in_registers(%u: tensor<2x5x256xbf16>, %a: tensor<256x16xf32>, %b: tensor<2x5x16xbf16>) -> tensor<2x5x16xbf16> {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<2x5x256xbf16>, tensor<2x5x256xbf16>, tensor<256x16xf32>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x5x256xbf16>
    -> (tensor<2x5x256xbf16>, tensor<2x5x256xbf16>, tensor<256x16xf32>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>)
  return %0#3 : tensor<2x5x16xbf16>
}

// Sums of many are strided, a thread to each element.
// GPU-LABEL: func @many_parts_are_summed_in_a_loop
// GPU: %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1, 2]] : tensor<17x100x3xf32> into tensor<5100xf32>
// GPU: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[FLAT]], %{{.*}} : tensor<5100xf32>, tensor<17xf32>) outs(%{{.*}} : tensor<300xf32>)
func.func @many_parts_are_summed_in_a_loop(%u: tensor<17x5x100xf32>, %a: tensor<100x3xf32>, %b: tensor<17x5x3xf32>) -> tensor<100x3xf32> {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<17x5x100xf32>, tensor<17x5x100xf32>, tensor<100x3xf32>, tensor<17x5x3xf32>, tensor<17x5x3xf32>, tensor<17x5x100xf32>
    -> (tensor<17x5x100xf32>, tensor<17x5x100xf32>, tensor<100x3xf32>, tensor<17x5x3xf32>, tensor<17x5x3xf32>)
  return %0#2 : tensor<100x3xf32>
}

// Chunks of time are parts of sums over time. 129 blocks take two tiles of 16 channels in
// turn, and states before two chunks of 8 steps are scratch.
// GPU-LABEL: func @sums_of_chunks
// GPU: %dinitial_state, %scratch = heddle.selective_scan_grad {{.*}} {fresh, partial_sums = 1 : i64}
// GPU-SAME: -> (tensor<1x4128x17xf32>, tensor<1x4128x17xf32>, tensor<129x17x256xf32>, tensor<1x1x4128x256xf32>, tensor<1x1x4128x256xf32>, initial_state tensor<1x17x256xf32>, scratch tensor<258x4096xf32>)
func.func @sums_of_chunks(%u: tensor<1x4128x17xf32>, %a: tensor<17x256xf32>, %b: tensor<1x4128x256xf32>, %h: tensor<1x129x17x256xf32>) -> tensor<17x256xf32> {
  %g:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<1x129x17x256xf32>) dfinal_state(%h : tensor<1x129x17x256xf32>) {fresh}
    : tensor<1x4128x17xf32>, tensor<1x4128x17xf32>, tensor<17x256xf32>, tensor<1x4128x256xf32>, tensor<1x4128x256xf32>, tensor<1x4128x17xf32>
    -> (tensor<1x4128x17xf32>, tensor<1x4128x17xf32>, tensor<17x256xf32>, tensor<1x4128x256xf32>, tensor<1x4128x256xf32>, initial_state tensor<1x17x256xf32>)
  return %g#2 : tensor<17x256xf32>
}
