#!/usr/bin/env python3
"""The afternoon that must work, on a live musterd with simulated GPUs."""
import os
import sys

from daemon_world import Tap, World, play

# Saves and ends when it is told to stop, as a job that checkpoints does; then goes on from there.
TRAINS = """
trap 'echo saved > "$MUSTER_CHECKPOINT_DIR/.new"; mv "$MUSTER_CHECKPOINT_DIR/.new" \
"$MUSTER_CHECKPOINT_DIR/step-$MUSTER_ATTEMPT"; exit 0' TERM
ls "$MUSTER_CHECKPOINT_DIR"
echo up
while :; do sleep 0.1; done
"""


def borrow_and_reclaim(t, w):
    research = w.run(TRAINS, queue="research", gpus=8, tasks=4)
    w.until_state(research, "running")
    shown = w.get(f"jobs/{research}")
    t.equal((shown["held_gpus"], shown["split"], shown["kind"]), ("32", "24+8", "mixed"),
            "32 GPUs start together: 24 reserved and 8 borrowed")
    t.equal(shown["simulated"], True, "on simulated GPUs, which it says")
    w.until_says(research, "up", 4)

    applied = w.run("trap 'exit 0' TERM; while :; do sleep 0.1; done", queue="applied-ml", gpus=8,
                    tasks=2)
    w.until_state(applied, "running")
    shown = w.get(f"jobs/{applied}")
    t.equal(shown["split"], "16+0", "applied-ml has its 16 back")
    shown = w.get(f"jobs/{research}")
    t.equal((shown["state"], shown["preemptions"], shown["attempt"]), ("queued", 1, 1),
            "the research job was told to stop and waits, though it ended with status 0")
    why = w.get(f"jobs/{research}/why")
    t.ok(why["blockers"], "why says for what", why)
    t.equal({q["queue"]: q["pools"][0]["used_gpus"] for q in w.get("queues")["items"]}
            ["inference"], "0", "nobody touched inference's 16")

    later = w.run("exit 0", queue="research", gpus=8, tasks=4)
    w.post(f"jobs/{applied}/cancel")
    w.until_state(research, "running")
    shown = w.get(f"jobs/{research}")
    t.equal((shown["attempt"], w.state_of(later)), (2, "queued"),
            "it starts again ahead of what research queued later")
    w.until(lambda: "step-1" in w.logs(research), "the checkpoint is seen")
    t.ok(True, "from its last checkpoint")
    w.post(f"jobs/{research}/cancel")
    w.until_state(research, "cancelled")
    w.until_state(later, "succeeded")
    t.ok("job_claimed" in w.kinds(research), "the journal tells the claim in the job's story")


def never_lent(t, w):
    whole = w.submit(queue="research", gpus=8, tasks=6, command=["true"])
    t.equal((whole.status, whole["code"]), (422, "quota.not_lent"),
            "research can never have inference's GPUs", whole)


def twenty_people(t, w):
    jobs = [w.run("echo $CUDA_VISIBLE_DEVICES; trap 'exit 0' TERM; while :; do sleep 0.1; done",
                  queue="development", mig="1g.10gb") for _ in range(20)]
    for job in jobs:
        w.until_says(job, "\n")
    cards = [g for g in w.get("gpus?node=n8")["items"] if g["holders"]]
    held = [s for g in cards for s in g["slices"] if s["held"]]
    t.equal((len(cards), len(held)), (3, 20), "twenty people share three cards in slices")
    names = {w.logs(job) for job in jobs}
    t.equal(len(names), 20, "each sees a device of its own", names)
    used = [p for p in w.get("pools")["items"] if p["pool"] == "h100-mig"][0]
    t.equal(used["used_gpus"], "2.5", "and 20/8 of a card are charged", used)
    for job in jobs:
        w.post(f"jobs/{job}/cancel")
    for job in jobs:
        w.until_state(job, "cancelled")


def followed(t, w):
    job = w.run("for i in 1 2 3; do echo line $i; sleep 0.3; done", queue="research")
    w.until_state(job, "running", "succeeded")
    t.equal(w.logs(job, "?follow=true"), "line 1\nline 2\nline 3\n",
            "a log is followed to the job's end, without a GPU too")
    t.equal(w.logs(job, "?tail=1"), "line 3\n", "or its last line only")
    t.equal(w.logs(job, "?from=7"), "line 2\nline 3\n", "or from a byte on")
    t.equal(w.logs(job, "?stream=stderr"), "", "the other stream is empty")


def verifies(t, w):
    t.equal(w.post("journal/verify")["ok"], True, "the chain of all this verifies")


def main():
    t = Tap()
    with open(os.path.join(sys.argv[3], "afternoon.yaml")) as f:
        w = World(f.read())
    play(t, w, borrow_and_reclaim, never_lent, twenty_people, followed, verifies)
    t.end()


main()
