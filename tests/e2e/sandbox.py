#!/usr/bin/env python3
"""Jobs that ask for a sandbox: what they see, what they may write, and that signals, deadlines,
checkpoints and ends work inside.

    sandbox.py MUSTERD SHEPHERD EXAMPLES
"""
import os
import random
import subprocess

from agreement import agree
from daemon_world import Tap, World, play

POLICY = """
pools:
  - {name: main, nodes: [{name: n1, gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 4}, grace: 5s}
  - {name: blue, reserved: {main: 4}, grace: 5s, sandbox: required}
cluster: {retries: 0, backoff: 1s}
unknown_users: [red, blue]
"""
PROBE = ["/usr/bin/bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "/bin/true"]


def a_world():
    w = World(POLICY)
    w.token = f"9{os.getpid()}{random.randrange(10**6):06}"
    return w


def output(w, script, **fields):
    """What a sandboxed line of shell says, and how it ended."""
    fields.setdefault("sandbox", True)
    job = w.run(script, **fields)
    w.until_state(job, "succeeded", "failed")
    return w.logs(job), w.get(f"jobs/{job}")["exit"], w.logs(job, "?stream=stderr")


def what_it_sees(t, w):
    outside = w.run(f"exec sleep 600.{w.token}", gpus=1)
    w.until_state(outside, "running")
    out, end, _ = output(w, "ps -e -o pid= | wc -l; pgrep -x sleep | wc -l")
    t.equal(end["status"], 0, "a job runs in a sandbox")
    count, others = map(int, out.split())
    t.ok(count < 10 and others == 0, "it sees its own processes only", out)
    mine = f"{w.dir}/outside"
    with open(mine, "w") as f:
        f.write("outside")
    _, _, said = output(w, f"touch /etc/x /usr/x {w.state}/x {mine}")
    t.equal(said.count("Read-only file system"), 4, "the system is read-only", said)
    out, end, _ = output(w, "ls -A /tmp /var/tmp | grep -v md-; echo a > /tmp/a && cat /tmp/a")
    t.ok(out.endswith("a\n") and not os.path.exists("/tmp/a"), "/tmp is its own", out)
    out, _, _ = output(w, "ls /dev | tr '\\n' ' '")
    t.ok("null" in out and "nvidia" not in out and "sda" not in out and "vda" not in out,
         "it sees no device but the usual ones", out)
    w.post(f"jobs/{outside}/cancel")


def what_it_writes(t, w):
    place = w.dir + "/work"
    os.mkdir(place)
    os.chmod(place, 0o777)
    out, end, said = output(w, "pwd; echo b > b; echo c > $MUSTER_CHECKPOINT_DIR/.n; "
                               "mv $MUSTER_CHECKPOINT_DIR/.n $MUSTER_CHECKPOINT_DIR/step-7; "
                               "cat $MUSTER_TOKEN_FILE | cut -c1-4", dir=place)
    t.equal(out.split(), [place, "mat_"], "it stands in its working directory, with its token",
            out, said)
    t.ok(os.path.exists(place + "/b"), "which it may write to")
    job = w.get("jobs?all=true&limit=1000")["items"]
    last = max(int(j["job"]) for j in job)
    w.until(lambda: "job_checkpointed" in w.kinds(last), "the checkpoint is seen")
    t.ok(True, "its checkpoints are seen")


def how_it_ends(t, w):
    _, end, _ = output(w, "exit 7")
    t.equal(end["status"], 7, "its exit status is told", end)
    _, end, _ = output(w, "kill -KILL $$")
    t.equal(end["status"], 128 + 9, "a signal that ends it shows as 128 and its number", end)
    script = (f"trap 'cat $MUSTER_PREEMPT_FILE; echo told; exit 0' TERM; echo up; "
              f"while :; do sleep 0.1; done; sleep 602.{w.token}")
    job = w.run(script, gpus=1, sandbox=True)
    w.until_says(job, "up\n")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    said = w.logs(job).removeprefix("up\n")
    t.ok("told" in said and said[:1].isdigit(), "it hears its signal and reads its deadline", said)
    job = w.run(f"trap '' TERM; sleep 603.{w.token} & setsid env -i sleep 604.{w.token} & "
                "echo deaf; wait; wait", gpus=1, sandbox=True)
    w.until_says(job, "deaf")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    agree(t, w, "the deaf are killed at the deadline, with all they started")


def a_preemption(t, w):
    job = w.run("trap 'echo s > $MUSTER_CHECKPOINT_DIR/n; mv $MUSTER_CHECKPOINT_DIR/n "
                "$MUSTER_CHECKPOINT_DIR/step-1; exit 0' TERM; [ $MUSTER_ATTEMPT = 2 ] && "
                "cat $MUSTER_CHECKPOINT_DIR/step-1 && exit 0; echo up; while :; do sleep 0.1; done",
                gpus=8, queue="red", sandbox=True)
    w.until_says(job, "up")
    other = w.run("sleep 0.5", gpus=4, queue="blue")
    w.until_state(other, "succeeded")
    w.until_state(job, "succeeded")
    t.ok("s" in w.logs(job, "?attempt=2"), "a victim saves in its grace and goes on from there")


def who_must(t, w):
    out, _, _ = output(w, "cat /proc/1/comm", queue="blue", sandbox=False)
    t.equal(out, "bwrap\n", "a queue may require it of all its jobs")
    out, _, _ = output(w, "cat /proc/1/comm", queue="red", sandbox=False)
    t.ok(out != "bwrap\n", "else only who asks has it", out)


def a_restart(t, w):
    place = w.dir + "/work"
    job = w.run(f"until [ -e go ]; do sleep 0.1; done; cat $MUSTER_TOKEN_FILE | wc -c; test -S {w.socket} && echo there",
                gpus=1, sandbox=True, dir=place)
    w.until_state(job, "running")
    w.kill()
    w.start()
    with open(place + "/go", "w"):
        pass
    w.until_state(job, "succeeded")
    t.ok("there" in w.logs(job), "it outlives musterd, and sees the next one's socket", w.logs(job))
    agree(t, w, "and all agree")


def main():
    if subprocess.run(["which", "bwrap"], capture_output=True).returncode != 0:
        print("1..0 # SKIP bubblewrap is missing: tools/install-deps has it")
        return
    probe = subprocess.run(PROBE, capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"1..0 # SKIP this host forbids user namespaces: {probe.stderr.strip()}")
        return
    t = Tap()
    play(t, a_world(), what_it_sees, what_it_writes, how_it_ends, a_preemption, who_must, a_restart)
    t.end()


main()
