//===- Unet.h - the convolutional model -------------------------*- C++ -*-===//

#ifndef HEDDLE_BENCHMARKS_MODELS_UNET_H
#define HEDDLE_BENCHMARKS_MODELS_UNET_H

#include "models/Models.h"

namespace heddle::bench {

/// x (batch, resolution, resolution, 3) -> the same shape through residual
/// blocks at three widths; all convolutions run along the last image axis, so
/// that only the width shrinks.
struct UnetConfig {
  int64_t batch = 8, resolution = 32;
  DType dtype = DType::F32;
  ModelOp op;
};

/// The error says which figure of the configuration cannot be.
Status buildUnet(mlir::MLIRContext &context, const UnetConfig &config,
                 Model &model);

} // namespace heddle::bench

#endif // HEDDLE_BENCHMARKS_MODELS_UNET_H
