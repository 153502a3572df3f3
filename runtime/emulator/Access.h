//===- Access.h - checks that several kinds of accesses share ---*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_ACCESS_H
#define HEDDLE_RUNTIME_EMULATOR_ACCESS_H

#include "Machine.h"

namespace heddle::emulator {

/// The buffer that an access of the site may touch: that of its parameter, or
/// the last one that begins at or before the address. May be null.
const Buffer *findBuffer(const Machine &m, uint32_t site, uint64_t address);
/// Reports an access out of bounds or unaligned; the address of the sink.
uint64_t fault(Thread &t, uint64_t address, uint32_t site, uint32_t bytes,
               const Buffer *buffer);
/// initcheck of an access within bounds.
void checkWritten(Thread &t, const Buffer &b, uint64_t address, uint32_t site,
                  uint32_t bytes);
/// initcheck and racecheck of an access within bounds.
void readGlobal(Thread &t, const Buffer &b, uint64_t address, uint32_t site,
                uint32_t bytes);
void writeGlobal(Thread &t, const Buffer &b, uint64_t address, uint32_t site,
                 uint32_t bytes);

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_ACCESS_H
