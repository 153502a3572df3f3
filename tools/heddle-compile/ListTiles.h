//===- ListTiles.h - the table of --list-tiles ------------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_LISTTILES_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_LISTTILES_H

#include "Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace heddle::compile {

/// For each target and each kernel of attention in a module after Stage::Fuse:
/// the tiles that it can have, the one that is chosen first.
void listTiles(const Options &options, mlir::ModuleOp module,
               llvm::raw_ostream &os);

} // namespace heddle::compile

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_LISTTILES_H
