#!/usr/bin/env bash
# Installs what is needed, builds Weft, searches a halo schedule, predicts HPL, and replays a real, recorded HPL run over four interconnects.
# Usage: demo.sh [TRACE] (default: the recorded HPL run under traces/samples/).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh weft
trace=${1-}
if [ -z "$trace" ]; then
  # The largest recorded HPL run: 16 ranks, for platforms of 16 hosts.
  for f in traces/samples/hpl*.weft; do trace=$f; done
  [ -f "$trace" ] || { echo "no sample trace under traces/samples/" >&2; exit 1; }
fi
weft=build-release/cli/weft
show() { printf '\n$ %s\n' "weft ${*}"; "$weft" "$@"; }
show search halo --grid 4x2 --on cs-storm
show predict hpl --on fat-tree:m=16,n=2,bw=100Gbps,speed=1Tflops --n 40000 --nb 192 --p 8 --q 8 --depth 1
show info "$trace"
show compare "$trace" --on fat-tree-16 --on dragonfly-18 --on torus-16 --on crossbar-16
