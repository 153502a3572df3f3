#!/bin/sh
# Writes the pages that come from the .td files into OUT (default: this folder).
#
#   docs/generate.sh [OUT]
#
# MLIR_TBLGEN and MLIR_INCLUDE_DIR name another LLVM than Debian's; the CMake
# target heddle-docs sets both.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-"$root/docs"}
tblgen=${MLIR_TBLGEN:-/usr/lib/llvm-22/bin/mlir-tblgen}
mlir_include=${MLIR_INCLUDE_DIR:-/usr/lib/llvm-22/include}

generate() { # generator (split at spaces), .td file, page
  "$tblgen" $1 -I "$root/include" -I "$mlir_include" \
    "$root/include/heddle/$2" -o "$out/dialect/$3"
}

mkdir -p "$out/dialect"
generate "-gen-dialect-doc -dialect=heddle" Dialect/Heddle/IR/HeddleOps.td Heddle.md
generate -gen-pass-doc Dialect/Heddle/Transforms/Passes.td HeddlePasses.md
generate "-gen-dialect-doc -dialect=heddle_nvvm" Dialect/HeddleNvvm/IR/HeddleNvvmOps.td HeddleNvvm.md
generate "-gen-dialect-doc -dialect=heddle_gpu" Dialect/HeddleGpu/IR/HeddleGpuOps.td HeddleGpu.md
generate -gen-pass-doc Dialect/HeddleGpu/Transforms/Passes.td HeddleGpuPasses.md
generate -gen-pass-doc Dialect/HeddleNvvm/Transforms/Passes.td HeddleNvvmPasses.md
