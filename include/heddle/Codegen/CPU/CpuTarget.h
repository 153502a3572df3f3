//===- CpuTarget.h - what code generation knows of a CPU --------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_CPU_CPUTARGET_H
#define HEDDLE_CODEGEN_CPU_CPUTARGET_H

#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// A CPU by LLVM's names and the register tile that suits it.
struct CpuTarget {
  std::string isa;  // "x86-64-v3" or "x86-64-v4": the level the code needs
  std::string cpu;  // LLVM -mcpu
  std::vector<std::string> features; // beyond the level, LLVM names
  int64_t vectorLanes = 16; // f32 lanes of one register
  int64_t panelLanes = 32;  // rows of one panel: two registers
  int64_t maxCols = 12;     // columns of one register tile

  /// native | x86-64-v3 | x86-64-v4. On failure `error` says what exists.
  static llvm::LogicalResult parse(const std::string &name, CpuTarget &target,
                                   std::string &error);
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_CPU_CPUTARGET_H
