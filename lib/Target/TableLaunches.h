//===- TableLaunches.h - one launch for many buffers ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_TABLELAUNCHES_H
#define HEDDLE_LIB_TARGET_TABLELAUNCHES_H

#include "heddle/Target/CommandList.h"

namespace heddle {

/// Replaces launches of a group (Command::together) that do the same to each
/// element of their buffers, and share what is one number for all, by one
/// launch of a kernel that takes tables: the updates of all parameters by an
/// optimizer. Kernels that nothing launches any more leave the function; where
/// blocks find their elements becomes a constant. `blocks` is how many a launch
/// aims at; each buffer has one of its own at least.
void useTables(Function &function, TableKernels &tables, int64_t blocks);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_TABLELAUNCHES_H
