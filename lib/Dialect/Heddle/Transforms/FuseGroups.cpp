//===- FuseGroups.cpp - values that one kernel makes together --------------===//

#include "Fuser.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle;

/// Whether only `group` and the function's end use v, directly or through ops
/// that are fused.
bool Fuser::stayInside(Value v, ArrayRef<Value> group) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    if (user->getNumResults() != 1)
      return false;
    Value made = user->getResult(0);
    return llvm::is_contained(group, made) ||
           (isFused(made) && stayInside(made, group));
  });
}

/// Returned elementwise values of one shape that read one another or the same
/// tensor become one kernel, which reads what they share once: a parameter and
/// its moments are updated in one pass.
void Fuser::groupReturned() {
  Block &body = function.getBody().front();
  DenseMap<Value, SmallVector<Value>> readBy; // roots by what they read
  llvm::EquivalenceClasses<Value> classes;
  SmallVector<Value> roots;
  for (Value v : body.getTerminator()->getOperands()) {
    auto op = v.getDefiningOp<linalg::GenericOp>();
    if (!op || !kept.contains(v) || classify(op) != OpClass::Rows ||
        op.getNumReductionLoops() > 0 || llvm::is_contained(roots, v))
      continue;
    if (llvm::any_of(op.getOperands(), [&](Value in) {
          return contractionsIn(in) > 0 || reductionIn(in);
        }))
      continue;
    roots.push_back(v);
  }
  auto shapeOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getShape();
  };
  for (Value root : roots) {
    classes.insert(root);
    llvm::DenseSet<Value> seen;
    std::function<void(Value)> visit = [&](Value v) {
      if (!isa<RankedTensorType>(v.getType()) || !seen.insert(v).second)
        return;
      if (v != root && !isFused(v)) {
        Operation *def = v.getDefiningOp();
        if ((def && classify(def) == OpClass::Free) ||
            shapeOf(v) != shapeOf(root))
          return;
        if (llvm::is_contained(roots, v))
          classes.unionSets(root, v);
        SmallVector<Value> &readers = readBy[v];
        if (!readers.empty())
          classes.unionSets(root, readers.front());
        readers.push_back(root);
        return;
      }
      for (Value in : v.getDefiningOp()->getOperands())
        visit(in);
    };
    visit(root);
  }
  // In the order of the results.
  llvm::MapVector<Value, SmallVector<Value>> byLeader;
  for (Value v : roots)
    byLeader[classes.getLeaderValue(v)].push_back(v);
  for (auto &entry : byLeader) {
    SmallVector<Value> &group = entry.second;
    if (group.size() < 2 || !llvm::all_of(group, [&](Value v) {
          return shapeOf(v) == shapeOf(group.front()) && stayInside(v, group);
        }))
      continue;
    Operation *last = group.front().getDefiningOp();
    for (Value v : group)
      if (last->isBeforeInBlock(v.getDefiningOp()))
        last = v.getDefiningOp();
    for (Value v : group)
      if (v.getDefiningOp() != last)
        grouped.insert(v.getDefiningOp());
    groups[last] = std::move(group);
  }
}
