#!/usr/bin/env python3
"""What a newcomer gets wrong: each is told in one line with a stable code and the right exit status,
and nothing is lost by it.  Usage: bad_input.py MUSTERD SHEPHERD EXAMPLES MUSTER MUSTER_JOURNAL."""
import os
import shutil
import sqlite3
import subprocess
import sys

from daemon_world import Tap, World, play

MUSTER, JOURNAL = map(os.path.abspath, sys.argv[4:6])
POOL = "pools: [{name: p, nodes: [{name: n, gpus: 8}]}]\n"


class Shell:
    def __init__(self, t, w):
        self.t = t
        self.w = w
        self.env = dict(os.environ, MUSTER_SOCKET=w.socket, MUSTER_SERVER="", NO_COLOR="1")

    def refused(self, what, status, code, *words, holds=""):
        """One line, which names the code and holds the text."""
        done = subprocess.run([MUSTER, *words], capture_output=True, text=True, env=self.env,
                              stdin=subprocess.DEVNULL, timeout=60)
        lines = done.stderr.splitlines()
        self.t.ok(done.returncode == status and len(lines) == 1 and not done.stdout and
                  lines[0].startswith(f"muster: {code}: ") and holds in lines[0], what,
                  f"muster {' '.join(words)}: {done.returncode}, not {status} {code} {holds}",
                  done.stderr, done.stdout)

    def file(self, name, data):
        path = f"{self.w.dir}/{name}"
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path


def wrong_words(s):
    no = s.refused
    no("a command that is not there", 2, "request.invalid", "frob", holds="frob")
    no("an option that is not there", 2, "request.invalid", "ps", "--frob", holds="'--frob'")
    no("a word that is missing", 2, "request.invalid", "why", holds="JOB is missing")
    no("a word too many", 2, "request.invalid", "why", "1", "2", holds="'2' is a word too many")
    no("a format that is not there", 2, "request.invalid", "ps", "-o", "xml", holds="table, wide")
    no("a job that is not there", 5, "request.not_found", "why", "4711")
    no("a job that is no number", 5, "request.not_found", "cancel", "abc")
    no("a number past 2^63", 5, "request.not_found", "show", "9" * 30)
    no("a queue that is not there", 5, "request.not_found", "ps", "--queue", "pink")
    no("a node that is not there", 5, "request.not_found", "node", "drain", "n99")
    no("a time that is none", 2, "request.invalid", "node", "drain", "box", "--by", "yesterday")
    no("a record that is not there", 5, "request.not_found", "journal", "show", "99999")
    no("a role that is not there", 2, "request.invalid", "token", "create", "x", "--role", "king")
    no("nothing to run", 2, "request.invalid", "submit", "-q", "red")


def wrong_requests(s):
    def no(what, status, code, *words, holds=""):
        s.refused(what, status, code, "submit", "-q", "red", *words, "--", "true", holds=holds)

    no("a part of a GPU as a count", 2, "request.invalid", "-g", "1.5", holds="share")
    no("less than no GPU", 2, "request.range", "-g", "-1")
    no("GPUs past 2^63", 2, "request.range", "-g", "9" * 25)
    no("a share that is not exact", 2, "request.range", "--share", "0.33333333")
    no("more GPUs than a node has", 4, "quota.over_pool", "-g", "9", holds="has 8")
    no("a profile that no card has", 4, "place.no_profile", "--mig", "9g.9gb")
    no("a gang on slices", 4, "place.slice_gang", "--mig", "1g.10gb", "--tasks", "2")
    no("a name that is none", 2, "request.invalid", "--name", "Bad Name")
    no("a signal that is none", 2, "request.invalid", "--signal", "FOO", holds="USR1")
    no("memory that nobody has", 4, "place.no_node", "-g", "1", "--memory", "900Ti")


def wrong_files(s):
    def no(what, code, data, holds="", name="j.yaml", status=2):
        s.refused(what, status, code, "submit", "-q", "red", s.file(name, data), holds=holds)

    run = 'command: ["true"]\n'
    no("an unknown field", "request.unknown_field", "gpsu: 1\n" + run, "j.yaml:1:1")
    no("a huge number", "request.range", "gpus: " + "9" * 25 + "\n" + run, "j.yaml:1:7")
    no("a negative number", "request.range", "gpus: -3\n" + run, "j.yaml:1:1")
    no("a tab", "request.syntax", "\tgpus: 3\n", "j.yaml:1:1")
    no("a list for a value", "request.syntax", "gpus: [1]\n" + run, "one value is wanted")
    no("wrong UTF-8", "request.syntax", b'name: "\xff"\n', "not UTF-8")
    no("an empty file", "request.syntax", "", "empty")
    no("a field twice", "request.syntax", "gpus: 1\ngpus: 2\n" + run, "j.yaml:2:1")
    no("two documents", "request.syntax", run + "---\n" + run, "one job")
    no("an unknown option of a script", "request.syntax", "#!/bin/sh\n#MUSTER --gpsu 1\n",
       "s.sh:2: no option --gpsu", "s.sh")
    no("a negative number in a script", "request.range", "#!/bin/sh\n#MUSTER --gpus=-1\n",
       "s.sh:2", "s.sh")
    no("a program for a script", "request.syntax", b"\x7fELF\x02\xff\xfe", "UTF-8", "s.sh")
    s.refused("a file that is not there", 5, "request.not_found", "submit", "nowhere.sh")
    s.refused("a folder", 1, "server.io", "submit", "/tmp")


def wrong_policies(s):
    def no(what, code, text, holds="", status=2):
        path = s.file("p.yaml", text)
        for words in (["check"], ["apply", "-y"]):
            s.refused(f"{what} ({words[0]})", status, code, "policy", *words, path, holds=holds)
        done = subprocess.run([s.w.musterd, "--check", path], capture_output=True, text=True)
        s.t.ok(done.returncode == status and f"[{code}]" in done.stderr and holds in done.stderr,
               f"{what} (musterd --check)", done)

    no("an unknown field", "request.unknown_field", POOL + "queues: [{name: a, wieght: 1}]\n",
       "p.yaml:2:20")
    no("a name twice", "policy.double", POOL + "queues: [{name: a}, {name: a}]\n", "p.yaml:2:28")
    no("a queue below itself", "policy.double", POOL + "queues: [{name: a, queues: [{name: a}]}]\n",
       "p.yaml:2:36")
    no("an anchor that would be a cycle", "policy.invalid",
       POOL + "queues: &x [{name: a, queues: *x}]\n", "p.yaml:2:9")
    no("reserves over capacity", "policy.overcommit",
       POOL + "queues: [{name: a, reserved: {p: 9}}]\n", "9 GPUs of 8")
    no("a negative reserve", "policy.invalid", POOL + "queues: [{name: a, reserved: {p: -1}}]\n",
       "p.yaml:2:34")
    no("a reserve past 2^63", "policy.invalid",
       POOL + "queues: [{name: a, reserved: {p: " + "9" * 25 + "}}]\n", "p.yaml:2:34")
    no("a negative weight", "policy.invalid", POOL + "queues: [{name: a, weight: -1}]\n",
       "write 0 to")
    no("a pool that is not there", "policy.invalid",
       POOL + "queues: [{name: a, reserved: {q: 1}}]\n", "p.yaml:2:34")
    no("wrong UTF-8", "request.syntax", (POOL + "queues: [{name: ").encode() + b"\xff}]\n", "UTF-8")
    no("an empty file", "policy.invalid", "", "pools: is missing")
    no("what is nested too deep", "request.too_large", "a: " + "[" * 100, "64 deep")
    no("more nodes than there may be", "policy.invalid",
       "pools: [{name: p, nodes: [{name: 'n[1-99999999]', gpus: 8}]}]\nqueues: [{name: a}]\n",
       "100000")
    s.refused("a policy that is not there", 5, "request.not_found", "policy", "check", "nope.yaml")


def daemon_refuses(t, w, what, status, code, *options, holds=""):
    done = subprocess.run([w.musterd, *options], capture_output=True, text=True, timeout=60)
    lines = [line for line in done.stderr.splitlines() if " level=" not in line]
    t.ok(done.returncode == status and len(lines) == 1 and
         lines[0].startswith(f"musterd: {code}: ") and holds in lines[0], what, done)


def wrong_starts(t, w):
    usual = ["--config", w.config, "--simulate", "--shepherd", w.shepherd, "--socket",
             w.dir + "/2.sock"]

    def no(what, status, code, *options, holds=""):
        daemon_refuses(t, w, what, status, code, *options, holds=holds)

    other = w.dir + "/other"
    no("musterd: an unknown option", 2, "request.invalid", "--frob", holds="'--frob'")
    no("musterd: a word", 2, "request.invalid", "start", holds='"start"')
    no("musterd: no configuration", 5, "request.not_found", "--config", w.dir + "/nope.yaml")
    no("musterd: simulated GPUs that nobody allowed", 2, "policy.invalid", "--config", w.config,
       "--state", other, "--socket", w.dir + "/3.sock", holds="--simulate")
    no("musterd: the state of another", 7, "server.locked", *usual, "--state", w.state, holds="pid")
    no("musterd: the socket of another", 7, "server.locked", *usual[:-1], w.socket, "--state",
       other)
    no("musterd: the whole network", 6, "auth.forbidden", *usual, "--state", other, "--listen",
       "0.0.0.0:8270", holds="loopback")
    no("musterd: an address that is none", 2, "request.invalid", *usual, "--state", other,
       "--listen", "foo")
    no("musterd: a file for a directory", 1, "server.io", *usual, "--state", w.config)
    no("musterd: half a path", 2, "request.invalid", *usual, "--state", "state", holds="whole path")


def damage(t, w):
    """Each is found by musterd and by muster-journal alike; nothing is changed by looking."""
    w.stop()

    def sql(*lines):
        def run(path):
            with sqlite3.connect(path + "/journal.db") as db:
                for name in ("journal_no_update", "journal_no_delete"):
                    db.execute(f"drop trigger {name}")
                for line in lines:
                    db.execute(line)
            db.close()
        return run

    def write(data):
        def run(path):
            with open(path + "/journal.db", "wb") as f:
                f.write(data)
        return run

    def cut(path):
        os.truncate(path + "/journal.db", 9000)

    def gone(path):
        os.unlink(path + "/journal.db")

    kinds = {
        "a record that was changed": sql("update journal set bytes = bytes || ' ' where seq = 3"),
        "a record that is gone": sql("delete from journal where seq = 5"),
        "the newest record gone": sql(
            "delete from journal where seq = (select max(seq) from journal)"),
        "a file cut short": cut,
        "a file of something else": write(b"garbage " * 100),
        "an empty file": write(b""),
        "a journal that is gone": gone,
    }
    for what, spoil in kinds.items():
        state = w.dir + "/spoilt"
        shutil.copytree(w.state, state)
        spoil(state)
        path = state + "/journal.db"
        before = open(path, "rb").read() if os.path.exists(path) else None
        daemon_refuses(t, w, f"{what}: musterd does not start", 1, "journal.damaged", "--config",
                       w.config, "--simulate", "--socket", w.dir + "/4.sock", "--shepherd",
                       w.shepherd, "--state", state, holds="journal.db")
        after = open(path, "rb").read() if os.path.exists(path) else None
        t.ok(after == before, f"{what}: and the file is as it was")
        if before is not None:
            done = subprocess.run([JOURNAL, "verify", state], capture_output=True, text=True)
            t.ok(done.returncode == 1 and done.stderr.startswith(
                "muster-journal: journal.damaged: "), f"{what}: verify finds it", done)
        shutil.rmtree(state)
    done = subprocess.run([JOURNAL, "verify", w.state], capture_output=True, text=True)
    t.ok(done.returncode == 0 and done.stdout.startswith("good: "), "the true one verifies", done)


def nothing_is_lost(t, w):
    job = w.run("exit 0", gpus=1)
    w.until_state(job, "succeeded")
    before = w.get("version")["journal_seq"]
    policy = w.get("policy")["digest"]
    s = Shell(t, w)
    wrong_words(s)
    wrong_requests(s)
    wrong_files(s)
    wrong_policies(s)
    wrong_starts(t, w)
    t.equal(w.get("version")["journal_seq"], before, "nothing of it is in the journal")
    t.equal(w.get("policy")["digest"], policy, "the policy is as it was")
    t.equal(len(w.get("jobs?all=true")["items"]), 1, "and so are the jobs")


def main():
    t = Tap()
    play(t, World(), nothing_is_lost, damage)
    t.end()


main()
