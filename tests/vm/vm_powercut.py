#!/usr/bin/env python3
"""In the machine: the power goes at many moments in the middle of commits.  musterd works on a disk
whose every write is logged (dm-log-writes); the log is replayed to many points, and at each the file
system mounts, the journal opens and verifies, and every submission that had been answered is in it."""
import json
import os
import random
import subprocess
import threading
import time

from daemon_world import PATIENCE, Tap, World
from writelog import WriteLog

POLICY = """
pools:
  - {name: main, nodes: [{name: n1, gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 8}, grace: 2s}
unknown_users: [red]
"""
DISK, LOG = "/dev/vdc", "/dev/vdd"
STATE_AT, POINT_AT = "/mnt/state", "/mnt/point"
ANSWERS = 40
POINTS = 50
STARTS = 5  # points at which musterd is started too


def sh(*argv, check=True):
    done = subprocess.run(argv, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done


def mark(text):
    sh("dmsetup", "message", "logged", "0", "mark", text)


def write_the_log():
    """Submissions from two sides, each answer marked in the log."""
    sectors = sh("blockdev", "--getsz", DISK).stdout.strip()
    sh("modprobe", "dm_log_writes")
    sh("dmsetup", "create", "logged", "--table", f"0 {sectors} log-writes {DISK} {LOG}")
    sh("dmsetup", "mknodes")  # there is no udev here
    sh("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0,nodiscard", "/dev/mapper/logged")
    os.makedirs(STATE_AT)
    sh("mount", "/dev/mapper/logged", STATE_AT)
    w = World(POLICY)
    w.state = STATE_AT + "/state"
    w.start()
    sh("sync")
    mark("begin")

    def submit(times):
        for _ in range(times):
            try:
                a = w.submit(queue="red", command=["/bin/true"], gpus=1)
                if a.status == 201:
                    mark("job-" + a["job"])
            except OSError:
                pass  # a host under load: not answered, so nothing is promised

    sides = [threading.Thread(target=submit, args=(ANSWERS // 2,)) for _ in range(2)]
    for side in sides:
        side.start()
    for side in sides:
        side.join()
    mark("end")
    w.kill()
    print("# the log is written", flush=True)
    unmount(STATE_AT)
    sh("dmsetup", "remove", "logged")


def unmount(where):
    """Supervisors of tasks outlive their musterd, and work there until the task ends."""
    deadline = time.monotonic() + 60 * PATIENCE
    while sh("umount", where, check=time.monotonic() > deadline).returncode != 0:
        time.sleep(0.2)


def jobs_in(state):
    done = sh("/muster/muster-journal", "export", state)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return {r["body"]["id"] for r in records if r["kind"] == "job_submitted"}


def starts(state):
    w = World(POLICY)
    w.state = state
    try:
        w.start()
        return w.get("version")["frozen"] is False and w.post("journal/verify")["ok"] is True
    finally:
        w.end()


def look(answered, start):
    """What is wrong with the disk of this point, or None."""
    if sh("mount", "-o", "loop", "/tmp/point.img", POINT_AT, check=False).returncode != 0:
        return "the file system does not mount"
    try:
        state = POINT_AT + "/state"
        done = sh("/muster/muster-journal", "verify", state, check=False)
        if done.returncode != 0:
            return f"it does not verify: {done.stdout}{done.stderr}"
        lost = answered - jobs_in(state)
        if lost:
            return f"answered submissions are lost: {sorted(lost)}"
        return None if not start or starts(state) else "musterd does not start on it"
    finally:
        unmount(POINT_AT)


def choose(log):
    """Around each answer, and anywhere."""
    first, last = log.marks["begin"], log.marks["end"]
    rng = random.Random(1)
    near = [i for text, i in log.marks.items() if text.startswith("job-")]
    points = {last, first, *rng.sample(near, min(len(near), POINTS // 4))}
    while len(points) < min(POINTS, last - first):
        points.add(rng.randrange(first, last + 1))
    return sorted(points)


def replay(t):
    sh("modprobe", "loop")
    os.makedirs(POINT_AT)
    log = WriteLog(LOG)
    disk = bytearray(int(sh("blockdev", "--getsize64", DISK).stdout))
    points = choose(log)
    done, bad = 0, []
    with_start = set(random.Random(2).sample(points, STARTS))
    answers = {int(text[4:]): i for text, i in log.marks.items() if text.startswith("job-")}
    for point in points:
        log.replay(disk, done, point)
        done = point
        with open("/tmp/point.img", "wb") as f:
            f.write(disk)
        wrong = look({job for job, i in answers.items() if i <= point}, point in with_start)
        if wrong:
            print(f"# after write {point}: {wrong}", flush=True)
            bad.append(f"after write {point}: {wrong}")
    print(f"# {len(log.entries)} writes, {len(answers)} answers, {len(points)} points", flush=True)
    t.ok(len(answers) > ANSWERS // 2, "submissions were answered", len(answers))
    t.ok(not bad, f"at {len(points)} points of the log the journal opens, verifies and holds what "
         f"was answered; at {STARTS} musterd goes on", *bad)


def main():
    t = Tap()
    try:
        write_the_log()
        replay(t)
    except (AssertionError, OSError, KeyError, TypeError) as e:
        t.ok(False, "the log is written and replayed", repr(e))
    t.end()


main()
