//===- CpuTarget.cpp - names of CPUs --------------------------------------===//

#include "heddle/Codegen/CPU/CpuTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace heddle;

static void setVectorWidth(CpuTarget &target, bool avx512) {
  target.vectorLanes = avx512 ? 16 : 8;
  target.panelLanes = 2 * target.vectorLanes;
  // 32 registers hold 12 columns of two vectors and leave room for operands;
  // 16 registers hold 6.
  target.maxCols = avx512 ? 12 : 6;
}

llvm::LogicalResult CpuTarget::parse(const std::string &name, CpuTarget &target,
                                     std::string &error) {
  target.features.clear();
  if (name == "x86-64-v3" || name == "x86-64-v4") {
    target.isa = target.cpu = name;
    setVectorWidth(target, name == "x86-64-v4");
    return llvm::success();
  }
  if (name != "native") {
    error = "expected --cpu to be native, x86-64-v3 or x86-64-v4, got '" + name +
            "'";
    return llvm::failure();
  }
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&](const char *f) { return host.lookup(f); };
  bool v3 = has("avx2") && has("fma") && has("bmi2") && has("f16c");
  bool v4 = v3 && has("avx512f") && has("avx512bw") && has("avx512dq") &&
            has("avx512vl") && has("avx512cd");
  if (!v3) {
    error = "expected a host CPU of level x86-64-v3 or later, got '" +
            llvm::sys::getHostCPUName().str() +
            "' without avx2 and fma; pass --cpu=x86-64-v3 to compile for "
            "another machine";
    return llvm::failure();
  }
  target.isa = v4 ? "x86-64-v4" : "x86-64-v3";
  target.cpu = target.isa;
  setVectorWidth(target, v4);
  if (has("avx512bf16"))
    target.features.push_back("avx512bf16");
  return llvm::success();
}
