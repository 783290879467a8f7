#!/bin/sh
#MUSTER --queue research --name count --tasks 32 --gpus 1
# A gang that counts.  Rank 0 saves the number now and then, and when it is told to stop; the next
# attempt goes on from it.  A checkpoint counts once it is renamed into MUSTER_CHECKPOINT_DIR.
file=$MUSTER_CHECKPOINT_DIR/count

if [ "$RANK" != 0 ]; then
    trap 'exit 0' TERM
    while :; do sleep 1; done
fi

n=$(cat "$file" 2>/dev/null || echo 0)
save() {
    echo "$n" >"$MUSTER_CHECKPOINT_DIR/.count"
    mv "$MUSTER_CHECKPOINT_DIR/.count" "$file"
}
trap 'save; echo "told to stop at $n"; exit 0' TERM
echo "attempt $MUSTER_ATTEMPT of $WORLD_SIZE ranks goes on after $n"
while :; do
    sleep 0.1
    n=$((n + 1))
    if [ $((n % 50)) = 0 ]; then
        save
    fi
done
