//===- Binding.h - the pointers of a call -----------------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CORE_BINDING_H
#define HEDDLE_RUNTIME_CORE_BINDING_H

#include "heddle/Runtime/Program.h"

namespace heddle {

/// "argument 0 'x'", "result 1".
std::string valueName(const char *what, size_t number,
                      const NamedTensorType &value);

/// Checks one pointer per argument and result and hands each to `bind(index,
/// pointer)`, arguments first. Null is right for values without bytes and for
/// arguments that are not used. With `aliases` a result in a donated argument
/// has the pointer of that argument.
template <typename Bind>
Status bindBuffers(const Function &function, const void *const *args,
                   const void *const *results, bool aliases, Bind bind) {
  auto missing = [](const char *what, size_t i, const NamedTensorType &value) {
    return Status::error("expected a pointer to " + value.type.str() +
                         " for " + valueName(what, i, value) + ", got null");
  };
  size_t numArgs = function.arguments.size();
  for (size_t i = 0; i < numArgs; ++i) {
    const NamedTensorType &a = function.arguments[i];
    if (!args || (!args[i] && a.used && a.type.byteSize() != 0))
      return missing("argument", i, a);
    bind(i, args[i]);
  }
  for (size_t i = 0; i < function.results.size(); ++i) {
    const NamedTensorType &r = function.results[i];
    if (!results || (!results[i] && r.type.byteSize() != 0))
      return missing("result", i, r);
    if (aliases && r.alias >= 0 && results[i] != args[r.alias])
      return Status::error(
          "result " + std::to_string(i) + " lives in the donated argument " +
          std::to_string(r.alias) + "; pass the same pointer for both");
    bind(numArgs + i, results[i]);
  }
  return {};
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_CORE_BINDING_H
