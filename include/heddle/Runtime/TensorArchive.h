//===- TensorArchive.h - named tensors in one file --------------*- C++ -*-===//
//
// Reads and writes numpy's .npz (a zip archive of .npy files, stored or
// deflated; PKWARE APPNOTE 6.3.10) and .safetensors (a length of 8 bytes, a JSON
// header, then the elements; the format's README). Part of the runtime: no LLVM
// header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_TENSORARCHIVE_H
#define HEDDLE_RUNTIME_TENSORARCHIVE_H

#include "heddle/Runtime/Program.h"

#include <map>

namespace heddle {

/// The tensors of one file, by name; read when they are asked for.
class TensorArchive {
public:
  /// Opens a file; its first bytes say which kind it is. Errors name the file
  /// and what is wrong with it.
  static Status open(const std::string &path, TensorArchive &archive);
  /// The same on bytes in memory; `name` stands in messages.
  static Status parse(const std::string &name, std::vector<uint8_t> bytes,
                      TensorArchive &archive);

  std::vector<std::string> names() const;
  bool contains(const std::string &name) const { return entries.count(name); }
  /// One tensor. With `wanted` it must have that shape and element type.
  Status read(const std::string &name, HostTensor &tensor,
              const TensorType *wanted = nullptr) const;

private:
  struct Entry {
    size_t offset = 0, size = 0; // of its bytes in the file
    // zip
    bool deflated = false;
    uint64_t fullSize = 0;
    uint32_t checksum = 0;
    // safetensors
    TensorType type;
  };
  Status parseZip();
  Status parseSafetensors();
  Status error(const std::string &text) const;

  std::string path;
  std::vector<uint8_t> bytes;
  bool isZip = false;
  std::map<std::string, Entry> entries;
};

/// A tensor to be written.
struct ArchivedTensor {
  std::string name;
  const HostTensor *tensor;
};

/// Writes an archive of the kind that the path ends with, .npz (entries stored,
/// each below 4 GiB) or .safetensors, through a temporary file that is renamed.
/// Names are distinct.
Status writeTensorArchive(const std::string &path,
                          const std::vector<ArchivedTensor> &tensors);

/// Whether the path ends with .npz or .safetensors.
bool isTensorArchivePath(const std::string &path);

} // namespace heddle

#endif // HEDDLE_RUNTIME_TENSORARCHIVE_H
