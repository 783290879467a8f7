#!/usr/bin/env python3
# systemd
"""In the machine, under systemd: the unit starts and says so, its tasks are units of their own that
outlive a restart, a kill, a stop and an upgrade of musterd, and limits and sandboxes hold in them."""
import os
import re
import signal
import subprocess

from agreement import agree, processes
from daemon_world import Tap, World

POLICY = """
pools:
  - {name: main, nodes: [{name: n1, gpus: 8, model: a100-80gb, simulated: true}]}
queues:
  - {name: red, reserved: {main: 8}, grace: 2s}
cluster: {retries: 0, backoff: 1s}
unknown_users: [red]
"""
EXPOSURE = 3.2  # of 10, as doc/install.md says; tests/package/unit_file.py holds the same
PROGRAMS = {"musterd": "/usr/local/sbin", "muster": "/usr/local/bin",
            "muster-shepherd": "/usr/local/libexec/muster"}


def sh(*argv, check=True):
    done = subprocess.run(argv, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def shows(key):
    return sh("systemctl", "show", "-P", key, "musterd")


class Main:
    """Of World: the process of musterd, whose number systemd knows."""

    @property
    def pid(self):
        return int(shows("MainPID"))


class Service(World):
    def __init__(self):
        super().__init__(POLICY)
        self.state, self.socket = "/var/lib/muster", "/run/muster/muster.sock"
        self.token, self.process = "98765", Main()

    def log_text(self):
        return sh("journalctl", "-u", "musterd", "--no-pager", "-o", "cat", check=False)


def install():
    for name, where in PROGRAMS.items():
        os.makedirs(where, exist_ok=True)
        put_program(f"/muster/{name}", f"{where}/{name}")
    os.makedirs("/etc/muster", exist_ok=True)
    with open("/etc/muster/muster.yaml", "w") as f:
        f.write(POLICY)
    with open("/etc/default/musterd", "w") as f:
        f.write("MUSTERD_OPTIONS=--simulate --shepherd /usr/local/libexec/muster/muster-shepherd\n")
    sh("cp", "/muster/musterd.service", "/etc/systemd/system/musterd.service")
    sh("systemctl", "daemon-reload")


def put_program(path, to):
    """As a package does it: a new file in the place of the old one."""
    sh("cp", path, to + ".new")
    os.chmod(to + ".new", 0o755)
    os.rename(to + ".new", to)


def units():
    return sh("systemctl", "list-units", "--plain", "--no-legend", "muster-task-*").splitlines()


def status(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return [line.split(":")[1].strip() for line in f if line.startswith(field + ":")][0]


def main_process(w, job):
    """The first process of task 0 of the job's first attempt."""
    name = f"{job}.1.0.1"
    return min(pid for pid, task in processes(w)[0].items() if task == name)


def it_starts(t, w):
    sh("systemctl", "start", "musterd")  # returns when musterd says that it is ready
    t.equal(sh("systemctl", "is-active", "musterd"), "active", "the unit starts, and says so")
    t.ok(w.alive(), "then it answers")
    w.until(lambda: shows("StatusText") == "Running.", "systemd knows its state")
    t.equal(status(w.process.pid, "NoNewPrivs"), "1", "musterd itself is hardened")
    said = sh("systemd-analyze", "security", "--no-pager", "musterd", check=False)
    score = re.search(r"exposure level for musterd.service: ([0-9.]+)", said)
    t.ok(score and float(score[1]) <= EXPOSURE, f"its exposure is at most {EXPOSURE}", said[-300:])
    print(f"# {sh('systemctl', '--version').splitlines()[0]}: exposure {score and score[1]}",
          flush=True)


def tasks_are_units(t, w):
    job = w.run(f"sleep 6000.{w.token}", gpus=1, memory="64Mi")
    w.until_state(job, "running", seconds=90)
    t.equal(len(units()), 1, "a task is a unit of its own", units())
    pid = main_process(w, job)
    with open(f"/proc/{pid}/cgroup") as f:
        group = f.read().strip().split("::")[1]
    t.ok("/muster-tasks.slice/muster-task-" in group, "in a slice of its own", group)
    with open(f"/sys/fs/cgroup{group}/memory.max") as f:
        t.equal(int(f.read()), 64 << 20, "with the memory it asked for")
    t.equal(status(pid, "NoNewPrivs"), "0", "and musterd's hardening does not bind it")
    return job, pid


def it_outlives(t, w, job, pid):
    def survives(what):
        w.until(w.alive, "musterd answers", 90)
        t.ok(w.state_of(job) == "running" and w.get(f"jobs/{job}")["attempt"] == 1
             and main_process(w, job) == pid, f"the task outlives {what}")

    first = w.process.pid
    sh("systemctl", "restart", "musterd")
    t.ok(w.process.pid != first, "a restart is another process")
    survives("a restart")
    sh("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "musterd")
    w.until(lambda: w.process.pid not in (0, first), "systemd starts it again", 90)
    survives("kill -9, after which systemd starts musterd again")
    hangs = w.process.pid
    os.kill(hangs, signal.SIGSTOP)
    w.until(lambda: w.process.pid not in (0, hangs), "the watchdog bites", 120)
    t.equal(shows("NRestarts"), "2", "who hangs is ended by the watchdog, and started again")
    survives("that")
    sh("systemctl", "stop", "musterd")
    t.ok(os.path.exists(f"/proc/{pid}"), "the task runs on while musterd is stopped")
    sh("systemctl", "start", "musterd")
    survives("a stop and a start")
    for name, where in PROGRAMS.items():
        with open(f"/muster/{name}", "ab") as f:
            f.write(b"\0")  # another file, as of a later release
        put_program(f"/muster/{name}", f"{where}/{name}")
    sh("systemctl", "restart", "musterd")
    survives("an upgrade of the programs")
    agree(t, w, "and all agree", 90)


def of_a_user(t, w):
    """A job of another account, submitted by it, in a sandbox."""
    job = sh("su", "tester", "-c", "cd && muster submit --queue red --sandbox --parsable -- /bin/sh "
             "-c 'id -un; cat /proc/1/comm; touch /etc/x || touch ok'")
    w.until_state(job, "succeeded", "failed", seconds=90)
    t.equal(w.logs(job).split(), ["tester", "bwrap"], "a user's job runs as the user, in a sandbox",
            w.logs(job, "?stream=stderr"))
    t.ok(os.path.exists("/home/tester/ok"), "and writes to its working directory")


def a_hog(t, w):
    hog = w.run("exec tail /dev/zero", gpus=1, memory="64Mi")
    w.until_state(hog, "failed", seconds=90)
    t.ok("reached its memory limit" in w.logs(hog, "?stream=stderr"), "a hog dies in its unit",
         w.logs(hog, "?stream=stderr"))


def it_ends(t, w, job):
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled", seconds=90)
    agree(t, w, "a cancel ends the task and leaves no group", 90)
    w.until(lambda: not units(), "no unit is left", 30)
    t.ok(True, "and no unit")


def main():
    t = Tap()
    install()
    w = Service()
    try:
        it_starts(t, w)
        job, pid = tasks_are_units(t, w)
        it_outlives(t, w, job, pid)
        of_a_user(t, w)
        a_hog(t, w)
        it_ends(t, w, job)
    except (AssertionError, OSError, KeyError, TypeError, ValueError) as e:
        t.ok(False, "musterd answers, and in time", repr(e), w.log_text()[-3000:])
    t.end()


main()
