#!/bin/sh
# A halo exchange of 2 nodes and 8 GPUs (4x2 grid, rank = x + 4 y, 4 GPUs a node) over PCIe trees and a fat-tree, replayed
# with the fastest and with the slowest order of sends that tests/replay/pcie_replay_test.cpp finds among all 20,736.
# Usage: scripts/pcie-halo.sh [WEFT]
set -e
weft=${1:-$(dirname "$0")/../build-release/cli/weft}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bytes=67108864

# ORDER = "0: 4 1; 1: 0 5 2; ...": every receive is posted first, then one send after the other, then all is awaited.
trace() {
  echo "$1" | awk -v bytes=$bytes 'BEGIN { RS = ";" }
    { split($0, part, ":"); r = part[1] + 0; n[r] = split(part[2], to, " "); for (i = 1; i <= n[r]; i++) send[r, i] = to[i] }
    END {
      for (r = 0; r < 8; r++) {
        print r, "init"
        for (s = 0; s < 8; s++) for (i = 1; i <= n[s]; i++) if (send[s, i] == r) print r, "irecv", s, 0, bytes, 6
        for (i = 1; i <= n[r]; i++) print r, "send", send[r, i], 0, bytes, 6
        print r, "waitall", n[r]
        print r, "finalize"
      }
    }'
}

trace "0: 4 1; 1: 0 5 2; 2: 1 3 6; 3: 2 7; 4: 5 0; 5: 6 4 1; 6: 7 2 5; 7: 3 6" >"$dir/best.txt"
trace "0: 1 4; 1: 0 5 2; 2: 1 3 6; 3: 7 2; 4: 5 0; 5: 1 6 4; 6: 2 5 7; 7: 3 6" >"$dir/worst.txt"
for order in best worst; do
  for model in pcie max-min; do
    echo "== $order order, --model $model"
    "$weft" replay "$dir/$order.txt" --on fat-tree:m=4,n=2,node=cs-storm --set node.cards=1 --set node.lat=150ns --model $model
  done
done
