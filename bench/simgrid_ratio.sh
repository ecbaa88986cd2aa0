#!/usr/bin/env bash
# Weft and SimGrid 3.32 replaying the same HPL traces over the same links and routes, on one core, run by run in turn.
# Prints wall medians, instructions (valgrind --tool=cachegrind --cache-sim=no), peak resident memory and the ratios.
#
# usage: simgrid_ratio.sh [ORACLE_FOLDER] [WEFT_BINARY]     defaults: ../shared, build-release/cli/weft
#   ORACLE_FOLDER holds traces/hpl_ti_flops and tools/simgrid (commands.sh says how SimGrid is run: raw eager = CM02,
#   no cross-traffic, network/optim:Full).
# Weft finds the copy of the routes that its first run keeps (WEFT_CACHE_DIR, a folder of this script; WEFT_CACHE_DIR= for none).
# environment: TRACES="8x8_4000_64 16x16_4000_64"  PLATFORMS="crossbar dragonfly"  RUNS=5  CORE=1  INSTRUCTIONS=1
# needs: libsimgrid-dev, valgrind, zstd, time (Debian packages).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
oracle=$(cd "${1-$root/../shared}" && pwd)
weft=${2-$root/build-release/cli/weft}
traces=${TRACES-8x8_4000_64 16x16_4000_64}
platforms=${PLATFORMS-crossbar dragonfly}
runs=${RUNS-5}
core=${CORE-$(($(nproc) - 1))}
for tool in smpirun valgrind zstd taskset /usr/bin/time; do
  command -v "$tool" >/dev/null || { echo "missing: $tool (apt-get install libsimgrid-dev valgrind zstd util-linux time)" >&2; exit 2; }
done
[ -x "$weft" ] || { echo "missing: $weft (scripts/build.sh weft)" >&2; exit 2; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export WEFT_CACHE_DIR=${WEFT_CACHE_DIR-$dir/cache}
sim=$oracle/tools/simgrid
. "$root/bench/measured.sh"
simgrid_run() { env REPLAY_PROGRAM= TMPDIR="$dir" WRAP="${1-}" bash "$sim/commands.sh" replay "$dir/$trace" "$ranks" "${platform}_lat1us" eager hosts256_linear.txt; }

echo "SimGrid $(dpkg-query -W -f='${Version}' libsimgrid-dev 2>/dev/null || echo '?'), $("$weft" --version), $(uname -m), $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), core $core, $runs runs each, median"
echo
echo "| trace | platform | tool | wall s | Ginstr. | peak MiB | simulated s | wall ratio | instr. ratio |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for trace in $traces; do
  mkdir -p "$dir/$trace"
  zstd -dc --long=27 "$oracle/traces/hpl_ti_flops/$trace/trace.tar.zst" | tar x -C "$dir/$trace"
  ranks=$(find "$dir/$trace" -name 'rank-*' | wc -l)
  head -n "$ranks" "$sim/hosts256_linear.txt" >"$dir/hosts"
  "$weft" import "$oracle/traces/hpl_ti_flops/$trace/trace.tar.zst" -o "$dir/$trace.weft" --quiet
  for platform in $platforms; do
    on="routes:path=$oracle/traces/hpl_ti_flops/routes/$platform.txt.zst,speed=10Gflops"
    weight=(); [ "$platform" = crossbar ] || weight=(--weights rtt)
    run=("$weft" replay --on "$on" --map "file:$dir/hosts" --raw=eager --header 16B "${weight[@]}" --quiet)
    # Warm up both, and take the answers.
    REPLAY_PROGRAM=$dir/replay_clock TMPDIR=$dir bash "$sim/commands.sh" replay "$dir/$trace" "$ranks" "${platform}_lat1us" eager hosts256_linear.txt >"$dir/answer" 2>/dev/null
    sim_s=$(awk '/FINISH/ { if ($3 > m) m = $3 } END { printf "%.6f", m }' "$dir/answer")
    weft_s=$("${run[@]}" "$dir/$trace.weft" --json - | awk -F'[:,]' '/"makespan_s"/ { for (i = 1; i < NF; ++i) if ($i ~ /"makespan_s"/) { printf "%.6f", $(i + 1); break } }')
    rm -f "$dir"/{simgrid,weft,text}.{wall,rss}
    for ((i = 0; i < runs; i++)); do
      seconds "$dir/simgrid" env REPLAY_PROGRAM= TMPDIR="$dir" bash "$sim/commands.sh" replay "$dir/$trace" "$ranks" "${platform}_lat1us" eager hosts256_linear.txt
      seconds "$dir/weft" "${run[@]}" "$dir/$trace.weft"
      seconds "$dir/text" "${run[@]}" "$oracle/traces/hpl_ti_flops/$trace/trace.tar.zst"
    done
    si=- wi=- ti=-
    if [ "${INSTRUCTIONS-1}" = 1 ]; then
      simgrid_run "$grind" >"$dir/grind" 2>&1; si=$(instructions "$dir/grind")
      $grind "${run[@]}" "$dir/$trace.weft" >"$dir/grind" 2>&1; wi=$(instructions "$dir/grind")
      $grind "${run[@]}" "$oracle/traces/hpl_ti_flops/$trace/trace.tar.zst" >"$dir/grind" 2>&1; ti=$(instructions "$dir/grind")
    fi
    sw=$(median <"$dir/simgrid.wall")
    row() { # TOOL NAME GINSTR ANSWER
      local w m; w=$(median <"$dir/$1.wall"); m=$(sort -n "$dir/$1.rss" | tail -n 1)
      awk -v t="$trace ($ranks)" -v p="$platform" -v n="$2" -v w="$w" -v g="$3" -v m="$m" -v a="$4" -v sw="$sw" -v si="$si" 'BEGIN {
        printf "| %s | %s | %s | %.3f | %s | %.0f | %s | %.1f | %s |\n", t, p, n, w, (g == "-") ? "-" : sprintf("%.3f", g), m / 1024, a, sw / w, (g == "-") ? "-" : sprintf("%.1f", si / g) }'
    }
    row simgrid "SimGrid" "$si" "$sim_s"
    row weft "Weft, .weft" "$wi" "$weft_s"
    row text "Weft, TI text" "$ti" "$weft_s"
  done
done
