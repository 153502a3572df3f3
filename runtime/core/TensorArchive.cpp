//===- TensorArchive.cpp - named tensors in one file ----------------------===//

#include "heddle/Runtime/TensorArchive.h"
#include "FileIO.h"

#include "heddle/Runtime/Npy.h"

#include <nlohmann/json.hpp>
#include <zlib.h>

#include <cstring>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

/// zip's signatures and record sizes.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50,
                   kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kEnd64Locator = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22,
                 kEnd64Bytes = 56, kLocatorBytes = 20, kMostComment = 0xffff;
/// Stands where the true figure is in a zip64 record.
constexpr uint32_t kSee64 = 0xffffffff;
/// Stored, deflated.
constexpr uint16_t kStored = 0, kDeflated = 8;

struct SafetensorsName {
  DType dtype;
  const char *name;
};
constexpr SafetensorsName kSafetensorsNames[] = {
    {DType::F32, "F32"}, {DType::F64, "F64"},   {DType::F16, "F16"},
    {DType::BF16, "BF16"}, {DType::I1, "BOOL"}, {DType::I8, "I8"},
    {DType::I16, "I16"}, {DType::I32, "I32"},   {DType::I64, "I64"}};

/// Little-endian numbers at any address.
template <typename T> T load(const uint8_t *at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<T>(at[i]) << (8 * i));
  return value;
}
template <typename T> void store(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
}

bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

uint32_t checksumOf(const uint8_t *data, size_t size, uint32_t sum = 0) {
  // zlib counts in 32 bits.
  for (size_t at = 0; at < size;) {
    size_t part = std::min<size_t>(size - at, 1u << 30);
    sum = static_cast<uint32_t>(crc32(sum, data + at, static_cast<uInt>(part)));
    at += part;
  }
  return sum;
}

/// Inflates a raw deflate stream; false where it is none of `fullSize` bytes.
bool inflateAll(const uint8_t *data, size_t size, std::vector<uint8_t> &out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  size_t in = 0, made = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    size_t inPart = std::min<size_t>(size - in, 1u << 30);
    size_t outPart = std::min<size_t>(out.size() - made, 1u << 30);
    stream.next_in = const_cast<Bytef *>(data + in);
    stream.avail_in = static_cast<uInt>(inPart);
    stream.next_out = out.data() + made;
    stream.avail_out = static_cast<uInt>(outPart);
    state = inflate(&stream, Z_NO_FLUSH);
    size_t used = inPart - stream.avail_in, got = outPart - stream.avail_out;
    in += used;
    made += got;
    if (state == Z_OK && used == 0 && got == 0)
      break;
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END && made == out.size();
}

} // namespace

Status TensorArchive::error(const std::string &text) const {
  return Status::error("'" + path + "': " + text);
}

Status TensorArchive::open(const std::string &path, TensorArchive &archive) {
  std::vector<uint8_t> bytes;
  if (Status s = readWholeFile(path, bytes); !s)
    return s;
  return parse(path, std::move(bytes), archive);
}

Status TensorArchive::parse(const std::string &name, std::vector<uint8_t> bytes,
                            TensorArchive &archive) {
  archive = TensorArchive();
  archive.path = name;
  archive.bytes = std::move(bytes);
  const std::vector<uint8_t> &data = archive.bytes;
  if (data.size() >= 4) {
    uint32_t magic = load<uint32_t>(data.data());
    if (magic == kLocalHeader || magic == kEnd) {
      archive.isZip = true;
      return archive.parseZip();
    }
  }
  if (data.size() > 8 && data[8] == '{')
    return archive.parseSafetensors();
  return archive.error("expected a .npz or .safetensors file, found neither");
}

//===----------------------------------------------------------------------===//
// zip
//===----------------------------------------------------------------------===//

Status TensorArchive::parseZip() {
  size_t size = bytes.size(), end = size;
  size_t lowest = size > kEndBytes + kMostComment
                      ? size - kEndBytes - kMostComment
                      : 0;
  for (size_t at = size < kEndBytes ? 0 : size - kEndBytes + 1; at-- > lowest;)
    if (load<uint32_t>(&bytes[at]) == kEnd) {
      end = at;
      break;
    }
  if (end == size)
    return error("the zip archive is truncated: it has no directory");
  uint64_t count = load<uint16_t>(&bytes[end + 10]);
  uint64_t at = load<uint32_t>(&bytes[end + 16]);
  if (end >= kLocatorBytes &&
      load<uint32_t>(&bytes[end - kLocatorBytes]) == kEnd64Locator) {
    uint64_t end64 = load<uint64_t>(&bytes[end - kLocatorBytes + 8]);
    if (size < kEnd64Bytes || end64 > size - kEnd64Bytes ||
        load<uint32_t>(&bytes[end64]) != kEnd64)
      return error("the zip archive has a damaged directory");
    count = load<uint64_t>(&bytes[end64 + 32]);
    at = load<uint64_t>(&bytes[end64 + 48]);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (size < kCentralBytes || at > size - kCentralBytes ||
        load<uint32_t>(&bytes[at]) != kCentralHeader)
      return error("the zip archive has a damaged directory");
    const uint8_t *record = &bytes[at];
    uint16_t flags = load<uint16_t>(record + 8),
             method = load<uint16_t>(record + 10);
    size_t nameBytes = load<uint16_t>(record + 28),
           extraBytes = load<uint16_t>(record + 30),
           commentBytes = load<uint16_t>(record + 32);
    if (size - at - kCentralBytes < nameBytes + extraBytes + commentBytes)
      return error("the zip archive has a damaged directory");
    std::string name(reinterpret_cast<const char *>(record + kCentralBytes),
                     nameBytes);
    uint64_t packed = load<uint32_t>(record + 20),
             full = load<uint32_t>(record + 24),
             local = load<uint32_t>(record + 42);
    // Figures that are too large for a record stand in its zip64 field, in
    // this order.
    const uint8_t *extra = record + kCentralBytes + nameBytes;
    for (size_t e = 0; e + 4 <= extraBytes;) {
      size_t id = load<uint16_t>(extra + e), n = load<uint16_t>(extra + e + 2);
      if (e + 4 + n > extraBytes)
        break;
      size_t next = e + 4;
      for (uint64_t *figure : {&full, &packed, &local})
        if (id == 1 && *figure == kSee64 && next + 8 <= e + 4 + n) {
          *figure = load<uint64_t>(extra + next);
          next += 8;
        }
      e += 4 + n;
    }
    at += kCentralBytes + nameBytes + extraBytes + commentBytes;
    if (!endsWith(name, ".npy"))
      continue; // a folder, or something that numpy has not written
    if (flags & 1)
      return error("'" + name + "' is encrypted; write the file without");
    if (method != kStored && method != kDeflated)
      return error("expected '" + name +
                   "' to be stored or deflated, found compression method " +
                   std::to_string(method));
    if (size < kLocalBytes || local > size - kLocalBytes ||
        load<uint32_t>(&bytes[local]) != kLocalHeader)
      return error("the zip archive has a damaged entry '" + name + "'");
    Entry entry;
    entry.offset = local + kLocalBytes + load<uint16_t>(&bytes[local + 26]) +
                   load<uint16_t>(&bytes[local + 28]);
    entry.size = packed;
    entry.fullSize = full;
    entry.deflated = method == kDeflated;
    entry.checksum = load<uint32_t>(record + 16);
    if (entry.offset > size || packed > size - entry.offset ||
        (!entry.deflated && packed != full))
      return error("the zip archive has a damaged entry '" + name + "'");
    entries[name.substr(0, name.size() - 4)] = entry;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

Status TensorArchive::parseSafetensors() {
  uint64_t headerBytes = load<uint64_t>(bytes.data());
  if (headerBytes > bytes.size() - 8)
    return error("the safetensors file is truncated: its header has " +
                 std::to_string(headerBytes) + " bytes");
  const char *text = reinterpret_cast<const char *>(bytes.data()) + 8;
  Json header = Json::parse(text, text + headerBytes, nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object())
    return error("the safetensors file has a damaged header");
  size_t begin = 8 + headerBytes, left = bytes.size() - begin;
  for (const auto &item : header.items()) {
    const std::string &name = item.key();
    const Json &value = item.value();
    if (name == "__metadata__")
      continue;
    auto damaged = [&] {
      return error("the safetensors file has a damaged entry '" + name + "'");
    };
    if (!value.is_object() || !value.contains("dtype") ||
        !value["dtype"].is_string() || !value.contains("shape") ||
        !value["shape"].is_array() || !value.contains("data_offsets") ||
        !value["data_offsets"].is_array() ||
        value["data_offsets"].size() != 2)
      return damaged();
    std::string dtype = value["dtype"].get<std::string>();
    Entry entry;
    bool known = false;
    for (const SafetensorsName &n : kSafetensorsNames)
      if (dtype == n.name) {
        entry.type.dtype = n.dtype;
        known = true;
      }
    if (!known)
      return error("expected '" + name +
                   "' to be F32, F64, F16, BF16, BOOL, I8, I16, I32 or I64, "
                   "found " +
                   dtype);
    uint64_t size = byteWidth(entry.type.dtype);
    bool empty = false;
    for (const Json &extent : value["shape"]) {
      if (!extent.is_number_unsigned())
        return damaged();
      uint64_t n = extent.get<uint64_t>();
      if (n > (uint64_t(1) << 62))
        return damaged();
      entry.type.shape.push_back(static_cast<int64_t>(n));
      empty |= n == 0;
    }
    for (int64_t n : entry.type.shape) {
      if (empty)
        size = 0;
      else if (size > left / static_cast<uint64_t>(n))
        return damaged();
      else
        size *= static_cast<uint64_t>(n);
    }
    const Json &offsets = value["data_offsets"];
    if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
      return damaged();
    uint64_t first = offsets[0].get<uint64_t>(),
             last = offsets[1].get<uint64_t>();
    if (first > last || last > left || last - first != size)
      return damaged();
    entry.offset = begin + first;
    entry.size = size;
    entries[name] = entry;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

std::vector<std::string> TensorArchive::names() const {
  std::vector<std::string> result;
  for (const auto &[name, entry] : entries)
    result.push_back(name);
  return result;
}

Status TensorArchive::read(const std::string &name, HostTensor &tensor,
                           const TensorType *wanted) const {
  auto found = entries.find(name);
  if (found == entries.end())
    return error("expected a tensor '" + name + "', found none");
  const Entry &entry = found->second;
  const uint8_t *data = bytes.data() + entry.offset;
  if (!isZip) {
    if (wanted && !(*wanted == entry.type))
      return error("expected '" + name + "' to be " + wanted->str() + ", got " +
                   entry.type.str());
    tensor = HostTensor(entry.type);
    if (entry.size)
      std::memcpy(tensor.bytes.data(), data, entry.size);
    return {};
  }
  std::vector<uint8_t> inflated;
  size_t size = entry.size;
  if (entry.deflated) {
    // Deflate packs at most 1032 to 1.
    if (entry.fullSize / 1032 > entry.size + 1)
      return error("the zip archive has a damaged entry '" + name + "'");
    inflated.resize(entry.fullSize);
    if (!inflateAll(data, entry.size, inflated))
      return error("the zip archive has a damaged entry '" + name + "'");
    data = inflated.data();
    size = inflated.size();
  }
  if (checksumOf(data, size) != entry.checksum)
    return error("the zip archive has a damaged entry '" + name +
                 "': its checksum is wrong");
  return parseNpy(path + "' entry '" + name, data, size, tensor, wanted);
}

bool isTensorArchivePath(const std::string &path) {
  return endsWith(path, ".npz") || endsWith(path, ".safetensors");
}

static Status writeSafetensors(const std::string &path,
                               const std::vector<ArchivedTensor> &tensors) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const ArchivedTensor &t : tensors) {
    const char *dtype = "";
    for (const SafetensorsName &n : kSafetensorsNames)
      if (n.dtype == t.tensor->type.dtype)
        dtype = n.name;
    uint64_t end = offset + t.tensor->bytes.size();
    header[t.name] = {{"dtype", dtype},
                      {"shape", t.tensor->type.shape},
                      {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string data;
  store<uint64_t>(data, text.size());
  data += text;
  for (const ArchivedTensor &t : tensors)
    data.append(reinterpret_cast<const char *>(t.tensor->bytes.data()),
                t.tensor->bytes.size());
  return writeWholeFile(path, {{data.data(), data.size()}});
}

static Status writeNpz(const std::string &path,
                       const std::vector<ArchivedTensor> &tensors) {
  std::string data, directory;
  for (const ArchivedTensor &t : tensors) {
    std::string name = t.name + ".npy", header = npyHeader(t.tensor->type);
    uint64_t size = header.size() + t.tensor->bytes.size();
    if (size >= kSee64 || data.size() >= kSee64 || tensors.size() > 0xffff)
      return Status::error("'" + path +
                           "': expected an archive below 4 GiB as .npz; write "
                           "a .safetensors file");
    uint32_t sum = checksumOf(
        reinterpret_cast<const uint8_t *>(header.data()), header.size());
    sum = checksumOf(t.tensor->bytes.data(), t.tensor->bytes.size(), sum);
    uint32_t at = static_cast<uint32_t>(data.size());
    std::string common; // what both headers hold
    store<uint16_t>(common, 0x0800); // the name is UTF-8
    store<uint16_t>(common, kStored);
    store<uint32_t>(common, 0x00210000); // 1980-01-01
    store<uint32_t>(common, sum);
    store<uint32_t>(common, static_cast<uint32_t>(size));
    store<uint32_t>(common, static_cast<uint32_t>(size));
    store<uint16_t>(common, static_cast<uint16_t>(name.size()));
    store<uint16_t>(common, 0); // no extra field
    store<uint32_t>(data, kLocalHeader);
    store<uint16_t>(data, 20); // version 2.0 reads it
    data += common + name + header;
    data.append(reinterpret_cast<const char *>(t.tensor->bytes.data()),
                t.tensor->bytes.size());
    store<uint32_t>(directory, kCentralHeader);
    store<uint16_t>(directory, 20);
    store<uint16_t>(directory, 20);
    directory += common;
    store<uint16_t>(directory, 0); // no comment
    store<uint16_t>(directory, 0); // disk
    store<uint16_t>(directory, 0); // attributes
    store<uint32_t>(directory, 0);
    store<uint32_t>(directory, at);
    directory += name;
  }
  if (data.size() + directory.size() >= kSee64)
    return Status::error("'" + path +
                         "': expected an archive below 4 GiB as .npz; write a "
                         ".safetensors file");
  std::string end;
  store<uint32_t>(end, kEnd);
  store<uint32_t>(end, 0); // disks
  store<uint16_t>(end, static_cast<uint16_t>(tensors.size()));
  store<uint16_t>(end, static_cast<uint16_t>(tensors.size()));
  store<uint32_t>(end, static_cast<uint32_t>(directory.size()));
  store<uint32_t>(end, static_cast<uint32_t>(data.size()));
  store<uint16_t>(end, 0); // no comment
  return writeWholeFile(path, {{data.data(), data.size()},
                               {directory.data(), directory.size()},
                               {end.data(), end.size()}});
}

Status writeTensorArchive(const std::string &path,
                          const std::vector<ArchivedTensor> &tensors) {
  if (endsWith(path, ".safetensors"))
    return writeSafetensors(path, tensors);
  if (endsWith(path, ".npz"))
    return writeNpz(path, tensors);
  return Status::error("expected a path that ends with .npz or .safetensors, "
                       "got '" +
                       path + "'");
}

} // namespace heddle
