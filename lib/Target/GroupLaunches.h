//===- GroupLaunches.h - launches that may run side by side -----*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_GROUPLAUNCHES_H
#define HEDDLE_LIB_TARGET_GROUPLAUNCHES_H

#include "AlignBuffers.h"

namespace heddle {

/// Marks launches that touch nothing which the launches before them write, and
/// write nothing which these touch (Command::together): the updates of all
/// parameters become one parallel region of a CPU. Dependences are those of the
/// planned bytes. A launch of little work first moves up to the group that it
/// can join; all others keep their order. `uses` is by kernel.
///
/// `kinds`, empty or by kernel, says which launches would be one if they ran
/// together (-1: none): such launches move down to a later group that has their
/// kind, where nothing in between stands against it.
void groupLaunches(Function &function, const std::vector<KernelUses> &uses,
                   const std::vector<int> &kinds = {});

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_GROUPLAUNCHES_H
