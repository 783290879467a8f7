#!/usr/bin/env python3
"""In the machine: it goes down in the middle of running jobs, with nothing written back; after the
boot the journal says what was lost, and the policy what becomes of it."""
import os
import termios
import time

from agreement import agree, records
from daemon_world import Tap, World

POLICY = """
pools:
  - {name: main, nodes: [{name: n1, gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 8}, grace: 2s}
cluster: {backoff: 1s}
unknown_users: [red]
"""
KEPT = "/var/lib/muster-vm"  # on the root, which a reboot keeps


def a_world():
    w = World(POLICY)
    w.state = KEPT + "/state"
    w.token = "98765"
    return w


def before(t):
    os.makedirs(KEPT)
    w = a_world().start()
    saves = w.run(f"if [ $MUSTER_ATTEMPT = 1 ]; then echo half > $MUSTER_CHECKPOINT_DIR/new; "
                  f"mv $MUSTER_CHECKPOINT_DIR/new $MUSTER_CHECKPOINT_DIR/step-1; sync; "
                  f"sleep 600.{w.token}; fi; cat $MUSTER_CHECKPOINT_DIR/step-1", gpus=2)
    fixed = w.run(f"sleep 600.{w.token}", gpus=1, retries=0, preemptible=False)
    whole = w.run(f"sleep 1.{w.token}", gpus=1)
    w.until_state(whole, "succeeded", seconds=60)
    for job in (saves, fixed):
        w.until_state(job, "running", seconds=60)
    w.until(lambda: "job_checkpointed" in w.kinds(saves), "the checkpoint is seen", 60)
    waits = w.run("true", gpus=8)  # the last that was answered
    seq = w.get("version")["journal_seq"]
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read()
    with open(KEPT + "/jobs", "w") as f:
        f.write(f"{saves} {fixed} {whole} {waits} {seq} {boot}")
        f.flush()
        os.fsync(f.fileno())
    t.ok(agree(Quiet(), w, "", 60), "jobs run, and all agree")
    fd = os.open(KEPT, os.O_RDONLY)
    os.fsync(fd)
    print("# the machine goes down", flush=True)
    termios.tcdrain(1)
    with open("/proc/sysrq-trigger", "w") as f:
        f.write("b")
    time.sleep(60)


class Quiet:
    """A Tap that says nothing."""

    def ok(self, good, _what, *notes):
        if not good:
            print("#", *notes, flush=True)
        return good


def after(t):
    with open(KEPT + "/jobs") as f:
        saves, fixed, whole, waits, seq, boot = f.read().split()
    with open("/proc/sys/kernel/random/boot_id") as f:
        t.ok(f.read().strip() != boot, "the machine was booted anew")
    w = a_world().start()
    t.ok(int(w.get("version")["journal_seq"]) >= int(seq), "no answered record is lost")
    t.equal(w.post("journal/verify")["ok"], True, "the chain verifies")
    lost = [r["body"] for r in records(w) if r["kind"] == "task_ended"
            and r["body"].get("cause") == "lost"]
    t.equal({str(b["job"]) for b in lost}, {saves, fixed}, "the journal says which tasks were lost")
    t.equal(w.state_of(whole), "succeeded", "what was over stays so")
    w.until_state(saves, "succeeded", seconds=120)
    t.equal(w.get(f"jobs/{saves}")["attempt"], 2, "a job that was lost starts again")
    t.ok("half" in w.logs(saves, "?attempt=2"), "from its checkpoint", w.logs(saves, "?attempt=2"))
    w.until_state(fixed, "running", seconds=120)
    t.ok(w.get(f"jobs/{fixed}")["attempt"] > 1, "the loss of a machine costs no retry",
         w.get(f"jobs/{fixed}"))
    t.equal(w.state_of(waits), "queued", "who waited waits on")
    w.post(f"jobs/{fixed}/cancel")
    w.until_state(waits, "succeeded", seconds=120)
    agree(t, w, "and all agree", 60)
    w.end()
    t.end()


def main():
    t = Tap()
    try:
        if os.path.exists(KEPT + "/jobs"):
            after(t)
        else:
            before(t)
    except (AssertionError, OSError, KeyError, TypeError) as e:
        t.ok(False, "musterd answers, and in time", repr(e))
        t.end()


main()
