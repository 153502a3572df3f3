#!/usr/bin/env bash
# Checks and times the bundles of a FOLDER from benchmarks/device_bundle.sh on
# this machine's GPU, within 8 minutes, beside PyTorch, JAX, flash-attn and
# Triton where the Python of HEDDLE_PEERS_VENV (or python3) has them. Writes
# JSON (-o) and prints a table. --help lists the options.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
venv=${HEDDLE_PEERS_VENV:-$HOME/.cache/heddle-peers}
python=python3
if [[ -x $venv/bin/python ]]; then
  python=$venv/bin/python
fi
exec "$python" "$root/benchmarks/device/run.py" "$@"
