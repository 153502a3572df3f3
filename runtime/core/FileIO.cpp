//===- FileIO.cpp - whole files in, whole files out -----------------------===//

#include "FileIO.h"
#include "Memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

Status fileError(const char *doing, const std::string &path, int error) {
  std::string reason = std::strerror(error);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z')
    reason[0] = static_cast<char>(reason[0] - 'A' + 'a');
  return Status::error(std::string(doing) + " '" + path + "': " + reason);
}

/// Pipes and devices tell no size; memory is compared with what has come every
/// so many bytes.
static constexpr size_t kCheckEvery = size_t(64) << 20;

/// Reads to the end of `fd`; false leaves the reason in errno or in `status`.
static bool readAll(int fd, const std::string &path,
                    std::vector<uint8_t> &bytes, Status &status) {
  auto allows = [&](size_t n) {
    status = checkMemory(static_cast<int64_t>(n), "reading '" + path + "'");
    return status.ok();
  };
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    if (!allows(static_cast<size_t>(info.st_size)))
      return false;
    bytes.resize(static_cast<size_t>(info.st_size));
  }
  size_t size = 0, checked = bytes.size();
  std::vector<uint8_t> more(1 << 16);
  while (true) {
    // A regular file ends where its size says; a pipe may go on.
    bool known = size < bytes.size();
    ssize_t n = known ? read(fd, bytes.data() + size, bytes.size() - size)
                      : read(fd, more.data(), more.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      bytes.resize(size);
      return n == 0;
    }
    if (!known)
      bytes.insert(bytes.end(), more.begin(), more.begin() + n);
    size += static_cast<size_t>(n);
    if (size > checked + kCheckEvery) {
      // Growing moves to a block of up to twice the size.
      if (!allows(2 * size))
        return false;
      checked = size;
    }
  }
}

static bool writeAll(int fd, std::initializer_list<FilePiece> pieces) {
  for (const FilePiece &piece : pieces) {
    const char *p = static_cast<const char *>(piece.data);
    size_t left = piece.size;
    while (left) {
      ssize_t n = write(fd, p, left);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return false;
      p += n;
      left -= static_cast<size_t>(n);
    }
  }
  return true;
}

Status readWholeFile(const std::string &path, std::vector<uint8_t> &bytes) {
  bytes.clear();
  bool standard = path == "-";
  int fd = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fileError("cannot read", path, errno);
  Status status;
  bool ok = false;
  int error = ENOMEM;
  try {
    ok = readAll(fd, path, bytes, status);
    error = errno;
  } catch (const std::bad_alloc &) {
    bytes.clear();
  }
  if (!standard)
    close(fd);
  if (!ok && status.ok())
    status = fileError("cannot read", path, error);
  return status;
}

/// Writes without a temporary file: standard output, pipes and devices.
static Status writeDirectly(const std::string &path, int fd, bool closeIt,
                            std::initializer_list<FilePiece> pieces) {
  bool ok = writeAll(fd, pieces);
  int error = errno;
  if (closeIt && close(fd) != 0 && ok) {
    ok = false;
    error = errno;
  }
  return ok ? Status() : fileError("cannot write", path, error);
}

/// The file that a chain of links leads to; renaming over the link itself
/// would replace it.
static std::string resolveLinks(const std::string &path) {
  char *real = realpath(path.c_str(), nullptr);
  if (!real)
    return path;
  std::string resolved = real;
  std::free(real);
  return resolved;
}

Status writeWholeFile(const std::string &path,
                      std::initializer_list<FilePiece> pieces) {
  if (path == "-")
    return writeDirectly(path, STDOUT_FILENO, false, pieces);
  struct stat info;
  bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return fileError("cannot write", path, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return fileError("cannot write", path, errno);
    return writeDirectly(path, fd, true, pieces);
  }
  if (exists && access(path.c_str(), W_OK) != 0)
    return fileError("cannot write", path, errno);
  std::string target = resolveLinks(path);
  std::string temporary = target + ".XXXXXX";
  int fd = mkstemp(&temporary[0]);
  if (fd < 0)
    return fileError("cannot write", path, errno);
  // mkstemp makes files private; give this one the usual rights or those of
  // the file that it replaces.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, exists ? info.st_mode & 07777 : 0666 & ~mask);
  Status s = writeDirectly(path, fd, true, pieces);
  if (s.ok() && rename(temporary.c_str(), target.c_str()) != 0)
    s = fileError("cannot write", path, errno);
  if (!s.ok())
    unlink(temporary.c_str());
  return s;
}

Status writeProgramFile(const std::string &path, const Program &program) {
  std::vector<uint8_t> bytes = serializeProgram(program);
  return writeWholeFile(path, {{bytes.data(), bytes.size()}});
}

Status readProgramFile(const std::string &path, Program &program) {
  std::vector<uint8_t> bytes;
  if (Status s = readWholeFile(path, bytes); !s)
    return s;
  Status s = deserializeProgram(bytes.data(), bytes.size(), program);
  return s.ok() ? s : Status::error("'" + path + "': " + s.message);
}

} // namespace heddle
