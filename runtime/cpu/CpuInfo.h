//===- CpuInfo.h - what this machine offers a program -----------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CPU_CPUINFO_H
#define HEDDLE_RUNTIME_CPU_CPUINFO_H

#include "heddle/Runtime/CpuDevice.h"

namespace heddle {

/// Fails with the names of the features that the program needs and this CPU or
/// its operating system lacks.
Status checkInstructionSet(const Program &program);

} // namespace heddle

#endif // HEDDLE_RUNTIME_CPU_CPUINFO_H
