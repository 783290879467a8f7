#!/usr/bin/env python3
"""Who is who: local accounts, users of the policy, whose account tasks run as; and a musterd that is
not root."""
import json
import os
import pwd
import shutil
import subprocess

from daemon_world import Answer, Tap, World, play

POLICY = """
pools:
- {name: main, nodes: [{name: box, gpus: 4, simulated: true}]}
queues:
- {name: red, reserved: {main: 2}}
- {name: blue}
users:
- {name: alice, account: daemon, queues: [red]}
- {name: bin, account: games, queues: [red]}
unknown_users: [blue]
"""


def ask(w, account, path, body=None, method=None):
    command = ["setpriv", f"--reuid={account}", "--clear-groups", "curl", "-s", "-w",
               "\n%{http_code}", "--unix-socket", w.socket, f"http://localhost/v1/{path}"]
    if body is not None:
        command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    if method is not None:
        command += ["-X", method]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    text, _, status = out.rpartition("\n")
    return Answer(int(status), text)


def who_is_who(t, w):
    t.equal(ask(w, "daemon", "whoami")["name"], "alice", "an account is its user")
    t.equal(ask(w, "games", "whoami")["name"], "bin", "whatever the user is called")
    a = ask(w, "bin", "whoami")
    t.equal((a.status, a["code"]), (401, "auth.unauthenticated"),
            "an account with another user's name is not that user", a)
    a = ask(w, "nobody", "whoami")
    t.equal((a["name"], a["queues"]), ("nobody", ["blue"]), "unknown accounts have their queues")
    t.ok("admin" in ask(w, "root", "whoami")["roles"], "root has all roles")
    t.equal(ask(w, "daemon", "whoami")["roles"], ["submit"], "others have what the policy says")


def whose_tasks(t, w):
    job = {"gpus": 1, "retries": 0, "command": ["/bin/sh", "-c", "id -un; cat " + w.state + "/people.json"]}
    a = ask(w, "daemon", "jobs", {**job, "queue": "red"})
    t.equal(a.status, 201, "a member submits", a)
    w.until_state(a["job"], "succeeded", "failed")
    t.equal(ask(w, "daemon", f"jobs/{a['job']}/logs").text, "daemon\n",
            "and its tasks run as the account")
    t.ok("denied" in w.logs(a["job"], "?stream=stderr").lower(), "which sees nothing of the state")
    b = ask(w, "daemon", "jobs", {**job, "queue": "blue"})
    t.equal((b.status, b["code"]), (403, "queue.denied"), "not to another's queue")
    b = ask(w, "daemon", "jobs", {**job, "queue": "red", "priority": 1})
    t.equal((b.status, b["code"]), (403, "queue.priority_denied"), "nor above the priority")
    for path, body in ((f"jobs/{a['job']}/logs", None), (f"jobs/{a['job']}/cancel", {}),
                       ("journal", None), ("nodes/box/drain", {}),
                       ("policy/apply", {"yaml": ""})):
        t.equal(ask(w, "nobody", path, body).status, 403, f"another account may not: {path}")
    t.equal(ask(w, "nobody", f"jobs/{a['job']}").status, 200, "but it sees the job")


def not_root(t):
    w = World(POLICY)
    uid = pwd.getpwnam("daemon").pw_uid
    os.chmod(w.dir, 0o755)
    os.mkdir(w.state, 0o700)
    os.chown(w.state, uid, -1)
    os.mkdir(w.dir + "/run", 0o755)
    os.chown(w.dir + "/run", uid, -1)
    w.socket = w.dir + "/run/m.sock"
    # Copies: the build may lie where only root may go.
    program = shutil.copy(w.musterd, w.dir + "/musterd")
    w.shepherd = shutil.copy(w.shepherd, w.dir + "/muster-shepherd")
    w.musterd = w.dir + "/as-daemon"
    with open(w.musterd, "w") as f:
        f.write(f'#!/bin/sh\nexec setpriv --reuid=daemon --regid=daemon --clear-groups {program} "$@"\n')
    os.chmod(w.musterd, 0o755)
    try:
        w.start()
        mine = ask(w, "daemon", "jobs", {"queue": "red", "command": ["/bin/sh", "-c", "id -un"]})
        t.equal(mine.status, 201, "a musterd that is not root runs its own account's jobs", mine)
        w.until_state(mine["job"], "succeeded")
        other = ask(w, "nobody", "jobs", {"queue": "blue", "command": ["true"]})
        t.equal((other.status, other["code"]), (403, "job.no_account"), "and refuses others'",
                other)
    finally:
        w.end()


def root_is_never_locked_out(t, w):
    foreign = POLICY.replace("- {name: bin,", "- {name: root, account: games-not-here}\n- {name: bin,")
    t.equal(w.post("policy/apply", {"yaml": foreign}).status, 200, "root's name is given away")
    me = ask(w, "root", "whoami")
    t.ok(me.status == 200 and me["name"] == "uid-0" and "admin" in me["roles"],
         "root is still who may mend it", me)
    w.kill()
    w.start()
    t.ok("is not what is in force" in w.log_text(), "a start tells that the file is not in force",
         w.log_text())
    t.equal(w.post("policy/apply", {"yaml": POLICY}).status, 200, "and does")
    t.equal(ask(w, "root", "whoami")["name"], "root", "and has its name again")


def main():
    t = Tap()
    w = World(POLICY)
    os.chmod(w.dir, 0o755)
    play(t, w, who_is_who, whose_tasks, root_is_never_locked_out)
    try:
        not_root(t)
    except (AssertionError, OSError, TypeError, KeyError) as e:
        t.ok(False, "musterd answers without being root", repr(e))
    t.end()


def can():
    try:
        for name in ("daemon", "bin", "games", "nobody"):
            pwd.getpwnam(name)
    except KeyError:
        return False
    return os.geteuid() == 0 and shutil.which("setpriv") and shutil.which("curl")


if can():
    main()
else:
    print("1..0 # SKIP needs root, setpriv, curl and the usual system accounts")
