//===- EmitGpu.h - PTX and cubins of a GPU module ---------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_EMITGPU_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_EMITGPU_H

#include "Options.h"

namespace heddle::compile {

/// Emits the gpu.module of `module`, which is at contract N (ops of llvm and
/// nvvm), as PTX or as a cubin. With a report, prints what each kernel of a
/// cubin takes. Errors are diagnostics.
llvm::LogicalResult emitGpu(const Options &options, mlir::ModuleOp module,
                            std::string &bytes);

} // namespace heddle::compile

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_EMITGPU_H
