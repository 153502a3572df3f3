#!/bin/sh
# Behaves as ptxas does: FAKE_RELEASE is what --version prints, FAKE_REPORT what
# -v prints, FAKE_STATUS the exit status. The output is the input.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release ${FAKE_RELEASE-12.0}, V12.0.1"
  exit 0
fi
printf '%b\n' "$FAKE_REPORT" >&2
while [ $# -gt 1 ]; do
  [ "$1" = -o ] && output=$2
  shift
done
cp "$1" "$output"
exit "${FAKE_STATUS-0}"
