//===- ResultFile.cpp - {device, config: {runs}, results} -----------------===//

#include "ResultFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <unistd.h>

namespace fs = std::filesystem;

namespace heddle::bench {

static Status cannotWrite(const std::string &path) {
  return Status::error("cannot write '" + path + "': " + std::strerror(errno) +
                       "; choose another -o");
}

/// Whether a rename onto the path would replace something that is no plain
/// file, such as a device or a pipe.
static bool isSpecial(const std::string &path) {
  std::error_code ignored;
  fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

Status readResultFile(const std::string &path, Row &document) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)),
                   std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad() || fs::is_directory(path))
    return Status::error("cannot read '" + path +
                         "': " + std::strerror(errno ? errno : EISDIR));
  document = Row::parse(text, nullptr, /*allow_exceptions=*/false);
  auto rows = document.is_object() ? document.find("results") : document.end();
  bool valid =
      document.is_object() && rows != document.end() && rows->is_array();
  if (valid)
    for (const Row &row : *rows)
      valid &= row.is_object();
  if (!valid)
    return Status::error("expected a result file (a JSON object with device, "
                         "config and a list of rows in results), '" +
                         path +
                         "' is none; pass a file that heddle-bench or a "
                         "peer wrote");
  return Status();
}

Status ResultFile::open(const std::string &file, bool append, const Row &device,
                        const Row &run) {
  path = file;
  document = Row{{"device", device},
                 {"config", {{"runs", Row::array()}}},
                 {"results", Row::array()}};
  if (append && !path.empty() && path != "-" && fs::exists(path)) {
    Row old;
    if (Status s = readResultFile(path, old); !s)
      return s;
    Row oldDevice = old.value("device", Row::object());
    for (const char *key : {"device_kind", "threads"})
      if (oldDevice.value(key, Row()) != device.value(key, Row()))
        return Status::error("expected '" + path + "' to be of this device (" +
                             key + " " + device.value(key, Row()).dump() +
                             "), found " + oldDevice.value(key, Row()).dump() +
                             "; write to another file");
    document["results"] = old["results"];
    if (old.contains("config") && old["config"].is_object() &&
        old["config"].value("runs", Row()).is_array())
      document["config"] = old["config"];
  }
  document["config"]["runs"].push_back(run);
  if (path.empty() || path == "-")
    return Status();

  // Find out now, not after the first row, that nothing can be written.
  errno = 0;
  if (isSpecial(path))
    return std::ofstream(path) ? Status() : cannotWrite(path);
  std::string probe = path + ".tmp" + std::to_string(getpid());
  bool writable = static_cast<bool>(std::ofstream(probe));
  if (!writable)
    return cannotWrite(path);
  std::remove(probe.c_str());
  return Status();
}

Status ResultFile::write() const {
  errno = 0;
  std::string text =
      document.dump(1, ' ', false, Row::error_handler_t::replace) + "\n";
  bool special = isSpecial(path);
  std::string target =
      special ? path : path + ".tmp" + std::to_string(getpid());
  {
    std::ofstream out(target, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      Status status = cannotWrite(path);
      if (!special)
        std::remove(target.c_str());
      return status;
    }
  }
  if (!special && std::rename(target.c_str(), path.c_str()) != 0) {
    Status status = cannotWrite(path);
    std::remove(target.c_str());
    return status;
  }
  return Status();
}

Status ResultFile::add(const Row &row) {
  document["results"].push_back(row);
  return path.empty() || path == "-" ? Status() : write();
}

Status ResultFile::finish() {
  if (path != "-")
    return Status();
  std::cout << document.dump(1, ' ', false, Row::error_handler_t::replace)
            << std::endl;
  return std::cout ? Status() : cannotWrite("standard output");
}

} // namespace heddle::bench
