#!/bin/bash
# Tunes on many nodes that share one search, as a SLURM job array:
#     sbatch scripts/fleet/slurm-array.sh
# Each task has a node to itself: another job's load would be measured too. Which task
# runs when does not matter: those that come late go on with what is known.
#
# Yours to change: the number of tasks (nodes), the time (above --budget), and below.
#SBATCH --job-name=autoloader-fleet
#SBATCH --array=1-8
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time=00:45:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fleet-%A-%a.log
set -u

folder="${FLEET_FOLDER:-$HOME/training}"
# One path on all nodes, since it is part of what the study is.
dataset="${FLEET_DATASET:-$folder/train.py:dataset}"
# No password here: ~/.pgpass has it, or env:NAME names a variable with the whole URL.
# Without a database: a file in a folder that all nodes see, /shared/fleet.journal.
storage="${FLEET_STORAGE:-postgresql+psycopg://$USER@db.cluster/fleet}"

# Each node keeps what it read itself in a folder of its own: that has one writer.
here="$folder/nodes/$(hostname -s)"
mkdir -p "$here" "$folder/settings" && cd "$here" || exit 2
PATH="$folder/.venv/bin:$PATH"

# In the background, so that bash hears of the signal before the time is up, and hands
# it on: the trial is given back at once, and the same command goes on later.
autoloader tune --quiet --wait \
    --dataset "$dataset" --batch-size 64 --budget 20m \
    --storage "$storage" --out "$folder/settings/" &
pid=$!
trap 'kill -TERM "$pid" 2> /dev/null' INT TERM
while kill -0 "$pid" 2> /dev/null; do
    wait "$pid"
done
wait "$pid"
code=$?

case $code in
    0) echo "done: $folder/settings has the settings of this kind of node" ;;
    4) echo "no settings reach the target on this kind of node" ;;
    5) echo "the storage did not answer, or a file cannot be used: see above" ;;
    6 | 130)
        # too noisy, or interrupted: three times in all
        if [ -n "${SLURM_JOB_ID:-}" ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 2 ]; then
            echo "ended with $code: back into the queue"
            scontrol requeue "$SLURM_JOB_ID"
        fi
        ;;
    *) echo "autoloader tune ended with $code" ;;
esac
exit "$code"
