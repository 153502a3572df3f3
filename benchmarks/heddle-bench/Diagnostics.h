//===- Diagnostics.h - errors of the compiler as one sentence ---*- C++ -*-===//

#ifndef HEDDLE_BENCH_DIAGNOSTICS_H
#define HEDDLE_BENCH_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>

namespace heddle::bench {

/// Keeps the first error that is emitted while it lives, with its notes, and
/// counts the others. Nothing is printed; remarks and warnings are dropped.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          std::lock_guard<std::mutex> lock(mutex);
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::success();
          if (++errors > 1)
            return mlir::success();
          first = diagnostic.str();
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            first += "; note: " + note.str();
          return mlir::success();
        }) {}

  /// The first error, or a sentence that there was none.
  std::string text() const {
    if (errors == 0)
      return "failed without saying why";
    if (errors == 1)
      return first;
    return first + " (and " + std::to_string(errors - 1) + " more)";
  }

private:
  std::mutex mutex;
  std::string first;
  int errors = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace heddle::bench

#endif // HEDDLE_BENCH_DIAGNOSTICS_H
