#!/bin/sh
#MUSTER --name=counter
#MUSTER --grace=30s
# The smallest job that loses nothing: it counts, saves when it is told to stop, and goes on from
# there in its next attempt.
#
#     muster submit --queue research --tasks 4 --gpus 8 examples/counter.sh 120
#
# MUSTER_CHECKPOINT_DIR is the same for all attempts of a job; a file counts once it is renamed in.
last=${1:-60}
file=$MUSTER_CHECKPOINT_DIR/count-$MUSTER_TASK
count=0

save() {
    echo "$count" >"$file.new"
    mv "$file.new" "$file"
    echo "task $MUSTER_TASK: saved at $count"
    exit 0
}
trap save TERM

if [ -f "$file" ]; then
    count=$(cat "$file")
fi
echo "task $MUSTER_TASK, attempt $MUSTER_ATTEMPT: from $count on, GPUs $CUDA_VISIBLE_DEVICES"
while [ "$count" -lt "$last" ]; do
    sleep 1 &
    wait $! # a signal ends wait, but not sleep
    count=$((count + 1))
done
echo "task $MUSTER_TASK: done at $count"
