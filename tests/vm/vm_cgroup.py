#!/usr/bin/env python3
"""In the machine: cgroup v2 holds tasks to their limits, and stops them whole."""
import os
import signal
import time

from agreement import agree, processes
from daemon_world import PATIENCE, Tap, World, play

POLICY = """
pools:
  - {name: main, nodes: [{name: n1, gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 8}, grace: 2s}
cluster: {retries: 0}
unknown_users: [red]
"""
BASE = "/sys/fs/cgroup/muster"


def group_of(job):
    names = [n for n in os.listdir(BASE) if n.startswith(f"{job}.")]
    return f"{BASE}/{names[0]}" if names else None


def number(path):
    with open(path) as f:
        return int(f.read())


def refused(group):
    """Forks that pids.max did not allow."""
    with open(group + "/pids.events") as f:
        return int(f.read().split()[1])


def limits_are_there(t, w):
    text = w.log_text()
    t.ok("memory limited, processes limited, CPU weighted" in text,
         "musterd says what this host can hold tasks to", text)


def a_memory_hog_dies_alone(t, w):
    good = w.run(f"for i in 1 2 3 4 5 6 7 8; do sleep 1.{w.token}; done", gpus=1, memory="64Mi")
    w.until_state(good, "running", seconds=60)
    hog = w.run("exec tail /dev/zero", gpus=1, memory="64Mi")
    w.until_state(hog, "failed", seconds=60)
    t.equal(w.get(f"jobs/{hog}")["exit"]["signal"], 9, "a task beyond its memory is killed")
    t.ok("reached its memory limit" in w.logs(hog, "?stream=stderr"), "and its log says why",
         w.logs(hog, "?stream=stderr"))
    t.equal(w.state_of(good), "running", "its neighbour runs on")
    w.until_state(good, "succeeded", seconds=60)
    agree(t, w, "and all agree", 60)


def a_fork_bomb_is_bounded(t, w):
    bomb = w.run("f() { f | f & }; f; while :; do sleep 1; done", gpus=1)
    w.until_state(bomb, "running", seconds=60)
    group = group_of(bomb)
    limit = number(group + "/pids.max")
    most = 0
    until = time.monotonic() + 60 * PATIENCE
    while time.monotonic() < until and refused(group) == 0:
        most = max(most, number(group + "/pids.current"))
        time.sleep(0.2)
    t.ok(most <= limit <= 512 and refused(group) > 0, "a fork bomb meets pids.max", limit, most)
    print(f"# pids.max {limit}: {refused(group)} forks were refused", flush=True)
    before = time.monotonic()
    w.get("version")
    t.ok(time.monotonic() - before < 2 * PATIENCE, "musterd answers meanwhile")
    w.post(f"jobs/{bomb}/cancel")
    w.until_state(bomb, "cancelled", seconds=60)
    agree(t, w, "a cancel ends all of it", 60)


def a_stop_takes_the_whole_group(t, w):
    hide = ("setsid sh -c 'setsid env -i setsid sleep 600.%s & sleep 0.2' & "
            "trap \"\" TERM; sleep 601.%s; sleep 602.%s" % (w.token, w.token, w.token))
    job = w.run(hide, gpus=1)
    w.until_state(job, "running", seconds=60)
    w.until(lambda: len(processes(w)[0]) >= 3, "they hide", 60)
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled", seconds=60)
    agree(t, w, "the deaf, and who left session and environment, go with their group", 60)
    job = w.run(hide, gpus=1)
    w.until_state(job, "running", seconds=60)
    w.until(lambda: len(processes(w)[0]) >= 3, "they hide", 60)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if b"muster-shepherd" in f.read().split(b"\0")[0]:
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    w.until(lambda: w.state_of(job) != "running" or w.get(f"jobs/{job}")["attempt"] > 1,
            "the loss is seen", 60)
    for j in w.get("jobs")["items"]:
        w.post(f"jobs/{j['job']}/cancel")
    w.until(lambda: not w.get("jobs")["items"], "it is over", 60)
    agree(t, w, "without its supervisor they are found by their group", 60)


def a_sandbox_that_cannot_be(t, w):
    job = w.run("cat /proc/1/comm", gpus=1, sandbox=True)
    w.until_state(job, "succeeded", seconds=60)
    t.equal(w.logs(job), "bwrap\n", "a job that asks for a sandbox has one")
    with open("/proc/sys/user/max_user_namespaces", "w") as f:
        f.write("0")
    job = w.run("true", gpus=1, sandbox=True)
    w.until_state(job, "failed", seconds=60)
    said = " ".join(h["text"] for h in w.get(f"jobs/{job}")["history"])
    t.ok("no sandbox can be made on this node: bwrap:" in said,
         "where user namespaces are forbidden it is refused, with the reason", said)
    os.rename("/usr/bin/bwrap", "/usr/bin/bwrap.gone")
    job = w.run("true", gpus=1, sandbox=True)
    w.until_state(job, "failed", seconds=60)
    said = " ".join(h["text"] for h in w.get(f"jobs/{job}")["history"])
    t.ok("there is no /usr/bin/bwrap on this node: install bubblewrap" in said,
         "and where bubblewrap is missing", said)
    agree(t, w, "and all agree", 60)


def main():
    t = Tap()
    with open("/proc/sys/kernel/pid_max", "w") as f:
        f.write("1024")  # so that the bound of a task is small, as the machine is
    w = World(POLICY)
    w.token = "98765"
    play(t, w, limits_are_there, a_memory_hog_dies_alone, a_fork_bomb_is_bounded,
         a_stop_takes_the_whole_group, a_sandbox_that_cannot_be)
    t.end()


main()
