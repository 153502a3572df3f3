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
// Syntax of LinearScanOp: type, imag type, final type, final_imag type
//===----------------------------------------------------------------------===//

static ParseResult parseLinearScanResults(OpAsmParser &parser, Type &h,
                                          Type &hImag, Type &finalState,
                                          Type &finalStateImag) {
  if (parser.parseType(h))
    return failure();
  std::pair<StringRef, Type *> optional[] = {{"imag", &hImag},
                                             {"final", &finalState},
                                             {"final_imag", &finalStateImag}};
  ArrayRef<std::pair<StringRef, Type *>> left = optional;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    while (!left.empty() && left.front().first != keyword)
      left = left.drop_front();
    if (left.empty())
      return parser.emitError(loc)
             << "expected imag, final and final_imag, each at most once and in "
                "this order, got '"
             << keyword << "'";
    if (parser.parseType(*left.front().second))
      return failure();
    left = left.drop_front();
  }
  return success();
}

static void printLinearScanResults(OpAsmPrinter &p, Operation *, Type h,
                                   Type hImag, Type finalState,
                                   Type finalStateImag) {
  p << h;
  if (hImag)
    p << ", imag " << hImag;
  if (finalState)
    p << ", final " << finalState;
  if (finalStateImag)
    p << ", final_imag " << finalStateImag;
}

//===----------------------------------------------------------------------===//
// Syntax of SelectiveScanGradOp: types of the optional gradients
//===----------------------------------------------------------------------===//

static ParseResult parseScanGradResults(OpAsmParser &parser, Type &d, Type &z,
                                        Type &deltaBias, Type &initialState) {
  std::pair<StringRef, Type *> optional[] = {{"d", &d},
                                             {"z", &z},
                                             {"delta_bias", &deltaBias},
                                             {"initial_state", &initialState}};
  ArrayRef<std::pair<StringRef, Type *>> left = optional;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    while (!left.empty() && left.front().first != keyword)
      left = left.drop_front();
    if (left.empty())
      return parser.emitError(loc)
             << "expected d, z, delta_bias and initial_state, each at most once "
                "and in this order, got '"
             << keyword << "'";
    if (parser.parseType(*left.front().second))
      return failure();
    left = left.drop_front();
  }
  return success();
}

static void printScanGradResults(OpAsmPrinter &p, Operation *, Type d, Type z,
                                 Type deltaBias, Type initialState) {
  for (auto [keyword, type] :
       {std::pair<StringRef, Type>{"d", d}, {"z", z},
        {"delta_bias", deltaBias}, {"initial_state", initialState}})
    if (type)
      p << ", " << keyword << " " << type;
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleOps.cpp.inc"
