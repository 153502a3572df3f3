//===- LaneCode.h - tiles as the registers of one thread --------*- C++ -*-===//
//
// Helpers of the conversion from contract G: where in a tile a thread's
// registers lie, as IR, and how memory accesses are grouped into vectors.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_LANECODE_H
#define HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_LANECODE_H

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/IR/Builders.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle_gpu {

/// Tiles become vectors with an element per register, shared tiles pointers to
/// shared memory, buffers pointers to global memory.
class LaneTypes : public mlir::TypeConverter {
public:
  LaneTypes();
};

/// Address spaces of NVVM.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
/// The symbol of a block's dynamic shared memory.
constexpr llvm::StringLiteral kDynamicShared = "heddle_shared";

/// An i32 that is an xor of images of the bits of lane and warp, with the bits
/// that it may have set.
struct ThreadTerm {
  mlir::Value value; // null: 0
  int64_t bits = 0;
};

/// Emits thread numbers and functions of them.
class ThreadCode {
public:
  ThreadCode(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value i32(int64_t value);
  mlir::Value lane();
  mlir::Value warp();
  /// The xor of lanes[i] over the set bits of the lane and warps[i] over those
  /// of the warp.
  ThreadTerm term(llvm::ArrayRef<int64_t> lanes, llvm::ArrayRef<int64_t> warps);
  /// Whether no bit of `mask` is set in lane and warp: i1, or null where both
  /// masks are 0.
  mlir::Value isZero(int64_t laneMask, int64_t warpMask);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  mlir::Value index(bool warp);
};

/// The coordinates of a thread's registers: coordinate = thread part xor
/// constant of the register.
class TileCode {
public:
  TileCode(ThreadCode &code, const Layout &layout);

  /// The thread's part along a dimension.
  const ThreadTerm &thread(unsigned dim) const { return terms[dim]; }
  int64_t constant(int64_t reg, unsigned dim) const {
    return registers[reg][dim];
  }
  /// Whether the coordinate is also the sum of thread part and constant.
  bool isSum(int64_t reg, unsigned dim) const {
    return (terms[dim].bits & registers[reg][dim]) == 0;
  }
  /// The coordinate as i32.
  mlir::Value coordinate(int64_t reg, unsigned dim);

  const Layout &layout;

private:
  ThreadCode &code;
  llvm::SmallVector<ThreadTerm> terms;
  llvm::SmallVector<Coordinates> registers;
};

/// A known divisor of an index value, from the arithmetic that makes it; 0 for
/// the constant 0.
int64_t knownDivisor(mlir::Value v);

/// A tile's place in a buffer of static shape and strides.
struct GlobalTile {
  mlir::MemRefType type;
  mlir::Value pointer; // converted
  llvm::SmallVector<mlir::Value> offsets;
  llvm::ArrayRef<int64_t> dims;
  llvm::SmallVector<mlir::Value> bounds; // per tile dimension; may be empty
  bool inBounds = false;                 // nothing to check

  int64_t elementBytes() const;
  llvm::SmallVector<int64_t> strides() const; // in elements
  /// Elements along the last tile dimension that one access may move: a power of
  /// two, at most maxBytes, aligned, and whole inside or outside the bounds
  /// (`partial`: only aligned).
  int64_t vectorWidth(const Layout &layout, int64_t maxBytes,
                      bool partial = false) const;
};

/// Emits addresses and bounds checks of the registers of a tile.
class GlobalCode {
public:
  GlobalCode(ThreadCode &code, TileCode &tile, const GlobalTile &place);
  mlir::Value address(int64_t reg);
  /// i1, or null where the register is always in bounds. With `partial` the last
  /// dimension is left out.
  mlir::Value inBounds(int64_t reg, bool partial = false);
  /// Elements that are in bounds from the register on along the last dimension,
  /// at most `width`, as i32; null where the bound is never reached.
  mlir::Value elementsLeft(int64_t reg, int64_t width);

private:
  mlir::Value limit(unsigned dim); // bound - offset, i32
  ThreadCode &code;
  TileCode &tile;
  const GlobalTile &place;
  mlir::Value base;
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<mlir::Value> limits;
};

/// Emits addresses in a shared tile.
class SharedCode {
public:
  SharedCode(ThreadCode &code, mlir::Value base, const SharedLayout &layout,
             llvm::ArrayRef<int64_t> shape, int64_t elementBytes)
      : code(code), base(base), layout(layout), shape(shape),
        elementBytes(elementBytes) {}
  /// The address of the element at (row thread part xor rowConstant, ...).
  mlir::Value address(const ThreadTerm &row, int64_t rowConstant,
                      const ThreadTerm &col, int64_t colConstant);

private:
  ThreadCode &code;
  mlir::Value base;
  SharedLayout layout;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
};

/// Converted operands of a load from shared memory. All but the base may be
/// null. What is read starts at a row and at a column (index), which are
/// multiples of the layout's sides.
struct SharedSource {
  mlir::Value base, stage, shift, row = {}, column = {};
};
/// The registers that a thread has of a tile of `layout`.
mlir::Value loadShared(SmemLoadOp op, mlir::OpBuilder &b, const Layout &layout,
                       const SharedSource &from);

/// Whether a guarded product loads its right operand itself, a part of the depth
/// at a time, so that the load before it is not needed.
bool loadsInSteps(DotOp op);

void populateElementwisePatterns(const LaneTypes &types,
                                 mlir::RewritePatternSet &patterns);
void populateGlobalPatterns(const LaneTypes &types,
                            mlir::RewritePatternSet &patterns);
void populateSharedPatterns(const LaneTypes &types,
                            mlir::RewritePatternSet &patterns);
void populateComputePatterns(const LaneTypes &types,
                             mlir::RewritePatternSet &patterns);
void populateThreadPatterns(const LaneTypes &types,
                            mlir::RewritePatternSet &patterns);
void populateConvertLayoutPatterns(const LaneTypes &types,
                                   mlir::RewritePatternSet &patterns);

} // namespace heddle_gpu

#endif // HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_LANECODE_H
