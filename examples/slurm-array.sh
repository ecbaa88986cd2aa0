#!/bin/bash
# A study as a Slurm job array, and its merge when all tasks are done:
#   examples/slurm-array.sh            submits both
# A task that is requeued or submitted again goes on where it stopped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
here=${WEFT_EXAMPLES:-$here} # in a task the script is a copy that Slurm made
source "$here/study.sh"

if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then
  exec "$weft" "${study[@]}" --journal "$journal" --shard slurm --threads "${SLURM_CPUS_PER_TASK:-1}"
fi
export WEFT_EXAMPLES=$here
array=$(sbatch --parsable --array=1-"$shards" --requeue --cpus-per-task=4 --time=04:00:00 --job-name=weft "${BASH_SOURCE[0]}")
sbatch --dependency=afterok:"$array" --job-name=weft-merge --wrap="'$weft' merge '$journal' --json study.json --csv study.csv"
