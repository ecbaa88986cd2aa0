#!/bin/bash
# Kills a study at random moments, starts it again each time, and compares what comes out with one undisturbed run:
#   scripts/kill-resume.sh [KILLS] [SEED]      (50 kills, a seed that is printed)
# A 200-point sweep alone, in 3 shards that are killed and merged, and by 4 processes at once that are killed one by one.
# WEFT is the program (build-release/cli/weft).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kills=${1:-50}
seed=${2:-$RANDOM}
weft=${WEFT:-$PWD/build-release/cli/weft}
RANDOM=$seed
echo "seed $seed: $kills kills each"
values=$(seq -s, -f '%gGbps' 1 50)
sweep=("$weft" sweep traces/samples/hpl_4x4_2000_64.weft --on fat-tree-16 --on torus-16 --map block --map cyclic --set bw="$values")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${sweep[@]}" --json "$work/one.json" --quiet
say() { # what, folder
  local lines unique
  lines=$(grep -h -o '^{"point":"[0-9a-f]*"' "$2"/points-*.jsonl | wc -l)
  unique=$(grep -h -o '^{"point":"[0-9a-f]*"' "$2"/points-*.jsonl | sort -u | wc -l)
  cmp -s "$work/one.json" "$work/out.json" && same="same bytes" || same="DIFFERENT BYTES"
  echo "$1: $same; $unique points, $((lines - unique)) run twice; $killed of $kills kills hit"
  [[ $same == "same bytes" && $lines == "$unique" && $unique == 200 ]]
}
# Up to a tenth of a second more than a start takes: most points are done by runs that are killed.
moment() { echo "0.$(printf %03d $((30 + RANDOM % 170)))"; }

killed=0
for ((i = 0; i < kills; i++)); do
  timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$work/a" --quiet 2>/dev/null || killed=$((killed + 1))
done
"${sweep[@]}" --journal "$work/a" --json "$work/out.json" --quiet 2>/dev/null
say "one process" "$work/a"

killed=0
for ((i = 0; i < kills; i++)); do
  timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$work/b" --shard $((1 + i % 3))/3 --quiet 2>/dev/null || killed=$((killed + 1))
done
for i in 1 2 3; do "${sweep[@]}" --journal "$work/b" --shard $i/3 --quiet 2>/dev/null; done
"$weft" merge "$work/b" --json "$work/out.json" --quiet 2>/dev/null
say "3 shards" "$work/b"

killed=0
for ((i = 0; i < kills; i += 4)); do
  for k in 1 2 3 4; do
    timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$work/c" --quiet 2>/dev/null &
  done
  for k in 1 2 3 4; do wait -n || killed=$((killed + 1)); done
done 2>/dev/null
"${sweep[@]}" --journal "$work/c" --json "$work/out.json" --quiet 2>/dev/null
say "4 processes" "$work/c"
