#!/bin/bash
# Kills a study at random moments, starts it again each time, and compares what comes out with one undisturbed run; where it
# came to its end before all kills, the next one begins:
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
points_of() { cat "$1"/points-*.jsonl 2>"$work/log" | grep -h -o '^{"point":"[0-9a-f]*".*"sum":"[0-9a-f]*"}$' | cut -c1-45 || true; }

# NAME EXPECTED POINTS ATTEMPT FINISH: studies in $folder by attempts that are killed (`killed` counts them), each study to its
# end, until as many kills as asked for have hit.
studies() {
  local hit=0 whole=0 twice=0 before=0 done=0 attempts lines unique
  while ((hit < kills)); do
    folder=$work/study
    killed=0
    for ((attempts = 0; attempts < kills && hit + killed < kills; attempts++)); do
      "$4" "$attempts"
      (($(points_of "$folder" | sort -u | wc -l) < $3)) || break
    done
    before=$((before + $(points_of "$folder" | wc -l)))
    "$5"
    lines=$(points_of "$folder" | wc -l)
    unique=$(points_of "$folder" | sort -u | wc -l)
    if ! cmp -s <(grep -v wall_s "$2") <(grep -v wall_s "$work/out.json"); then
      echo "$1: DIFFERENT BYTES"
      return 1
    fi
    whole=$((whole + 1)) done=$((done + unique)) twice=$((twice + lines - unique)) hit=$((hit + killed))
    rm -rf "$folder"
  done
  echo "$1: $hit kills in $whole $( ((whole == 1)) && echo study || echo studies), same bytes each time; $done points, $before of them by runs that were killed, $twice run twice"
  ((twice == 0))
}
# Kills of what runs in the background are not told.
killed_run() { # COMMAND...
  { timeout -s KILL "$(moment)" "$@" >"$work/log" 2>&1 || killed=$((killed + 1)); } 2>"$work/log"
}

span "${sweep[@]}"
alone() { killed_run "${sweep[@]}" --journal "$folder"; }
ends() { "${sweep[@]}" --journal "$folder" --json "$work/out.json" --quiet 2>"$work/log"; }
studies "sweep, one process" "$work/one.json" 200 alone ends

shard() { killed_run "${sweep[@]}" --journal "$folder" --shard $((1 + $1 % 3))/3; }
merged() {
  for i in 1 2 3; do "${sweep[@]}" --journal "$folder" --shard $i/3 --quiet 2>"$work/log"; done
  "$weft" merge "$folder" --json "$work/out.json" --quiet 2>"$work/log"
}
studies "sweep, 3 shards" "$work/one.json" 200 shard merged

early=3 late=8 # four at once, perhaps on two cores
four() {
  local pids=() pid
  for _ in 1 2 3 4; do
    timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$folder" --quiet >"$work/log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do { wait "$pid" || killed=$((killed + 1)); } 2>"$work/log"; done
}
studies "sweep, 4 processes" "$work/one.json" 200 four ends

# A rank that is killed ends the others, too: one kill.
if command -v mpirun >"$work/log"; then
  early=4 late=4 # mpirun starts too
  mpi=(mpirun --allow-run-as-root --oversubscribe)
  ranks() {
    local program=() i
    for i in 1 2 3 4; do
      program+=(-n 1 timeout -s KILL "$(moment)" "${sweep[@]}" --journal "$folder" --spread --quiet)
      ((i == 4)) || program+=(:)
    done
    { "${mpi[@]}" "${program[@]}" >"$work/log" 2>&1 || killed=$((killed + 1)); } 2>"$work/log"
  }
  ranks_end() { "${mpi[@]}" -n 4 "${sweep[@]}" --journal "$folder" --spread --json "$work/out.json" --quiet 2>"$work/log"; }
  studies "sweep, 4 ranks of mpirun" "$work/one.json" 200 ranks ranks_end
fi

search=("$weft" search halo --grid 4x2 --on cs-storm --place search --exhaustive)
"${search[@]}" --json "$work/search.json" --quiet
span "${search[@]}"
early=0.2 late=25 # a start reads long distributions of what is there
searched() { killed_run "${search[@]}" --journal "$folder"; }
search_ends() { "${search[@]}" --journal "$folder" --json "$work/out.json" --quiet 2>"$work/log"; }
"${search[@]}" --journal "$work/points" --quiet >"$work/log" 2>&1
studies "search" "$work/search.json" "$(points_of "$work/points" | wc -l)" searched search_ends
