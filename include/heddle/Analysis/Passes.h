//===- Passes.h - passes that print what an analysis finds ------*- C++ -*-===//

#ifndef HEDDLE_ANALYSIS_PASSES_H
#define HEDDLE_ANALYSIS_PASSES_H

namespace heddle {

/// Registers `heddle-test-mask-tiling`, which prints the MaskTiling of each
/// `heddle.attention`, and of each op with a `test.mask_tiling` dictionary
/// {mask (optional), query_length, key_length}.
void registerTestMaskTilingPass();

} // namespace heddle

#endif // HEDDLE_ANALYSIS_PASSES_H
