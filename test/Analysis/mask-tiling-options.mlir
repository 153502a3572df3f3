// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=96 key-tile=64 time-cap=1000 closed-form" | FileCheck %s --check-prefix=FORM
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=96 key-tile=64 time-cap=1000 summary" | FileCheck %s --check-prefix=SUMMARY
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=96 key-tile=64 summary time-cap=0" 2>/dev/null | FileCheck %s --check-prefix=CAP
// RUN: heddle-opt %s -heddle-test-mask-tiling="query-tile=96 key-tile=64 summary time-cap=0" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark
// RUN: not heddle-opt %s -heddle-test-mask-tiling="query-tile=0" 2>&1 | FileCheck %s --check-prefix=BAD

// The bounds of causal loops are lines of slope 96 / 64.
// FORM-LABEL: mask #heddle.mask<causal>
// FORM:         query tiles: closed form
// FORM-NEXT:      begin = clamp((0 * t + 0) floordiv 1, 0, 0)
// FORM-NEXT:      end = clamp((3 * t + {{[0-9]+}}) floordiv 2,
// FORM-NEXT:      full begin = clamp((0 * t + 0) floordiv 1, 0, 0)
// FORM-NEXT:      full end = clamp((3 * t + {{[0-9]+}}) floordiv 2,
// FORM-NEXT:    key tiles: closed form
// SUMMARY-LABEL: mask #heddle.mask<causal>
// SUMMARY-SAME:    by rows
// SUMMARY-NEXT:    65 empty, 20 partial, 65 full
// Masks whose rows are read have no cap to hit.
// CAP-LABEL:     mask #heddle.mask<causal>
// CAP-NOT:       enumerated
// BAD:           error: expected tiles of at least 1 position and lengths of at least 0, got tiles 0x128 and lengths 960x960; pass static sizes
func.func private @causal_is_a_line() attributes {test.mask_tiling = {
  mask = #heddle.mask<causal>, query_length = 960, key_length = 960}}

// FORM-LABEL: mask #heddle.mask<affine_set
// FORM:         query tiles: no closed form
// SUMMARY-LABEL: mask #heddle.mask<affine_set
// SUMMARY-SAME:    by elimination
// CAP-LABEL:     mask #heddle.mask<affine_set
// CAP-SAME:        by rows, enumerated
// REMARK:        remark: the set analysis of #heddle.mask<affine_set<"(d0, d1) : (d1 mod 128 - 64 >= 0)">> took longer than 0.000 s; its tiles are enumerated row by row, which is exact too
func.func private @holes_have_no_closed_form() attributes {test.mask_tiling = {
  mask = #heddle.mask<affine_set<"(i, j) : (j mod 128 - 64 >= 0)">>, query_length = 960, key_length = 960}}
