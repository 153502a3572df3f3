//===- SharedLayout.h - tiles in shared memory ------------------*- C++ -*-===//
//
// Where an element of a tile lies in shared memory, how an xor swizzle is found
// that serves its writer and its readers, and how many wavefronts an access
// takes. Plain LLVM ADT; no MLIR.
//
// Bank model (CUDA C++ Programming Guide, shared memory of compute capability
// 5.x and newer): 32 banks of 4 bytes; one wavefront reads or writes one word
// of each bank, and lanes that touch the same word share it. Accesses of 64
// bits per lane are served per half warp, of 128 bits per quarter warp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_SHAREDLAYOUT_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_SHAREDLAYOUT_H

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"
#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

namespace heddle_gpu {

/// Row-major with an xor swizzle. A row is cut into chunks of `vectorBytes`;
/// chunk c of row r lies at chunk
///
///   c xor ((r / rowsPerPhase) mod phases)
///
/// of its row. With panelBytes > 0 the columns are cut into panels of that many
/// bytes that follow each other, each row-major over all rows (the form in
/// which tensor maps and wgmma see wide tiles); 0 means one panel. All are
/// powers of two except panelBytes; phases divides the chunks of a panel's row.
struct SharedLayout {
  int64_t vectorBytes = 16;
  int64_t rowsPerPhase = 1;
  int64_t phases = 1;
  int64_t panelBytes = 0;

  /// Byte offset of an element. `shape` is the tile's (rank 1 or 2; rank 1 is
  /// one row).
  int64_t offsetOf(llvm::ArrayRef<int64_t> coordinates,
                   llvm::ArrayRef<int64_t> shape, int64_t elementBytes) const;

  /// Why this does not fit a tile of this shape, or empty.
  std::string problemWith(llvm::ArrayRef<int64_t> shape,
                          int64_t elementBytes) const;

  bool operator==(const SharedLayout &o) const {
    return vectorBytes == o.vectorBytes && rowsPerPhase == o.rowsPerPhase &&
           phases == o.phases && panelBytes == o.panelBytes;
  }
};

/// What one instruction of a warp touches: a byte offset per lane (-1: the lane
/// takes no part) and bytes per lane (a power of two up to 16).
struct WarpAccess {
  llvm::SmallVector<int64_t, 0> offsets;
  int64_t bytes;
};

/// Wavefronts that the access takes.
int64_t countWavefronts(const WarpAccess &access);
/// Wavefronts that it would take if the words it touches lay in the best banks.
int64_t minimalWavefronts(const WarpAccess &access);

/// How a tile in shared memory is read or written by all warps.
struct SharedAccess {
  enum Kind {
    Vector,   // per lane `vectorBytes` of consecutive registers
    Ldmatrix, // rows of 16 bytes, by matchLdmatrix
  };
  Kind kind;
  Layout layout;
  /// The layout's tile is the transpose of the tile in shared memory.
  bool transposed = false;
  int64_t vectorBytes = 0;

  static SharedAccess vector(const Layout &layout, int64_t vectorBytes,
                             bool transposed = false) {
    return {Vector, layout, transposed, vectorBytes};
  }
  static SharedAccess ldmatrix(const Layout &layout, bool transposed = false) {
    return {Ldmatrix, layout, transposed, 16};
  }
};

/// The instructions of every warp for one access, 8 rows to each ldmatrix
/// access. Vectors that are not contiguous in the shared layout or in registers
/// become narrower accesses. Empty where ldmatrix does not match.
llvm::SmallVector<WarpAccess, 0> warpAccesses(const SharedAccess &access,
                                              const SharedLayout &shared,
                                              llvm::ArrayRef<int64_t> shape,
                                              int64_t elementBytes);

/// Wavefronts above the minimum, over all accesses.
int64_t countConflicts(llvm::ArrayRef<SharedAccess> accesses,
                       const SharedLayout &shared,
                       llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

/// matchLdmatrix for a tile of `shape` that lies in shared memory like this,
/// read at element `at` of it (empty: at its start): rows of 16 bytes are
/// contiguous and aligned there. `wanted` is the layout of the part that is
/// read.
std::optional<LdmatrixMatch>
matchLdmatrix(const Layout &wanted, const SharedLayout &shared,
              llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> at,
              int64_t elementBytes, bool transposed);

/// The swizzle under which the accesses take the fewest wavefronts together;
/// among equals the one with the widest chunk, then the fewest phases. Every
/// wish for a vector of 16 bytes holds, because candidates swizzle no smaller
/// chunk than the widest vector of the accesses.
SharedLayout chooseSwizzle(llvm::ArrayRef<SharedAccess> accesses,
                           llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_SHAREDLAYOUT_H
