//===- ScanChunks.h - scans over chunks of time -----------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLE_IR_SCANCHUNKS_H
#define HEDDLE_DIALECT_HEDDLE_IR_SCANCHUNKS_H

#include "mlir/IR/Operation.h"

namespace heddle {

/// Whether an op is what `heddle-chunk-scans` makes of a scan: one over chunks of
/// time, their maps, or a scan of these that resets at NaN. Such ops are no part
/// of a model, and GPUs alone have kernels for them.
bool isScanOverChunks(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_IR_SCANCHUNKS_H
