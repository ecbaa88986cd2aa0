#!/usr/bin/env bash
# Installs what is needed, builds Weft and replays a real, recorded HPL run over four interconnects.
# Usage: demo.sh [TRACE] (default: the recorded HPL run under traces/samples/).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh weft
trace=${1-}
if [ -z "$trace" ]; then
  for trace in traces/samples/*hpl*.weft traces/samples/*.weft; do [ -f "$trace" ] && break; done
  [ -f "$trace" ] || { echo "no sample trace under traces/samples/" >&2; exit 1; }
fi
weft=build-release/cli/weft
echo
"$weft" info "$trace"
echo
common=bw=100Gbps,lat=1us
run=("$weft" compare "$trace"
  --on "fat-tree:m=8,n=2,$common"
  --on "dragonfly:p=2,a=4,h=2,g=4,$common"
  --on "torus:dims=4x4x2,$common"
  --on "crossbar:n=32,$common")
printf '$ %s\n' "${run[*]}"
"${run[@]}"
