//===- ModelTestSupport.h - looking at built models -------------*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_BENCH_MODELTESTSUPPORT_H
#define HEDDLE_UNITTESTS_BENCH_MODELTESTSUPPORT_H

#include "models/Models.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle::bench {

inline mlir::func::FuncOp functionOf(const Model &model) {
  return model.module.get().lookupSymbol<mlir::func::FuncOp>(model.function);
}

inline int64_t byteSize(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
}

inline std::string argumentName(const Model &model, unsigned i) {
  return functionOf(model)
      .getArgAttrOfType<mlir::StringAttr>(i, "heddle.arg_name")
      .str();
}

inline DType dtypeNamed(const std::string &name) {
  return name == "bfloat16" ? DType::BF16 : DType::F32;
}

} // namespace heddle::bench

#endif // HEDDLE_UNITTESTS_BENCH_MODELTESTSUPPORT_H
