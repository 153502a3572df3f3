// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=128 key-tile=64 time-cap=1000" -split-input-file | FileCheck %s
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=128 key-tile=64 time-cap=1000 force-enumeration" -split-input-file | FileCheck %s --check-prefixes=CHECK,ENUM
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=128 key-tile=64 time-cap=1000 force-sets" -split-input-file | FileCheck %s --check-prefixes=CHECK,SETS
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=128 key-tile=64 time-cap=1000 force-blocks" -split-input-file | FileCheck %s --check-prefixes=CHECK,BLOCKS

// Blocks of 96 positions do not line up with tiles of 128 and 64.
// CHECK-LABEL: mask #heddle.mask<block_diagonal<96>>, positions 600x600, tiles 128x64
// ENUM-SAME:     by rows, enumerated
// SETS-SAME:     by elimination
// BLOCKS-SAME:   by blocks
// CHECK-NEXT:    query tile 0: [0, 3) partial
// CHECK-NEXT:    query tile 1: [1, 5) partial
// CHECK-NEXT:    query tile 2: [3, 6) partial
// CHECK-NEXT:    query tile 3: [6, 9) partial
// CHECK-NEXT:    query tile 4: [7, 10) partial
// CHECK-NEXT:    key tile 0: [0, 1) partial
// CHECK-NEXT:    key tile 1: [0, 2) partial
// CHECK:         key tile 9: [4, 5) partial
func.func @odd_blocks(%q: tensor<1x600x2x16xf32>, %k: tensor<1x600x2x16xf32>, %v: tensor<1x600x2x16xf32>) -> tensor<1x600x2x16xf32> {
  %out = heddle.attention %q, %k, %v {mask = #heddle.mask<block_diagonal<96>>}
    : tensor<1x600x2x16xf32>, tensor<1x600x2x16xf32>, tensor<1x600x2x16xf32> -> tensor<1x600x2x16xf32>
  return %out : tensor<1x600x2x16xf32>
}

// -----

// CHECK-LABEL: mask none, positions 130x60, tiles 128x64
// CHECK-NEXT:    query tile 0: [0, 1) full
// CHECK-NEXT:    query tile 1: [0, 1) full
// CHECK-NEXT:    key tile 0: [0, 2) full
func.func @no_mask_is_full(%q: tensor<1x130x2x16xf32>, %k: tensor<1x60x2x16xf32>, %v: tensor<1x60x2x16xf32>) -> tensor<1x130x2x16xf32> {
  %out = heddle.attention %q, %k, %v
    : tensor<1x130x2x16xf32>, tensor<1x60x2x16xf32>, tensor<1x60x2x16xf32> -> tensor<1x130x2x16xf32>
  return %out : tensor<1x130x2x16xf32>
}

// -----

// The lengths differ: the first 256 queries see no key at all.
// CHECK-LABEL: mask #heddle.mask<causal_lower_right>, positions 512x256
// CHECK-NEXT:    query tile 0: nothing
// CHECK-NEXT:    query tile 1: nothing
// CHECK-NEXT:    query tile 2: [0, 2) partial
// CHECK-NEXT:    query tile 3: [0, 2) full [2, 4) partial
// CHECK-NEXT:    key tile 0: [2, 3) partial [3, 4) full
func.func private @lower_right() attributes {test.mask_tiling = {
  mask = #heddle.mask<causal_lower_right>, query_length = 512, key_length = 256}}

// -----

// A prefix that all see beside a window leaves a hole.
// CHECK-LABEL: mask #heddle.mask<union<window<128, 0>, prefix<64>>>, positions 640x640
// CHECK:         query tile 3: [0, 1) full [4, 8) partial
// CHECK-NEXT:    query tile 4: [0, 1) full [6, 10) partial
// CHECK-NEXT:    key tile 0: [0, 5) full
// CHECK-NEXT:    key tile 1: [0, 2) partial
func.func private @unions_have_holes() attributes {test.mask_tiling = {
  mask = #heddle.mask<union<window<128, 0>, prefix<64>>>, query_length = 640, key_length = 640}}

// -----

// Every second block of 64 keys, up to the diagonal.
// CHECK-LABEL: mask #heddle.mask<affine_set<"(d0, d1) : ((d1 floordiv 64) mod 2 == 0, d0 - d1 >= 0)">>, positions 384x384
// CHECK-NEXT:    query tile 0: [0, 1) partial
// CHECK-NEXT:    query tile 1: [0, 1) full [2, 3) partial
// CHECK-NEXT:    query tile 2: [0, 1) full [2, 3) full [4, 5) partial
// CHECK-NEXT:    key tile 0: [0, 1) partial [1, 3) full
// CHECK-NEXT:    key tile 1: nothing
func.func private @strided_blocks() attributes {test.mask_tiling = {
  mask = #heddle.mask<affine_set<"(i, j) : ((j floordiv 64) mod 2 == 0, i - j >= 0)">>,
  query_length = 384, key_length = 384}}
