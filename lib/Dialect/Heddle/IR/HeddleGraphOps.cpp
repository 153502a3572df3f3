//===- HeddleGraphOps.cpp - remat, layers, differentiation, indexing ------===//

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// CheckpointOp and NameOp
//===----------------------------------------------------------------------===//

LogicalResult CheckpointOp::verify() {
  /*checkpoint_c1*/
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "expected block arguments with the types of the "
                            "inputs ("
                         << getInputs().getTypes() << "), got ("
                         << getBody().getArgumentTypes() << ")";
  return success();
}

LogicalResult CheckpointOp::verifyRegions() {
  Operation *yield = getBody().front().getTerminator();
  /*checkpoint_c2*/
  if (yield->getOperandTypes() != getOutputs().getTypes())
    return emitOpError() << "expected the region to yield the result types ("
                         << getOutputs().getTypes() << "), got ("
                         << yield->getOperandTypes() << ")";
  return success();
}

LogicalResult NameOp::verify() {
  /*name_c1*/
  if (getName().empty())
    return emitOpError() << "expected a name of at least one character, got "
                            "an empty one";
  return success();
}

//===----------------------------------------------------------------------===//
// LayerScanOp
//===----------------------------------------------------------------------===//

int64_t LayerScanOp::getNumLayers() {
  for (Value v : getStacked()) {
    int64_t size = cast<RankedTensorType>(v.getType()).getDimSize(0);
    if (!ShapedType::isDynamic(size))
      return size;
  }
  return ShapedType::kDynamic;
}

/// The type of one layer's slice of a stacked tensor.
static RankedTensorType sliceType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

LogicalResult LayerScanOp::verify() {
  /*layer_scan_c1*/
  if (getStacked().empty())
    return emitOpError() << "expected at least one stacked operand, which says "
                            "how many layers there are, got none";
  for (auto [i, type] : llvm::enumerate(getStacked().getTypes()))
    if (cast<RankedTensorType>(type).getRank() == 0)
      return emitOpError() << "expected stacked operand " << i
                           << " of rank at least 1, got " << type;
  /*layer_scan_c2*/
  int64_t layers = getNumLayers();
  for (auto [i, type] : llvm::enumerate(getStacked().getTypes()))
    if (int64_t size = cast<RankedTensorType>(type).getDimSize(0);
        !sizesFit(size, layers))
      return emitOpError() << "expected " << layers
                           << " layers in stacked operand " << i << ", got "
                           << size;
  /*layer_scan_c3*/
  SmallVector<Type> wanted(getCarried().getTypes());
  for (Type type : getStacked().getTypes())
    wanted.push_back(sliceType(cast<RankedTensorType>(type)));
  llvm::append_range(wanted, getInvariant().getTypes());
  if (TypeRange(wanted) != TypeRange(getBody().getArgumentTypes()))
    return emitOpError() << "expected block arguments (" << wanted
                         << ") for carried values, slices of stacked ones and "
                            "invariants, got ("
                         << getBody().getArgumentTypes() << ")";
  return success();
}

LogicalResult LayerScanOp::verifyRegions() {
  Operation *yield = getBody().front().getTerminator();
  TypeRange carried = getCarried().getTypes(),
            yielded = yield->getOperandTypes();
  /*layer_scan_c4*/
  if (yielded.size() < carried.size() ||
      yielded.take_front(carried.size()) != carried)
    return emitOpError() << "expected the region to yield the types of the "
                            "carried values ("
                         << carried << ") first, got (" << yielded << ")";
  /*layer_scan_c5*/
  if (getNumResults() != yielded.size())
    return emitOpError() << "expected one result per yielded value, "
                         << yielded.size() << ", got " << getNumResults();
  for (auto [i, type, result] : llvm::enumerate(yielded, getResultTypes())) {
    Type wanted = type;
    if (i >= carried.size()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return emitOpError() << "expected per-layer outputs to be ranked "
                                "tensors, got "
                             << type;
      SmallVector<int64_t> shape = {getNumLayers()};
      llvm::append_range(shape, tensor.getShape());
      wanted = RankedTensorType::get(shape, tensor.getElementType());
    }
    if (failed(verifyType(*this, "result " + Twine(i), result, wanted)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Syntax of regions with explicit inputs
//===----------------------------------------------------------------------===//

using Arguments = SmallVector<OpAsmParser::Argument>;
using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;

/// policy<...>, after the keyword.
static ParseResult parsePolicy(OpAsmParser &parser, RematPolicyAttr &policy) {
  policy = dyn_cast_if_present<RematPolicyAttr>(
      RematPolicyAttr::parse(parser, Type()));
  return success(static_cast<bool>(policy));
}

static void printPolicy(OpAsmPrinter &p, RematPolicyAttr policy) {
  p << " policy";
  policy.print(p);
}

/// (%a = %x, ...)
static void printBindings(OpAsmPrinter &p, Block::BlockArgListType args,
                          OperandRange operands) {
  p << "(";
  llvm::interleaveComma(llvm::zip(args, operands), p, [&](auto pair) {
    p << std::get<0>(pair) << " = " << std::get<1>(pair);
  });
  p << ")";
}

static void printTail(OpAsmPrinter &p, Operation *op,
                      ArrayRef<StringRef> elided) {
  p.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  p << " : ";
  p.printFunctionalType(op->getOperandTypes(), op->getResultTypes());
  p << " ";
  p.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}

/// Attributes, the functional type over all operands, and the operands.
static ParseResult parseTypes(OpAsmParser &parser, OperationState &result,
                              const Operands &operands, FunctionType &type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  return success();
}

ParseResult CheckpointOp::parse(OpAsmParser &parser, OperationState &result) {
  Arguments args;
  Operands operands;
  RematPolicyAttr policy;
  FunctionType type;
  if (parser.parseKeyword("policy") || parsePolicy(parser, policy) ||
      parser.parseAssignmentList(args, operands) ||
      parseTypes(parser, result, operands, type))
    return failure();
  result.getOrAddProperties<Properties>().policy = policy;
  for (auto [arg, argType] : llvm::zip(args, type.getInputs()))
    arg.type = argType;
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void CheckpointOp::print(OpAsmPrinter &p) {
  printPolicy(p, getPolicyAttr());
  p << " ";
  printBindings(p, getBody().getArguments(), getInputs());
  printTail(p, *this, {"policy"});
}

ParseResult LayerScanOp::parse(OpAsmParser &parser, OperationState &result) {
  Arguments args;
  Operands operands;
  Properties &properties = result.getOrAddProperties<Properties>();
  // Clauses in this order, each optional; the sizes tell them apart.
  const StringRef keywords[] = {"carried", "stacked", "invariant"};
  for (auto [i, keyword] : llvm::enumerate(keywords)) {
    size_t before = operands.size();
    if (succeeded(parser.parseOptionalKeyword(keyword)) &&
        parser.parseAssignmentList(args, operands))
      return failure();
    properties.operandSegmentSizes[i] = operands.size() - before;
  }
  if (succeeded(parser.parseOptionalKeyword("policy")) &&
      parsePolicy(parser, properties.policy))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    properties.reverse = parser.getBuilder().getUnitAttr();
  FunctionType type;
  if (parseTypes(parser, result, operands, type))
    return failure();
  size_t stackedBegin = properties.operandSegmentSizes[0];
  size_t stackedEnd = stackedBegin + properties.operandSegmentSizes[1];
  for (auto [i, arg] : llvm::enumerate(args)) {
    arg.type = type.getInput(i);
    auto tensor = dyn_cast<RankedTensorType>(arg.type);
    if (i >= stackedBegin && i < stackedEnd && tensor && tensor.getRank() > 0)
      arg.type = sliceType(tensor);
  }
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void LayerScanOp::print(OpAsmPrinter &p) {
  auto clause = [&](StringRef keyword, Block::BlockArgListType args,
                    OperandRange operands) {
    if (operands.empty())
      return;
    p << " " << keyword;
    printBindings(p, args, operands);
  };
  clause("carried", getCarriedArgs(), getCarried());
  clause("stacked", getStackedArgs(), getStacked());
  clause("invariant", getInvariantArgs(), getInvariant());
  if (getPolicyAttr())
    printPolicy(p, getPolicyAttr());
  if (getReverse())
    p << " reverse";
  printTail(p, *this, {"policy", "reverse", getOperandSegmentSizeAttr()});
}

//===----------------------------------------------------------------------===//
// ValueAndGradOp
//===----------------------------------------------------------------------===//

LogicalResult ValueAndGradOp::verify() {
  int64_t count = getInputs().size();
  llvm::SmallSet<int64_t, 8> seen;
  /*value_and_grad_c1*/
  if (getWrt().empty())
    return emitOpError() << "expected at least one argument number in wrt, got "
                            "none";
  for (int64_t i : getWrt())
    if (i < 0 || i >= count || !seen.insert(i).second)
      return emitOpError() << "expected distinct argument numbers below "
                           << count << " in wrt, got [" << getWrt() << "]";
  /*value_and_grad_c2*/
  for (int64_t i : getWrt()) {
    Type type = getInputs()[i].getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isDifferentiableFloat(tensor.getElementType()))
      return emitOpError() << "expected argument " << i
                           << " to be a ranked float tensor, as it is in wrt, "
                              "got "
                           << type;
  }
  /*value_and_grad_c3*/
  if (getGradients().size() != getWrt().size())
    return emitOpError() << "expected one gradient per argument in wrt, "
                         << getWrt().size() << ", got "
                         << getGradients().size();
  for (auto [i, gradient] : llvm::zip(getWrt(), getGradients()))
    if (failed(verifyType(*this, "gradient of argument " + Twine(i),
                          gradient.getType(), getInputs()[i].getType())))
      return failure();
  /*value_and_grad_c4*/
  Type value = getValue().getType();
  auto tensor = dyn_cast<RankedTensorType>(value);
  if (!isDifferentiableFloat(getElementTypeOrSelf(value)) ||
      (isa<ShapedType>(value) && (!tensor || tensor.getRank() != 0)))
    return emitOpError() << "expected a float or a rank-0 float tensor as "
                            "value, got "
                         << value;
  return success();
}

LogicalResult
ValueAndGradOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  /*value_and_grad_c5*/
  auto callee = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "expected a function named " << getCalleeAttr()
                         << ", found none";
  if (TypeRange(callee.getArgumentTypes()) !=
      TypeRange(getInputs().getTypes())) {
    InFlightDiagnostic diag = emitOpError()
                              << "expected inputs of types ("
                              << callee.getArgumentTypes() << ") for "
                              << getCalleeAttr() << ", got ("
                              << getInputs().getTypes() << ")";
    diag.attachNote(callee.getLoc()) << "the function is here";
    return diag;
  }
  /*value_and_grad_c6*/
  if (callee.getNumResults() != 1 ||
      callee.getResultTypes().front() != getValue().getType()) {
    InFlightDiagnostic diag = emitOpError()
                              << "expected " << getCalleeAttr()
                              << " to return one " << getValue().getType()
                              << ", got (" << callee.getResultTypes() << ")";
    diag.attachNote(callee.getLoc()) << "the function is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// GatherOp, ScatterAddOp, RandomBitsOp
//===----------------------------------------------------------------------===//

/// (I..., R...) for indices (I...) and a table (V, R...).
static RankedTensorType rowsType(RankedTensorType table,
                                 RankedTensorType indices) {
  SmallVector<int64_t> shape(indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front());
  return RankedTensorType::get(shape, table.getElementType());
}

/// What gather and scatter_add ask of their indices. `label` names the table.
static LogicalResult verifyIndices(Operation *op, StringRef label,
                                   RankedTensorType table,
                                   RankedTensorType indices, IndexMode mode) {
  /*gather_c2*/ /*scatter_add_c2*/
  if (!indices.getElementType().isSignlessIntOrIndex())
    return op->emitOpError()
           << "expected indices of integers or index, got " << indices;
  /*gather_c3*/ /*scatter_add_c3*/
  bool noIndices = llvm::is_contained(indices.getShape(), 0);
  if (mode == IndexMode::Clip && table.getDimSize(0) == 0 && !noIndices)
    return op->emitOpError()
           << "expected a " << label
           << " with at least one row to clip indices to, got " << table
           << "; use mode = drop";
  return success();
}

LogicalResult GatherOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  GatherOp::Adaptor adaptor(operands, attributes, properties, regions);
  auto table = cast<RankedTensorType>(adaptor.getTable().getType());
  if (table.getRank() == 0)
    return failure(); // the verifier says why
  types.push_back(
      rowsType(table, cast<RankedTensorType>(adaptor.getIndices().getType())));
  return success();
}

bool GatherOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return inferred.size() == actual.size() &&
         getElementTypeOrSelf(inferred[0]) == getElementTypeOrSelf(actual[0]) &&
         succeeded(verifyCompatibleShapes(inferred, actual));
}

LogicalResult GatherOp::verify() {
  auto table = getTable().getType();
  /*gather_c1*/
  if (table.getRank() == 0)
    return emitOpError() << "expected a table of rank at least 1, got "
                         << table;
  if (failed(verifyIndices(*this, "table", table, getIndices().getType(),
                           getMode())))
    return failure();
  /*gather_c4*/
  return verifyType(*this, "output", getOutput().getType(),
                    rowsType(table, getIndices().getType()));
}

LogicalResult ScatterAddOp::verify() {
  auto base = getBase().getType();
  /*scatter_add_c1*/
  if (base.getRank() == 0)
    return emitOpError() << "expected a base of rank at least 1, got " << base;
  if (failed(verifyIndices(*this, "base", base, getIndices().getType(),
                           getMode())))
    return failure();
  /*scatter_add_c4*/
  return verifyType(*this, "updates", getUpdates().getType(),
                    rowsType(base, getIndices().getType()));
}

LogicalResult RandomBitsOp::verify() {
  auto type = getBits().getType();
  /*random_bits_c1*/
  if (!type.hasStaticShape() || !type.getElementType().isSignlessInteger(32))
    return emitOpError() << "expected a static tensor of i32, got " << type;
  return success();
}
