//===- Npy.cpp - host tensors as .npy files -------------------------------===//
//
// The format: the magic "\x93NUMPY", two version bytes, the header's length (2
// bytes in version 1, 4 after), a Python dictionary as text padded with spaces
// to a multiple of 64, then the elements.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/Npy.h"

#include "FileIO.h"

#include <algorithm>
#include <cstring>

namespace heddle {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMaxRank = 32;

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses the dictionary: three keys in any order, each exactly once.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  /// Empty on success, else what was expected.
  std::string parse(Header &header);

private:
  void skipSpace() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool acceptWord(const char *word) {
    skipSpace();
    size_t n = std::strlen(word);
    if (text.compare(at, n, word) != 0)
      return false;
    at += n;
    return true;
  }
  bool quoted(std::string &out) {
    skipSpace();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool number(int64_t &out) {
    skipSpace();
    size_t begin = at;
    out = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      if (at - begin >= 16) // far beyond any memory
        return false;
      out = out * 10 + (text[at++] - '0');
    }
    return at > begin && (acceptWord("L") || true); // Python 2 wrote 3L
  }
  bool tuple(std::vector<int64_t> &out) {
    if (!accept('('))
      return false;
    while (!accept(')')) {
      int64_t n;
      if (!number(n) || out.size() == kMaxRank)
        return false;
      out.push_back(n);
      if (!accept(',')) {
        // One number in parentheses is not a tuple, two without comma neither.
        return out.size() > 1 && accept(')');
      }
    }
    return true;
  }

  const std::string &text;
  size_t at = 0;
};

} // namespace

std::string HeaderParser::parse(Header &header) {
  if (!accept('{'))
    return "a dictionary";
  bool seen[3] = {};
  while (!accept('}')) {
    std::string key;
    if (!quoted(key) || !accept(':'))
      return "a key";
    int which = key == "descr"           ? 0
                : key == "fortran_order" ? 1
                : key == "shape"         ? 2
                                         : -1;
    if (which < 0 || seen[which])
      return "the keys descr, fortran_order and shape once";
    seen[which] = true;
    if (which == 0) {
      if (!quoted(header.descr))
        return "a plain element type (no structured array)";
    } else if (which == 1) {
      header.fortranOrder = acceptWord("True");
      if (!header.fortranOrder && !acceptWord("False"))
        return "True or False for fortran_order";
    } else if (!tuple(header.shape)) {
      return "a tuple of at most 32 sizes for shape";
    }
    if (!accept(',') && !accept('}'))
      return "a comma";
    if (text[at - 1] == '}')
      break;
  }
  if (!seen[0] || !seen[1] || !seen[2])
    return "the keys descr, fortran_order and shape";
  return "";
}

namespace {
struct TypeName {
  const char *descr;
  DType dtype;
};
} // namespace

/// The first entry of a type is the one that is written.
static const TypeName kTypeNames[] = {
    {"<f4", DType::F32},  {"<f8", DType::F64},       {"<f2", DType::F16},
    {"<V2", DType::BF16}, {"|V2", DType::BF16},      {"|b1", DType::I1},
    {"|i1", DType::I8},   {"<i2", DType::I16},       {"<i4", DType::I32},
    {"<i8", DType::I64},  {"<b1", DType::I1},        {"<i1", DType::I8},
    {"?", DType::I1},     {"bfloat16", DType::BF16},
};

static bool dtypeOf(const std::string &descr, const TensorType *wanted,
                    DType &dtype) {
  if (descr == "<u2" && wanted && wanted->dtype == DType::BF16) {
    dtype = DType::BF16;
    return true;
  }
  for (const TypeName &t : kTypeNames)
    if (descr == t.descr) {
      dtype = t.dtype;
      return true;
    }
  return false;
}

/// Elements in column-major order to row-major.
static void convertFortranOrder(const uint8_t *source, HostTensor &tensor) {
  const std::vector<int64_t> &shape = tensor.type.shape;
  int64_t width = byteWidth(tensor.type.dtype);
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), width);
  for (size_t d = 1; d < shape.size(); ++d)
    stride[d] = stride[d - 1] * shape[d - 1];
  int64_t n = tensor.type.numElements(), offset = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(tensor.bytes.data() + i * width, source + offset, width);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += stride[d];
      if (++index[d] < shape[d])
        break;
      offset -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

Status parseNpy(const std::string &name, const uint8_t *data, size_t size,
                HostTensor &tensor, const TensorType *wanted) {
  auto error = [&](const std::string &why) {
    return Status::error("'" + name + "': " + why);
  };
  if (size < kMagicBytes || std::memcmp(data, kMagic, kMagicBytes) != 0)
    return error("expected an npy file, got " +
                 (size ? std::to_string(size) + " foreign bytes"
                       : std::string("an empty file")) +
                 "; write it with numpy.save");
  if (size < 10)
    return error("the npy file ends inside its header");
  int version = data[6];
  if (version < 1 || version > 3)
    return error("expected npy format version 1 or 2, got " +
                 std::to_string(version));
  size_t lengthBytes = version == 1 ? 2 : 4;
  size_t begin = 8 + lengthBytes;
  if (size < begin)
    return error("the npy file ends inside its header");
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<size_t>(data[8 + i]) << (8 * i);
  if (length > size - begin)
    return error("the npy file ends inside its header");
  std::string text(reinterpret_cast<const char *>(data) + begin, length);
  Header header;
  if (std::string expected = HeaderParser(text).parse(header);
      !expected.empty())
    return error("the npy header is damaged: expected " + expected);

  TensorType type;
  type.shape = header.shape;
  if (!dtypeOf(header.descr, wanted, type.dtype)) {
    if (header.descr.size() > 1 && header.descr[0] == '>')
      return error("expected little-endian elements, got '" + header.descr +
                   "'; convert with a.astype(a.dtype.newbyteorder('<'))");
    return error("expected elements of " +
                 std::string(wanted ? dtypeName(wanted->dtype)
                                    : "a float, integer or bool type") +
                 ", got '" + header.descr + "'; convert with astype");
  }
  if (wanted && !(type == *wanted))
    return error("expected " + wanted->str() + ", got " + type.str());

  // The elements must be there before anything of their size is allocated.
  size_t left = size - begin - length;
  uint64_t bytes = static_cast<uint64_t>(byteWidth(type.dtype));
  bool empty = std::count(type.shape.begin(), type.shape.end(), 0) != 0;
  bool fits = true;
  for (int64_t d : type.shape) {
    uint64_t n = static_cast<uint64_t>(d);
    fits = fits && (empty || bytes <= left / n);
    bytes = empty ? 0 : fits ? bytes * n : bytes;
  }
  if (!fits || bytes > left)
    return error("the npy file is truncated: " + type.str() +
                 " does not fit into the " + std::to_string(left) +
                 " bytes after its header");
  if (bytes < left)
    return error("the npy file holds " + std::to_string(left - bytes) +
                 " bytes more than " + type.str() + " needs");
  HostTensor result(type);
  const uint8_t *elements = data + begin + length;
  if (header.fortranOrder && type.shape.size() > 1)
    convertFortranOrder(elements, result);
  else if (bytes)
    std::memcpy(result.bytes.data(), elements, bytes);
  tensor = std::move(result);
  return {};
}

std::string npyHeader(const TensorType &type) {
  std::string descr;
  for (const TypeName &t : kTypeNames)
    if (t.dtype == type.dtype && descr.empty())
      descr = t.descr;
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < type.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(type.shape[i]);
  text += type.shape.size() == 1 ? ",), }" : "), }";

  auto padded = [&](size_t prefix) {
    size_t total = prefix + text.size() + 1;
    return text + std::string((64 - total % 64) % 64, ' ') + '\n';
  };
  std::string body = padded(10);
  bool isLong = body.size() > 0xffff;
  if (isLong)
    body = padded(12);
  std::string header(kMagic, kMagicBytes);
  header += isLong ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < (isLong ? 4u : 2u); ++i)
    header += static_cast<char>(body.size() >> (8 * i) & 0xff);
  return header + body;
}

Status readNpyFile(const std::string &path, HostTensor &tensor,
                   const TensorType *wanted) {
  std::vector<uint8_t> bytes;
  if (Status s = readWholeFile(path, bytes); !s)
    return s;
  return parseNpy(path, bytes.data(), bytes.size(), tensor, wanted);
}

Status writeNpyFile(const std::string &path, const TensorType &type,
                    const void *data) {
  std::string header = npyHeader(type);
  return writeWholeFile(path, {{header.data(), header.size()},
                               {data, static_cast<size_t>(type.byteSize())}});
}

Status writeNpyFile(const std::string &path, const HostTensor &tensor) {
  return writeNpyFile(path, tensor.type, tensor.bytes.data());
}

} // namespace heddle
