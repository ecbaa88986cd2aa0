#!/bin/bash
# Kills a study at random moments, starts it again each time, and compares what comes out with one undisturbed run:
#   scripts/kill-resume.sh [KILLS] [SEED]      (50 kills, a seed that is printed)
# A 200-point sweep alone, in 3 shards that are merged, and by 4 processes at once, by 4 ranks of mpirun; and a schedule search.
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
# SECONDS_OF COMMAND...
seconds_of() {
  local from=$EPOCHREALTIME
  "$@" >"$work/log" 2>&1
  awk "BEGIN { print $EPOCHREALTIME - $from }"
}
# What a run takes that has nothing to do but to start, and all of it: kills come so that most of the work is done by
# runs that are killed.
span() { # COMMAND...
  all=$(seconds_of "$@")
  "$@" --journal "$work/span" >"$work/log" 2>&1
  start=$(seconds_of "$@" --journal "$work/span")
  rm -rf "$work/span"
}
early=0.9 late=1.2 # when kills come: after so many starts, and within so many kills' share of the work more
moment() { awk "BEGIN { print $early * $start + $RANDOM / 32768 * $late * $all / $kills }"; }
say() { # what folder expected-output output; fails unless all is well
  local lines unique same="DIFFERENT BYTES"
  lines=$(cat "$2"/points-*.jsonl | grep -c -o '"sum":"[0-9a-f]*"}$')
  lines=$((lines - $(grep -l '^{"weft"' "$2"/points-*.jsonl | wc -l)))
  unique=$(grep -h -o '^{"point":"[0-9a-f]*".*"sum":"[0-9a-f]*"}$' "$2"/points-*.jsonl | cut -c1-45 | sort -u | wc -l)
  cmp -s <(grep -v wall_s "$3") <(grep -v wall_s "$4") && same="same bytes"
  echo "$1: $same; $unique points, $before of them by runs that were killed, $((lines - unique)) run twice; $killed of $kills kills hit"
  [[ $same == "same bytes" && $lines == "$unique" ]]
}
kept() { cat "$1"/points-*.jsonl 2>"$work/log" | grep -c '^{"point".*"sum":"[0-9a-f]*"}$' || true; }
# Kills of what runs in the background are not told.
killed_run() { # COMMAND...
  { timeout -s KILL "$(moment)" "$@" >"$work/log" 2>&1 || killed=$((killed + 1)); } 2>"$work/log"
}

span "${sweep[@]}"
killed=0
for ((i = 0; i < kills; i++)); do killed_run "${sweep[@]}" --journal "$work/a"; done
before=$(kept "$work/a")
"${sweep[@]}" --journal "$work/a" --json "$work/out.json" --quiet 2>"$work/log"
say "sweep, one process" "$work/a" "$work/one.json" "$work/out.json"

killed=0
for ((i = 0; i < kills; i++)); do killed_run "${sweep[@]}" --journal "$work/b" --shard $((1 + i % 3))/3; done
before=$(kept "$work/b")
for i in 1 2 3; do "${sweep[@]}" --journal "$work/b" --shard $i/3 --quiet 2>"$work/log"; done
"$weft" merge "$work/b" --json "$work/out.json" --quiet 2>"$work/log"
say "sweep, 3 shards" "$work/b" "$work/one.json" "$work/out.json"

killed=0 early=3 late=8 # four at once, perhaps on two cores
for ((i = 0; i < kills; i += 4)); do
  pids=()
  for k in 1 2 3 4; do
    timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$work/c" --quiet >"$work/log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do { wait "$pid" || killed=$((killed + 1)); } 2>"$work/log"; done
done
before=$(kept "$work/c")
"${sweep[@]}" --journal "$work/c" --json "$work/out.json" --quiet 2>"$work/log"
say "sweep, 4 processes" "$work/c" "$work/one.json" "$work/out.json"

if command -v mpirun >"$work/log"; then
  killed=0 early=4 late=4 # mpirun starts too
  for ((i = 0; i < kills; i += 4)); do
    timeout -s TERM "$(moment)" mpirun --allow-run-as-root --oversubscribe -n 4 "${sweep[@]}" \
      --journal "$work/e" --spread --quiet >"$work/log" 2>&1 || killed=$((killed + 4))
  done
  before=$(kept "$work/e")
  mpirun --allow-run-as-root --oversubscribe -n 4 "${sweep[@]}" --journal "$work/e" --spread --json "$work/out.json" --quiet 2>"$work/log"
  say "sweep, 4 ranks of mpirun" "$work/e" "$work/one.json" "$work/out.json"
fi

search=("$weft" search halo --grid 4x2 --on cs-storm --place search --exhaustive)
"${search[@]}" --json "$work/one.json" --quiet
span "${search[@]}"
killed=0 early=0.2 late=25 # a start reads long distributions of what is there
for ((i = 0; i < kills; i++)); do killed_run "${search[@]}" --journal "$work/d"; done
before=$(kept "$work/d")
"${search[@]}" --journal "$work/d" --json "$work/out.json" --quiet 2>"$work/log"
say "search" "$work/d" "$work/one.json" "$work/out.json"
