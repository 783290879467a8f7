#!/usr/bin/env python3
"""What musterd answers is what doc/openapi.yaml says."""
import os
import sys
import time

from daemon_world import Tap, World, play

try:
    import jsonschema
    import yaml
except ImportError:
    print("1..0 # SKIP needs python3-jsonschema and python3-yaml")
    sys.exit(0)


class Contract:
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
        path = path or template.removeprefix("/v1/")
        a = self.w.request(method, path, body)
        found = self.response(method, template, a.status)
        what = f"{method} {path} gives {a.status} as documented"
        if found is None:
            self.t.ok(False, what, "the status is not documented", a)
            return a
        content = found.get("content", {})
        schema = content.get("application/json", content.get("application/problem+json", {}))
        schema = dict(schema.get("schema", {}), components=self.api["components"])
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(a.json))
        self.t.ok(not errors, what, *[f"{list(e.absolute_path)}: {e.message[:200]}"
                                      for e in errors[:5]])
        return a


def run(t, w, c, policy):
    research = w.run("sleep 50", queue="research", gpus=8, tasks=4)
    w.until_state(research, "running")
    jobs = [research, w.run("sleep 50", queue="applied-ml", gpus=8, tasks=2),
            w.run("sleep 50", queue="development", mig="1g.10gb"),
            w.run("sleep 50", queue="research", share="0.5", hold=True)]
    time.sleep(0.5)
    c.check("GET", "/v1/jobs", "jobs?all=true")
    for job in jobs:
        c.check("GET", "/v1/jobs/{job}", f"jobs/{job}")
        c.check("GET", "/v1/jobs/{job}/why", f"jobs/{job}/why")
    for body in ({"command": ["true"]}, {"command": ["true"], "array": "0-1"}, {"nonsense": 1}):
        c.check("POST", "/v1/jobs", "jobs", {"queue": "research", **body})
    c.check("POST", "/v1/jobs", "jobs?dry_run=true", {"queue": "research", "command": ["true"]})
    for what in ("release", "hold", "requeue", "done", "checkpoint", "cancel"):
        for job in jobs[1:]:
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
    c.check("POST", "/v1/journal/verify", None, {})
    token = c.check("POST", "/v1/tokens", None, {"name": "a", "ttl": "1d"})
    c.check("GET", "/v1/tokens")
    c.check("DELETE", "/v1/tokens/{token}", f"tokens/{token['id']}")


def main():
    t = Tap()
    examples = sys.argv[3]
    with open(os.path.join(examples, "afternoon.yaml")) as f:
        policy = f.read()
    with open(os.path.join(examples, "..", "doc", "openapi.yaml")) as f:
        api = yaml.safe_load(f)
    play(t, World(policy), lambda t, w: run(t, w, Contract(t, w, api),
                                            policy.replace("h100: 24", "h100: 20")))
    t.end()


main()
