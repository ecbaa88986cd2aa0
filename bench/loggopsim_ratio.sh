#!/usr/bin/env bash
# Weft and LogGOPSim replaying the same GOAL schedules on a network that has room for everybody, on one core, run by run in
# turn. LogGOPSim shares no link; Weft replays on a crossbar with max-min sharing. Prints wall medians, the spread of the ratio over
# pairs of runs, instructions (valgrind --tool=cachegrind --cache-sim=no), peak memory and both answers.
#
# usage: loggopsim_ratio.sh LOGGOPSIM_FOLDER [ORACLE_FOLDER] [WEFT_BINARY]     defaults: ../shared, build-release/cli/weft
#   LOGGOPSIM_FOLDER holds the programs LogGOPSim and txt2bin (github.com/spcl/LogGOPSim, src/LogGOPSim, make).
#   ORACLE_FOLDER holds traces/hpl_ti_flops.
# environment: SCENARIOS="hpl8x8 hpl16x16 dissemination ring allreduce alltoall"  RANKS=1024  RUNS=5  CORE=1  INSTRUCTIONS=1
# needs: valgrind, util-linux, time (Debian packages).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
peer=$(cd "${1:?folder of LogGOPSim}" && pwd)
oracle=$(cd "${2-$root/../shared}" && pwd)
weft=${3-$root/build-release/cli/weft}
scenarios=${SCENARIOS-hpl8x8 hpl16x16 dissemination ring allreduce alltoall}
ranks=${RANKS-1024}
runs=${RUNS-5}
core=${CORE-$(($(nproc) - 1))}
for tool in "$peer/LogGOPSim" "$peer/txt2bin" "$weft" valgrind taskset /usr/bin/time; do
  command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 2; }
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$root/bench/measured.sh"
counted() { $grind "$@" >"$dir/grind" 2>&1; instructions "$dir/grind"; }
# docs/goal.md: bandwidth 1/G, route latency L - G, no rendezvous.
loggp=(-L 2501 -o 1500 -g 1000 -G 1 -S 1000000000)
costs=(--set mpi.send_overhead=1500ns --set mpi.recv_overhead=1500ns --set mpi.eager_limit=1TB --quiet)
pattern() { "$weft" generate "$@" -o "$dir/trace.weft" --quiet; }
# As often as makes some 1,024,000 messages of what is so many a rank, at least once.
times() { echo $((1024000 > $1 * ranks ? 1024000 / ($1 * ranks) : 1)); }
rounds=0; while ((1 << rounds < ranks)); do rounds=$((rounds + 1)); done

echo "LogGOPSim, $("$weft" --version), $(uname -m), $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), core $core, $runs pairs of runs, median"
echo
echo "| schedule | messages | tool | wall s | Mmsg/s | Ginstr. | peak MiB | simulated s | wall ratio (least to most) | instr. ratio |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for scenario in $scenarios; do
  hosts=$ranks
  case $scenario in
    hpl*) grid=${scenario#hpl}
          hosts=$((${grid%x*} * ${grid#*x}))
          "$weft" import "$oracle/traces/hpl_ti_flops/${grid}_4000_64/trace.tar.zst" -o "$dir/trace.weft" --quiet ;;
    dissemination) pattern collective --op barrier --ranks "$ranks" --iterations "$(times $rounds)" ;;
    ring) pattern ring --ranks "$ranks" --bytes 64B --iterations "$(times 1)" ;;
    allreduce) pattern collective --op allreduce --ranks "$ranks" --bytes 8KiB --iterations 1 ;;
    alltoall) pattern alltoall --ranks "$ranks" --bytes 64B --how spread --iterations 1 ;;
    *) echo "no such schedule: $scenario" >&2; exit 2 ;;
  esac
  on=(--on "crossbar:n=$hosts,bw=1GB/s,lat=1250ns,speed=10Gflops" "${costs[@]}")
  choice=(); [ "$scenario" != allreduce ] || choice=(--collective allreduce=ring)
  # The replay's own export, because GOAL has computation in nanoseconds, not in flops.
  "$weft" replay "$dir/trace.weft" "${on[@]}" "${choice[@]}" --export "goal:$dir/s.goal"
  "$peer/txt2bin" -i "$dir/s.goal" -o "$dir/s.bin" >/dev/null
  "$weft" import "$dir/s.bin" -o "$dir/s.weft" --quiet
  them=("$peer/LogGOPSim" -f "$dir/s.bin" "${loggp[@]}")
  rm -f "$dir"/{them,weft,goal}.{wall,rss} "$dir/ratios"
  for ((i = 0; i < runs; i++)); do
    seconds "$dir/them" "${them[@]}"
    seconds "$dir/weft" "$weft" replay "$dir/s.weft" "${on[@]}"
    seconds "$dir/goal" "$weft" replay "$dir/s.bin" "${on[@]}"
  done
  "${them[@]}" >"$dir/answer"
  them_s=$(sed -n 's/^Maximum finishing time.*(\(.*\) s)$/\1/p; s/^Host [0-9]*: //p' "$dir/answer" |
    awk '{ t = ($1 ~ /[.]/) ? $1 : $1 / 1e9; if (t > m) m = t } END { printf "%.6f", m }')
  "$weft" replay "$dir/s.weft" "${on[@]}" --json "$dir/answer.json"
  weft_s=$(sed -n 's/.*"makespan_s": *\([0-9.e-]*\).*/\1/p' "$dir/answer.json" | head -n 1)
  messages=$(grep -c ': send' "$dir/s.goal")
  ti=- wi=- gi=-
  if [ "${INSTRUCTIONS-1}" = 1 ]; then
    ti=$(counted "${them[@]}")
    wi=$(counted "$weft" replay "$dir/s.weft" "${on[@]}")
    gi=$(counted "$weft" replay "$dir/s.bin" "${on[@]}")
  fi
  row() { # FILE NAME GINSTR ANSWER
    local w spread
    w=$(median <"$dir/$1.wall")
    spread=$(paste "$dir/them.wall" "$dir/$1.wall" | awk '{ r = $1 / $2; if (NR == 1 || r < a) a = r; if (r > b) b = r } END { printf "%.2f to %.2f", a, b }')
    awk -v s="$scenario ($hosts)" -v n="$messages" -v t="$2" -v w="$w" -v tw="$(median <"$dir/them.wall")" -v g="$3" -v tg="$ti" -v m="$(sort -n "$dir/$1.rss" | tail -n 1)" \
      -v a="$4" -v r="$spread" 'BEGIN {
        printf "| %s | %d | %s | %.3f | %.2f | %s | %.0f | %.6f | %.2f (%s) | %s |\n", s, n, t, w, n / w / 1e6, g, m / 1024, a, tw / w, r,
          (g == "-") ? "-" : sprintf("%.2f", tg / g) }'
  }
  row them LogGOPSim "$ti" "$them_s"
  row weft "Weft, .weft" "$wi" "$weft_s"
  row goal "Weft, GOAL" "$gi" "$weft_s"
done
