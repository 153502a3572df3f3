#!/usr/bin/env bash
# Installs what is missing, builds, and runs heddle-bench with the arguments
# given. Without arguments: a selection of checked attention and transformer
# rows that ends within ten minutes and is written to build/bench.json.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/deps.sh"
"$root/scripts/build.sh"
bench=$root/build/bin/heddle-bench

if (($#)); then
  exec "$bench" "$@"
fi

status=0
"$bench" --suite=attention,transformer \
  --filter=mode=fwd --filter=op=forward --filter=dtype=float32,bfloat16 \
  --filter=head_dim=64 --filter=seq=128,600,1024 --filter=tokens=256 \
  -o "$root/build/bench.json" || status=$?

cat <<'HINT'

The rows are in build/bench.json. What to try next:
  scripts/bench.sh --list              suites, and the keys that --filter takes
  scripts/bench.sh --suite=attention --filter=mode=fwd -o build/attention.json
  scripts/bench.sh --suite=transformer --filter=op=forward --plan-only
  scripts/bench.sh --suite=attention --filter=mode=fwd --filter=seq=1024 \
    --compare=benchmarks/reference/attention_h100.json
HINT
exit "$status"
