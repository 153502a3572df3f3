//===- Symbols.cpp - names of the library's functions ---------------------===//

#include "Functions.h"
#include "Plan.h"

#include <unordered_map>

void *heddle::emulator::lookupEmulatorSymbol(const std::string &name) {
#define HEDDLE_EMULATOR_ENTRY(name, result, parameters)                        \
  {"heddle_emu_" #name, reinterpret_cast<void *>(&heddle_emu_##name)},
  static const std::unordered_map<std::string, void *> table = {
      HEDDLE_EMULATOR_FUNCTIONS(HEDDLE_EMULATOR_ENTRY)};
#undef HEDDLE_EMULATOR_ENTRY
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}
