//===- HeddleOps.cpp - the generated parts of the heddle ops --------------===//
//
// Verifiers stand in HeddleAttentionOps.cpp, HeddleScanOps.cpp,
// HeddleGraphOps.cpp and HeddleKernelOps.cpp, folds in HeddleFolds.cpp.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Syntax of results that an op may lack: keyword and type, in a fixed order
//===----------------------------------------------------------------------===//

using NamedType = std::pair<StringRef, Type *>;

static ParseResult parseNamedTypes(OpAsmParser &parser,
                                   ArrayRef<NamedType> left) {
  std::string names;
  for (auto [i, named] : llvm::enumerate(left)) {
    if (i)
      names += i + 1 == left.size() ? " and " : ", ";
    names += named.first;
  }
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    while (!left.empty() && left.front().first != keyword)
      left = left.drop_front();
    if (left.empty())
      return parser.emitError(loc)
             << "expected " << names
             << ", each at most once and in this order, got '" << keyword
             << "'";
    if (parser.parseType(*left.front().second))
      return failure();
    left = left.drop_front();
  }
  return success();
}

static void printNamedTypes(OpAsmPrinter &p,
                            ArrayRef<std::pair<StringRef, Type>> types) {
  for (auto [keyword, type] : types)
    if (type)
      p << ", " << keyword << " " << type;
}

static ParseResult parseLinearScanResults(OpAsmParser &parser, Type &h,
                                          Type &hImag, Type &finalState,
                                          Type &finalStateImag) {
  if (parser.parseType(h))
    return failure();
  return parseNamedTypes(parser, {{"imag", &hImag},
                                  {"final", &finalState},
                                  {"final_imag", &finalStateImag}});
}

static void printLinearScanResults(OpAsmPrinter &p, Operation *, Type h,
                                   Type hImag, Type finalState,
                                   Type finalStateImag) {
  p << h;
  printNamedTypes(p, {{"imag", hImag},
                      {"final", finalState},
                      {"final_imag", finalStateImag}});
}

static ParseResult parseLinearScanGradResults(OpAsmParser &parser, Type &aImag,
                                              Type &bImag, Type &initialState,
                                              Type &initialStateImag) {
  return parseNamedTypes(parser, {{"a_imag", &aImag},
                                  {"b_imag", &bImag},
                                  {"initial_state", &initialState},
                                  {"initial_state_imag", &initialStateImag}});
}

static void printLinearScanGradResults(OpAsmPrinter &p, Operation *, Type aImag,
                                       Type bImag, Type initialState,
                                       Type initialStateImag) {
  printNamedTypes(p, {{"a_imag", aImag},
                      {"b_imag", bImag},
                      {"initial_state", initialState},
                      {"initial_state_imag", initialStateImag}});
}

static ParseResult parseScanMapResults(OpAsmParser &parser, Type &decayImag,
                                       Type &stateImag) {
  return parseNamedTypes(
      parser, {{"decay_imag", &decayImag}, {"state_imag", &stateImag}});
}

static void printScanMapResults(OpAsmPrinter &p, Operation *, Type decayImag,
                                Type stateImag) {
  printNamedTypes(p, {{"decay_imag", decayImag}, {"state_imag", stateImag}});
}

static ParseResult parseScanGradResults(OpAsmParser &parser, Type &d, Type &z,
                                        Type &deltaBias, Type &initialState,
                                        Type &scratch) {
  return parseNamedTypes(parser, {{"d", &d},
                                  {"z", &z},
                                  {"delta_bias", &deltaBias},
                                  {"initial_state", &initialState},
                                  {"scratch", &scratch}});
}

static void printScanGradResults(OpAsmPrinter &p, Operation *, Type d, Type z,
                                 Type deltaBias, Type initialState,
                                 Type scratch) {
  printNamedTypes(p, {{"d", d},
                      {"z", z},
                      {"delta_bias", deltaBias},
                      {"initial_state", initialState},
                      {"scratch", scratch}});
}

/// The final state by its type alone, then those of chunks by name.
static ParseResult parseSelectiveScanResults(OpAsmParser &parser,
                                             Type &finalState,
                                             Type &chunkStates) {
  while (!chunkStates && succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("chunk_states"))) {
      if (parser.parseType(chunkStates))
        return failure();
      continue;
    }
    SMLoc loc = parser.getCurrentLocation();
    Type type;
    if (parser.parseType(type))
      return failure();
    if (finalState)
      return parser.emitError(loc) << "expected one final state, then "
                                      "chunk_states, got "
                                   << type;
    finalState = type;
  }
  return success();
}

static void printSelectiveScanResults(OpAsmPrinter &p, Operation *,
                                      Type finalState, Type chunkStates) {
  if (finalState)
    p << ", " << finalState;
  printNamedTypes(p, {{"chunk_states", chunkStates}});
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleOps.cpp.inc"
