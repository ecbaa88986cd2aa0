#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that Weft needs. Asks apt only for what is missing.
set -euo pipefail
packages=(g++ cmake ninja-build ccache pkg-config git ca-certificates
  libboost-dev libboost-graph-dev protobuf-compiler libprotobuf-dev libfmt-dev libzstd-dev libxxhash-dev libarchive-dev
  libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev
  openmpi-bin libopenmpi-dev gfortran hpcc zstd)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
