#!/usr/bin/env python3
"""What musterd answers is what doc/openapi.yaml says."""
import os
import sys

from daemon_world import Tap, UnixConnection, World, play

try:
    import jsonschema
    import document
except ImportError:
    print("1..0 # SKIP needs python3-jsonschema and python3-yaml")
    sys.exit(0)


class Contract:
    """Each answer against the schema of its operation, made strict: what it holds is described."""

    def __init__(self, t, w, api):
        self.t = t
        self.w = w
        self.api = api

    def response(self, method, template, status):
        responses = self.api["paths"][template][method.lower()]["responses"]
        found = responses.get(str(status)) or responses.get(f"{status // 100}XX")
        if found is not None and "$ref" in found:
            found = self.api["components"]["responses"][found["$ref"].split("/")[-1]]
        return found

    def check(self, method, template, path=None, body=None):
        path = path or template
        a = self.w.request(method, path, body)
        found = self.response(method, template, a.status)
        what = f"{method} {path} gives {a.status} as documented"
        if found is None:
            self.t.ok(False, what, "the status is not documented", a)
            return a
        content = found.get("content", {})
        if a.json is None:
            self.t.ok(a.type in content, what, f"{a.type} is not documented", a)
            return a
        schema = content.get("application/json", content.get("application/problem+json", {}))
        schema = dict(schema.get("schema", {}), components=self.api["components"])
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(a.json))
        self.t.ok(not errors, what, *[f"{list(e.absolute_path)}: {e.message[:200]}"
                                      for e in errors[:5]])
        return a


def events(c, w):
    """The stream does not end: its head and its first event are looked at."""
    connection = UnixConnection(w.asked())
    connection.request("GET", "/v1/events?from=1")
    r = connection.getresponse()
    first = r.readline().decode()
    connection.close()
    c.t.ok(r.status == 200 and r.headers["Content-Type"] == "text/event-stream"
           and first == "id: 1\n", "GET /v1/events is a stream as documented", first)


def run(t, w, c, policy):
    research = w.run("sleep 600", queue="research", gpus=8, tasks=4)
    w.until_state(research, "running")
    jobs = [research, w.run("sleep 600", queue="applied-ml", gpus=8, tasks=2),
            w.run("sleep 600", queue="development", mig="1g.10gb"),
            w.run("sleep 600", queue="research", share="0.5", hold=True)]
    waiting = w.run("sleep 600", queue="applied-ml", gpus=8, tasks=5)
    w.until_state(waiting, "queued")
    w.until_state(jobs[2], "running")
    c.check("GET", "/v1/jobs", "jobs?all=true")
    c.check("GET", "/v1/jobs/{job}/logs", f"jobs/{research}/logs?stream=stdout&tail=5")
    for job in jobs:
        c.check("GET", "/v1/jobs/{job}", f"jobs/{job}")
        c.check("GET", "/v1/jobs/{job}/why", f"jobs/{job}/why")
    for body in ({"command": ["true"]}, {"command": ["true"], "array": "0-1"}, {"nonsense": 1}):
        c.check("POST", "/v1/jobs", "jobs", {"queue": "research", **body})
    c.check("POST", "/v1/jobs", "jobs?dry_run=true", {"queue": "research", "command": ["true"]})
    for what in ("release", "hold", "requeue", "done", "checkpoint", "cancel"):
        for job in jobs[1:] + [waiting]:
            c.check("POST", "/v1/jobs/{job}/" + what, f"jobs/{job}/{what}", {})
    for path in ("queues", "pools", "nodes", "gpus", "policy", "journal", "tokens", "whoami",
                 "version"):
        c.check("GET", "/v1/" + path)
    c.check("GET", "/v1/queues/{queue}", "queues/research")
    c.check("GET", "/v1/nodes/{node}", "nodes/n8")
    c.check("POST", "/v1/nodes/{node}/drain", "nodes/n1/drain", {"reason": "dust"})
    c.check("POST", "/v1/nodes/{node}/resume", "nodes/n1/resume", {})
    for what in ("check", "plan", "apply"):
        c.check("POST", f"/v1/policy/{what}", None, {"yaml": policy, "file": "site.yaml"})
        c.check("POST", f"/v1/policy/{what}", None, {"yaml": "x: 1", "file": "site.yaml"})
    c.check("GET", "/v1/journal/{seq}", "journal/3")
    c.check("GET", "/v1/journal/export", "journal/export?from=2")
    c.check("GET", "/v1/journal/key")
    c.check("POST", "/v1/journal/key/rotate", None, {})
    c.check("POST", "/v1/journal/checkpoint", None, {})
    events(c, w)
    for page in ("/healthz", "/metrics", "/openapi.json"):
        c.check("GET", page)
    c.check("POST", "/v1/journal/verify", None, {})
    token = c.check("POST", "/v1/tokens", None, {"name": "a", "ttl": "1d"})
    c.check("GET", "/v1/tokens")
    c.check("DELETE", "/v1/tokens/{token}", f"tokens/{token['id']}")


def main():
    t = Tap()
    examples = sys.argv[3]
    with open(os.path.join(examples, "afternoon.yaml")) as f:
        policy = f.read()
    api = document.strict(document.load())
    play(t, World(policy), lambda t, w: run(t, w, Contract(t, w, api),
                                            policy.replace("h100: 24", "h100: 20")))
    t.end()


main()
