//===- Fragments.h - layouts that instructions ask for ----------*- C++ -*-===//
//
// Constructors of layouts: operands and accumulators of mma.sync and of
// products by fma, tiles for coalesced global access, and the match of ldmatrix
// against a wanted layout. Plain LLVM ADT; no MLIR.
//
// Sources: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point
// type", "Matrix Fragments for mma.m16n8k8" (.tf32), and "ldmatrix".
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_FRAGMENTS_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_FRAGMENTS_H

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

namespace heddle_gpu {

/// How a product is formed.
enum class ProductKind {
  Mma16,   // mma.m16n8k16, bf16 or f16 operands, f32 accumulator
  MmaTf32, // mma.m16n8k8, f32 operands rounded to tf32, f32 accumulator
  Fma,     // IEEE fused multiply-adds of each thread
};

enum class Operand { A, B, C };

/// Sides of one instruction: m, n, k (1, 1, 1 for Fma).
struct ProductShape {
  int64_t m, n, k;
};
ProductShape productShape(ProductKind kind);

/// The fragment of one mma instruction: A is m x k, B is k x n, C is m x n; one
/// warp.
Layout mmaFragment(ProductKind kind, Operand operand);

/// The layout of an operand with sides rows x cols (m x k, k x n or m x n) when
/// warpsM x warpsN warps, both powers of two, split the result; the index of a
/// warp is wm + warpsM * wn. None where a side of the instruction times its
/// warps does not divide the side. Kind is not Fma.
std::optional<Layout> mmaOperand(ProductKind kind, Operand operand,
                                 int64_t rows, int64_t cols, int64_t warpsM,
                                 int64_t warpsN);

/// For Fma: a thread holds the rows of A (m x k, all k) and the columns of B
/// (k x n) that its elements of the accumulator need. With `depthFirst`
/// neighbours in k, as many as a power of two divides it, are in consecutive
/// registers: for operands that lie in memory along k.
Layout fmaOperandA(const Layout &accumulator, int64_t k,
                   bool depthFirst = false);
Layout fmaOperandB(const Layout &accumulator, int64_t k,
                   bool depthFirst = false);

/// A blocked layout: sizePerThread consecutive elements to a thread, then
/// lanes, then warps, each along the dimensions in `order`, fastest first; the
/// rest are repeats. All counts are powers of two. Threads beyond a short
/// dimension hold copies. None where neither the block divides the side nor the
/// side the block.
std::optional<Layout> blockedLayout(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> sizePerThread,
                                    llvm::ArrayRef<int64_t> lanes,
                                    llvm::ArrayRef<int64_t> warps,
                                    llvm::ArrayRef<int64_t> order);

/// A blocked layout of 32 lanes for global access to row-major tiles: vectors
/// of up to `vectorBytes` along the last dimension, as many lanes as fit beside
/// one another there, then down the other dimensions, then warps. elementBytes
/// is a power of two. Exists for every shape.
Layout coalescedLayout(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                       int64_t numWarps, int64_t vectorBytes = 16);

/// The layout of the first `size` elements along `dim`, a multiple of the side
/// of an instruction's fragment: registers, lanes and warps are as in the whole.
Layout leadingPart(const Layout &operand, unsigned dim, int64_t size);

/// Whether an accumulator with this layout, cast to 16 bits, is register for
/// register the A operand of a next mma.m16n8k16 with the same warps along m.
bool accumulatorIsOperandA(const Layout &accumulator);

/// Whether a TF32 operand A holds depths 2t and 2t + 1 where the instruction's
/// fragment has t and t + 4. The order of the depth is free as long as B has
/// the same.
bool hasPairedDepth(const Layout &operandA);

/// Why these layouts cannot be multiplied by `kind` without data leaving a
/// thread, or empty. The layouts are of tiles m x k, k x n and m x n.
std::string productProblem(ProductKind kind, const Layout &a, const Layout &b,
                           const Layout &c);

/// How ldmatrix produces a layout.
struct LdmatrixMatch {
  bool transposed;      // the .trans form
  int64_t matrices;     // 1, 2 or 4: x1, x2, x4
  int64_t instructions; // per warp
  int64_t registers;    // elements to a 32-bit register
};

/// Matches ldmatrix against a wanted layout of a rank 2 tile. `transposed`: the
/// tile lies transposed in shared memory, whose rows are contiguous in chunks
/// of 16 bytes or more. .trans exists for elements of 2 bytes only.
std::optional<LdmatrixMatch>
matchLdmatrix(const Layout &wanted, int64_t elementBytes, bool transposed);

/// Coordinates in shared memory (row, first column) of the 16 bytes whose
/// address `lane` gives to ldmatrix number `instruction`; lanes from 8 *
/// matrices on are ignored by the hardware. The result registers are those from
/// instruction * matrices * registers on, in order.
Coordinates ldmatrixRow(const LdmatrixMatch &match, const Layout &wanted,
                        bool transposed, int64_t instruction, int64_t lane,
                        int64_t warp);

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_FRAGMENTS_H
