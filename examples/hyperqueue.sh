#!/bin/bash
# A study with HyperQueue (a server and workers run already: hq server start, hq worker start, or hq alloc add slurm):
#   examples/hyperqueue.sh
# HyperQueue gives a task that lost its worker to another one; it goes on where the first one stopped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/study.sh"

# HyperQueue numbers tasks in HQ_TASK_ID; the shell of the task puts it into --shard.
hq submit --wait --array 1-"$shards" --cpus 1 --name weft -- \
  bash -c 'i=$1; shift; exec "$@" --shard "$HQ_TASK_ID/$i"' weft "$shards" "$weft" "${study[@]}" --journal "$journal"
"$weft" merge "$journal" --json study.json --csv study.csv
