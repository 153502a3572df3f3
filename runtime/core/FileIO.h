//===- FileIO.h - whole files in, whole files out ---------------*- C++ -*-===//
//
// "-" is standard input or output. A file is written beside its place and
// renamed, so that a failure leaves neither a partial file nor a lost old one.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CORE_FILEIO_H
#define HEDDLE_RUNTIME_CORE_FILEIO_H

#include "heddle/Runtime/Program.h"

#include <initializer_list>

namespace heddle {

Status readWholeFile(const std::string &path, std::vector<uint8_t> &bytes);

/// A piece of a file to be written.
struct FilePiece {
  const void *data;
  size_t size;
};
Status writeWholeFile(const std::string &path,
                      std::initializer_list<FilePiece> pieces);

/// "<doing> '<path>': <reason of errno>", in lower case.
Status fileError(const char *doing, const std::string &path, int error);

} // namespace heddle

#endif // HEDDLE_RUNTIME_CORE_FILEIO_H
