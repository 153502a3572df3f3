//===- Npy.h - host tensors as .npy files -----------------------*- C++ -*-===//
//
// Reads and writes numpy's array files (format versions 1 and 2, little
// endian). Part of the runtime: no LLVM header here.
//
// Element types are numpy's: <f4 <f8 <f2 |b1 |i1 <i2 <i4 <i8. numpy has no
// bfloat16: it is written as <V2 (two opaque bytes per element, which ml_dtypes
// views as bfloat16) and read from <V2 or |V2; <u2 is taken as its bits when
// the caller wants bfloat16.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_NPY_H
#define HEDDLE_RUNTIME_NPY_H

#include "heddle/Runtime/Program.h"

namespace heddle {

/// Reads a tensor; Fortran order is converted to row-major. With `wanted` the
/// file must hold that shape and element type. Errors name the file, what was
/// wanted and what was found. "-" is standard input.
Status readNpyFile(const std::string &path, HostTensor &tensor,
                   const TensorType *wanted = nullptr);

/// Writes a tensor as format version 1 (2 where its header is too long),
/// through a temporary file that is renamed. "-" is standard output.
Status writeNpyFile(const std::string &path, const HostTensor &tensor);
/// The same from `data`, which holds type.byteSize() bytes.
Status writeNpyFile(const std::string &path, const TensorType &type,
                    const void *data);

/// The parsers behind the file functions; `name` stands in error messages.
Status parseNpy(const std::string &name, const uint8_t *data, size_t size,
                HostTensor &tensor, const TensorType *wanted = nullptr);
/// The header that stands before the elements in a file.
std::string npyHeader(const TensorType &type);

} // namespace heddle

#endif // HEDDLE_RUNTIME_NPY_H
