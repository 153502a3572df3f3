#!/usr/bin/env bash
# Installs the Debian packages that Heddle needs: the only list of them.
# Does nothing where all are present. HEDDLE_SKIP_INSTALL=1 skips it; with
# MLIR_DIR set, LLVM is taken from there and its packages are not asked for.
set -euo pipefail

packages=(
  cmake           # build
  ninja-build
  ccache
  nlohmann-json3-dev # reports, benchmark results
  libcli11-dev       # command lines
  libxxhash-dev      # checksums of bundles
  libgtest-dev       # unit tests
  libboost-context-dev # fibres of the emulator
  zlib1g-dev         # .npz files; named by LLVM's CMake files too
  libzstd-dev
  python3            # lit
)
if [[ -z "${MLIR_DIR:-}" ]]; then
  packages+=(
    clang-22
    lld-22
    llvm-22-dev
    llvm-22-tools # lit, FileCheck
    libmlir-22-dev
    mlir-22-tools # mlir-tblgen, mlir-opt
  )
fi

if [[ "${HEDDLE_SKIP_INSTALL:-0}" == 1 ]]; then
  exit 0
fi

fail() {
  echo "deps.sh: error: $*" >&2
  exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "expected a Debian system, found no apt-get; install the equivalents of" \
    "${packages[*]} and set HEDDLE_SKIP_INSTALL=1"
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "deps.sh: will install with apt-get: ${missing[*]}" >&2
sudo=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    fail "expected root or sudo to install ${missing[*]}, found neither;" \
      "ask an administrator, or set HEDDLE_SKIP_INSTALL=1 where they exist elsewhere"
  sudo=(sudo)
fi
apt() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null >&2; }

apt update
unknown=()
for package in "${missing[@]}"; do
  candidate=$(LC_ALL=C apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
  [[ -n "$candidate" && "$candidate" != "(none)" ]] || unknown+=("$package")
done
if ((${#unknown[@]})); then
  fail "expected apt to know ${unknown[*]}, its sources do not; add a source with" \
    "LLVM 22 (on Debian 12: bookworm-security), or set MLIR_DIR to an LLVM 22 install"
fi
apt install --no-install-recommends "${missing[@]}"
