#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that Weft needs. Asks apt only for what is missing.
set -euo pipefail
packages=(g++ cmake ninja-build ccache lld pkg-config git ca-certificates
  libboost-dev protobuf-compiler libprotobuf-dev libfmt-dev zlib1g-dev libzstd-dev libxxhash-dev libarchive-dev
  libcli11-dev nlohmann-json3-dev libpugixml-dev libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev liblapack-dev
  libopen-trace-format2-dev otf2-tools
  openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran hpcc zstd python3 python3-jsonschema clang-format clang-tidy help2man groff-base iproute2
  file dpkg-dev)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
# Only for the tests of the report page and of completion, which say so where one is missing. Node.js comes from elsewhere on many
# machines, and Ubuntu has no package of Chromium.
optional=()
command -v npm >/dev/null || optional+=(npm)
for program in chromium zsh fish; do command -v "$program" >/dev/null || optional+=("$program"); done
[ $((${#missing[@]} + ${#optional[@]})) -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "Weft's scripts install packages with apt-get (Debian 12 or Ubuntu 24.04, or newer), which is not here." >&2
  echo "Install these by hand and run cmake --preset release: ${missing[*]} ${optional[*]}" >&2
  exit 2
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "not root and no sudo; as root: apt-get install ${missing[*]}" >&2; exit 2; }
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Runs a command quietly; shows its output only if it fails.
quietly() { "$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2; echo "failed: $*" >&2; exit 1; }; }
started=$SECONDS
echo "installing $((${#missing[@]} + ${#optional[@]})) packages (asked: ${missing[*]} ${optional[*]})"
quietly "${as_root[@]}" apt-get update -q
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
[ ${#missing[@]} -eq 0 ] || quietly "${install[@]}" "${missing[@]}"
for p in "${optional[@]}"; do
  "${install[@]}" "$p" >"$log" 2>&1 </dev/null || echo "no package $p here: some tests need it"
done
echo "installed in $((SECONDS - started)) s"
