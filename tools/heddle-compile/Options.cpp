//===- Options.cpp - the command line of heddle-compile -------------------===//

#include "Options.h"

#include "heddle/Codegen/GPU/AttentionTiles.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/GpuImage.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

using namespace heddle;
using namespace heddle::compile;

namespace cl = llvm::cl;

namespace {

/// The options as the command line library fills them. They are made in main
/// and not as globals, because LLVM's shared library has registered an option
/// `threads` of its own by then, which makes place for ours.
struct Flags {
  cl::OptionCategory category{"heddle-compile options"};
  cl::list<std::string> inputs{
      cl::Positional,
      cl::desc("MODEL.mlir [MODEL.mlir ...]: functions of the same name are "
               "specialisations, chosen by argument shapes"),
      cl::cat(category)};
  cl::opt<std::string> output{"o",
                              cl::desc("file to write; - is standard output"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::alias outputAlias{"output", cl::desc("same as -o"), cl::aliasopt(output),
                        cl::cat(category)};
  cl::opt<std::string> target{"target",
                              cl::desc("cpu (default), or GPUs joined by "
                                       "commas: sm_80, sm_86, sm_89, sm_90, "
                                       "sm_90a"),
                              cl::init("cpu"), cl::value_desc("name"),
                              cl::cat(category)};
  cl::opt<std::string> cpu{
      "cpu", cl::desc("native (default), x86-64-v3 or x86-64-v4"),
      cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> f32Precision{
      "f32-precision",
      cl::desc(
          "products of f32 on a GPU: ieee (default), or tf32 on the matrix "
          "unit, whose operands have 10 bits of mantissa"),
      cl::init("ieee"), cl::value_desc("kind"), cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("what to write: bundle (default), mlir; for a CPU llvm, asm; "
               "for a GPU ptx, cubin, also of a module that holds a gpu.module "
               "of llvm and nvvm ops"),
      cl::value_desc("kind"), cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to",
      cl::desc("stop after a stage and write MLIR: model, fuse, plan, tile; "
               "for a CPU cpu, llvm; for a GPU gpu, nvvm"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("function to compile; default: all public ones"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> report{
      "report",
      cl::desc("print signature, kernels, commands and memory plan to standard "
               "output: text (default) or json"),
      cl::value_desc("format"), cl::ValueOptional, cl::cat(category)};
  cl::opt<std::string> chip{
      "chip",
      cl::desc("product that the report's least times are of: h200, h100, "
               "a100, rtx3090, ... (--list-targets); default: the first of each "
               "target"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> threads{
      "threads",
      cl::desc("workers that the report's memory figures are for; default: the "
               "cores of this process"),
      cl::value_desc("n"), cl::cat(category)};
  cl::opt<bool> verifyEach{"verify-each",
                           cl::desc("check the IR after every pass"),
                           cl::cat(category)};
  cl::opt<std::string> ptxVersion{
      "ptx-version",
      cl::desc("PTX ISA of GPU code; default: the lowest that has the target, "
               "from 8.0"),
      cl::value_desc("major.minor"), cl::cat(category)};
  cl::opt<bool> lineInfo{"line-info",
                         cl::desc("line numbers in GPU code, for profilers"),
                         cl::cat(category)};
  cl::opt<std::string> libdevice{
      "libdevice",
      cl::desc("libdevice.10.bc; default: that of CUDA_HOME, CUDA_PATH or "
               "/usr/local/cuda"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("the assembler for cubins and reports; default: on PATH or in "
               "CUDA_HOME, CUDA_PATH or /usr/local/cuda"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> cubin{"cubin",
                      cl::desc("put machine code of each GPU beside the PTX; "
                               "needs ptxas"),
                      cl::cat(category)};
  cl::opt<bool> emulator{
      "emulator",
      cl::desc("put code for the emulator of each GPU beside the PTX; it runs on "
               "CPUs with the features of this one"),
      cl::cat(category)};
  cl::opt<std::string> tile{
      "tile",
      cl::desc("tile of attention on GPUs: queries, keys, warps of a block and "
               "stages, as q128_k64_w8_s1; default: the fastest by a model of "
               "the GPU"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<int64_t> scanChunks{
      "scan-chunks",
      cl::desc("chunks of time that scans are cut into on GPUs; default: as many "
               "as feed the smallest of them, 1: none"),
      cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<bool> listTiles{
      "list-tiles",
      cl::desc("list the tiles that attention can have on each GPU, with what "
               "they need and the time that the model gives, and compile "
               "nothing"),
      cl::cat(category)};
  cl::opt<bool> listTargets{"list-targets", cl::desc("list the targets"),
                            cl::cat(category)};
};

/// Takes names that we use away from whoever registered them first.
void releaseNames() {
  auto &registered = cl::getRegisteredOptions();
  llvm::SmallVector<cl::Option *> taken;
  for (llvm::StringRef name :
       {"o", "output", "target", "cpu", "f32-precision", "emit", "compile-to",
        "entry", "report", "threads", "verify-each", "list-targets",
        "ptx-version", "line-info", "libdevice", "ptxas", "cubin", "chip",
        "emulator", "tile", "scan-chunks", "list-tiles"})
    if (cl::Option *option = registered.lookup(name))
      taken.push_back(option);
  for (cl::Option *option : taken)
    option->removeArgument();
}

Flags &flags() {
  static Flags flags;
  return flags;
}

} // namespace

/// One line without the name of the tool from what the command line library
/// says about an option.
static std::string oneLine(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.trim().split(lines, '\n');
  std::string joined;
  for (llvm::StringRef line : lines) {
    line.consume_front("heddle-compile: ");
    joined += (joined.empty() ? "" : "; ") + line.trim().str();
  }
  return joined;
}

static Status readOptions(Options &options);

Status heddle::compile::parseCommandLine(int argc, char **argv,
                                         Options &options) {
  releaseNames();
  Flags &own = flags();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(own.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "heddle-compile " HEDDLE_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Compiles a model graph (MLIR) to a bundle that heddle-run "
          "executes.\n\n"
          "MLIR's own options work too (--help-hidden lists them):\n"
          "  --mlir-print-ir-tree-dir=DIR, --mlir-print-ir-after-all,\n"
          "  --mlir-timing, --mlir-pass-pipeline-crash-reproducer=FILE\n",
          &stream)) {
    // What is wrong inside an option (a missing value) was printed already.
    if (errors.empty())
      std::exit(1);
    return Status::error(oneLine(errors));
  }
  return readOptions(options);
}

/// "expected --NAME to be A, B or C, got 'found'".
static Status expectedOneOf(llvm::StringRef name, llvm::StringRef choices,
                            llvm::StringRef found) {
  return Status::error(
      ("expected --" + name + " to be " + choices + ", got '" + found + "'")
          .str());
}

/// Decides what is written and how far compilation goes.
static Status readEmit(Options &options) {
  const Flags &own = flags();
  bool gpu = !options.gpus.empty();
  if (!own.compileTo.empty()) {
    std::optional<Stage> stage = parseStage(own.compileTo);
    if (!stage)
      return expectedOneOf("compile-to", stageNames(gpu), own.compileTo);
    options.compile.compileTo = *stage;
    if (stageNames(gpu).find(own.compileTo) == std::string::npos)
      return expectedOneOf("compile-to",
                           stageNames(gpu) + " with --target=" + own.target,
                           own.compileTo);
  }
  bool partial = options.compile.compileTo != Stage::Object;

  auto kind = llvm::StringSwitch<std::optional<Emit>>(own.emit)
                  .Case("", partial ? Emit::Mlir : Emit::Bundle)
                  .Case("bundle", Emit::Bundle)
                  .Case("mlir", Emit::Mlir)
                  .Case("llvm", Emit::Llvm)
                  .Case("asm", Emit::Asm)
                  .Case("ptx", Emit::Ptx)
                  .Case("cubin", Emit::Cubin)
                  .Default(std::nullopt);
  if (!kind)
    return expectedOneOf("emit", "bundle, mlir, llvm, asm, ptx or cubin",
                         own.emit);
  options.emit = *kind;
  bool gpuCode = options.emit == Emit::Ptx || options.emit == Emit::Cubin;
  if (gpuCode && !gpu)
    return expectedOneOf(
        "target", GpuTarget::names() + " with --emit=" + own.emit, own.target);
  if (gpu && (options.emit == Emit::Llvm || options.emit == Emit::Asm))
    return Status::error("expected --emit=bundle, mlir, ptx or cubin with "
                         "--target=" +
                         own.target + ", got '" + own.emit + "'");
  if (options.gpus.size() > 1 && options.emit != Emit::Bundle)
    return Status::error("expected one target with --emit=" +
                         (own.emit.empty() ? "mlir" : own.emit.getValue()) +
                         ", got '" + own.target +
                         "'; a bundle alone holds several");
  if (own.cubin && (!gpu || options.emit != Emit::Bundle))
    return Status::error(
        "expected a bundle for GPUs with --cubin, got --target=" + own.target +
        "; --emit=cubin writes one alone");
  if (own.emulator && (!gpu || options.emit != Emit::Bundle))
    return Status::error(
        "expected a bundle for GPUs with --emulator, got --target=" +
        own.target + "; pass --target=sm_80 or the like");
  if (gpuCode && partial)
    return Status::error("expected no --compile-to with --emit=" + own.emit +
                         ", got '" + own.compileTo + "'");
  if (gpuCode) {
    options.compile.compileTo = Stage::Nvvm;
    return {};
  }
  if (options.emit == Emit::Bundle) {
    if (partial)
      return Status::error("expected --compile-to=object with --emit=bundle, "
                           "got '" +
                           own.compileTo + "'; use --emit=mlir");
    return {};
  }
  if (options.emit != Emit::Mlir && !own.compileTo.empty() &&
      options.compile.compileTo != Stage::Llvm)
    return Status::error("expected --compile-to=llvm with --emit=" + own.emit +
                         ", got '" + own.compileTo +
                         "'; drop --compile-to or use --emit=mlir");
  if (!partial) // text is of the last stage that has any
    options.compile.compileTo = gpu ? Stage::Nvvm : Stage::Llvm;
  return {};
}

/// "8.4" to 84.
static Status readPtxVersion(llvm::StringRef text, uint32_t &version) {
  auto [majorText, minorText] = text.split('.');
  uint32_t major = 0, minor = 0;
  if (majorText.getAsInteger(10, major) || minorText.getAsInteger(10, minor) ||
      major == 0 || major > 99 || minor > 9)
    return expectedOneOf("ptx-version", "like 8.0", text);
  version = 10 * major + minor;
  return {};
}

static Status readGpuOptions(Options &options) {
  const Flags &own = flags();
  std::string error;
  if (failed(parseTargets(own.target, options.gpus, error)))
    return Status::error(error);
  GpuImageOptions &gpu = options.compile.gpu;
  gpu.ptx.lineInfo = own.lineInfo;
  gpu.ptx.libdevice = own.libdevice;
  gpu.ptxas = own.ptxas;
  gpu.makeCubin = own.cubin;
  gpu.makeEmulator = own.emulator;
  options.compile.tile = own.tile;
  options.compile.scanChunks = own.scanChunks;
  options.listTiles = own.listTiles;
  if (options.gpus.empty() && (own.listTiles || !own.tile.empty()))
    return expectedOneOf("target",
                         GpuTarget::names() + " with " +
                             (own.listTiles ? "--list-tiles" : "--tile"),
                         own.target);
  if (own.scanChunks.getNumOccurrences()) {
    if (options.gpus.empty())
      return expectedOneOf("target", GpuTarget::names() + " with --scan-chunks",
                           own.target);
    if (own.scanChunks < 1)
      return Status::error("expected --scan-chunks of at least 1, got " +
                           std::to_string(own.scanChunks));
  }
  AttentionTiles tiles;
  if (!own.tile.empty() &&
      failed(AttentionTiles::parse(own.tile, tiles, error)))
    return Status::error(error);
  if (own.ptxVersion.empty())
    return {};
  return readPtxVersion(own.ptxVersion, gpu.ptx.ptxVersion);
}

/// The chip of the report, which has to run some of the targets.
static Status readChip(Options &options) {
  const Flags &own = flags();
  if (own.chip.empty())
    return {};
  if (!own.report.getNumOccurrences())
    return Status::error("expected --report with --chip=" + own.chip +
                         ", found none");
  const GpuTarget *newest = nullptr;
  std::string error;
  if (failed(findGpuChip(own.chip, options.chip, newest, error)))
    return Status::error("--chip: " + error);
  for (const GpuTarget *target : options.gpus)
    if (runsOn(*target, *options.chip))
      return {};
  return Status::error("expected --target=" + newest->name.str() +
                       " or an earlier GPU with --chip=" + own.chip +
                       ", got --target=" + own.target);
}

static Status readOptions(Options &options) {
  const Flags &own = flags();
  options.compile.verifyEach = own.verifyEach;
  options.listTargets = own.listTargets;
  if (options.listTargets)
    return {};
  if (own.inputs.empty())
    return Status::error(
        "expected a model, found none; pass MODEL.mlir, or - for standard "
        "input");
  options.inputs.assign(own.inputs.begin(), own.inputs.end());
  options.output = own.output;

  if (Status status = readGpuOptions(options); !status.ok())
    return status;
  if (own.cpu != "native" && own.cpu != "x86-64-v3" && own.cpu != "x86-64-v4")
    return expectedOneOf("cpu", "native, x86-64-v3 or x86-64-v4", own.cpu);
  std::optional<F32Precision> precision = parseF32Precision(own.f32Precision);
  if (!precision)
    return expectedOneOf("f32-precision", "ieee or tf32", own.f32Precision);
  if (*precision == F32Precision::Tf32 && options.gpus.empty())
    return expectedOneOf("target",
                         GpuTarget::names() + " with --f32-precision=tf32",
                         own.target);
  options.compile.f32Precision = *precision;
  options.compile.target = own.target;
  options.compile.cpu = own.cpu;
  options.compile.entry = own.entry;

  if (options.listTiles) {
    options.compile.compileTo = Stage::Fuse;
    options.emit = Emit::Nothing;
    return {};
  }
  if (Status status = readEmit(options); !status.ok())
    return status;
  if (options.inputs.size() > 1 && options.emit != Emit::Bundle)
    return Status::error(
        "expected one model with --emit and --compile-to, got " +
        std::to_string(options.inputs.size()) +
        "; a bundle alone holds several");
  if (own.report.getNumOccurrences()) {
    if (Status status = parseReportFormat(own.report, options.report);
        !status.ok())
      return status;
    if (options.emit != Emit::Bundle && options.emit != Emit::Cubin)
      return Status::error("expected a whole compilation with --report, got "
                           "one that stops at an earlier stage; drop --emit "
                           "and --compile-to");
    if (options.output == "-")
      return Status::error("expected one use of standard output, got -o - and "
                           "--report; write the bundle to a file");
  }
  if (Status status = readChip(options); !status.ok())
    return status;
  options.threads = cpuThreads();
  if (!own.threads.empty() &&
      (!llvm::to_integer(own.threads.getValue(), options.threads) ||
       options.threads < 1))
    return Status::error("expected --threads to be a number of at least 1, got "
                         "'" +
                         own.threads + "'");

  if (options.output.empty()) {
    if (options.emit != Emit::Bundle)
      options.output = "-";
    else if (options.report != ReportFormat::None)
      options.emit = Emit::Nothing;
    else
      return Status::error("expected a place for the bundle, found none; pass "
                           "-o MODEL.heddle, or -o - for standard output");
  }
  return {};
}

void heddle::compile::printTargets(llvm::raw_ostream &os) {
  os << "cpu  --cpu=native|x86-64-v3|x86-64-v4; this machine: " << cpuName()
     << "\n";
  for (const GpuTarget &target : GpuTarget::all()) {
    os << target.name << (target.specific ? "  " : "   ");
    for (const GpuChip &chip : target.chips)
      os << (&chip == target.chips.begin() ? "" : ", ") << chip.name;
    os << "; " << target.maxSharedPerBlock / 1024
       << " KiB of shared memory in a block, PTX "
       << ptxVersionText(target.minPtxVersion) << " or later\n";
  }
}
