#!/usr/bin/env bash
# Records netlib HPL 2.3 in every configuration of data/configurations.txt and writes data/recorded_runs.txt; says which
# generated runs differ. Needs mpicc, mpirun, OpenBLAS, weft with its recorder, and the tool hpl_fingerprint.
#
# usage: record_hpl.sh HPL_SOURCE WEFT HPL_FINGERPRINT WORK_FOLDER
#   HPL_SOURCE       the unpacked source of HPL 2.3 (repository icl-utk-edu/hpl)
#   WEFT             weft with the recorder beside it
#   HPL_FINGERPRINT  built by: cmake --build BUILD --target hpl_fingerprint
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
weft=$2
tool=$3
work=$4
mkdir -p "$work"
work=$(cd "$work" && pwd)
configurations=$here/data/configurations.txt
out=$here/data/recorded_runs.txt
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# One program for each matrix seed: HPL compiles it in. Default build: derived datatypes.
build() {
  local seed=$1 dir=$work/hpl_$1
  [ -x "$dir/xhpl" ] && return
  mkdir -p "$dir/obj"
  cp -r "$source/include" "$dir/"
  sed -i "s/\(define *HPL_ISEED *\)[0-9]*/\1$seed/" "$dir/include/hpl_ptest.h"
  find "$source/src" "$source/testing" -name '*.c' -print0 | (cd "$dir/obj" && xargs -0 -n 8 -P "$(nproc)" \
    mpicc -O2 -w -DHPL_CALL_CBLAS -DAdd_ -DF77_INTEGER=int -DStringSunStyle -I"$dir/include" -c)
  mpicc -o "$dir/xhpl" "$dir"/obj/*.o -lopenblas -lm
}

tmp=$work/recorded_runs.txt
{
  echo "# What every rank of a recorded run of netlib HPL 2.3 sends: made by record_hpl.sh from configurations.txt."
  echo "# $(mpirun --version | head -n 1), default build (derived datatypes); every run passed HPL's residual check."
  echo "# run CONFIGURATION, then for each rank: rank, sends, bytes sent, receives, hash of its lists (recorded_runs.hpp)"
} > "$tmp"
failed=0
while read -r line; do
  case $line in '#'*|'') continue ;; esac
  read -r p q _ <<< "$line"
  seed=${line##* }
  build "$seed"
  dir=$work/run
  rm -rf "$dir"
  mkdir -p "$dir"
  "$tool" dat "$line" > "$dir/HPL.dat"
  (cd "$dir" && "$weft" record -o run.weft --quiet -- mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n $((p * q)) \
    "$work/hpl_$seed/xhpl" > run.out 2>&1 < /dev/null) || { echo "failed to run: $line" >&2; cat "$dir/run.out" >&2; exit 1; }
  grep -q PASSED "$dir/run.out" || { echo "did not pass: $line" >&2; exit 1; }
  if "$tool" trace "$line" "$dir/run.weft" >> "$tmp"; then echo "equal: $line"; else failed=$((failed + 1)); fi
done < "$configurations"
cp "$tmp" "$out"
echo "$failed configurations differ"
[ "$failed" -eq 0 ]
