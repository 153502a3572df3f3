#!/usr/bin/env bash
# Makes the Python environment of the peers, outside the source tree: JAX,
# PyTorch and Triton (with NVIDIA's disassembler) from the configured package
# index. Several GB, because PyTorch's default wheel brings its GPU libraries
# along.
set -euo pipefail

venv=${HEDDLE_PEERS_VENV:-$HOME/.cache/heddle-peers}
python=${PYTHON:-python3}

if [[ -x $venv/bin/python ]] &&
  "$venv/bin/python" -c 'import jax, numpy, torch, triton' 2>/dev/null; then
  echo "the peers are installed in $venv"
else
  mkdir -p "$(dirname -- "$venv")"
  free_kb=$(df -Pk "$(dirname -- "$venv")" | awk 'NR == 2 { print $4 }')
  if ((free_kb < 10 * 1024 * 1024)); then
    echo "setup.sh: error: expected 10 GiB free for $venv, found" \
      "$((free_kb / 1024)) MiB; set HEDDLE_PEERS_VENV to another place" >&2
    exit 1
  fi
  echo "installing numpy, jax, torch and triton into $venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy jax torch \
    triton
fi
# Triton's wheel has nvdisasm; where it does not, a wheel of its own has.
if ! compgen -G "$venv/lib/python3*/site-packages/triton/backends/nvidia/bin/nvdisasm" >/dev/null &&
  ! command -v nvdisasm >/dev/null; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvdisasm
fi
"$venv/bin/python" -c '
import jax, torch
print("jax", jax.__version__, "torch", torch.__version__)'
echo "next: $venv/bin/python benchmarks/peers/run_interleaved.py --help"
