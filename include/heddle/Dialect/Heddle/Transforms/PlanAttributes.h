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
/// Result attribute of a model's entry function: a name for tools.
constexpr llvm::StringLiteral kResultName = "heddle.result_name";
/// Argument attribute (unit): the program may overwrite the argument, and a
/// result of its type takes its memory.
constexpr llvm::StringLiteral kArgumentDonated = "heddle.donated";

constexpr llvm::StringLiteral kPlanArgumentTypes = "heddle.argument_types";
constexpr llvm::StringLiteral kPlanArgumentNames = "heddle.argument_names";
constexpr llvm::StringLiteral kPlanArgumentUsed = "heddle.argument_used";
constexpr llvm::StringLiteral kPlanResultTypes = "heddle.result_types";
/// Where any result has a name: one per result, or an empty one.
constexpr llvm::StringLiteral kPlanResultNames = "heddle.result_names";
/// Where any argument is donated: a bool per argument; per result the argument
/// whose memory it takes, or -1.
constexpr llvm::StringLiteral kPlanDonated = "heddle.donated_arguments";
constexpr llvm::StringLiteral kPlanAliases = "heddle.aliases";
constexpr llvm::StringLiteral kPlanArena = "heddle.arena_bytes";
constexpr llvm::StringLiteral kPlanMaxLive = "heddle.max_live_bytes";
constexpr llvm::StringLiteral kPlanWork = "heddle.work_bytes";
constexpr llvm::StringLiteral kPlanConstants = "heddle.constants";
constexpr llvm::StringLiteral kPlanConstantOffsets = "heddle.constant_offsets";

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PLANATTRIBUTES_H
