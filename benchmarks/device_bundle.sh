#!/usr/bin/env bash
# Prepares FOLDER for benchmarks/device.sh on a machine that needs no GPU:
# builds the runner, which needs neither LLVM nor CUDA, compiles all rows, and
# computes the values that results are compared with. --help lists the options;
# HEDDLE_DEVICE_RUNNER names a runner that is built already.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
runner=${HEDDLE_DEVICE_RUNNER:-}
if [[ -z $runner ]]; then
  cmake --preset runtime-only -S "$root" >/dev/null
  cmake --build "$root/build/runtime-only" --target heddle-run >/dev/null
  runner=$root/build/runtime-only/bin/heddle-run
fi
exec python3 "$root/benchmarks/device/prepare.py" --runner "$runner" "$@"
