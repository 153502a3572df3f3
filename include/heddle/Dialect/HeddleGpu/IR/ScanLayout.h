//===- ScanLayout.h - layouts in which a scan stays in warps ----*- C++ -*-===//
//
// A scan inside a warp goes bit by bit through the positions along its axis, so
// each of these bits has to be one bit of the register or of the lane. Plain
// LLVM ADT.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_IR_SCANLAYOUT_H
#define HEDDLE_DIALECT_HEDDLEGPU_IR_SCANLAYOUT_H

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

namespace heddle_gpu {

/// Whether each bit of the position along `axis` in the linear tile is the
/// image of exactly one register or lane bit, which moves nothing else, and no
/// other bit moves along the axis.
bool isOrderedAlong(const Layout &layout, unsigned axis);

/// A layout of the same tile, lanes and warps that is ordered along the axis:
/// lanes and warps take the bits of other dimensions first, lanes then the high
/// ones of the axis; warps without a bit hold copies. None if a thread would
/// have more registers than a layout can have.
std::optional<Layout> orderedAlong(const Layout &layout, unsigned axis);

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_IR_SCANLAYOUT_H
