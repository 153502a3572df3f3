//===- HeddleGpuAttrs.cpp - layout attributes and the smem type -----------===//

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle_gpu;

namespace heddle_gpu {
static llvm::hash_code hash_value(const SharedLayout &layout) {
  return llvm::hash_combine(layout.vectorBytes, layout.rowsPerPhase,
                            layout.phases, layout.panelBytes);
}
} // namespace heddle_gpu

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuTypes.cpp.inc"

void HeddleGpuDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuAttrs.cpp.inc"
      >();
}

void HeddleGpuDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpuTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

template <typename List>
static ParseResult parseIntegers(AsmParser &parser, List &result) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(result.emplace_back());
  });
}

static ParseResult parseBases(AsmParser &parser, Layout::Bases &result) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseIntegers(parser, result.emplace_back());
  });
}

/// Parses `name = bases ,` where the keyword is there.
static ParseResult parseOptionalBases(AsmParser &parser, StringRef name,
                                      Layout::Bases &result) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  return failure(parser.parseEqual() || parseBases(parser, result) ||
                 parser.parseComma());
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Layout::Bases reg, lane, warp;
  SmallVector<int64_t, 4> repeat;
  if (parser.parseLess() || parseOptionalBases(parser, "register", reg) ||
      parser.parseKeyword("lane") || parser.parseEqual() ||
      parseBases(parser, lane) || parser.parseComma() ||
      parseOptionalBases(parser, "warp", warp) ||
      parser.parseKeyword("repeat") || parser.parseEqual() ||
      parseIntegers(parser, repeat) || parser.parseGreater())
    return {};
  /*layout_c1*/
  std::string problem;
  std::optional<Layout> layout = Layout::get(reg, lane, warp, repeat, &problem);
  if (!layout) {
    parser.emitError(loc) << problem;
    return {};
  }
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), *layout);
}

static void printBases(AsmPrinter &printer, StringRef name,
                       ArrayRef<Layout::Basis> bases) {
  printer << name << " = [";
  llvm::interleaveComma(bases, printer, [&](const Layout::Basis &basis) {
    printer << "[";
    llvm::interleaveComma(basis, printer);
    printer << "]";
  });
  printer << "], ";
}

void LayoutAttr::print(AsmPrinter &printer) const {
  const Layout &layout = getValue();
  printer << "<";
  if (!layout.getRegister().empty())
    printBases(printer, "register", layout.getRegister());
  printBases(printer, "lane", layout.getLane());
  if (!layout.getWarp().empty())
    printBases(printer, "warp", layout.getWarp());
  printer << "repeat = [";
  llvm::interleaveComma(layout.getRepeat(), printer);
  printer << "]>";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Layout layout) {
  /*layout_c2*/
  if (layout.getLane().size() != 5)
    return emitError() << "expected five lane bases, for the 32 lanes of a "
                          "warp, got "
                       << layout.getLane().size();
  return success();
}

static void printShape(InFlightDiagnostic &diag, ArrayRef<int64_t> shape) {
  llvm::interleave(
      shape, [&](int64_t side) { diag << side; }, [&] { diag << "x"; });
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  /*layout_c3*/
  if (shape.size() != getValue().rank())
    return emitError() << "expected a tensor of rank " << getValue().rank()
                       << " for its layout, got rank " << shape.size();
  /*layout_c4*/
  Coordinates wanted = getValue().shape();
  if (shape != ArrayRef<int64_t>(wanted)) {
    InFlightDiagnostic diag = emitError() << "expected a tensor of shape ";
    printShape(diag, wanted);
    diag << ", which its layout covers, got ";
    printShape(diag, shape);
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// SharedAttr
//===----------------------------------------------------------------------===//

Attribute SharedAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SharedLayout layout;
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalKeyword("row_major"))) {
    std::pair<StringRef, int64_t *> fields[] = {
        {"vector_bytes", &layout.vectorBytes},
        {"rows_per_phase", &layout.rowsPerPhase},
        {"phases", &layout.phases},
        {"panel_bytes", &layout.panelBytes}};
    auto parseField = [&]() -> ParseResult {
      StringRef keyword;
      SMLoc keywordLoc = parser.getCurrentLocation();
      if (parser.parseKeyword(&keyword) || parser.parseEqual())
        return failure();
      for (auto &[name, field] : fields)
        if (name == keyword)
          return parser.parseInteger(*field);
      return parser.emitError(keywordLoc)
             << "expected row_major, vector_bytes, rows_per_phase, phases or "
                "panel_bytes, got '"
             << keyword << "'";
    };
    if (parser.parseCommaSeparatedList(parseField))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return SharedAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), layout);
}

void SharedAttr::print(AsmPrinter &printer) const {
  const SharedLayout &layout = getValue();
  if (layout == SharedLayout()) {
    printer << "<row_major>";
    return;
  }
  printer << "<vector_bytes = " << layout.vectorBytes
          << ", rows_per_phase = " << layout.rowsPerPhase
          << ", phases = " << layout.phases;
  if (layout.panelBytes)
    printer << ", panel_bytes = " << layout.panelBytes;
  printer << ">";
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 SharedLayout layout) {
  /*shared_c1*/
  auto isPowerOfTwo = [](int64_t v) { return v > 0 && llvm::isPowerOf2_64(v); };
  if (!isPowerOfTwo(layout.vectorBytes) || layout.vectorBytes > 16 ||
      !isPowerOfTwo(layout.rowsPerPhase) || !isPowerOfTwo(layout.phases))
    return emitError() << "expected vector_bytes (at most 16), rows_per_phase "
                          "and phases to be positive powers of two, got "
                       << layout.vectorBytes << ", " << layout.rowsPerPhase
                       << " and " << layout.phases;
  if (layout.panelBytes < 0)
    return emitError() << "expected panel_bytes of at least 0, got "
                       << layout.panelBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// SmemType
//===----------------------------------------------------------------------===//

Type SmemType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  SharedAttr layout;
  int64_t stages = 1;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseAttribute(layout))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("stages") || parser.parseEqual() ||
       parser.parseInteger(stages)))
    return {};
  if (parser.parseGreater())
    return {};
  return SmemType::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), shape, elementType, layout,
                              stages);
}

void SmemType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t side : getShape())
    printer << side << "x";
  printer << getElementType() << ", " << getLayout();
  if (getStages() != 1)
    printer << ", stages = " << getStages();
  printer << ">";
}

LogicalResult SmemType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType,
                               SharedAttr layout, int64_t stages) {
  /*smem_c1*/
  if (shape.empty() || shape.size() > 2 ||
      llvm::any_of(shape, [](int64_t side) { return side <= 0; }))
    return emitError() << "expected a static shape of rank 1 or 2 without a "
                          "size of 0, got rank "
                       << shape.size();
  /*smem_c2*/
  unsigned bits =
      elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
  if (bits < 8 || bits > 64 || !llvm::isPowerOf2_64(bits))
    return emitError() << "expected integers or floats of 1, 2, 4 or 8 bytes, "
                          "got "
                       << elementType;
  /*smem_c3*/
  if (!layout)
    return emitError() << "expected a layout, got none";
  std::string problem = layout.getValue().problemWith(shape, bits / 8);
  if (!problem.empty())
    return emitError() << problem;
  /*smem_c4*/
  if (stages < 1)
    return emitError() << "expected at least one stage, got " << stages;
  return success();
}

int64_t SmemType::getElementBytes() const {
  return getElementType().getIntOrFloatBitWidth() / 8;
}

int64_t SmemType::getTileBytes() const {
  int64_t bytes = getElementBytes();
  for (int64_t side : getShape())
    bytes *= side;
  return bytes;
}

int64_t SmemType::getStageStride() const {
  bool aligned = getStages() > 1 || getLayout().getValue().phases > 1;
  return llvm::alignTo(getTileBytes(), aligned ? 128 : 16);
}

int64_t SmemType::getBytes() const { return getStageStride() * getStages(); }
