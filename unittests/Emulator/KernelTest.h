//===- KernelTest.h - kernels of an .mlir file on the emulator --*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_EMULATOR_KERNELTEST_H
#define HEDDLE_UNITTESTS_EMULATOR_KERNELTEST_H

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/Emulator.h"
#include "heddle/Target/EmulatorObject.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

namespace heddle::test {

/// Parses a file of Inputs/, emits it and loads it.
inline std::unique_ptr<EmulatorModule> loadText(const std::string &text) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context), "kernel.mlir");
  std::vector<uint8_t> object;
  std::unique_ptr<EmulatorModule> loaded;
  EXPECT_TRUE(module && succeeded(emitEmulatorObject(*module, object)));
  if (object.empty())
    return nullptr;
  Status s = EmulatorModule::load(object.data(), object.size(), loaded);
  EXPECT_TRUE(s.ok()) << s.message;
  return loaded;
}

std::string readInput(const std::string &file);

/// A launch in the making. Buffers keep the addresses of the vectors.
struct Launch : EmulatorLaunch {
  Launch(std::string name, EmulatorDim gridDim, EmulatorDim blockDim) {
    kernel = std::move(name);
    grid = gridDim;
    block = blockDim;
  }
  template <typename T>
  Launch &buffer(std::string name, std::vector<T> &v, bool initialised = true) {
    buffers.push_back({v.data(), static_cast<int64_t>(v.size() * sizeof(T)),
                       std::move(name), initialised});
    args.push_back(EmulatorArgument::pointer(v.data()));
    return *this;
  }
  Launch &i64(int64_t v) {
    args.push_back(EmulatorArgument::i64(v));
    return *this;
  }
  Launch &i32(int32_t v) {
    args.push_back(EmulatorArgument::i32(v));
    return *this;
  }
};

/// Uniform in [-1, 1), the same on every machine.
inline std::vector<float> randomFloats(size_t n, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> v(n);
  for (float &x : v)
    x = static_cast<float>(generator() >> 8) / (1 << 23) - 1.0f;
  return v;
}

/// Runs it and expects no fault.
inline LaunchReport runClean(const EmulatorModule &module,
                             const EmulatorLaunch &launch) {
  LaunchReport report;
  Status s = module.launch(launch, report);
  EXPECT_TRUE(s.ok()) << s.message;
  EXPECT_TRUE(report.clean()) << report.text();
  return report;
}

/// The findings of one sanitizer as one text.
inline std::string findingsOf(const LaunchReport &report,
                              EmulatorSanitizer sanitizer) {
  std::string text;
  for (const EmulatorFinding &f : report.findings)
    if (f.sanitizer == sanitizer)
      text += f.text() + "\n";
  return text;
}

} // namespace heddle::test

#endif // HEDDLE_UNITTESTS_EMULATOR_KERNELTEST_H
