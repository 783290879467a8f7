#!/usr/bin/python3
"""In the virtual machine, under a real systemd: the packages from install to removal.  It is the
command that the kernel's line names (systemd.run=), and ends the machine."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, "/muster")

from daemon_world import Tap  # noqa: E402

POLICY = """pools: [{name: main, nodes: [{name: here, gpus: 8, simulated: true}]}]
queues: [{name: everyone%s}]
cluster: {backoff: 1s}
users:
  - {name: root, account: self, roles: [submit, operator, admin, auditor], queues: [everyone]}
  - {name: tester, roles: [submit], queues: [everyone]}
"""
CONFIG = "/etc/muster/muster.yaml"
SLOW = 300  # a machine without KVM, on a busy host


def call(*words):
    return subprocess.run(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def shows(unit, key):
    return call("systemctl", "show", "-p", key, "--value", unit).stdout.strip()


def until(what, name):
    deadline = time.monotonic() + SLOW
    while not what():
        if time.monotonic() > deadline:
            raise AssertionError(f"{name}: not within {SLOW} s\n" +
                                 call("journalctl", "-b", "-n", "20", "-o", "cat").stdout)
        time.sleep(1)


def answers():
    return call("muster", "version").returncode == 0


def rights(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(re.findall(r"^(Seccomp|NoNewPrivs):\s+(\d+)", f.read(), re.M))


def tasks():
    """The units of tasks that are active, and their supervisors."""
    listed = call("systemctl", "list-units", "--plain", "--no-legend", "--full",
                  "muster-task-*").stdout
    units = [line.split()[0] for line in listed.splitlines()]
    return {u: shows(u, "MainPID") for u in units}


def workers():
    return call("pgrep", "-u", "tester", "-f", "work.sh").stdout.split()


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def installed(t, first):
    done = call("dpkg", "-i", *first)
    t.equal(done.returncode, 0, "the packages install under systemd", done.stdout)
    until(answers, "musterd answers")
    t.equal((shows("musterd", "ActiveState"), call("systemctl", "is-enabled", "musterd").stdout),
            ("active", "enabled\n"), "musterd is started and enabled")
    bound = rights(shows("musterd", "MainPID"))
    t.equal(bound, {"NoNewPrivs": "1", "Seccomp": "2"}, "the unit binds it")


def runs(t):
    write(CONFIG, POLICY % "")
    write("/etc/default/musterd", "MUSTERD_OPTIONS=--simulate\n")
    call("systemctl", "restart", "musterd")
    until(answers, "musterd answers again")
    write("/home/tester/work.sh", "#!/bin/sh\ntrap '' HUP\ntouch /home/tester/written\n"
          "while :; do sleep 1; done\n", 0o755)
    done = call("runuser", "-u", "tester", "--", "muster", "submit", "-q", "everyone", "-g", "2",
                "/home/tester/work.sh")
    t.equal(done.returncode, 0, "an account submits a job", done.stdout)
    until(workers, "the job runs")
    t.equal(len(tasks()), 1, "its supervisor is a unit of its own", tasks())
    t.equal(rights(workers()[0]), {"NoNewPrivs": "0", "Seccomp": "0"},
            "and what binds musterd does not bind the job")
    until(lambda: os.path.exists("/home/tester/written"), "the job writes")
    until(lambda: "running" in call("muster", "ps").stdout, "musterd knows that it runs")


def same(t, before, what):
    t.equal((tasks(), workers()), before, what)
    until(answers, "musterd answers")
    shown = call("muster", "show", "1", "-o", "json").stdout
    t.ok('"running"' in shown and re.search(r'"attempt": *1\b', shown),
         "and musterd has adopted it", shown[:400])


def upgraded(t, newer):
    before = (tasks(), workers())
    pid = shows("musterd", "MainPID")
    done = call("dpkg", "-i", "--force-confold", *newer)
    t.equal(done.returncode, 0, "an upgrade over the running job", done.stdout)
    until(answers, "the new musterd answers")
    t.ok(shows("musterd", "MainPID") not in (pid, "0"), "starts musterd anew")
    same(t, before, "and leaves the job as it is")
    write(CONFIG, POLICY % ", weight: 3")
    done = call("systemctl", "reload", "musterd")
    t.equal((done.returncode, shows("musterd", "ActiveState")), (0, "active"), "a reload works")
    until(lambda: call("muster", "journal", "tail", "--kind", "policy_set").stdout.count("\n") > 2,
          "the changed policy is taken")
    os.kill(int(shows("musterd", "MainPID")), 9)
    until(lambda: shows("musterd", "ActiveState") == "active" and answers(), "systemd restarts it")
    same(t, before, "after kill -9 of musterd the job is as it was")


def ends(t):
    unit, pid = next(iter(tasks().items()))
    before = workers()
    os.kill(int(pid), 9)
    until(lambda: not set(before) & set(workers()), "what a killed supervisor leaves is ended")
    t.ok(True, "what a killed supervisor leaves is ended")
    until(lambda: unit not in tasks(), "its unit is gone")
    call("muster", "cancel", "1")
    until(lambda: not tasks(), "the job ends")
    call("systemctl", "stop", "musterd")
    os.rename(CONFIG, "/root/muster.yaml")
    call("systemctl", "start", "musterd")
    until(lambda: shows("musterd", "ActiveState") == "failed", "without a policy it fails")
    said = call("journalctl", "-u", "musterd", "-o", "cat", "-b").stdout
    t.equal((shows("musterd", "NRestarts"), said.count("muster.yaml(5) tells how to write one")),
            ("0", 1), "without a policy it says so once, and is not tried again", said[-600:])
    os.rename("/root/muster.yaml", CONFIG)
    call("systemctl", "reset-failed", "musterd")
    call("systemctl", "start", "musterd")
    until(answers, "with one it starts")


def removed(t):
    done = call("dpkg", "--purge", "musterd", "muster-cli")
    t.equal(done.returncode, 0, "the packages are purged", done.stdout)
    t.equal(shows("musterd", "ActiveState"), "inactive", "musterd is stopped")
    t.equal((sorted(os.listdir("/var/lib/muster")), os.path.exists("/etc/muster")),
            (["checkpoints", "logs"], False), "what belongs to the owners of jobs is left")


def main():
    tty = os.open("/dev/ttyS0", os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(tty, fd)
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ["NO_COLOR"] = "1"
    t = Tap()
    debs = sorted(f"/muster/{n}" for n in os.listdir("/muster") if n.endswith(".deb"))
    first = [d for d in debs if "+1_" not in d]
    newer = [d for d in debs if "+1_" in d]
    try:
        installed(t, first)
        runs(t)
        upgraded(t, newer)
        ends(t)
        removed(t)
    except Exception as e:  # a broken test is a failed one
        t.ok(False, "the story goes on", repr(e))
    print(f"1..{t.count}", flush=True)
    os.sync()
    with open("/proc/sysrq-trigger", "w") as f:
        f.write("o")
    time.sleep(60)


main()
