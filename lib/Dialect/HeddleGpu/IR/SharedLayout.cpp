//===- SharedLayout.cpp - tiles in shared memory --------------------------===//

#include "heddle/Dialect/HeddleGpu/IR/SharedLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <tuple>

using namespace heddle_gpu;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

static constexpr int64_t kBanks = 32;
static constexpr int64_t kBankBytes = 4;

/// Rows and columns of a tile; one row for rank 1.
static std::pair<int64_t, int64_t> rowsAndCols(ArrayRef<int64_t> shape) {
  return {shape.size() == 2 ? shape[0] : 1, shape.empty() ? 1 : shape.back()};
}

int64_t SharedLayout::offsetOf(ArrayRef<int64_t> coordinates,
                               ArrayRef<int64_t> shape,
                               int64_t elementBytes) const {
  auto [rows, cols] = rowsAndCols(shape);
  int64_t row = coordinates.size() == 2 ? coordinates[0] : 0;
  int64_t byte = (coordinates.empty() ? 0 : coordinates.back()) * elementBytes;
  int64_t panel = panelBytes ? panelBytes : cols * elementBytes;
  int64_t start = byte / panel * panel * rows + row * panel;
  int64_t inPanel = byte % panel;
  int64_t chunk = (inPanel / vectorBytes) ^ (row / rowsPerPhase % phases);
  return start + chunk * vectorBytes + inPanel % vectorBytes;
}

std::string SharedLayout::problemWith(ArrayRef<int64_t> shape,
                                      int64_t elementBytes) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto [rows, cols] = rowsAndCols(shape);
  int64_t rowBytes = cols * elementBytes;
  int64_t panel = panelBytes ? panelBytes : rowBytes;
  if (panel < 0 || rowBytes % panel)
    os << "expected panel_bytes that divides a row of " << rowBytes
       << " bytes, got " << panel;
  else if (phases > 1 && vectorBytes % elementBytes)
    os << "expected vector_bytes of whole elements of " << elementBytes
       << " bytes, got " << vectorBytes;
  else if (phases > 1 && (panel % vectorBytes || panel / vectorBytes % phases))
    os << "expected phases that divides the chunks of a row, " << panel
       << " bytes in chunks of " << vectorBytes << ", got " << phases;
  return text;
}

//===----------------------------------------------------------------------===//
// Wavefronts
//===----------------------------------------------------------------------===//

/// Sums, over the groups of lanes that are served together, what `count` says
/// of the distinct words they touch.
static int64_t
sumOverGroups(const WarpAccess &access,
              llvm::function_ref<int64_t(ArrayRef<int64_t>)> count) {
  int64_t group = access.bytes >= 16 ? 8 : access.bytes >= 8 ? 16 : 32;
  int64_t total = 0, lanes = access.offsets.size();
  SmallVector<int64_t> words;
  for (int64_t first = 0; first < lanes; first += group) {
    words.clear();
    for (int64_t l = first; l < std::min(first + group, lanes); ++l) {
      int64_t offset = access.offsets[l];
      if (offset < 0)
        continue;
      int64_t end = offset + access.bytes;
      for (int64_t b = offset / kBankBytes; b * kBankBytes < end; ++b)
        words.push_back(b);
    }
    llvm::sort(words);
    words.erase(llvm::unique(words), words.end());
    if (!words.empty())
      total += count(words);
  }
  return total;
}

int64_t heddle_gpu::countWavefronts(const WarpAccess &access) {
  return sumOverGroups(access, [](ArrayRef<int64_t> words) {
    std::array<int64_t, kBanks> perBank{};
    for (int64_t word : words)
      ++perBank[word % kBanks];
    return *llvm::max_element(perBank);
  });
}

int64_t heddle_gpu::minimalWavefronts(const WarpAccess &access) {
  return sumOverGroups(access, [](ArrayRef<int64_t> words) {
    return static_cast<int64_t>(llvm::divideCeil(words.size(), kBanks));
  });
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Registers that one vector access of the layout can cover.
static int64_t vectorRegisters(const SharedAccess &access,
                               const SharedLayout &shared,
                               int64_t elementBytes) {
  if (access.layout.rank() == 0)
    return 1;
  unsigned fast = access.transposed ? 0 : access.layout.rank() - 1;
  int64_t run = access.layout.contiguity(fast);
  run &= -run;
  int64_t most = access.vectorBytes;
  if (shared.phases > 1)
    most = std::min(most, shared.vectorBytes);
  return std::max<int64_t>(1, std::min(run, most / elementBytes));
}

namespace {
/// An access before the shared layout is known: coordinates per lane.
struct TileAccess {
  SmallVector<Coordinates, 0> lanes;
  int64_t bytes;

  WarpAccess under(const SharedLayout &shared, ArrayRef<int64_t> shape,
                   int64_t elementBytes) const {
    WarpAccess result{{}, bytes};
    for (const Coordinates &c : lanes)
      result.offsets.push_back(shared.offsetOf(c, shape, elementBytes));
    return result;
  }
};
} // namespace

static void appendTileAccesses(const SharedAccess &access,
                               const SharedLayout &shared, int64_t elementBytes,
                               SmallVectorImpl<TileAccess> &result) {
  const Layout &layout = access.layout;
  if (access.kind == SharedAccess::Ldmatrix) {
    std::optional<LdmatrixMatch> match =
        matchLdmatrix(layout, elementBytes, access.transposed);
    if (!match)
      return;
    for (int64_t w = 0; w < layout.numWarps(); ++w)
      for (int64_t i = 0; i < match->instructions; ++i)
        for (int64_t m = 0; m < match->matrices; ++m) {
          TileAccess rows{{}, 16};
          for (int64_t l = 8 * m; l < 8 * m + 8; ++l)
            rows.lanes.push_back(
                ldmatrixRow(*match, layout, access.transposed, i, l, w));
          result.push_back(std::move(rows));
        }
    return;
  }
  int64_t step = vectorRegisters(access, shared, elementBytes);
  for (int64_t w = 0; w < layout.numWarps(); ++w)
    for (int64_t r = 0; r < layout.numRegisters(); r += step) {
      TileAccess vector{{}, step * elementBytes};
      for (int64_t l = 0; l < layout.numLanes(); ++l) {
        Coordinates c = layout.apply(r, l, w);
        if (access.transposed)
          std::swap(c[0], c[1]);
        vector.lanes.push_back(std::move(c));
      }
      result.push_back(std::move(vector));
    }
}

SmallVector<WarpAccess, 0> heddle_gpu::warpAccesses(const SharedAccess &access,
                                                    const SharedLayout &shared,
                                                    ArrayRef<int64_t> shape,
                                                    int64_t elementBytes) {
  SmallVector<TileAccess, 0> tile;
  appendTileAccesses(access, shared, elementBytes, tile);
  SmallVector<WarpAccess, 0> result;
  for (const TileAccess &t : tile)
    result.push_back(t.under(shared, shape, elementBytes));
  return result;
}

int64_t heddle_gpu::countConflicts(ArrayRef<SharedAccess> accesses,
                                   const SharedLayout &shared,
                                   ArrayRef<int64_t> shape,
                                   int64_t elementBytes) {
  int64_t conflicts = 0;
  for (const SharedAccess &access : accesses)
    for (const WarpAccess &warp :
         warpAccesses(access, shared, shape, elementBytes))
      conflicts += countWavefronts(warp) - minimalWavefronts(warp);
  return conflicts;
}

std::optional<LdmatrixMatch>
heddle_gpu::matchLdmatrix(const Layout &wanted, const SharedLayout &shared,
                          ArrayRef<int64_t> shape, ArrayRef<int64_t> at,
                          int64_t elementBytes, bool transposed) {
  if (shape.size() != 2)
    return std::nullopt;
  int64_t panel =
      shared.panelBytes ? shared.panelBytes : shape[1] * elementBytes;
  bool wholeChunks = shared.phases == 1 || shared.vectorBytes >= 16;
  bool aligned =
      panel % 16 == 0 && (at.empty() || at.back() * elementBytes % 16 == 0);
  if (!wholeChunks || !aligned)
    return std::nullopt;
  return matchLdmatrix(wanted, elementBytes, transposed);
}

SharedLayout heddle_gpu::chooseSwizzle(ArrayRef<SharedAccess> accesses,
                                       ArrayRef<int64_t> shape,
                                       int64_t elementBytes) {
  auto [rows, cols] = rowsAndCols(shape);
  int64_t rowBytes = cols * elementBytes;
  int64_t widest = elementBytes;
  for (const SharedAccess &access : accesses)
    widest = std::max(widest, access.vectorBytes);
  SharedLayout best;
  std::tuple<int64_t, int64_t, int64_t, int64_t> bestScore;
  bool first = true;
  // No candidate narrows a vector, so that one list serves all.
  SmallVector<TileAccess, 0> tile;
  for (const SharedAccess &access : accesses)
    appendTileAccesses(access, best, elementBytes, tile);
  auto consider = [&](const SharedLayout &candidate) {
    int64_t total = 0;
    for (const TileAccess &t : tile)
      total += countWavefronts(t.under(candidate, shape, elementBytes));
    std::tuple<int64_t, int64_t, int64_t, int64_t> score{
        total, -candidate.vectorBytes, candidate.phases,
        candidate.rowsPerPhase};
    if (!first && score >= bestScore)
      return;
    first = false;
    best = candidate;
    bestScore = score;
  };
  consider(SharedLayout());
  for (int64_t vector = 16; vector >= widest; vector /= 2)
    for (int64_t phases = 2; phases <= kBanks; phases *= 2)
      for (int64_t per = 1; per * 2 <= std::max<int64_t>(rows, 2) && per <= 16;
           per *= 2) {
        SharedLayout candidate{vector, per, phases, 0};
        if (candidate.problemWith(shape, elementBytes).empty() &&
            rowBytes % vector == 0)
          consider(candidate);
      }
  return best;
}
