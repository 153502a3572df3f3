//===- Program.h - a compiled program as data -------------------*- C++ -*-===//
//
// What the compiler hands to the runtime and what a .heddle bundle stores:
// kernels as object code, a list of commands on planned buffers, the memory
// plan, and the signature. Part of the runtime: no LLVM header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_H
#define HEDDLE_RUNTIME_PROGRAM_H

#include "heddle/Runtime/DType.h"
#include "heddle/Runtime/GpuImage.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle {

/// Where a buffer lives. The numbers are part of the bundle format.
enum class Space : uint8_t {
  Argument = 0,  // index = argument number
  Result = 1,    // index = result number; scratch until its last write
  Arena = 2,     // one block, allocated once; index unused
  Constants = 3, // the function's constant section, read-only; index unused
};

/// A place in memory: `offset` bytes into a space.
struct BufferRef {
  Space space = Space::Arena;
  uint32_t index = 0;
  int64_t offset = 0; // bytes
  int64_t size = 0;   // bytes reachable from offset
  /// Bytes added to `offset` per iteration of each enclosing repeat, outermost
  /// first; missing entries are zero.
  std::vector<int64_t> strides;
};

/// One argument of a launch.
struct LaunchArg {
  enum class Kind : uint8_t { Buffer = 0, Scalar = 1, PointerTable = 2 };
  Kind kind = Kind::Buffer;
  std::vector<BufferRef> buffers; // one, or the entries of a pointer table
  int64_t scalar = 0;
};

/// The command list's instructions.
struct Command {
  enum class Kind : uint8_t { Launch = 0, Copy = 1, Fill = 2, Repeat = 3 };
  Kind kind = Kind::Launch;

  // Launch: kernel index, arguments. A launch that is `together` may run at the
  // same time as those before it, back to the last one that is not: none touches
  // what another writes.
  uint32_t kernel = 0;
  bool together = false;
  std::vector<LaunchArg> args;
  // Copy: source -> dest, dest.size bytes. Fill: dest with `pattern` repeated
  // every `patternSize` bytes (1, 2, 4 or 8).
  BufferRef source, dest;
  uint64_t pattern = 0;
  uint32_t patternSize = 1;
  // Repeat: `count` times `body`.
  int64_t count = 0;
  std::vector<Command> body;
};

/// A kernel of any target. On a GPU it is an entry of every image (see
/// GpuImage.h). On the CPU it is a function in the object code:
///   void name(void *const *args, int64_t block, void *scratch)
/// `args` has one pointer per launch argument (a scalar is passed as a pointer
/// to its 8 bytes), `block` counts from 0 to numBlocks - 1, `scratch` is
/// private to the calling thread, aligned to 64 bytes.
struct KernelInfo {
  std::string name;       // symbol in the object code; carries op and tile
  std::string family;     // "attention", "matmul", "mlp", "rows", "elementwise", "loops"
  int64_t numBlocks = 1;  // independent blocks, any order
  int64_t scratchBytes = 0; // per thread
  // What one launch has to do, however it is scheduled.
  int64_t flops = 0;        // all arithmetic; a multiply-add counts two
  int64_t matrixFlops = 0;  // of these, in matrix products
  std::string matrixType;   // their operands: "bf16", "f16", "tf32", "f32", ""
  int64_t specialOps = 0;   // exponentials, logarithms, divisions, roots, ...
  int64_t minBytes = 0;     // compulsory traffic: each buffer once
  std::string description; // tile sizes and other facts for reports
};

/// The memory plan's figures in bytes; see docs/memory.md.
struct MemoryPlan {
  int64_t argBytes = 0;   // arguments that are read
  int64_t outBytes = 0;   // results (and the tuple table where there is one)
  int64_t aliasBytes = 0; // results that live in donated arguments
  int64_t arenaBytes = 0; // planned temporaries
  int64_t scratchBytesPerThread = 0; // largest of all kernels
  /// Peak of all values that are neither argument nor result, wherever they are;
  /// what the plan takes for them: that peak, or the arena where it is larger.
  int64_t maxLiveBytes = 0, workBytes = 0;
  uint64_t planHash = 0;
  /// Temporaries with `threads` workers: arena and every thread's scratch.
  int64_t tempBytes(int64_t threads) const {
    return arenaBytes + threads * scratchBytesPerThread;
  }
  int64_t footprintBytes(int64_t threads) const {
    return argBytes + outBytes + tempBytes(threads) - aliasBytes;
  }
};

struct NamedTensorType {
  std::string name; // may be empty
  TensorType type;
  bool used = true;   // arguments: read by the program
  bool donated = false;
  /// Results: the donated argument whose memory this result takes (the caller
  /// passes the same pointer for both), or -1 for a buffer of its own.
  int32_t alias = -1;
};

/// One specialisation of a function.
struct Function {
  std::string name;
  std::vector<NamedTensorType> arguments;
  std::vector<NamedTensorType> results;
  std::vector<KernelInfo> kernels;
  std::vector<Command> commands;
  MemoryPlan plan;
  std::vector<std::vector<uint8_t>> objects; // ELF relocatables; each kernel is
                                             // in one of them
  std::vector<GpuImage> images; // kernels for GPUs, one per target and kind
  std::vector<uint8_t> constants; // aligned to 64 bytes when loaded
  std::string source; // contract M as MLIR text, for the reference device
};

/// What a bundle holds. Several functions may share a name and differ in their
/// argument shapes: the runtime picks by shape.
struct Program {
  std::string target; // "cpu", or "cuda" for functions with images
  std::string isa;    // "x86-64-v4", ...: what the object needs; "sm_80,sm_90a"
                      // for reports where there are images
  std::vector<std::string> isaFeatures; // cpuid features the object needs, as
                                        // LLVM names them ("avx512f", "fma")
  std::string producer; // "heddle 0.1.0 llvm 22.1.8"
  std::vector<Function> functions;
};

/// A failure with one clear sentence; empty means success.
struct [[nodiscard]] Status {
  std::string message;
  Status() = default;
  static Status error(std::string m) {
    Status s;
    s.message = std::move(m);
    return s;
  }
  bool ok() const { return message.empty(); }
  explicit operator bool() const { return ok(); }
};

/// "main(x: float32[8,256], float32[256]) -> (float32[8])".
std::string signatureOf(const Function &function);

/// The function called `name` (empty: any) that takes arguments of the given
/// types (null: any); fails if there is none or more than one and lists what
/// the program holds.
Status selectFunction(const Program &program, const std::string &name,
                      const std::vector<TensorType> *arguments,
                      const Function *&function);

/// Checks that a function can be run without touching memory outside its plan:
/// kernel, argument and result numbers, every buffer within its space over all
/// iterations of the repeats around it, sizes and counts without overflow, no
/// write to constants or to arguments that are not donated; GPU images that
/// have every kernel, within the limits of a launch. Names the first
/// command that breaks a rule ("function 'main': command 3: ...").
Status verifyFunction(const Function &function);
Status verifyProgram(const Program &program);

/// Serialises to / from the .heddle format (docs/bundle.md): magic, version,
/// sections, checksum. Reading checks everything it uses and never crashes on
/// foreign, truncated or altered input.
std::vector<uint8_t> serializeProgram(const Program &program);
Status deserializeProgram(const uint8_t *data, size_t size, Program &program);
/// File forms; writing goes to a temporary file that is renamed, so no partial
/// file is left behind. "-" is standard output / input.
Status writeProgramFile(const std::string &path, const Program &program);
Status readProgramFile(const std::string &path, Program &program);

} // namespace heddle

#endif // HEDDLE_RUNTIME_PROGRAM_H
