//===- EmulatorAbi.h - between emulated kernels and their library -*- C++ -*-=//
//
// Numbers that convert-nvvm-to-emulator writes into kernels and the emulator
// library reads. A kernel's entry is `void heddle_emu_entry_<name>(thread,
// const uint64_t *slots)`: one 8-byte slot per parameter, little endian. Every
// call of the library passes the thread first and most pass a site: the number
// of the op in the module's table.
//
// The table is text, returned by `heddle_emu_table()`, one line per entry:
//
//   heddle-emulator 2
//   shared BYTES                  static shared memory, at the window's start
//   kernel X Y Z NAME             reqntid, 0 0 0 where there is none
//   param KIND                    of the last kernel; a letter of ParamKind
//   site KERNEL KIND PARAM BYTES OP LOCATION
//   block COUNT...                a basic block: ops by BlockCount, per thread
//
// KERNEL and PARAM are -1 where unknown (a device function, a pointer that
// does not lead back to one parameter); PARAM is -2 for shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATORABI_H
#define HEDDLE_RUNTIME_EMULATORABI_H

#include <cstdint>

namespace heddle::emulator {

constexpr int kAbiVersion = 2;

/// Alignment and largest size of a block's shared memory. The low 18 bits of a
/// shared address are its offset, as matrix descriptors want it.
constexpr uint64_t kSharedWindowBytes = 256 * 1024;

/// What a parameter's slot holds.
enum ParamKind : char {
  kParamPointer = 'p',
  kParamI64 = 'l',
  kParamI32 = 'i',
  kParamF32 = 'f',
  kParamOther = 'o', // any other scalar of at most 8 bytes
};

/// Ordinary instructions of contract N, which have no site.
enum class BlockCount {
  F32Fma,
  F32AddMul,
  F32Other, // comparisons, min, max, division, rounding
  F64,
  F16, // and bf16
  Integer,
  Conversion, // between floats, and between floats and integers
  Control,
};
constexpr int kBlockCounts = 8;

enum class SiteKind : uint32_t {
  Other = 0, // collectives, barriers, waits
  Load = 1,
  Store = 2,
  Atomic = 3,
  AsyncCopy = 4,   // PARAM is that of the source
  MatrixLoad = 5,  // ldmatrix
  MatrixStore = 6, // stmatrix
};

enum class AddressSpace : uint32_t { Generic = 0, Global = 1, Shared = 3 };

enum class Register : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  WarpCount,
  WarpSize,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  SmId,
  SmCount,
  GridId,
  Clock,
  GlobalTimer,
};

enum class Shuffle : uint32_t { Bfly = 0, Up = 1, Down = 2, Idx = 3 };
enum class Vote : uint32_t { Any = 0, All = 1, Ballot = 2, Uni = 3 };
/// The numbers of nvvm's redux_kind.
enum class Redux : uint32_t {
  Add = 1,
  And,
  Max,
  Min,
  Or,
  UMax,
  UMin,
  Xor,
  FMin,
  FMax
};
enum class BarrierReduction : uint32_t { None = 0, Popc = 1, And = 2, Or = 3 };
/// The numbers of llvm's atomicrmw bin_op.
enum class Atomic : uint32_t {
  Xchg = 0,
  Add,
  Sub,
  And,
  Nand,
  Or,
  Xor,
  Max,
  Min,
  UMax,
  UMin,
  FAdd,
  FSub,
  FMax,
  FMin,
  CmpXchg = 100
};
enum class ElementType : uint32_t { I32, I64, F16, BF16, F32, F64 };
enum class Rounding : uint32_t { Nearest = 0, Zero = 1, NearestAway = 2 };

/// Operand and accumulator types of mma.sync.
enum class MmaType : uint32_t { F16, BF16, TF32, F32 };
/// Words of one lane in, A then B then C, and out.
struct MmaShape {
  uint32_t m, n, k;
  MmaType operand, accumulator, result;
  constexpr uint32_t code() const {
    return m << 24 | n << 16 | k << 8 | static_cast<uint32_t>(operand) << 4 |
           static_cast<uint32_t>(accumulator == MmaType::F32) << 1 |
           static_cast<uint32_t>(result == MmaType::F32);
  }
  static constexpr MmaShape decode(uint32_t c) {
    return {c >> 24,
            c >> 16 & 255,
            c >> 8 & 255,
            static_cast<MmaType>(c >> 4 & 15),
            c & 2 ? MmaType::F32 : MmaType::F16,
            c & 1 ? MmaType::F32 : MmaType::F16};
  }
  constexpr uint32_t bits() const { return operand == MmaType::TF32 ? 32 : 16; }
  constexpr uint32_t wordsA() const { return m * k * bits() / 1024; }
  constexpr uint32_t wordsB() const { return n * k * bits() / 1024; }
  constexpr uint32_t wordsC() const {
    return m * n * (accumulator == MmaType::F32 ? 32 : 16) / 1024;
  }
  constexpr uint32_t wordsD() const {
    return m * n * (result == MmaType::F32 ? 32 : 16) / 1024;
  }
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATORABI_H
