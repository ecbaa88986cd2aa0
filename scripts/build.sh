#!/usr/bin/env bash
# Installs what is missing and builds Weft into build-release/. Usage: build.sh [TARGET...] (default: everything).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
started=$SECONDS
jobs=$(nproc)
# A compile job here needs up to 1.4 GB: fewer jobs on a small machine.
if [ -r /proc/meminfo ]; then
  fit=$(($(awk '/MemAvailable/ {print $2}' /proc/meminfo) / 1400000))
  [ "$fit" -ge 1 ] || fit=1
  [ "$jobs" -le "$fit" ] || jobs=$fit
fi
export NINJA_STATUS='[%f/%t %es] '
# A tree that is built for the first time: all of it, so several files at a time. Who works on it asks CMake (CONTRIBUTING.md).
unity=
[ -f build-release/CMakeCache.txt ] || unity=-DWEFT_UNITY=ON
cmake --preset release $unity >build-release.log 2>&1 || { cat build-release.log >&2; exit 1; }
rm -f build-release.log
if [ -t 1 ]; then
  cmake --build --preset release -j "$jobs" ${1+--target "$@"}
else
  # No terminal: one line in ten is enough to see that it goes on; warnings and errors are kept. (Not awk: mawk reads 4 KB at a time.)
  cmake --build --preset release -j "$jobs" ${1+--target "$@"} 2>&1 | {
    steps=0
    while IFS= read -r line; do
      if [[ $line =~ ^\[[0-9]+/[0-9]+\  ]] && ((steps++ % 10)); then continue; fi
      printf '%s\n' "$line"
    done
  }
fi
echo "built in $((SECONDS - started)) s"
