#!/usr/bin/env python3
"""State that a newer release wrote is refused by this one, with one line that says what is newer, and
is left as it was.  Usage: upgrade_refuses.py MUSTERD SHEPHERD EXAMPLES MUSTER_JOURNAL STATE_TOOL"""
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap, World  # noqa: E402
from upgrade_state import fixtures, unpack  # noqa: E402

JOURNAL, TOOL = map(os.path.abspath, sys.argv[4:6])


def line_after(last, kind, version, body):
    """A record as a newer release would have chained it."""
    r = json.loads(last)
    seq, at = r["seq"] + 1, r["at_ms"] + 1
    prev, body = bytes.fromhex(r["hash"]), body.encode()
    digest = hashlib.sha256(
        prev + struct.pack(">5q", seq, r["epoch"], at, at, 0) + struct.pack(">q", len(kind)) +
        kind.encode() + struct.pack(">2q", version, len(body)) + body).hexdigest()
    return (f'{{"seq":{seq},"epoch":{r["epoch"]},"at_ms":{at},"true_at_ms":{at},"precision_ms":0,'
            f'"kind":"{kind}","version":{version},"body":{body.decode()},"prev":"{prev.hex()}",'
            f'"hash":"{digest}"}}\n')


def add_record(state, kind, version, body):
    path = state + "/journal.db"
    text = subprocess.run([JOURNAL, "export", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    text += line_after(text.splitlines()[-1], kind, version, body)
    for name in ("", "-wal", "-shm", ".lock"):
        if os.path.exists(path + name):
            os.unlink(path + name)
    subprocess.run([JOURNAL, "import", "-", path], input=text, check=True, text=True,
                   stdout=subprocess.DEVNULL)
    return text.count("\n")


def sql(state, line):
    db = sqlite3.connect(state + "/journal.db")
    changed = db.execute(line).rowcount
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return changed


def bytes_of(state):
    with open(state + "/journal.db", "rb") as f:
        return f.read()


class Refusals:
    def __init__(self, t, w):
        self.t = t
        self.w = w

    def refused(self, what, line, journal_too=False):
        t, w = self.t, self.w
        before = bytes_of(w.state)
        words = [w.musterd, "--config", w.config, "--simulate", "--shepherd", w.shepherd,
                 "--socket", w.socket, "--state", w.state]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        t.equal((done.returncode, done.stderr), (1, f"musterd: journal.newer: {line}\n"),
                f"{what}: musterd refuses it in one line")
        t.ok(bytes_of(w.state) == before, f"{what}: and leaves it as it was")
        done = subprocess.run([JOURNAL, "verify", w.state], capture_output=True, text=True)
        if journal_too:
            t.equal((done.returncode, done.stderr), (1, f"muster-journal: journal.newer: {line}\n"),
                    f"{what}: muster-journal refuses it too")
        else:
            t.equal(done.returncode, 0, f"{what}: its chain can still be verified", done)

    def story(self, version, change):
        shutil.rmtree(self.w.state, ignore_errors=True)
        os.makedirs(self.w.state, mode=0o700)
        unpack(version, self.w.state)
        shutil.move(self.w.state + "/muster.yaml", self.w.config)
        return change(self.w.state)


def snapshot_format():
    """The one of this program."""
    header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/core/core.h")
    with open(header) as f:
        return next(int(line.split()[2]) for line in f if "define CORE_SNAPSHOT_FORMAT" in line)


def main():
    t = Tap()
    w = World("")
    r = Refusals(t, w)
    version = fixtures()[-1]
    try:
        r.story(version, lambda s: sql(s, "PRAGMA user_version=2"))
        r.refused("a newer format of the file", f"{w.state}/journal.db has format 2 of a newer "
                  "muster; this one reads up to 1", journal_too=True)
        seq = r.story(version, lambda s: add_record(s, "job_teleported", 1, "{}"))
        r.refused("a newer kind of record", f'record {seq} is of kind "job_teleported", which this '
                  "release does not know")
        seq = r.story(version, lambda s: add_record(s, "clock_stepped", 2, '{"by_ms":5}'))
        r.refused("a newer version of a record", f"record {seq} (clock_stepped) has version 2 of a "
                  "newer muster; this one reads up to 1")
        seq = r.story(version, lambda s: add_record(s, "clock_stepped", 1, '{"by_ms":5,"why":1}'))
        r.refused("a field of a newer release", f"record {seq} (clock_stepped) is of a newer "
                  "muster: why: no such field")
        newer = snapshot_format() + 1
        changed = r.story(version, lambda s: sql(s, f"UPDATE snapshot SET format = {newer}"))
        t.ok(changed > 0, "the stored state has a snapshot")
        seq = sqlite3.connect(w.state + "/journal.db").execute(
            "SELECT max(seq) FROM snapshot").fetchone()[0]
        r.refused("a newer snapshot", f"the snapshot after record {seq} has format {newer} of a "
                  f"newer muster; this one reads up to {newer - 1} (an export, imported, has no "
                  "snapshots)")
    finally:
        w.end()
    t.end()


main()
