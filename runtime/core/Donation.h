//===- Donation.h - memory that a run may overwrite -------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CORE_DONATION_H
#define HEDDLE_RUNTIME_CORE_DONATION_H

#include "heddle/Runtime/Program.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// Fails if the memory of a donated argument is also that of another argument,
/// or of a result that does not live in it: a run would overwrite what it still
/// has to read. `addresses` has one entry per argument, then per result; 0 where
/// there is none.
Status checkDonatedMemory(const Function &function,
                          const std::vector<uint64_t> &addresses);

} // namespace heddle

#endif // HEDDLE_RUNTIME_CORE_DONATION_H
