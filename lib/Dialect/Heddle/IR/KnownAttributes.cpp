//===- KnownAttributes.cpp - no attribute that an op lacks ----------------===//

#include "heddle/Dialect/Heddle/IR/KnownAttributes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// Those that a user writes: not how many operands there are of each kind.
static SmallVector<StringRef> namesOf(Operation *op) {
  SmallVector<StringRef> names;
  for (StringAttr name : op->getName().getAttributeNames())
    if (!name.getValue().ends_with("SegmentSizes"))
      names.push_back(name.getValue());
  return names;
}

LogicalResult heddle::verifyKnownAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    SmallVector<StringRef> names = namesOf(op);
    InFlightDiagnostic diag = op->emitOpError() << "expected ";
    if (names.empty()) {
      diag << "no attribute";
    } else {
      diag << "attributes of the op (";
      llvm::interleaveComma(names, diag);
      diag << ")";
    }
    diag << " or names with a dialect's prefix, got '" << name << "'";
    auto *nearest = llvm::min_element(names, [&](StringRef a, StringRef b) {
      return a.edit_distance(name) < b.edit_distance(name);
    });
    // As many letters may differ as in a word that is still the same.
    if (nearest != names.end() &&
        nearest->edit_distance(name) <= std::max<size_t>(2, name.size() / 3))
      return diag << "; write '" << *nearest << "'";
    return diag << "; remove it, or give it a prefix";
  }
  return success();
}
