//===- PlanAttributes.h - attributes of a planned function ------*- C++ -*-===//
//
// What heddle-plan-memory leaves on an entry function (contract K) besides the
// rewritten body, whose arguments are bytes: one memref<Nxi8> per argument of
// the model, per result, one for the arena and one for the constants.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PLANATTRIBUTES_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PLANATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace heddle {

/// Argument attribute of a model's entry function: a name for tools.
constexpr llvm::StringLiteral kArgumentName = "heddle.arg_name";
/// Argument attribute of a model's entry function: the number of the result that
/// takes over the argument's memory. Their types are equal, and no two arguments
/// name one result.
constexpr llvm::StringLiteral kDonate = "heddle.donate";

constexpr llvm::StringLiteral kPlanArgumentTypes = "heddle.argument_types";
constexpr llvm::StringLiteral kPlanArgumentNames = "heddle.argument_names";
constexpr llvm::StringLiteral kPlanArgumentUsed = "heddle.argument_used";
constexpr llvm::StringLiteral kPlanResultTypes = "heddle.result_types";
/// For each result the argument whose memory it takes, or -1.
constexpr llvm::StringLiteral kPlanAlias = "heddle.alias";
constexpr llvm::StringLiteral kPlanArena = "heddle.arena_bytes";
constexpr llvm::StringLiteral kPlanMaxLive = "heddle.max_live_bytes";
constexpr llvm::StringLiteral kPlanWork = "heddle.work_bytes";
constexpr llvm::StringLiteral kPlanConstants = "heddle.constants";
constexpr llvm::StringLiteral kPlanConstantOffsets = "heddle.constant_offsets";

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PLANATTRIBUTES_H
