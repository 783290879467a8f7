#!/usr/bin/env python3
"""A journal carried away as lines and made anew from them is the same: the state hash that musterd
told, that of the import, and musterd goes on with it.
Usage: import_roundtrip.py MUSTERD SHEPHERD EXAMPLES MUSTER_JOURNAL STATE_TOOL MUSTER"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap, World, play  # noqa: E402

JOURNAL, TOOL, MUSTER = map(os.path.abspath, sys.argv[4:7])


def fold(journal):
    done = subprocess.run([TOOL, "fold", journal], capture_output=True, text=True, check=True)
    folded = json.loads(done.stdout)
    return folded["seq"], folded["state_hash"]


def muster(w, *words):
    env = dict(os.environ, MUSTER_SOCKET=w.socket, MUSTER_LIBEXEC=os.path.dirname(JOURNAL))
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, env=env,
                          stdin=subprocess.DEVNULL)


def quiet(w):
    """What musterd says of its state once nothing is new for a while."""
    for _ in range(100):
        before = w.get("version")
        time.sleep(1)
        after = w.get("version")
        if before["journal_seq"] == after["journal_seq"]:
            return int(after["journal_seq"]), after["state_hash"]
    raise AssertionError("the journal does not come to rest")


def story(t, w):
    jobs = [w.run("echo hello", gpus=2), w.run("exit 3", gpus=1, retries=0)]
    for job in jobs:
        w.until_state(job, "succeeded", "failed")
    stays = w.run("trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done", gpus=4)
    w.until_says(stays, "up")
    w.until(lambda: "task_running" in w.kinds(stays), "the journal says that it runs")
    w.run("true", gpus=1, hold=True)
    w.post("tokens", {"name": "ci", "roles": ["submit"], "ttl": "1h"})
    told = quiet(w)
    lines = w.dir + "/export"
    done = muster(w, "journal", "export", "--to", lines)
    t.equal(done.returncode, 0, "the journal is exported by the running musterd", done.stderr)
    w.kill()
    t.equal(fold(w.state + "/journal.db"), told, "musterd told the hash of what lies on the disk")

    other = w.dir + "/other"
    os.mkdir(other, 0o700)
    done = muster(w, "journal", "import", lines, "--to", other)
    t.ok(done.returncode == 0 and done.stdout.startswith(f"imported: {told[0]} records"),
         "muster journal import makes it anew", done)
    t.equal(fold(other + "/journal.db"), told, "with the same state hash")
    done = muster(w, "journal", "import", lines, "--to", other)
    t.ok(done.returncode == 7 and "is there already" in done.stderr, "and never over another", done)

    for name in ("people.json", "policy.digest"):
        shutil.copy(f"{w.state}/{name}", other)
    shutil.copytree(w.state + "/content", other + "/content")
    for name in ("attempts", "logs", "checkpoints"):
        os.rename(f"{w.state}/{name}", f"{other}/{name}")
    shutil.rmtree(w.state)
    os.rename(other, w.state)
    w.start()
    t.equal({j["job"]: j["state"] for j in w.get("jobs?all=true")["items"]},
            {"1": "succeeded", "2": "failed", "3": "running", "4": "held"},
            "musterd goes on with it, and adopts what runs")


def main():
    t = Tap()
    play(t, World(), story)
    t.end()


main()
