#!/usr/bin/env bash
# Configures and builds into build/; binaries are in build/bin. Arguments go to
# cmake (-DCMAKE_BUILD_TYPE=Debug, ...). MLIR_DIR=<prefix>/lib/cmake/mlir picks
# an LLVM 22 that is not Debian's; CC and CXX pick the compiler.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build

if [[ -z "${CC:-}${CXX:-}" ]] && command -v clang++-22 >/dev/null; then
  export CC=clang-22 CXX=clang++-22
fi
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release)
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
if [[ "${CXX:-}" == clang++-22 ]] && command -v ld.lld-22 >/dev/null; then
  for kind in EXE SHARED MODULE; do
    options+=("-DCMAKE_${kind}_LINKER_FLAGS=-fuse-ld=lld-22")
  done
fi
if [[ -n "${MLIR_DIR:-}" ]]; then
  options+=("-DMLIR_DIR=$MLIR_DIR")
fi

# A compile job that includes MLIR takes up to 1.5 GiB.
jobs=$(nproc)
gib=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
if ((gib * 2 / 3 < jobs)); then
  jobs=$((gib * 2 / 3 > 0 ? gib * 2 / 3 : 1))
fi

cmake -S "$root" -B "$build" "${options[@]}" "$@"
cmake --build "$build" --parallel "$jobs"
