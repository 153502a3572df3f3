//===- Ptxas.cpp - NVIDIA's assembler, where it is installed --------------===//

#include "heddle/Target/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

namespace {

/// A file in the temporary folder, removed at the end.
struct TemporaryFile {
  llvm::SmallString<128> path;
  std::error_code create(StringRef suffix) {
    return llvm::sys::fs::createTemporaryFile("heddle", suffix, path);
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
};

} // namespace

/// Runs a program; `output` is what it prints to both streams.
static LogicalResult runProgram(const std::string &path,
                                llvm::ArrayRef<StringRef> arguments,
                                std::string &output, std::string &error) {
  TemporaryFile log;
  if (std::error_code code = log.create("log")) {
    error = "cannot create a temporary file: " + code.message();
    return failure();
  }
  llvm::SmallVector<StringRef> all = {path};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), log.path.str(),
                                          log.path.str()};
  std::string reason;
  bool failed = false;
  int result = llvm::sys::ExecuteAndWait(path, all, std::nullopt, redirects, 0,
                                         0, &reason, &failed);
  if (auto text = llvm::MemoryBuffer::getFile(log.path))
    output = (*text)->getBuffer().str();
  if (result == 0)
    return success();
  error = "cannot run '" + path + "'" + (reason.empty() ? "" : ": " + reason);
  if (!failed && reason.empty())
    error = "'" + path + "' fails";
  return failure();
}

/// One line of what a program prints.
static std::string oneLine(StringRef text) {
  std::string joined;
  for (StringRef line : llvm::split(text, '\n'))
    if (line = line.trim(); !line.empty())
      joined += (joined.empty() ? "" : "; ") + line.str();
  return joined;
}

static std::string locate(const std::string &option, std::string &places) {
  if (!option.empty()) {
    places = option;
    return llvm::sys::fs::can_execute(option) ? option : "";
  }
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  places = "PATH";
  llvm::SmallVector<std::string> roots;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> root = llvm::sys::Process::GetEnv(variable))
      roots.push_back(*root);
  if (roots.empty())
    roots.push_back("/usr/local/cuda");
  for (const std::string &root : roots) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return std::string(path);
    places += ", " + std::string(path);
  }
  return "";
}

/// "... release 13.0, V13.0.88" to 13000.
static int parseRelease(StringRef text) {
  StringRef rest = text.split("release ").second;
  int major = 0, minor = 0;
  if (rest.consumeInteger(10, major) || !rest.consume_front(".") ||
      rest.consumeInteger(10, minor))
    return 0;
  return 1000 * major + 10 * minor;
}

LogicalResult Ptxas::find(const std::string &option, Ptxas &ptxas,
                          std::string &error) {
  std::string places;
  ptxas.path = locate(option, places);
  if (ptxas.path.empty()) {
    error = "expected ptxas of the CUDA toolkit, found none at " + places +
            "; install it, set CUDA_HOME, pass --ptxas=FILE, or emit PTX, "
            "which the driver compiles";
    return failure();
  }
  std::string output;
  if (failed(runProgram(ptxas.path, {"--version"}, output, error)))
    return failure();
  ptxas.cudaVersion = parseRelease(output);
  if (ptxas.cudaVersion)
    return success();
  error = "expected ptxas of the CUDA toolkit, got '" + ptxas.path +
          "', which does not say its release; pass another one as --ptxas=FILE";
  return failure();
}

LogicalResult Ptxas::checkPtxVersion(uint32_t ptxVersion,
                                     std::string &error) const {
  uint32_t newest = newestPtxOfCuda(cudaVersion);
  if (ptxVersion <= newest)
    return success();
  error = "expected PTX that ptxas of CUDA " + cudaVersionText(cudaVersion) +
          " knows, up to ISA " + ptxVersionText(newest) + ", got ISA " +
          ptxVersionText(ptxVersion) +
          "; pass --ptx-version=" + ptxVersionText(newest) +
          " or a newer ptxas as --ptxas=FILE";
  return failure();
}

uint32_t heddle::ptxVersionOf(StringRef ptx) {
  StringRef rest = ptx.split(".version ").second;
  uint32_t major = 0, minor = 0;
  if (rest.consumeInteger(10, major) || !rest.consume_front(".") ||
      rest.consumeInteger(10, minor))
    return 0;
  return 10 * major + minor;
}

LogicalResult Ptxas::assemble(StringRef ptx, const GpuTarget &target,
                              bool lineInfo, std::vector<uint8_t> &cubin,
                              std::vector<PtxasKernel> &kernels,
                              std::string &error) const {
  if (failed(checkPtxVersion(ptxVersionOf(ptx), error)))
    return failure();
  TemporaryFile input, output;
  for (TemporaryFile *file : {&input, &output})
    if (std::error_code code = file->create(file == &input ? "ptx" : "cubin")) {
      error = "cannot create a temporary file: " + code.message();
      return failure();
    }
  std::error_code code;
  llvm::raw_fd_ostream os(input.path, code);
  os << ptx;
  os.close();
  if (code || os.has_error()) {
    error = "cannot write '" + std::string(input.path) + "'";
    os.clear_error();
    return failure();
  }
  std::string arch = "-arch=" + target.name.str(), report;
  llvm::SmallVector<StringRef> arguments = {"-v", arch};
  if (lineInfo)
    arguments.push_back("-lineinfo");
  arguments.append({"-o", output.path, input.path});
  if (failed(runProgram(path, arguments, report, error))) {
    if (!report.empty())
      error += " on PTX for " + target.name.str() + ": " + oneLine(report);
    return failure();
  }
  if (failed(parsePtxasReport(report, kernels, error)))
    return failure();
  auto bytes = llvm::MemoryBuffer::getFile(output.path);
  if (!bytes) {
    error =
        "cannot read what '" + path + "' wrote: " + bytes.getError().message();
    return failure();
  }
  cubin.assign((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  return success();
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// The number in front of `unit` in `line`, as in "16 bytes stack frame".
static bool numberBefore(StringRef line, StringRef unit, int64_t &value) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return false;
  StringRef before = line.take_front(at).rtrim();
  StringRef digits = before.take_back(
      before.size() - (before.find_last_not_of("0123456789") + 1));
  return !digits.getAsInteger(10, value);
}

LogicalResult heddle::parsePtxasReport(StringRef report,
                                       std::vector<PtxasKernel> &kernels,
                                       std::string &error) {
  kernels.clear();
  // Properties of device functions stand beside those of entries.
  bool ofEntry = false;
  for (StringRef line : llvm::split(report, '\n')) {
    if (line.contains("wgmma") && line.contains("serialized")) {
      error = "ptxas serialised wgmma: " + line.trim().str() +
              "; accumulators have to stay in registers between the products";
      return failure();
    }
    if (line.contains("Compiling entry function '")) {
      kernels.emplace_back();
      kernels.back().symbol = line.split('\'').second.split('\'').first.str();
      ofEntry = true;
    } else if (line.contains("Function properties for ")) {
      StringRef name = line.split("properties for ").second.trim();
      ofEntry = !kernels.empty() && name == kernels.back().symbol;
    }
    if (kernels.empty())
      continue;
    PtxasKernel &k = kernels.back();
    if (ofEntry && line.contains("bytes stack frame")) {
      numberBefore(line, "bytes stack frame", k.stackBytes);
      numberBefore(line, "bytes spill stores", k.spillStores);
      numberBefore(line, "bytes spill loads", k.spillLoads);
    }
    if (line.contains(": Used ")) {
      if (!numberBefore(line, "registers", k.registers)) {
        error = "cannot read the registers in what ptxas says: " +
                line.trim().str();
        return failure();
      }
      numberBefore(line, "bytes smem", k.sharedBytes);
    }
  }
  return success();
}

void heddle::setKernelFacts(llvm::ArrayRef<PtxasKernel> facts,
                            GpuImage &image) {
  for (GpuKernel &kernel : image.kernels)
    for (const PtxasKernel &fact : facts) {
      if (fact.symbol != kernel.symbol)
        continue;
      kernel.registers = fact.registers;
      kernel.spillBytes = fact.spillStores + fact.spillLoads;
      kernel.stackBytes = fact.stackBytes;
      kernel.staticSharedBytes = fact.sharedBytes;
    }
}
