//===- Fuser.h - groups graph ops into kernels ------------------*- C++ -*-===//
//
// Shared by the parts of heddle-fuse-kernels: FuseDecide.cpp says which values
// are kept in memory, FuseGroups.cpp which of them one kernel makes together,
// FuseOutline.cpp makes the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_FUSER_H
#define HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_FUSER_H

#include "heddle/Codegen/Tile/TileBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// Kernels by a hash of their bodies.
using KernelsByBody =
    llvm::DenseMap<size_t, llvm::SmallVector<mlir::func::FuncOp>>;

/// What a kernel is made of. `ops` are in an order in which they may stand.
struct KernelBody {
  llvm::ArrayRef<mlir::Operation *> ops;
  mlir::ValueRange inputs, results;
  llvm::StringRef family;
};

enum class OpClass { Free, View, Rows, Contraction, Attention, Scan, Loops };

/// Decides what is kept in memory and outlines the rest, for one function.
class Fuser {
public:
  Fuser(mlir::func::FuncOp function, mlir::SymbolTable &symbols,
        KernelsByBody &byBody, const TileTarget &target)
      : function(function), symbols(symbols), byBody(byBody), target(target) {}
  /// Replaces every op by launches; an error is emitted where it fails.
  mlir::LogicalResult run();

private:
  OpClass classify(mlir::Operation *op);
  OpClass computeClass(mlir::Operation *op);
  void decide();
  void keep(mlir::Value v);
  bool isFused(mlir::Value v);
  unsigned contractionsIn(mlir::Value v);
  unsigned contractionsIn(mlir::Value v,
                          llvm::DenseMap<mlir::Value, unsigned> &known);
  bool reductionIn(mlir::Value v);
  bool reductionIn(mlir::Value v, llvm::DenseSet<mlir::Value> &seen);

  bool isCostly(mlir::Value v);

  bool isReduced(mlir::Value v);
  bool isSharedSum(mlir::Value v);

  void groupReturned();
  bool stayInside(mlir::Value v, llvm::ArrayRef<mlir::Value> group);

  mlir::LogicalResult outline(llvm::ArrayRef<mlir::Value> roots);
  mlir::Value nextToKeep(llvm::ArrayRef<mlir::Operation *> ops,
                         mlir::Operation *last);
  mlir::LogicalResult outlineOp(mlir::Operation *op, llvm::StringRef family);
  mlir::func::FuncOp findEqual(const KernelBody &body, size_t hash);
  void insert(mlir::func::FuncOp kernel, size_t hash);
  void launch(mlir::func::FuncOp kernel, mlir::ValueRange inputs,
              mlir::ValueRange results, mlir::Operation *at);

  mlir::func::FuncOp function;
  mlir::SymbolTable &symbols;
  KernelsByBody &byBody;
  TileTarget target;
  /// Of the function's ops, none of which goes before the end.
  llvm::DenseMap<mlir::Operation *, OpClass> classOf;
  llvm::DenseSet<mlir::Value> kept;
  /// Values that one kernel makes together, by the last of them in the block.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> groups;
  llvm::DenseSet<mlir::Operation *> grouped; // all but the last of each
};

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_FUSER_H
