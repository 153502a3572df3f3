#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Arguments go to ctest
# (-R NAME, -j 4, ...). The last lines are ctest's summary.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/deps.sh"
"$root/scripts/build.sh"

cat <<'HINT'

Running the tests. What to try next:
  scripts/test.sh -R lit               one of them
  build/bin/heddle-compile examples/attention.mlir -o build/attention.heddle --report
  build/bin/heddle-run build/attention.heddle --check=reference
  scripts/bench.sh                     checked rows with times, within ten minutes

HINT
exec ctest --test-dir "$root/build" --output-on-failure "$@"
