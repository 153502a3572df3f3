//===- HeddleAttrs.cpp - mask and remat policy attributes -----------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;

static ParseResult parseRematPolicy(AsmParser &parser, RematKind &kind,
                                    SmallVector<StringAttr> &names);
static void printRematPolicy(AsmPrinter &printer, RematKind kind,
                             ArrayRef<StringAttr> names);

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleAttrs.cpp.inc"

void HeddleDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/Heddle/IR/HeddleAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// RematPolicyAttr
//===----------------------------------------------------------------------===//

static ParseResult parseRematPolicy(AsmParser &parser, RematKind &kind,
                                    SmallVector<StringAttr> &names) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<RematKind> parsed = symbolizeRematKind(keyword);
  if (!parsed)
    return parser.emitError(loc)
           << "expected a remat policy (none, full, dots_saveable or "
              "save_names<[\"...\"]>), got '"
           << keyword << "'";
  kind = *parsed;
  if (kind != RematKind::SaveNames)
    return success();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       StringAttr name;
                                       if (parser.parseAttribute(name))
                                         return failure();
                                       names.push_back(name);
                                       return success();
                                     }) ||
      parser.parseGreater())
    return failure();
  return success();
}

static void printRematPolicy(AsmPrinter &printer, RematKind kind,
                             ArrayRef<StringAttr> names) {
  printer << stringifyRematKind(kind);
  if (kind != RematKind::SaveNames)
    return;
  printer << "<[";
  llvm::interleaveComma(names, printer, [&](StringAttr n) { printer << n; });
  printer << "]>";
}

LogicalResult
RematPolicyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        RematKind kind, ArrayRef<StringAttr> names) {
  if (kind != RematKind::SaveNames && !names.empty())
    return emitError() << "expected names only with save_names, got "
                       << names.size() << " names with "
                       << stringifyRematKind(kind);
  /*policy_c1*/
  if (kind != RematKind::SaveNames)
    return success();
  llvm::SmallDenseSet<StringAttr> seen;
  if (names.empty())
    return emitError() << "expected at least one name in save_names, got none; "
                          "use full to keep nothing";
  for (StringAttr name : names)
    if (!name || name.empty() || !seen.insert(name).second)
      return emitError() << "expected distinct names in save_names, none of "
                            "them empty, got "
                         << name;
  return success();
}

//===----------------------------------------------------------------------===//
// MaskAttr
//===----------------------------------------------------------------------===//

namespace {
struct MaskKindInfo {
  MaskKind kind;
  StringRef keyword;
  unsigned numValues;
};
constexpr MaskKindInfo kMaskKinds[] = {
    {MaskKind::Causal, "causal", 0},
    {MaskKind::CausalUpperLeft, "causal_upper_left", 0},
    {MaskKind::CausalLowerRight, "causal_lower_right", 0},
    {MaskKind::Window, "window", 2},
    {MaskKind::Prefix, "prefix", 1},
    {MaskKind::BlockDiagonal, "block_diagonal", 1},
    {MaskKind::AffineSet, "affine_set", 0},
    {MaskKind::Union, "union", 0},
    {MaskKind::Intersection, "intersection", 0},
};
} // namespace

/// Keeps sums of positions and mask integers far from overflow.
static constexpr int64_t kMaxMaskInteger = int64_t(1) << 40;

static FailureOr<MaskAttr> parseMaskTerm(AsmParser &parser) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  const MaskKindInfo *info = llvm::find_if(
      kMaskKinds, [&](const MaskKindInfo &i) { return i.keyword == keyword; });
  if (info == std::end(kMaskKinds)) {
    InFlightDiagnostic diag = parser.emitError(loc) << "expected a mask term (";
    llvm::interleaveComma(kMaskKinds, diag,
                          [&](const MaskKindInfo &i) { diag << i.keyword; });
    diag << "), got '" << keyword << "'";
    return failure();
  }
  SmallVector<int64_t> values;
  SmallVector<MaskAttr> terms;
  IntegerSet set;
  if (info->numValues > 0) {
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
          return parser.parseInteger(values.emplace_back());
        }))
      return failure();
  } else if (info->kind == MaskKind::AffineSet) {
    // Quoted, because the lexer of dialect attributes takes the `>` of `>=` for
    // a bracket; a set of equalities may also stand bare.
    std::string text;
    SMLoc setLoc;
    if (parser.parseLess() || parser.getCurrentLocation(&setLoc))
      return failure();
    if (succeeded(parser.parseOptionalString(&text))) {
      set = parseIntegerSet(text, parser.getContext());
      if (!set)
        return parser.emitError(setLoc)
               << "expected an integer set like \"(i, j) : (i - j >= 0)\", got "
                  "\""
               << text << "\"";
    } else if (parser.parseIntegerSet(set)) {
      return failure();
    }
    if (parser.parseGreater())
      return failure();
  } else if (info->kind == MaskKind::Union ||
             info->kind == MaskKind::Intersection) {
    if (parser.parseCommaSeparatedList(
            AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
              FailureOr<MaskAttr> term = parseMaskTerm(parser);
              if (failed(term))
                return failure();
              terms.push_back(*term);
              return success();
            }))
      return failure();
  }
  MaskAttr mask =
      MaskAttr::getChecked([&] { return parser.emitError(loc); },
                           parser.getContext(), info->kind, values, terms, set);
  if (!mask)
    return failure();
  return mask;
}

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<MaskAttr> mask = parseMaskTerm(parser);
  if (failed(mask) || parser.parseGreater())
    return {};
  return *mask;
}

static void printMaskTerm(AsmPrinter &printer, MaskAttr mask) {
  const MaskKindInfo *info =
      llvm::find_if(kMaskKinds, [&](const MaskKindInfo &i) {
        return i.kind == mask.getKind();
      });
  printer << info->keyword;
  if (!mask.getValues().empty()) {
    printer << "<";
    llvm::interleaveComma(mask.getValues(), printer);
    printer << ">";
  } else if (mask.getKind() == MaskKind::AffineSet) {
    printer << "<\"";
    mask.getSet().print(printer.getStream());
    printer << "\">";
  } else if (!mask.getTerms().empty()) {
    printer << "<";
    llvm::interleaveComma(mask.getTerms(), printer,
                          [&](MaskAttr term) { printMaskTerm(printer, term); });
    printer << ">";
  }
}

void MaskAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMaskTerm(printer, *this);
  printer << ">";
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MaskKind kind, ArrayRef<int64_t> values,
                               ArrayRef<MaskAttr> terms, IntegerSet set) {
  const MaskKindInfo *info = llvm::find_if(
      kMaskKinds, [&](const MaskKindInfo &i) { return i.kind == kind; });
  /*mask_c1*/
  if (values.size() != info->numValues)
    return emitError() << "expected " << info->numValues << " integers in "
                       << info->keyword << ", got " << values.size();
  /*mask_c2*/
  bool isTree = kind == MaskKind::Union || kind == MaskKind::Intersection;
  if (isTree && terms.empty())
    return emitError() << "expected at least one term in " << info->keyword
                       << ", got none";
  if (!isTree && !terms.empty())
    return emitError() << "expected no terms in " << info->keyword << ", got "
                       << terms.size();
  /*mask_c3*/
  if (kind == MaskKind::BlockDiagonal && values[0] <= 0)
    return emitError() << "expected a positive block size in block_diagonal, "
                          "got "
                       << values[0];
  if (kind == MaskKind::Prefix && values[0] < 0)
    return emitError() << "expected a prefix length of at least 0, got "
                       << values[0];
  /*mask_c4*/
  for (int64_t value : values)
    if (value > kMaxMaskInteger || value < -kMaxMaskInteger)
      return emitError() << "expected integers of at most 2^40 in magnitude in "
                         << info->keyword << ", got " << value;
  /*mask_c5*/
  if ((kind == MaskKind::AffineSet) != static_cast<bool>(set))
    return emitError() << "expected an integer set exactly in affine_set";
  if (set && (set.getNumDims() != 2 || set.getNumSymbols() != 0))
    return emitError() << "expected a set over the two positions (i, j), got "
                       << set.getNumDims() << " dims and "
                       << set.getNumSymbols() << " symbols";
  /*mask_c6*/
  bool badDivisor = false;
  if (set)
    for (AffineExpr constraint : set.getConstraints())
      constraint.walk([&](AffineExpr expr) {
        auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
        if (!binary || expr.getKind() == AffineExprKind::Add ||
            expr.getKind() == AffineExprKind::Mul)
          return;
        auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
        badDivisor |= !divisor || divisor.getValue() <= 0;
      });
  if (badDivisor) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    set.print(stream);
    return emitError() << "expected divisors of floordiv, ceildiv and mod to "
                          "be positive constants, got "
                       << text;
  }
  return success();
}

static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

bool MaskAttr::contains(int64_t i, int64_t j, int64_t sq, int64_t sk) const {
  auto visible = [&](MaskAttr term) { return term.contains(i, j, sq, sk); };
  ArrayRef<int64_t> v = getValues();
  switch (getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    return i - j >= 0;
  case MaskKind::CausalLowerRight:
    return i + (sk - sq) - j >= 0;
  case MaskKind::Window:
    return i - v[0] <= j && j <= i + v[1];
  case MaskKind::Prefix:
    return j < v[0];
  case MaskKind::BlockDiagonal:
    return floorDiv(i, v[0]) == floorDiv(j, v[0]);
  case MaskKind::Union:
    return llvm::any_of(getTerms(), visible);
  case MaskKind::Intersection:
    return llvm::all_of(getTerms(), visible);
  case MaskKind::AffineSet:
    break;
  }
  Builder b(getContext());
  Attribute position[] = {b.getIndexAttr(i), b.getIndexAttr(j)};
  for (unsigned c = 0, e = getSet().getNumConstraints(); c < e; ++c) {
    AffineMap map = AffineMap::get(2, 0, getSet().getConstraint(c));
    SmallVector<Attribute> folded;
    if (failed(map.constantFold(position, folded)))
      return false;
    int64_t value = cast<IntegerAttr>(folded.front()).getInt();
    if (getSet().isEq(c) ? value != 0 : value < 0)
      return false;
  }
  return true;
}

bool MaskAttr::needsEqualLengths() const {
  return getKind() == MaskKind::Causal ||
         llvm::any_of(getTerms(),
                      [](MaskAttr t) { return t.needsEqualLengths(); });
}

bool MaskAttr::dependsOnQueryPosition() const {
  switch (getKind()) {
  case MaskKind::Prefix:
    return false;
  case MaskKind::AffineSet:
    return llvm::any_of(getSet().getConstraints(), [](AffineExpr constraint) {
      return constraint.isFunctionOfDim(0);
    });
  case MaskKind::Union:
  case MaskKind::Intersection:
    return llvm::any_of(getTerms(), [](MaskAttr term) {
      return term.dependsOnQueryPosition();
    });
  default:
    return true;
  }
}

MaskAttr MaskAttr::simplify() const {
  if (getTerms().empty())
    return *this;
  SmallVector<MaskAttr> flat;
  for (MaskAttr term : getTerms()) {
    MaskAttr simple = term.simplify();
    if (simple.getKind() == getKind())
      llvm::append_range(flat, simple.getTerms());
    else
      flat.push_back(simple);
  }
  SmallVector<MaskAttr> distinct;
  for (MaskAttr term : flat)
    if (!llvm::is_contained(distinct, term))
      distinct.push_back(term);
  if (distinct.size() == 1)
    return distinct.front();
  return MaskAttr::get(getContext(), getKind(), {}, distinct, IntegerSet());
}
