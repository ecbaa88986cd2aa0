#!/usr/bin/env bash
# What the recorder adds to one MPI call: bench/recorder_overhead.sh [build folder [openmpi|mpich]]. Needs mpicc and a built recorder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../build-release}" && pwd)
abi=${2:-openmpi}
mpicc=$(command -v "mpicc.$abi" || command -v mpicc)  # Debian's names, where both may be
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$mpicc" -O2 "$here/recorder_overhead.c" -o "$work/loops"
"$work/loops" >"$work/plain"
for clock in cpu wall; do
  mkdir "$work/$clock"
  LD_PRELOAD=$build/lib/libweft_record_$abi.so WEFT_RECORD_DIR=$work/$clock WEFT_RECORD_CLOCK=$clock "$work/loops" >"$work/$clock.txt"
done
printf '%-22s %10s %12s %12s\n' 'ns per call' plain 'adds (cpu)' 'adds (wall)'
paste -d' ' "$work/plain" "$work/cpu.txt" "$work/wall.txt" |
  awk '{printf "%-22s %10.1f %12.1f %12.1f\n", $1, $2, $4 - $2, $6 - $2}'
