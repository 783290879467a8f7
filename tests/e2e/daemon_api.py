#!/usr/bin/env python3
"""What is asked of musterd over HTTP: wrong requests, keys, tokens, policies, events."""
import json
import os

from daemon_world import Tap, UnixConnection, World, play


def wrong_requests(t, w):
    def wrong(body, status, code, field, what):
        a = w.post("jobs", body)
        t.equal((a.status, a["code"], a.json.get("field", "")), (status, code, field), what, a)

    good = {"queue": "red", "command": ["true"]}
    wrong({**good, "gpsu": 1}, 400, "request.unknown_field", "gpsu", "an unknown field")
    wrong({**good, "gpus": 0.5}, 400, "request.invalid", "gpus", "a float of GPUs")
    wrong({**good, "gpus": -1}, 400, "request.range", "gpus", "less than nothing")
    wrong({**good, "share": "0.33333"}, 400, "request.range", "share", "a share that is not exact")
    wrong({**good, "gpus": 1, "share": "0.5"}, 400, "request.invalid", "gpus", "two kinds at once")
    wrong({**good, "queue": "pink"}, 404, "request.not_found", "queue", "an unknown queue")
    wrong({**good, "priority": 1, "pools": ["x"]}, 404, "request.not_found", "pools[0]",
          "an unknown pool")
    wrong({**good, "time_limit": "12"}, 400, "request.invalid", "time_limit", "a bare number")
    wrong({**good, "groups": [{"gpus": 1}, {"min_tasks": 2}]}, 400, "request.range",
          "groups[1].min_tasks", "a field of a group")
    wrong({**good, "groups": [{}], "gpus": 1}, 400, "request.invalid", "gpus", "two forms at once")
    wrong({**good, "env": {"MUSTER_JOB": "1"}}, 400, "request.invalid", "env.MUSTER_JOB",
          "a variable of ours")
    wrong({**good, "gpus": 2 ** 63}, 400, "request.range", "", "a number past 2^63")
    wrong({**good, "name": "a\0b"}, 400, "request.syntax", "", "a text with a NUL")
    wrong({**good, "output": "log-%q"}, 400, "request.invalid", "output", "an unknown sign")
    wrong({"queue": "red"}, 400, "request.invalid", "command", "nothing to run")
    wrong({**good, "script": "x"}, 400, "request.invalid", "command", "two things to run")
    wrong({**good, "array": "5-1"}, 400, "request.invalid", "array", "an array backwards")
    wrong({**good, "gpus": 9}, 422, "quota.over_pool", "", "more than there is")
    a = w.get("jobs?stat=queued")
    t.equal((a.status, a["code"], a["field"]), (400, "request.unknown_field", "stat"),
            "an unknown parameter")
    t.equal(w.get("jobs/4711").status, 404, "a job that is not there")
    t.equal(w.get("jobs?state=asleep").status, 400, "a state that is not there")
    t.equal(w.post("journal/verify", "{").status, 400, "a body that is no JSON")


def dry_runs(t, w):
    a = w.post("jobs?dry_run=true", {"queue": "red", "gpus": 2, "command": ["true"]})
    t.equal((a.status, a["would"], a["why"]["blockers"]), (200, "start", []),
            "a dry run says that it would start, and nothing that it would wait for", a)
    t.ok(a["why"]["decision"]["text"], "and by which decision", a)
    a = w.post("jobs?dry_run=true", {"queue": "red", "gpus": 9, "command": ["true"]})
    t.equal((a.status, a["code"]), (422, "quota.over_pool"), "or why it could not", a)
    ids = [w.run("sleep 600", gpus=6), w.run("sleep 600", gpus=6)]
    w.until_state(ids[0], "running")
    a = w.post("jobs?dry_run=true", {"queue": "red", "gpus": 6, "command": ["true"]})
    t.ok(a["would"] == "wait" and a["why"]["blockers"] and a["passes"] == [],
         "or what it would wait for", a)
    a = w.post("jobs?dry_run=true", {"queue": "red", "gpus": 1, "command": ["true"]})
    t.equal((a["would"], a["passes"], a["why"]["blockers"]), ("start", [ids[1]], []),
            "or whom it would start before", a)
    for job in ids:
        w.post(f"jobs/{job}/cancel")
    w.until(lambda: not w.get("jobs")["items"], "both are gone")
    t.equal(len(w.get("jobs?all=true")["items"]), len(ids), "and submits nothing")


def keys(t, w):
    body = {"queue": "red", "gpus": 1, "command": ["true"]}
    key = {"Idempotency-Key": "k1"}
    first = w.request("POST", "jobs", body, key)
    again = w.request("POST", "jobs", body, key)
    t.equal((first.status, again.json), (201, first.json), "one key is one job")
    other = w.request("POST", "jobs", {**body, "gpus": 2}, key)
    t.equal((other.status, other["code"]), (422, "request.idempotency_mismatch"),
            "with another body it is an error")
    w.until_state(first["job"], "succeeded")
    w.kill()
    w.start()
    again = w.request("POST", "jobs", body, key)
    t.equal(again.json, first.json, "a key outlives kill -9")


def tokens(t, w):
    made = w.post("tokens", {"name": "ci", "roles": ["submit"], "ttl": "1h"})
    t.ok(made.status == 201 and made["token"].startswith("mst_"), "a token is made", made)
    auth = {"Authorization": "Bearer " + made["token"]}
    t.equal(w.get("whoami", **auth)["roles"], ["submit"], "and has its roles only")
    a = w.post("policy/apply", {"yaml": ""}, **auth)
    t.equal((a.status, a["code"]), (403, "auth.forbidden"), "so it applies no policy")
    listed = w.get("tokens")["items"]
    t.ok(len(listed) == 1 and "token" not in listed[0], "its text is never shown again", listed)
    t.ok(made["token"] not in w.get("journal/export").text, "nor is it in the journal")
    w.request("DELETE", "tokens/" + made["id"])
    t.equal(w.get("whoami", **auth).status, 401, "a revoked token is nobody")
    a = w.post("tokens", {"name": "x", "roles": ["king"]})
    t.equal((a.status, a["field"]), (400, "roles[0]"), "an unknown role is refused")
    a = w.post("tokens", {"name": "x", "roles": ["read"], "ttl": "0s"})
    t.equal((a.status, a["code"], a["field"]), (400, "request.range", "ttl"),
            "a life of 0 is not one without end")


def task_tokens(t, w):
    a = w.run("curl -s --unix-socket $MUSTER_SOCKET -X POST -H 'Content-Type: application/json' "
              "-H \"Authorization: Bearer $(cat $MUSTER_TOKEN_FILE)\" -d '{\"name\": \"step-1\"}' "
              "http://localhost/v1/jobs/$MUSTER_JOB/checkpoint", gpus=1)
    w.until_state(a, "succeeded", "failed")
    t.ok("job_checkpointed" in w.kinds(a), "a task tells its checkpoint with its own token",
         w.logs(a))


def logs(t, w):
    job = w.run("true", gpus=1)
    w.until_state(job, "succeeded")
    a = w.get(f"jobs/{job}/logs?task=1")
    t.equal((a.status, a["code"], a["field"]), (404, "request.not_found", "task"),
            "the log of a task that is not there is not an empty one")
    job = w.post("jobs", {"queue": "red", "gpus": 1, "retries": 0,
                          "script": "#!/no/such/sh\n"})["job"]
    w.until_state(job, "failed")
    t.ok("the program its #! line names is missing" in w.logs(job, "?stream=stderr"),
         "a script whose interpreter is missing says so", w.logs(job, "?stream=stderr"))


def policies(t, w):
    with open(w.config) as f:
        text = f.read()
    bad = w.post("policy/check", {"yaml": text.replace("main: 4", "main: x"), "file": "site.yaml"})
    t.equal((bad.status, bad["code"]), (422, "policy.invalid"), "a wrong policy is refused", bad)
    t.ok(bad["detail"].startswith("site.yaml:14:22: queues.red.reserved.main: is not an amount"),
         "at its line and column", bad)
    over = w.post("policy/check", {"yaml": text.replace("main: 4", "main: 5")})
    t.equal(over["code"], "policy.overcommit", "reserves beyond the capacity are refused")

    w.post("policy/check", {"yaml": text.replace("users:\n", "users:\n  - {name: eve}\n")})
    with open(w.state + "/people.json") as f:
        t.ok("eve" not in f.read(), "a check writes nobody down")

    long = w.run("sleep 600", gpus=6)
    w.until_state(long, "running")
    split = w.get(f"jobs/{long}")["split"]
    waits = w.run("sleep 600", gpus=6)
    lower = text.replace("reserved: {main: 4}", "reserved: {main: 3}\n    limit: {main: 5}")
    plan = w.post("policy/plan", {"yaml": lower})
    t.ok({"what": "queues.red.quotas.main.limit_gu", "from": "none", "to": "5 GPUs"}
         in plan["changes"], "a plan tells the changed settings", plan)
    t.ok(any(e["job"] == waits and "could never run" in e["text"] for e in plan["effects"]),
         "and the job that could never run", plan)
    t.ok(any("its limit would be 5" in e["text"] for e in plan["effects"]),
         "and the queue above its limit", plan)
    applied = w.post("policy/apply", {"yaml": lower, "file": "lower.yaml"})
    t.equal(applied.status, 200, "it is applied", applied)
    t.equal(w.state_of(long), "running", "and stops nothing")
    t.equal((split, w.get(f"jobs/{long}")["split"]), ("4+2", "3+3"),
            "what is borrowed of a running job is of now")
    shown = w.get("policy")
    t.equal((shown["text"], shown["file_differs"]), (lower, True), "its text is shown")
    w.kill()
    w.start()
    shown = w.get("policy")
    t.equal((shown["text"], shown["file_differs"]), (lower, True), "it outlives a restart")

    w.write_policy(text.replace("grace: 10s", "grace: 11s"))
    w.process.send_signal(1)
    w.until(lambda: "grace: 11s" in w.get("policy")["text"], "SIGHUP reads the file")
    t.ok(True, "a changed file is applied at SIGHUP")
    w.write_policy(text + "nonsense: true\n")
    w.process.send_signal(1)
    w.until(lambda: w.get("policy")["file_refused"], "the file is refused")
    shown = w.get("policy")
    t.ok("nonsense" in shown["file_refused"] and "grace: 11s" in shown["text"],
         "a wrong one is refused, and the policy in force stays", shown)
    w.until(lambda: "policy_refused" in w.kinds(), "the refusal is in the journal")
    t.ok(True, "which the journal says")
    for job in (long, waits):
        w.post(f"jobs/{job}/cancel")
        w.until_state(job, "cancelled")


def events(t, w):
    c = UnixConnection(w.socket)
    seq = int(w.get("version")["journal_seq"])
    c.request("GET", "/v1/events", None, {"Last-Event-ID": str(seq)})
    r = c.getresponse()
    t.equal(r.getheader("Content-Type").split(";")[0], "text/event-stream", "a stream opens")
    job = w.run("true", gpus=1)
    seen = []
    while not any(e["kind"] == "attempt_ended" for e in seen):
        line = r.readline().decode()
        if line.startswith("data: "):
            seen.append(json.loads(line[6:]))
    c.close()
    t.equal([int(e["seq"]) for e in seen], list(range(seq + 1, seq + 1 + len(seen))),
            "it resumes after the last event, without a gap")
    t.ok(seen[0]["kind"] == "job_submitted" and seen[0]["text"].startswith(f"job {job} "),
         "and tells each in words", seen[0])


def views(t, w):
    pools = w.get("pools")["items"]
    t.equal([(p["pool"], p["gpus"], p["simulated"]) for p in pools], [("main", "8", True)],
            "the pool says that it is simulated")
    t.equal(len(w.get("gpus")["items"]), 8, "eight GPUs are listed")
    page = w.get("gpus?limit=3")
    t.equal((len(page["items"]), page["next"]), (3, "3"), "page by page")
    t.equal([g["slot"] for g in w.get("gpus?limit=3&cursor=" + page["next"])["items"]], [3, 4, 5],
            "the next page goes on")
    job = w.run("sleep 600", gpus=6)
    w.until_state(job, "running")
    q = {x["queue"]: x["pools"][0] for x in w.get("queues")["items"]}
    t.equal((q["red"]["used_gpus"], q["red"]["borrowed_gpus"], q["blue"]["lent_gpus"]),
            ("6", "2", "2"), "borrowed and lent are told", q)
    shown = w.get(f"jobs/{job}")
    t.equal((shown["kind"], shown["split"], shown["reclaimable"]), ("mixed", "4+2", True),
            "of the job too")
    w.post("nodes/box/drain", {"reason": "dust"})
    t.equal(w.get("nodes/box")["drain"], True, "a node is drained")
    waits = w.run("true", gpus=1)
    why = w.get(f"jobs/{waits}/why")
    t.ok(why["blockers"] and all(b["code"].startswith("why.") for b in why["blockers"]),
         "why says what is in the way", why)
    w.post("nodes/box/resume")
    w.until_state(waits, "succeeded")
    t.ok(True, "and resumed")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")


def main():
    t = Tap()
    play(t, World(), wrong_requests, dry_runs, keys, tokens, task_tokens, logs, views,
         events, policies)
    t.end()


if os.geteuid() != 0:
    print("1..0 # SKIP the example's users are root")
else:
    main()
