#!/usr/bin/env bash
# One part of a run, as one task of a Slurm array:
#     pathway-local runs split all.run --parts 16
#     sbatch --array=1-16 judge-array.sh all.run 16 cases.csv -r pathway-answer --judge qwen3-8b
# The same line continues what was stopped.
#SBATCH --job-name=judge
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@300
set -u
umask 077

part=${1%.run}.$SLURM_ARRAY_TASK_ID-of-$2.run
shift 2
name=$(basename "$part")

# SQLite needs a disk of this machine: locks of network file systems can't be relied on.
work=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/judge.XXXXXX") || exit
cp "$part" "$work/" || exit

pathway-local judge "$@" --run "$work/$name" &
judge=$!
# Five minutes before its time is up, Slurm sends TERM to this script alone.
trap 'kill -TERM "$judge"' TERM
while :; do
    wait "$judge"
    code=$?
    kill -0 "$judge" 2>/dev/null || break
done

# A judge that was killed leaves a log beside the part: reading the part takes it in.
[ ! -e "$work/$name-wal" ] || pathway-local summary "$work/$name" >/dev/null
cp "$work/$name" "$part.new" && mv "$part.new" "$part" || { echo "still in $work: $name" >&2; exit 1; }
rm -r "$work"
exit "$code"
