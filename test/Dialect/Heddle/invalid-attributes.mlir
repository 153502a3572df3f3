// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected a mask term (causal, causal_upper_left, causal_lower_right, window, prefix, block_diagonal, affine_set, union, intersection), got 'diagonal'}}
func.func private @mask_terms_are_known() attributes {m = #heddle.mask<diagonal>}

// -----

// /*mask_c1*/
// expected-error @+1 {{expected 2 integers in window, got 1}}
func.func private @window_has_two_ends() attributes {m = #heddle.mask<window<3>>}

// -----

// /*mask_c2*/
// expected-error @+1 {{expected at least one term in union, got none}}
func.func private @union_has_a_term() attributes {m = #heddle.mask<union<>>}

// -----

// /*mask_c3*/
// expected-error @+1 {{expected a positive block size in block_diagonal, got 0}}
func.func private @block_size_is_positive() attributes {m = #heddle.mask<block_diagonal<0>>}

// -----

// /*mask_c3*/
// expected-error @+1 {{expected a prefix length of at least 0, got -1}}
func.func private @prefix_is_not_negative() attributes {m = #heddle.mask<prefix<-1>>}

// -----

// /*mask_c4*/
// expected-error @+1 {{expected integers of at most 2^40 in magnitude in window, got 9223372036854775807}}
func.func private @window_ends_do_not_overflow() attributes {m = #heddle.mask<window<9223372036854775807, 0>>}

// -----

// /*mask_c5*/
// expected-error @+1 {{expected a set over the two positions (i, j), got 2 dims and 1 symbols}}
func.func private @set_is_over_two_positions() attributes {m = #heddle.mask<affine_set<"(i, j)[s] : (i - s >= 0)">>}

// -----

// /*mask_c6*/
// expected-error @+1 {{expected divisors of floordiv, ceildiv and mod to be positive constants, got (d0, d1) : (d0 floordiv -2 >= 0)}}
func.func private @divisors_are_positive() attributes {m = #heddle.mask<affine_set<"(i, j) : (i floordiv -2 >= 0)">>}

// -----

// expected-error @+1 {{expected a remat policy (none, full, dots_saveable or save_names<["..."]>), got 'some'}}
func.func private @policies_are_known() attributes {p = #heddle.policy<some>}

// -----

// /*policy_c1*/
// expected-error @+1 {{expected at least one name in save_names, got none; use full to keep nothing}}
func.func private @save_names_has_a_name() attributes {p = #heddle.policy<save_names<[]>>}

// -----

// /*policy_c1*/
// expected-error @+1 {{expected distinct names in save_names, none of them empty, got "a"}}
func.func private @save_names_are_distinct() attributes {p = #heddle.policy<save_names<["a", "a"]>>}

// -----

func.func @a_misspelt_attribute_is_not_kept(%a: tensor<3xf32>, %b: tensor<2x4x3xf32>) {
  // expected-error @+1 {{expected attributes of the op (fresh, nan_resets, reverse) or names with a dialect's prefix, got 'revers'; write 'reverse'}}
  %h = heddle.linear_scan %a, %b {revers} : tensor<3xf32>, tensor<2x4x3xf32> -> (tensor<2x4x3xf32>)
  return
}

// -----

func.func @an_attribute_that_is_like_none(%a: tensor<3xf32>, %b: tensor<2x4x3xf32>) {
  // expected-error @+1 {{got 'chunk_size'; remove it, or give it a prefix}}
  %h = heddle.linear_scan %a, %b {chunk_size = 4} : tensor<3xf32>, tensor<2x4x3xf32> -> (tensor<2x4x3xf32>)
  return
}

// -----

func.func @attributes_of_others_have_a_prefix(%a: tensor<3xf32>, %b: tensor<2x4x3xf32>) {
  %h = heddle.linear_scan %a, %b {tool.note = "kept", reverse} : tensor<3xf32>, tensor<2x4x3xf32> -> (tensor<2x4x3xf32>)
  return
}
