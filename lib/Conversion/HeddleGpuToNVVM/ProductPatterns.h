//===- ProductPatterns.h - products of tiles --------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_PRODUCTPATTERNS_H
#define HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_PRODUCTPATTERNS_H

#include "LaneCode.h"

namespace heddle_gpu {

/// heddle_gpu.dot to mma.sync or fused multiply-adds.
void populateProductPatterns(const LaneTypes &types,
                             mlir::RewritePatternSet &patterns);

} // namespace heddle_gpu

#endif // HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_PRODUCTPATTERNS_H
