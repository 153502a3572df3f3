//===- Program.cpp - finding a function in a program ----------------------===//

#include "Binding.h"

namespace heddle {

static std::string listOf(const std::vector<NamedTensorType> &values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) {
    text += i ? ", " : "";
    if (!values[i].name.empty())
      text += values[i].name + ": ";
    text += values[i].type.str();
  }
  return text + ")";
}

std::string signatureOf(const Function &function) {
  return function.name + listOf(function.arguments) + " -> " +
         listOf(function.results);
}

static bool takes(const Function &f, const std::vector<TensorType> &types) {
  if (f.arguments.size() != types.size())
    return false;
  for (size_t i = 0; i < types.size(); ++i)
    if (!(f.arguments[i].type == types[i]))
      return false;
  return true;
}

Status selectFunction(const Program &program, const std::string &name,
                      const std::vector<TensorType> *arguments,
                      const Function *&function) {
  std::vector<const Function *> found;
  for (const Function &f : program.functions)
    if ((name.empty() || f.name == name) &&
        (!arguments || takes(f, *arguments)))
      found.push_back(&f);
  if (found.size() == 1) {
    function = found.front();
    return {};
  }
  std::string wanted = name.empty() ? "a function" : "function '" + name + "'";
  if (arguments) {
    wanted += " of (";
    for (size_t i = 0; i < arguments->size(); ++i)
      wanted += (i ? ", " : "") + (*arguments)[i].str();
    wanted += ")";
  }
  std::string all;
  for (const Function &f : program.functions)
    all += (all.empty() ? "" : ", ") + signatureOf(f);
  if (all.empty())
    all = "no function";
  if (found.empty())
    return Status::error("expected " + wanted + ", the bundle has " + all);
  return Status::error("expected one function, found " +
                       std::to_string(found.size()) + " that match " + wanted +
                       "; choose by name or by argument types from " + all);
}

std::string valueName(const char *what, size_t number,
                      const NamedTensorType &value) {
  std::string name = std::string(what) + ' ' + std::to_string(number);
  return value.name.empty() ? name : name + " '" + value.name + "'";
}

} // namespace heddle
