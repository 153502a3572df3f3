//===- DType.h - element types of host tensors and buffers ------*- C++ -*-===//
//
// Part of the runtime: no LLVM header may be included here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_DTYPE_H
#define HEDDLE_RUNTIME_DTYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Element types of a program's arguments and results. The numbers are part of
/// the bundle format and of the C ABI; append, never renumber.
enum class DType : uint8_t {
  F32 = 0,
  F64 = 1,
  F16 = 2,
  BF16 = 3,
  I1 = 4, // one byte per element
  I8 = 5,
  I16 = 6,
  I32 = 7,
  I64 = 8,
};

/// Bytes of one element.
inline int64_t byteWidth(DType type) {
  switch (type) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
  case DType::I16:
    return 2;
  case DType::I1:
  case DType::I8:
    return 1;
  }
  return 0;
}

/// "float32", "bfloat16", ... as in numpy and the result files.
inline const char *dtypeName(DType type) {
  switch (type) {
  case DType::F32:
    return "float32";
  case DType::F64:
    return "float64";
  case DType::F16:
    return "float16";
  case DType::BF16:
    return "bfloat16";
  case DType::I1:
    return "bool";
  case DType::I8:
    return "int8";
  case DType::I16:
    return "int16";
  case DType::I32:
    return "int32";
  case DType::I64:
    return "int64";
  }
  return "?";
}

/// Whether elements are integers (i1 counts).
inline bool isInteger(DType type) {
  return type != DType::F32 && type != DType::F64 && type != DType::F16 &&
         type != DType::BF16;
}

/// Shape and element type of one argument or result.
struct TensorType {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;

  int64_t numElements() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
  int64_t byteSize() const { return numElements() * byteWidth(dtype); }
  bool operator==(const TensorType &o) const {
    return dtype == o.dtype && shape == o.shape;
  }
  /// "float32[8,256]", for error messages.
  std::string str() const {
    std::string s = dtypeName(dtype);
    s += '[';
    for (size_t i = 0; i < shape.size(); ++i)
      s += (i ? "," : "") + std::to_string(shape[i]);
    return s + ']';
  }
};

/// A dense row-major tensor in host memory that owns its bytes.
struct HostTensor {
  TensorType type;
  std::vector<uint8_t> bytes;

  HostTensor() = default;
  explicit HostTensor(TensorType t)
      : type(std::move(t)), bytes(type.byteSize()) {}
  template <typename T>
  T *as() {
    return reinterpret_cast<T *>(bytes.data());
  }
  template <typename T>
  const T *as() const {
    return reinterpret_cast<const T *>(bytes.data());
  }
};

/// Element `i` of raw data of the given type as a double, and back with
/// round-to-nearest-even. Integers are exact up to 2^53.
double loadElement(const void *data, DType type, int64_t i);
void storeElement(void *data, DType type, int64_t i, double value);

/// The same for integer types, exact over the whole range. An i1 is 0 or 1;
/// storing keeps the low bits.
int64_t loadInteger(const void *data, DType type, int64_t i);
void storeInteger(void *data, DType type, int64_t i, int64_t value);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DTYPE_H
