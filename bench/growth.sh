#!/usr/bin/env bash
# How time and memory grow with the size of a run: a curve per scenario, as numbers (CSV on standard output) and as a picture.
#
# usage: growth.sh [WEFT_BINARY] [PICTURE.svg]     defaults: build-release/cli/weft, docs/images/growth.svg
# environment: RUNS=3 (the least user time of so many), SCENARIOS="ring halo alltoall hpl flows",
#              DATA=FILE.csv (draws what was measured before)
# needs: gnuplot, time (Debian packages gnuplot-nox, time). On an idle machine it takes some ten minutes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
weft=$(realpath "${1-$root/build-release/cli/weft}")
picture=$(realpath -m "${2-$root/docs/images/growth.svg}")
runs=${RUNS-3}
data=${DATA:+$(realpath "$DATA")}
scenarios=${SCENARIOS-ring halo alltoall hpl flows}
for tool in gnuplot /usr/bin/time awk; do
  command -v "$tool" >/dev/null || { echo "missing: $tool (apt-get install gnuplot-nox time)" >&2; exit 2; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# measure SCENARIO SIZE MESSAGES COMMAND...: one row of the CSV; MESSAGES "json" = as the replay counts them
measure() {
  local scenario=$1 size=$2 messages=$3 i
  shift 3
  : >times
  for ((i = 0; i < runs; i++)); do /usr/bin/time -a -o times -f '%U %M' "$weft" "$@" --quiet >/dev/null; done
  if [ "$messages" = json ]; then
    "$weft" "$@" --quiet --json result.json
    messages=$(awk -F'[:,]' '/"network_messages"/ { print $2 + 0; exit }' result.json)
  fi
  sort -n times | awk -v s="$scenario" -v n="$size" -v m="$messages" \
    'NR == 1 { printf "%s,%d,%d,%.2f,%.3f,%.0f,%.2f\n", s, n, m, $1, 1e6 * $1 / m, $2 / 1024, $2 / n }' | tee -a growth.csv
}

# Ranks that hold as many messages together at every size: what is left to grow is what a rank costs.
ring() {
  local r
  for r in 64 256 1024 4096 16384 65536 100000; do
    "$weft" generate ring --ranks "$r" --bytes 8KiB --iterations $((1600000 / r)) -o t.weft --quiet
    measure ring "$r" json replay t.weft --on "crossbar:n=$r,bw=100Gbps,lat=500ns"
  done
}
halo() {
  local d r
  for d in 8x8 16x16 32x32 64x64 128x128 256x256; do
    r=$((${d%x*} * ${d#*x}))
    "$weft" generate halo --dims "$d" --periodic --bytes 64KiB --iterations $((400000 / r)) -o t.weft --quiet
    measure halo "$r" json replay t.weft --on "torus:dims=$d,bw=100Gbps"
  done
}
alltoall() {
  local r
  for r in 64 128 256 512 1024; do
    "$weft" generate alltoall --ranks "$r" --bytes 4KiB --iterations $(((1024 * 1024) / (r * r))) -o t.weft --quiet
    measure alltoall "$r" json replay t.weft --on dragonfly:p=4,a=8,h=4 --model contention-free --collective alltoall=linear
  done
}
hpl() {
  local p
  for p in 4 8 16 32; do
    "$weft" generate hpl --n $((64 * p * 16)) --nb 64 --p "$p" --q "$p" -o t.weft --quiet
    measure hpl $((p * p)) json replay t.weft --on xgft:h=3,m=16x16x16,w=1x16x16
  done
}
flows() {
  local f
  for f in 1000 3000 10000 20000 30000 40000; do
    awk -v f="$f" 'BEGIN { srand(1); print "src,dst,bytes,start"
      for (i = 0; i < f; i++) { s = int(4096 * rand()); do { d = int(4096 * rand()) } while (d == s)
        printf "%d,%d,%dB,0\n", s, d, 1048576 * (1 + 15 * rand()) } }' >f.csv
    measure flows "$f" "$f" flows f.csv --on xgft:h=3,m=16x16x16,w=1x16x16 --no-phases
  done
}

if [ -n "${data:=}" ]; then
  cp "$data" growth.csv
else
  echo "scenario,size,messages,user_s,us_per_message,peak_MiB,KiB_per_size" | tee growth.csv
  for s in $scenarios; do "$s"; done
fi

mkdir -p "$(dirname "$picture")"
for s in $scenarios; do awk -F, -v s="$s" '$1 == s { print $2, $5, $7 }' growth.csv >"$s.dat"; done
gnuplot <<EOF
set terminal svg size 900,360 dynamic font "sans-serif,12" background "white"
set output "out.svg"
set multiplot layout 1,2
set logscale xy
set key top left
set grid
set format x "10^{%L}"
set xlabel "ranks (flows: flows)"
set ylabel "user time a message [us]"
files = "$scenarios"
plot for [s in files] s.".dat" using 1:2 with linespoints title s
set ylabel "peak memory a rank (a flow) [KiB]"
unset key
plot for [s in files] s.".dat" using 1:3 with linespoints title s
unset multiplot
EOF
mv out.svg "$picture"
echo "picture: $picture" >&2
