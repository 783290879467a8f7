#!/usr/bin/env python3
"""State that each released version wrote opens in this one: the same records, the same state, the
same jobs; musterd goes on with it; and an export of it, imported, is the same again.
Usage: upgrade_opens.py MUSTERD SHEPHERD EXAMPLES MUSTER_JOURNAL STATE_TOOL"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap, World  # noqa: E402
from upgrade_state import HERE, digest, fixtures, unpack  # noqa: E402

JOURNAL, TOOL = map(os.path.abspath, sys.argv[4:6])


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


def fold(journal):
    done = call(TOOL, "fold", journal)
    return (json.loads(done.stdout) if done.returncode == 0 else {}), done


def reads(t, w, version, expected):
    journal = w.state + "/journal.db"
    done = call(JOURNAL, "verify", journal)
    words = done.stdout.split()
    t.equal((words[1:2], words[-1:]), ([str(expected["records"])], [expected["last_hash"]]),
            f"{version}: its chain verifies, to the same hash", done)
    folded, done = fold(journal)
    if not t.ok(folded, f"{version}: its records are read", done):
        return
    have = digest(folded["state"])
    for what, want in expected["digest"].items():
        t.equal(have.get(what), want, f"{version}: the same {what}")
    known = expected["state_hashes"].get(str(folded["format"]))
    t.equal(folded["state_hash"], known, f"{version}: the state hash of format {folded['format']}",
            "look at what changed: another state needs another CORE_SNAPSHOT_FORMAT, and then "
            "tests/upgrade/make-fixture --accept BUILD")
    comes_back(t, w, version, folded)


def comes_back(t, w, version, folded):
    lines, again = w.dir + "/export", w.dir + "/again.db"
    with open(lines, "w") as f:
        done = subprocess.run([JOURNAL, "export", w.state + "/journal.db"], stdout=f)
    t.equal(done.returncode, 0, f"{version}: it is exported")
    done = call(JOURNAL, "import", lines, again)
    t.ok(done.stdout.startswith("imported: "), f"{version}: and imported", done)
    other, done = fold(again)
    t.equal((other.get("seq"), other.get("state_hash")), (folded["seq"], folded["state_hash"]),
            f"{version}: to the same state hash", done)
    os.unlink(again)


def goes_on(t, w, version, expected):
    w.start()
    jobs = {j["job"]: j for j in w.get("jobs?all=true&limit=1000")["items"]}
    want = {i: (j["name"], j["state"]) for i, j in expected["digest"]["jobs"].items()
            if int(i) in expected["digest"]["ended"]}
    t.equal({i: (jobs[i]["name"], jobs[i]["state"]) for i in want if i in jobs}, want,
            f"{version}: musterd shows the jobs that ended as they ended")
    shown = w.get("version")
    t.ok(not shown["frozen"], f"{version}: and is not frozen", shown)
    new = w.run("echo hello", queue="inference", gpus=1)
    t.equal(int(new), expected["digest"]["next_job"], f"{version}: the next job has the next number")
    w.until_state(new, "succeeded", seconds=60)
    w.kill()
    w.start()
    t.equal(w.state_of(new), "succeeded", f"{version}: and the state is this version's from then on")
    t.ok(w.post("journal/verify")["ok"], f"{version}: the chain goes on")


def main():
    t = Tap()
    t.ok(fixtures(), "there is state of a released version")
    for version in fixtures():
        w = World("")
        os.makedirs(w.state, mode=0o700)
        unpack(version, w.state)
        shutil.move(w.state + "/muster.yaml", w.config)
        with open(f"{HERE}/{version}/expected.json") as f:
            expected = json.load(f)
        try:
            reads(t, w, version, expected)
            goes_on(t, w, version, expected)
        except Exception as e:  # a broken test is a failed one
            t.ok(False, f"{version}: the story goes on", repr(e), w.log_text())
        finally:
            w.end()
    t.end()


main()
