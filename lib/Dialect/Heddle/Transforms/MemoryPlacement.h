//===- MemoryPlacement.h - where each value of a program lives --*- C++ -*-===//
//
// Decides places; PlanMemory.cpp rewrites the function onto them. See
// docs/memory.md for the rules.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_MEMORYPLACEMENT_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_MEMORYPLACEMENT_H

#include "heddle/Analysis/ArenaPlanner.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle {

/// Where a tensor's bytes are: an argument that stays as it is, a constant, or
/// a group of values that share one buffer; and a byte offset.
struct ValuePlace {
  enum Kind { Argument, Constant, Item } kind = Item;
  int64_t index = 0;
  int64_t offset = 0;
};

/// The memory that a group of values takes.
struct GroupHome {
  enum Kind { Arena, Result, Argument } kind = Arena;
  int64_t index = 0;  // of the result or argument
  int64_t offset = 0; // bytes
};

/// A returned value that does not lie in its result's memory.
struct ResultCopy {
  int64_t result;
  mlir::Value from;
};

/// The places of all tensors of one entry function of launches and views.
class MemoryPlacement {
public:
  MemoryPlacement(mlir::func::FuncOp function, mlir::SymbolTable &symbols)
      : function(function), symbols(symbols) {}

  /// Emits an error and fails for an op that is neither a launch nor a view,
  /// and for donation that cannot be.
  mlir::LogicalResult run();

  ValuePlace placeOf(mlir::Value v) const { return places.lookup(v); }
  /// Of a place of kind Item.
  GroupHome homeOf(const ValuePlace &place) const {
    return homes[items[place.index].group];
  }

  llvm::SmallVector<LaunchOp> launches;
  llvm::SmallVector<mlir::DenseElementsAttr> constants;
  llvm::SmallVector<int64_t> constantOffsets;
  int64_t constantBytes = 0;
  /// Per argument: may it be overwritten. Per result: the donated argument
  /// whose memory it takes, or -1.
  llvm::SmallVector<bool> donated;
  llvm::SmallVector<int64_t> aliases;
  llvm::SmallVector<ResultCopy> copies;
  ArenaResult arena;
  /// Of values that are neither arguments nor results, wherever they are, in
  /// sizes rounded up to the arena's alignment; values that share a buffer count
  /// once. The largest sum of what is live at one step, and what the plan takes
  /// for them: that sum, or the arena with its gaps where it is larger.
  int64_t maxLiveBytes = 0, workBytes = 0;

private:
  /// A kept value, or a donated argument. Steps are numbers of launches; -1 is
  /// before the first, `launches.size()` after the last.
  struct Item {
    int64_t size = 0, begin = 0, end = 0;
    int64_t group = 0;
    int64_t argument = -1; // that it is
    bool returned = false;
  };
  struct Lifetime {
    int64_t begin, end;
  };
  /// What a loop's body adds to the figures of a step.
  struct LoopFigures {
    int64_t workBeyond = 0, maxLiveBeyond = 0;
  };

  mlir::LogicalResult findDonated();
  mlir::LogicalResult locate();
  void shareBuffers();
  void placeResults();
  bool mayTake(int64_t result, int64_t argument) const;
  bool takeArgument(int64_t result, bool mayCopy);
  void placeRest();
  void measure();
  LoopFigures figuresOf(LaunchOp launch) const;
  void alias(int64_t result, int64_t argument);
  /// Moves all values of one group into another.
  void merge(int64_t from, int64_t into);
  Lifetime lifetimeOf(int64_t group) const;
  int64_t addItem(int64_t size, int64_t step);

  mlir::func::FuncOp function;
  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Value, ValuePlace> places;
  llvm::SmallVector<Item> items;
  llvm::SmallVector<GroupHome> homes; // by group
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> members; // items, by group
  llvm::SmallVector<bool> placedResult, isTaken; // isTaken: by argument
  llvm::DenseMap<mlir::Type, llvm::SmallVector<int64_t>> donatedOfType;
};

/// Bytes of a static tensor; an index element takes 64 bits.
int64_t tensorBytes(mlir::Type type);

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_MEMORYPLACEMENT_H
