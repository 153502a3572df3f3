//===- BundleFormat.h - layout of a .heddle file ----------------*- C++ -*-===//
//
// Shared by the writer and the reader; docs/bundle.md describes the format.
// All integers are little endian.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CORE_BUNDLEFORMAT_H
#define HEDDLE_RUNTIME_CORE_BUNDLEFORMAT_H

#include <cstddef>
#include <cstdint>

namespace heddle::bundle {

/// The last two bytes stop a terminal from printing the rest and reveal
/// line-end conversion.
constexpr unsigned char kMagic[8] = {'H', 'E', 'D', 'D', 'L', 'E', 0x1a, '\n'};
/// Raised by every change that an older reader would misread.
constexpr uint32_t kVersion = 4;

// Header fields, by byte offset.
constexpr size_t kVersionAt = 8;       // u32
constexpr size_t kSectionCountAt = 12; // u32
constexpr size_t kFileSizeAt = 16;     // u64
constexpr size_t kChecksumAt = 24;     // u64, xxh64 of the file with this as 0
constexpr size_t kHeaderBytes = 64;    // the rest is zero

/// One entry of the section table, which follows the header.
constexpr size_t kSectionEntryBytes = 32; // kind, function, offset, size, 0
constexpr size_t kSectionAlignment = 64;

enum class SectionKind : uint32_t {
  Program = 1,   // signature, kernels, commands, plans of all functions
  Object = 2,    // ELF relocatable of one function
  Constants = 3, // constant data of one function
  Source = 4,    // MLIR text of one function
  Image = 5,     // GPU code: the next image of one function
};

/// Repeats may nest this deep.
constexpr unsigned kMaxRepeatDepth = 8;
/// Dimensions of one tensor.
constexpr unsigned kMaxRank = 32;

/// The checksum as it is stored in the header.
uint64_t checksum(const uint8_t *data, size_t size);

} // namespace heddle::bundle

#endif // HEDDLE_RUNTIME_CORE_BUNDLEFORMAT_H
