//===- Arguments.cpp - which function, and its argument values ------------===//

#include "Arguments.h"

#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Runtime/Random.h"
#include "heddle/Runtime/TensorArchive.h"

#include <algorithm>
#include <iostream>
#include <set>

using namespace heddle;
using namespace heddle::run;

std::string heddle::run::signature(const Function &function) {
  std::string text = function.name + "(";
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const NamedTensorType &argument = function.arguments[i];
    text += i ? ", " : "";
    if (!argument.name.empty())
      text += argument.name + " ";
    text += argument.type.str();
  }
  return text + ")";
}

/// The functions that `name` may mean, in the order of the bundle.
static Status findFunctions(const Program &program, const std::string &name,
                            std::vector<const Function *> &candidates) {
  std::set<std::string> names;
  for (const Function &function : program.functions) {
    names.insert(function.name);
    if (name.empty() || function.name == name)
      candidates.push_back(&function);
  }
  std::string list;
  for (const std::string &known : names)
    list += (list.empty() ? "" : ", ") + known;
  if (names.empty())
    return Status::error("expected at least one function in the model, found "
                         "none");
  if (candidates.empty())
    return Status::error("expected a function of the model (" + list +
                         "), got --function=" + name);
  if (name.empty() && names.size() > 1)
    return Status::error("expected one function, the model has " +
                         std::to_string(names.size()) + " (" + list +
                         "); choose with --function=NAME");
  return {};
}

/// Gives each input the argument it is for: by name or number, else in order.
static Status assign(const Function &function,
                     const std::vector<InputSpec> &inputs,
                     std::vector<const InputSpec *> &specs) {
  specs.assign(function.arguments.size(), nullptr);
  size_t next = 0;
  for (const InputSpec &input : inputs) {
    size_t index = next;
    if (!input.name.empty()) {
      for (index = 0; index < specs.size(); ++index)
        if (input.name == function.arguments[index].name ||
            input.name == "arg" + std::to_string(index))
          break;
      if (index == specs.size())
        return Status::error("expected --input to name an argument of " +
                             signature(function) + ", got '" + input.name +
                             "'");
    } else {
      ++next;
      if (index >= specs.size())
        return Status::error("expected at most " +
                             std::to_string(specs.size()) + " inputs for " +
                             signature(function) + ", got " +
                             std::to_string(inputs.size()));
    }
    if (specs[index])
      return Status::error("expected one --input per argument, got two for "
                           "argument " +
                           std::to_string(index) + " of " +
                           signature(function));
    specs[index] = &input;
  }
  return {};
}

/// Arguments and results live in host memory beside the plan's temporaries.
static Status checkMemory(const Function &function) {
  // Dimensions are bounded one by one, so sums are taken in floating point.
  double need = 0;
  auto add = [&](const TensorType &type) {
    double bytes = static_cast<double>(byteWidth(type.dtype));
    for (int64_t d : type.shape)
      bytes *= static_cast<double>(d);
    need += bytes;
  };
  for (const NamedTensorType &value : function.arguments)
    add(value.type);
  for (const NamedTensorType &value : function.results)
    add(value.type);
  double available = static_cast<double>(availableMemory());
  if (need <= available)
    return {};
  auto mib = [](double bytes) {
    return std::to_string(static_cast<int64_t>(bytes / (1 << 20)));
  };
  return Status::error("expected " + mib(need) +
                       " MiB of memory for the arguments and results of '" +
                       function.name + "', found " + mib(available) +
                       " MiB; free memory or use smaller shapes");
}

/// Reads the files among the inputs.
static Status readFiles(const Function &function,
                        const std::vector<const InputSpec *> &specs,
                        std::vector<HostTensor> &arguments) {
  arguments.assign(specs.size(), {});
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i] || specs[i]->path.empty())
      continue;
    const NamedTensorType &wanted = function.arguments[i];
    Status status = readNpyFile(specs[i]->path, arguments[i], &wanted.type);
    if (!status.ok())
      return Status::error(
          "argument " + std::to_string(i) +
          (wanted.name.empty() ? "" : " '" + wanted.name + "'") + ": " +
          status.message);
  }
  return {};
}

static std::string nameOf(const Function &function, size_t i) {
  const std::string &name = function.arguments[i].name;
  return name.empty() ? "arg" + std::to_string(i) : name;
}

/// Takes the arguments that no --input gave from the archive; `given` says which
/// ones have values now. A tensor that no argument takes is an error.
static Status readArchive(const Function &function,
                          const TensorArchive &archive,
                          const std::vector<const InputSpec *> &specs,
                          std::vector<HostTensor> &arguments,
                          std::vector<bool> &given) {
  std::set<std::string> known;
  for (size_t i = 0; i < specs.size(); ++i) {
    given.push_back(specs[i] && !specs[i]->path.empty());
    std::string name = nameOf(function, i);
    known.insert(name);
    if (specs[i] || !archive.contains(name))
      continue;
    if (Status s = archive.read(name, arguments[i], &function.arguments[i].type);
        !s.ok())
      return s;
    given[i] = true;
  }
  for (const std::string &name : archive.names())
    if (!known.count(name))
      return Status::error("expected --inputs to name arguments of " +
                           signature(function) + ", got '" + name + "'");
  return {};
}

static void drawRandom(const Function &function, const Options &options,
                       const std::vector<const InputSpec *> &specs,
                       const std::vector<bool> &given,
                       std::vector<HostTensor> &arguments) {
  std::string said;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (given[i])
      continue;
    uint64_t seed = specs[i] ? specs[i]->seed : i;
    const NamedTensorType &argument = function.arguments[i];
    arguments[i] = HostTensor(argument.type);
    RandomFill fill;
    fill.seed = seed;
    fill.threads = options.threads;
    fillRandom(arguments[i], fill);
    if (!specs[i])
      said += (said.empty() ? "" : ", ") + nameOf(function, i) +
              "=random:" + std::to_string(seed);
  }
  if (!said.empty())
    std::cerr << "heddle-run: inputs not given are drawn: " << said << "\n";
}

Status heddle::run::bindArguments(const Options &options,
                                  const Program &program,
                                  const Function *&function,
                                  std::vector<HostTensor> &arguments) {
  std::vector<const Function *> candidates;
  if (Status s = findFunctions(program, options.function, candidates); !s.ok())
    return s;
  TensorArchive archive;
  if (!options.inputArchive.empty())
    if (Status s = TensorArchive::open(options.inputArchive, archive); !s.ok())
      return s;
  Status firstError;
  for (const Function *candidate : candidates) {
    std::vector<const InputSpec *> specs;
    std::vector<bool> given;
    Status status = assign(*candidate, options.inputs, specs);
    if (status.ok())
      status = checkMemory(*candidate);
    if (status.ok())
      status = readFiles(*candidate, specs, arguments);
    if (status.ok())
      status = readArchive(*candidate, archive, specs, arguments, given);
    if (status.ok()) {
      function = candidate;
      drawRandom(*candidate, options, specs, given, arguments);
      return {};
    }
    if (firstError.ok())
      firstError = status;
  }
  if (candidates.size() == 1)
    return firstError;
  std::string shapes;
  for (const Function *candidate : candidates)
    shapes += (shapes.empty() ? "" : " or ") + signature(*candidate);
  return Status::error("expected inputs that fit " + shapes +
                       "; the first refuses: " + firstError.message);
}
