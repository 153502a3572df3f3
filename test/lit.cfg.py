"""Configuration of Heddle's lit tests."""

import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Heddle"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.heddle_obj_root, "test")

config.environment["FILECHECK_OPTS"] = "--dump-input=fail --enable-var-scope"
# heddle-run takes all cores by default, and tests run side by side.
config.environment.setdefault("HEDDLE_THREADS", "2")

config.substitutions.append(("%heddle_src", config.heddle_src_root))
config.substitutions.append(("%heddle_obj", config.heddle_obj_root))
config.substitutions.append(("%heddle_plugin", config.heddle_plugin))
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%llvm_include", config.mlir_include_dir))
config.substitutions.append(("%llvm_lib", config.llvm_lib_dir))
config.substitutions.append(("%mlir_tblgen", os.path.join(config.llvm_tools_dir, "mlir-tblgen")))

# Tools that other parts of the project build; a test of one that is not built
# says `REQUIRES: heddle-run` and is reported as unsupported.
tools_dir = os.path.join(config.heddle_obj_root, "bin")
heddle_tools = ["heddle-opt", "heddle-compile", "heddle-run", "heddle-bench",
                "heddle-lsp-server"]
llvm_tools = ["FileCheck", "mlir-opt", "mlir-runner", "mlir-translate",
              "mlir-tblgen", "not",
              "count", "split-file", "llc", "llvm-objdump", "llvm-readelf"]
for name in heddle_tools:
    if os.path.exists(os.path.join(tools_dir, name)):
        config.available_features.add(name)
if os.path.exists(os.path.join(config.llvm_tools_dir, "mlir-runner")):
    config.available_features.add("mlir-runner")
if os.path.exists(config.heddle_plugin):
    config.available_features.add("heddle-plugin")

# Every parse of heddle-opt is checked to survive printing where asked for:
# HEDDLE_VERIFY_ROUNDTRIP=1 lit build/test
opt_args = []
if os.environ.get("HEDDLE_VERIFY_ROUNDTRIP", "0") not in ("", "0"):
    opt_args = ["-verify-roundtrip"]
    config.available_features.add("verify-roundtrip")

# A CUDA driver over host memory, for tools that look for one.
fake_cuda = os.path.join(config.heddle_obj_root, "unittests", "Cuda", "libHeddleFakeCuda.so")
config.substitutions.append(("%fake_cuda", fake_cuda))
if os.path.exists(fake_cuda):
    config.available_features.add("fake-cuda")

# Features of the machine, for tests that run kernels.
try:
    with open("/proc/cpuinfo") as info:
        flags = next((line for line in info if line.startswith("flags")), "").split()
except OSError:
    flags = []
for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16"):
    if flag in flags:
        config.available_features.add("cpu-" + flag.replace("_", "-"))
if shutil.which("nvidia-smi"):
    config.available_features.add("cuda")

llvm_config.with_environment("PATH", [tools_dir, config.llvm_tools_dir],
                             append_path=True)
llvm_config.add_tool_substitutions(
    [ToolSubst("heddle-opt", extra_args=opt_args, unresolved="ignore")]
    + [ToolSubst(name, unresolved="ignore") for name in heddle_tools[1:]],
    [tools_dir])
llvm_config.add_tool_substitutions(
    [ToolSubst(name, unresolved="ignore") for name in llvm_tools],
    [config.llvm_tools_dir])
