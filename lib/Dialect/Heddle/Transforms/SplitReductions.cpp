//===- SplitReductions.cpp - long reductions become sums of parts ---------===//

#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct SplitReductions
    : heddle::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {}
};
} // namespace
