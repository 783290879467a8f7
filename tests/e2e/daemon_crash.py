#!/usr/bin/env python3
"""Two crashes at the same record freeze the third start; a state directory that is not ours."""
import json
import os
import signal
import subprocess

from daemon_world import Tap, World, play


def freezes(t, w):
    job = w.run("sleep 600", gpus=1)
    w.until_state(job, "running")
    for _ in range(2):
        w.kill(signal.SIGABRT)
        w.start()
    version = w.get("version")
    t.equal(version["frozen"], True, "the third start is frozen", version)
    t.ok("crashed 2 times after record" in version["frozen_why"], "and says at which record")
    cases = [n for n in os.listdir(w.state) if n.startswith("crash-")]
    t.equal(len(cases), 1, "it leaves a case", cases)
    with open(f"{w.state}/{cases[0]}") as f:
        case = json.load(f)
    t.ok(case["seq"] in cases[0] and "state" in case, "with the state in it")
    t.equal(w.state_of(job), "running", "it has adopted what runs")
    waits = w.run("true", gpus=1)
    t.equal(w.state_of(waits), "queued", "it answers, and plans nothing")
    w.stop()
    w.start("--thaw")
    w.until_state(waits, "succeeded")
    t.ok(True, "with --thaw it plans again")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")


def kills_are_no_crashes(t, w):
    for _ in range(3):
        w.kill(signal.SIGKILL)
        w.start()
    t.equal(w.get("version")["frozen"], False, "kill -9 is no crash")


def refusals(t):
    w = World()
    os.mkdir(w.state, 0o755)
    os.chmod(w.state, 0o755)
    w.start(wait=False)
    t.equal(w.process.wait(60), 1, "a state directory that others may read is refused")
    t.ok("chmod 0700" in w.log_text(), "with what to do about it", w.log_text())
    w.end()

    w = World("pools: []\nqueues: [{name: q, wieght: 1}]\n").start(wait=False)
    t.equal(w.process.wait(60), 2, "a wrong policy at the first start is refused")
    t.ok("muster.yaml:2:20: queues.q.wieght: is not a setting of a queue" in w.log_text(),
         "with its place", w.log_text())
    w.end()


def full_disk(t):
    w = World()
    os.mkdir(w.state, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", w.state],
                      capture_output=True).returncode != 0:
        print("# no small disk can be mounted here")
        w.end()
        return
    try:
        w.start()
        job = w.run(f"while [ ! -e {w.dir}/go ]; do sleep 0.1; done", gpus=1)
        w.until_state(job, "running")
        try:
            with open(w.state + "/fill", "wb", buffering=0) as f:
                while f.write(bytes(65536)):
                    pass
        except OSError:
            pass
        a = w.submit(queue="red", command=["true"])
        t.equal((a.status, a["code"]), (507, "server.disk_full"), "a full disk takes no work", a)
        t.equal(w.state_of(job), "running", "what runs goes on, and is shown")
        with open(w.dir + "/go", "w"):
            pass
        w.until(lambda: "task_ended" in w.kinds(job), "the end is written")
        t.ok(True, "its end is still written down")
        os.unlink(w.state + "/fill")
        w.until_state(job, "succeeded")
        w.until_state(w.run("true", gpus=1), "succeeded")
        t.ok(True, "with room again work is taken")
        t.equal(w.post("journal/verify")["ok"], True, "and the chain verifies")
    except (AssertionError, OSError, TypeError, KeyError) as e:
        t.ok(False, "musterd answers, and in time", repr(e), w.log_text())
    finally:
        w.stop()
        subprocess.run(["umount", w.state])
        w.end()


def checks(t):
    w = World()

    def check(path):
        return subprocess.run([w.musterd, "--check", path], capture_output=True, text=True)

    for name in ("afternoon", "two-teams", "workstation"):
        done = check(f"{w.examples}/{name}.yaml")
        t.ok(done.returncode == 0 and ": good: " in done.stdout, f"{name}.yaml is good", done)
    w.write_policy("queues: [{name: Q}, {name: r, grace: 5}]\n")
    done = check(w.config)
    lines = done.stderr.splitlines()
    t.equal((done.returncode, len(lines)), (2, 3), "--check tells all that is wrong", done.stderr)
    t.ok(lines[1].startswith(f"{w.config}:1:17: queues.Q.name: is not a name"), "with places",
         lines)
    done = check(w.dir + "/nowhere.yaml")
    t.equal(done.returncode, 5, "a file that is missing is told", done.stderr)
    w.end()


def main():
    t = Tap()
    play(t, World(), freezes, kills_are_no_crashes)
    refusals(t)
    checks(t)
    full_disk(t)
    t.end()


main()
