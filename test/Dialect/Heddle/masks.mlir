// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --verify-roundtrip -o /dev/null

// CHECK-LABEL: func @masks_print_as_written
// CHECK: #heddle.mask<causal>
// CHECK: #heddle.mask<causal_upper_left>
// CHECK: #heddle.mask<causal_lower_right>
// CHECK: #heddle.mask<window<-3, 128>>
// CHECK: #heddle.mask<prefix<0>>
// CHECK: #heddle.mask<block_diagonal<96>>
// CHECK: #heddle.mask<affine_set<"(d0, d1) : (d0 - d1 >= 0, d1 mod 4 - 1 == 0)">>
// CHECK: #heddle.mask<union<prefix<4>, intersection<causal_lower_right, window<128, 0>>>>
// CHECK: #heddle.mask<intersection<causal>>
func.func @masks_print_as_written() attributes {
  m0 = #heddle.mask<causal>,
  m1 = #heddle.mask<causal_upper_left>,
  m2 = #heddle.mask<causal_lower_right>,
  m3 = #heddle.mask<window<-3, 128>>,
  m4 = #heddle.mask<prefix<0>>,
  m5 = #heddle.mask<block_diagonal<96>>,
  m6 = #heddle.mask<affine_set<"(i, j) : (i - j >= 0, j mod 4 - 1 == 0)">>,
  m7 = #heddle.mask<union<prefix<4>, intersection<causal_lower_right, window<128, 0>>>>,
  m8 = #heddle.mask<intersection<causal>>
} {
  return
}

// CHECK-LABEL: func @policies_print_as_written
// CHECK: #heddle.policy<none>
// CHECK: #heddle.policy<full>
// CHECK: #heddle.policy<dots_saveable>
// CHECK: #heddle.policy<save_names<["a b", "c"]>>
func.func @policies_print_as_written() attributes {
  p0 = #heddle.policy<none>,
  p1 = #heddle.policy<full>,
  p2 = #heddle.policy<dots_saveable>,
  p3 = #heddle.policy<save_names<["a b", "c"]>>
} {
  return
}
