#!/usr/bin/env python3
"""musterd, supervisors and trees of jobs are killed at random moments, and jobs misbehave; then the
journal, the API, the process table, the disk and the devices must tell one story (agreement.py).

    process_faults.py MUSTERD SHEPHERD EXAMPLES [KILLS [SEED]]
"""
import os
import random
import signal
import subprocess
import sys
import time

from agreement import agree, processes
from daemon_world import Tap, World, play

KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 10
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)
POLICY = """
pools:
  - {name: main, nodes: [{name: "n[1-2]", gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 8}, grace: 1s, stop_stuck: 10s}
  - {name: blue, reserved: {main: 8}, grace: 1s, stop_stuck: 10s}
cluster: {retries: 3, backoff: 1s}
unknown_users: [red, blue]
"""
MIB = 1 << 20


def a_world():
    w = World(POLICY)
    # In the command line of what runs, so that a process is ours even without an environment.
    w.token = f"9{os.getpid()}{random.randrange(10**6):06}"
    return w


def idle(w, seconds=60):
    w.until(lambda: not w.get("jobs?limit=1000")["items"], "nothing runs and nothing waits",
            seconds)


def cancel_all(w):
    for j in w.get("jobs?limit=1000")["items"]:
        w.post(f"jobs/{j['job']}/cancel")
    idle(w)


# ---- kill -9 of musterd ----

def some_job(w, rng):
    """One of what a day brings; the answer, or None if musterd died meanwhile."""
    nap = f"sleep 0.{rng.randrange(10)}{w.token}"
    kinds = [
        dict(command=["/bin/sh", "-c", nap], gpus=rng.randint(0, 2)),
        dict(command=["/bin/sh", "-c", f"{nap}; exit 3"], gpus=1, retries=1),
        dict(command=["/bin/sh", "-c", f"sleep 2.{w.token}"], gpus=1, tasks=8, min_tasks=2),
        dict(command=["/bin/sh", "-c", f"sleep 1.{w.token}"], gpus=8),
        dict(command=["/bin/sh", "-c", f"trap '' TERM; sleep 3.{w.token}"], gpus=4),
        dict(command=["/bin/sh", "-c", f"setsid sleep 60.{w.token} & {nap}"], gpus=1),
    ]
    try:
        a = w.submit(queue=rng.choice(["red", "blue"]), **rng.choice(kinds))
        if a.status == 201 and rng.randrange(5) == 0:
            w.post(f"jobs/{a['job']}/cancel")
        return a["job"] if a.status == 201 else None
    except OSError:
        return None


def known_jobs(w):
    """All that musterd ever took: after 100 kills more than a page holds."""
    known, cursor = set(), ""
    while cursor is not None:
        page = w.get(f"jobs?all=true&limit=1000{cursor and '&cursor=' + cursor}")
        known |= {j["job"] for j in page["items"]}
        cursor = page["next"]
    return known


def kills_of_musterd(t, w):
    rng = random.Random(SEED)
    taken = set()
    began = time.monotonic()
    worst = 0
    kills = 0
    for kills in range(1, KILLS + 1):
        moment = time.monotonic() + rng.random() * 0.5
        while time.monotonic() < moment:
            taken.add(some_job(w, rng))
        w.kill()
        before = time.monotonic()
        w.start()
        worst = max(worst, time.monotonic() - before)
        lost = taken - known_jobs(w) - {None}
        if lost or w.get("version")["frozen"]:
            t.ok(False, "what was answered is there after kill -9", f"seed {SEED}: lost {lost}",
                 w.log_text()[-3000:])
            break
        if len(taken) > 60:
            cancel_all(w)
            taken.clear()
    print(f"# seed {SEED}: {kills} kills in {time.monotonic() - began:.1f} s, longest start "
          f"{worst * 1000:.0f} ms, {w.get('version')['journal_seq']} records")
    agree(t, w, f"{kills} times kill -9 of musterd under load: all agree while work goes on", 60)
    cancel_all(w)
    agree(t, w, "and when it is over", 60)


# ---- supervisors and trees ----

def supervisors(w):
    """pid by name of the task."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().split(b"\0")
        except OSError:
            continue
        if line[0].endswith(b"muster-shepherd") and line[1].startswith(w.state.encode()):
            found[".".join(line[1].decode().split("/")[-2:])] = int(pid)
    return found


def attempt_of(w, job):
    return w.get(f"jobs/{job}")["attempt"]


def kills_of_supervisors(t, w):
    jobs = [w.run(f"sleep 600.{w.token} & setsid sleep 601.{w.token} & wait", gpus=2,
                  queue=q) for q in ("red", "blue", "red")]
    for job in jobs:
        w.until_state(job, "running")
    for name, pid in supervisors(w).items():
        os.kill(pid, signal.SIGKILL)
    for job in jobs:
        w.until(lambda: attempt_of(w, job) == 2 and w.state_of(job) == "running",
                f"job {job} runs again")
    t.ok(True, "tasks whose supervisors were killed are lost, and their jobs start again")
    agree(t, w, "nothing of the first attempts is left")
    # While musterd is away, too.
    pids = supervisors(w)
    w.kill()
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    w.start()
    for job in jobs:
        w.until(lambda: attempt_of(w, job) == 3 and w.state_of(job) == "running",
                f"job {job} runs a third time")
    agree(t, w, "supervisors that died with musterd are found out when it is back")
    pid = supervisors(w)[f"{jobs[0]}.3.0.1"]
    os.kill(pid, signal.SIGSTOP)
    w.post(f"jobs/{jobs[0]}/cancel")
    w.until_state(jobs[0], "cancelled")
    t.ok(True, "a supervisor that is stopped does not hold up a cancel")
    cancel_all(w)
    agree(t, w, "and leaves nothing")


def kills_of_trees(t, w):
    job = w.run(f"sleep 600.{w.token} & sleep 601.{w.token}", gpus=1, retries=0)
    w.until_state(job, "running")
    w.until(lambda: len(processes(w)[0]) >= 3, "the tree is there")
    for pid in processes(w)[0]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    w.until_state(job, "failed")
    t.equal(w.get(f"jobs/{job}")["exit"]["signal"], 9, "a tree that is killed is a job that failed")
    agree(t, w, "and all agree")


# ---- jobs that misbehave ----

def deaf_jobs(t, w):
    job = w.run(f"trap '' TERM INT HUP; echo deaf; while :; do sleep 1.{w.token}; done", gpus=1)
    w.until_says(job, "deaf")
    began = time.monotonic()
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    took = time.monotonic() - began
    t.ok(took > 0.9, "who ignores SIGTERM has its grace, and then is killed", f"after {took:.2f} s")
    agree(t, w, "and all agree")


def jobs_that_hide(t, w):
    hide = ("setsid sh -c 'setsid sleep 600.%s & setsid env -i setsid sleep 601.%s & sleep 0.2' & "
            "sleep 0.4; " % (w.token, w.token))
    job = w.run(hide + f"sleep 602.{w.token}", gpus=1)
    w.until_state(job, "running")
    w.until(lambda: len(processes(w)[0]) >= 4, "they hide")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    agree(t, w, "who forks twice, leaves the session and clears its environment goes with its job")
    job = w.run(hide, gpus=1)
    w.until_state(job, "succeeded")
    agree(t, w, "and with the end of the main process")
    job = w.run(hide + f"sleep 602.{w.token}", gpus=1, retries=0)
    w.until_state(job, "running")
    w.until(lambda: len(processes(w)[0]) >= 4, "they hide")
    w.kill()
    w.start()
    t.equal(w.state_of(job), "running", "it is adopted by a musterd that was killed")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    agree(t, w, "and is ended whole by it")


def fork_storm(t, w):
    job = w.run("f() { sleep 0.05; f & }; for i in 1 2 3 4 5 6 7 8; do f & done; "
                f"sleep 600.{w.token}", gpus=1)
    w.until_state(job, "running")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")
    agree(t, w, "a tree that forks while it is killed loses the race")


def log_bytes(w, job):
    return sum(os.stat(f"{w.state}/logs/{job}/{n}").st_size
               for n in os.listdir(f"{w.state}/logs/{job}"))


def floods(t, w):
    mib = 1024 if KILLS > 50 else 200
    job = w.run(f"yes 0123456789012345678901234567890 | head -c {mib * MIB}; "
                "echo the end", gpus=1, output=w.dir + "/copy")
    began = time.monotonic()
    slowest = 0
    while w.state_of(job) != "succeeded" and time.monotonic() < began + 300:
        before = time.monotonic()
        w.get("version")
        slowest = max(slowest, time.monotonic() - before)
        time.sleep(0.1)
    print(f"# {mib} MiB of output took {time.monotonic() - began:.1f} s, slowest answer of musterd "
          f"{slowest * 1000:.0f} ms")
    t.equal(w.state_of(job), "succeeded", f"a job that writes {mib} MiB of output as fast as it can succeeds")
    t.ok(log_bytes(w, job) <= 64 * MIB + 4096, "its log keeps at most 64 MiB", log_bytes(w, job))
    t.ok("the end" in w.logs(job, "?tail=1"), "the last of it", w.logs(job, "?tail=1")[-200:])
    t.ok("bytes of standard output are gone" in w.logs(job, "?stream=stderr"),
         "and says how much is gone", w.logs(job, "?stream=stderr"))
    size = os.stat(w.dir + "/copy").st_size
    with open(w.dir + "/copy", "rb") as f:
        f.seek(-200, os.SEEK_END)
        end = f.read().decode()
    t.ok(size <= 64 * MIB + 4096 and "this file ends here" in end,
         "a file of its own ends at 64 MiB, and says so", size, end)
    os.unlink(w.dir + "/copy")
    t.ok(slowest < 20, "musterd answers meanwhile", slowest)


def full_log_disk(t, w):
    logs = w.state + "/logs"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0711", "tmpfs", logs],
                      capture_output=True).returncode != 0:
        t.ok(True, "a full disk of logs # SKIP no small disk can be mounted here")
        return
    try:
        w.stop()
        w.start()  # the directory is opened at the start
        job = w.run("yes | head -c 20000000; exit 4", gpus=1, retries=0)
        w.until_state(job, "failed")
        t.equal(w.get(f"jobs/{job}")["exit"]["status"], 4,
                "a job that fills the disk of its log ends as it would have")
        agree(t, w, "and all agree")
    finally:
        w.stop()
        subprocess.run(["umount", logs])
        w.start()


def main():
    t = Tap()
    play(t, a_world(), kills_of_musterd)
    play(t, a_world(), kills_of_supervisors, kills_of_trees, deaf_jobs, jobs_that_hide, fork_storm,
         floods, full_log_disk)
    t.end()


main()
