#!/usr/bin/env bash
# How far SimGrid's own answer moves when every computation takes up to 1 ps longer (random, seed = rank + 1), and when
# its surf/precision goes from 1e-12 to 1e-13 s: how well posed a comparison with it is (docs/validation.md).
#
# usage: simgrid_sensitivity.sh [ORACLE_FOLDER] TRACE.PLATFORM...      e.g. ../shared 8x8_4000_64.torus_lat0
# Raw eager, linear placement, as tools/simgrid/commands.sh of the oracle folder runs it. Needs libsimgrid-dev, zstd.
set -euo pipefail
oracle=$(cd "${1-../shared}" && pwd); shift || true
[ $# -gt 0 ] || { sed -n 2,6p "$0"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sim=$oracle/tools/simgrid
smpicc -O2 -o "$dir/replay_clock" "$sim/replay_clock.c"
finish() { # LIST RANKS PLATFORM PRECISION
  smpirun -np "$2" -platform "$sim/platforms/$3.xml" -hostfile "$sim/hosts256_linear.txt" -replay "$1" \
    --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:1e30 --cfg=network/optim:Full \
    --cfg=surf/precision:"$4" --cfg=smpi/send-is-detached-thresh:2147483647 --cfg=smpi/async-small-thresh:2147483647 \
    --log=root.thres:warning "$dir/replay_clock" 2>/dev/null | awk '/FINISH/ { if ($3 > m) m = $3 } END { printf "%.15f", m }'
}
echo "| case | SimGrid s | moved by 1 ps a computation | moved by surf/precision 1e-13 |"
echo "| --- | --- | --- | --- |"
for case in "$@"; do
  trace=${case%%.*} platform=${case#*.}
  if [ ! -d "$dir/$trace" ]; then
    mkdir "$dir/$trace" "$dir/$trace.noise"
    zstd -dc --long=27 "$oracle/traces/hpl_ti_flops/$trace/trace.tar.zst" | tar x -C "$dir/$trace"
    for f in "$dir/$trace"/rank-*.txt; do
      r=${f##*rank-}; r=${r%.txt}
      # Hosts compute 1e10 flop/s: 0.01 flop is a picosecond.
      awk -v r="$r" 'BEGIN { srand(r + 1) } $2 == "compute" { printf "%s compute %.6f\n", $1, $3 + 0.01 * rand(); next } { print }' \
        "$f" >"$dir/$trace.noise/${f##*/}"
    done
  fi
  ranks=$(find "$dir/$trace" -name 'rank-*' | wc -l)
  for v in "$trace" "$trace.noise"; do for ((r = 0; r < ranks; r++)); do echo "$dir/$v/rank-$r.txt"; done >"$dir/$v.list"; done
  a=$(finish "$dir/$trace.list" "$ranks" "$platform" 1e-12)
  b=$(finish "$dir/$trace.noise.list" "$ranks" "$platform" 1e-12)
  c=$(finish "$dir/$trace.list" "$ranks" "$platform" 1e-13)
  awk -v n="$case" -v a="$a" -v b="$b" -v c="$c" 'function d(x) { x = (x - a) / a; return x < 0 ? -x : x }
    BEGIN { printf "| %s | %.12f | %.1e | %.1e |\n", n, a, d(b), d(c) }'
done
