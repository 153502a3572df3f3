//===- ObjectCode.h - loads an ELF relocatable into memory ------*- C++ -*-===//
//
// Takes the x86-64 relocatable object that the compiler writes (position
// independent, small code model) and makes it runnable in this process. It
// knows the relocations that such objects hold and the functions of the C
// library that kernels may call, and refuses everything else by name.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CPU_OBJECTCODE_H
#define HEDDLE_RUNTIME_CPU_OBJECTCODE_H

#include "heddle/Runtime/Program.h"

#include <map>
#include <memory>
#include <string>

namespace heddle {

/// The address of a function that kernels may call ("memcpy", "expf"), or null.
void *lookupExternalSymbol(const std::string &name);

class ObjectCode {
public:
  using Resolver = void *(*)(const std::string &name);

  /// Maps the object's sections, applies its relocations and makes code
  /// executable and constants read-only; no page is ever writable and
  /// executable. `data` needs no alignment and is not kept. `resolve` gives the
  /// addresses of functions that the object calls, null for unknown ones.
  static Status load(const uint8_t *data, size_t size,
                     std::unique_ptr<ObjectCode> &out,
                     Resolver resolve = lookupExternalSymbol);
  ~ObjectCode();
  ObjectCode(const ObjectCode &) = delete;
  ObjectCode &operator=(const ObjectCode &) = delete;

  /// The address of a function that the object defines, or null.
  void *lookup(const std::string &name) const;

private:
  ObjectCode() = default;
  friend class ObjectLoader;

  void *region = nullptr;
  size_t regionSize = 0;
  std::map<std::string, void *> functions;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CPU_OBJECTCODE_H
