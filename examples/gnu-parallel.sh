#!/bin/bash
# A study over the cores of this machine, or over hosts by ssh, with GNU parallel:
#   examples/gnu-parallel.sh                          # all cores here
#   examples/gnu-parallel.sh --sshlogin node1,node2 --workdir .   # hosts that share this folder
# Run it again after anything went wrong: what is finished is not run again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/study.sh"

seq "$shards" | parallel --halt soon,fail=1 "$@" --quote "$weft" "${study[@]}" --journal "$journal" --shard {}/"$shards"
"$weft" merge "$journal" --json study.json --csv study.csv
