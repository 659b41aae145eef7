#!/usr/bin/env bash
# One shard of a cases file, as one task of a Slurm array:
#     sbatch --array=1-16 judge-array.sh 16 cases.csv -r pathway-answer --judge qwen3-8b
# The run of shard 3 is part-3.run in the folder where you submit. The same line continues what was stopped.
#SBATCH --job-name=judge
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@300
set -u
umask 077

shards=$1
shift
run=part-$SLURM_ARRAY_TASK_ID.run

# SQLite needs a disk of this machine: locks of network file systems can't be relied on.
work=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/judge.XXXXXX") || exit
[ ! -e "$run" ] || cp "$run" "$work/" || exit

pathway-local judge "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards" --run "$work/$run" &
judge=$!
# Five minutes before its time is up, Slurm sends TERM to this script alone.
trap 'kill -TERM "$judge"' TERM
while :; do
    wait "$judge"
    code=$?
    kill -0 "$judge" 2>/dev/null || break
done

# A judge that was killed leaves a log beside the run: reading the run takes it in.
[ ! -e "$work/$run-wal" ] || pathway-local summary "$work/$run" >/dev/null
if [ -e "$work/$run" ]; then
    cp "$work/$run" "$run.new" && mv "$run.new" "$run" || { echo "still in $work: $run" >&2; exit 1; }
fi
rm -r "$work"
exit "$code"
