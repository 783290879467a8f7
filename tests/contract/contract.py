#!/usr/bin/env python3
"""musterd and its tests keep doc/openapi.yaml: lint of the document, then tests of tests/e2e with prism
between them and musterd.  usage: contract.py MUSTERD SHEPHERD EXAMPLES MUSTER_JOURNAL FOLDER

The tools (prism, redocly) come by npm into FOLDER, at the versions of package-lock.json, once; where
there is no node, no npm or no registry the test is skipped.

The document is made strict before it is used: what an answer holds must be described, not only what is
described be right.  A request that the document forbids is fine if musterd refuses it too, as a test
of refusals means it to."""
import collections
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import document

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
TESTS = ["daemon_contract", "daemon_api", "daemon_life", "daemon_afternoon", "journal_signed"]
NODE_LEAST = (20, 19)  # of redocly; prism takes 18.20
INSTALL_S = 300


class Report:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, lines, what):
        """lines: what is wrong, empty = nothing."""
        self.count += 1
        self.failed += bool(lines)
        print(f"{'not ok' if lines else 'ok'} {self.count} - {what}", flush=True)
        for line in lines[:60]:
            print(f"# {line}")

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


# ---- the tools ----

def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def node_version():
    text = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(n) for n in text.strip().lstrip("v").split(".")[:2])


def install(folder):
    """The folder of the programs; npm's own cache makes the second time quick."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip("needs node and npm")
    if node_version() < NODE_LEAST:
        skip("needs node %d.%d" % NODE_LEAST)
    with open(os.path.join(HERE, "package-lock.json"), "rb") as f:
        mark = os.path.join(folder, hashlib.sha256(f.read()).hexdigest()[:16])
    if not os.path.exists(mark):
        os.makedirs(folder, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), folder)
        try:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                                  cwd=folder, capture_output=True, text=True, check=False,
                                  timeout=INSTALL_S)
        except subprocess.TimeoutExpired:
            skip(f"npm ci took more than {INSTALL_S} s")
        if done.returncode != 0:
            skip("npm ci: " + (done.stderr.strip().splitlines() or ["failed"])[0])
        open(mark, "w").close()
    return os.path.join(folder, "node_modules", ".bin")


# ---- what was exchanged ----

def lines_of_violations(row):
    """What is against the document in one exchange."""
    lines = []
    for v in row["violations"]:
        asked = "request" in v.get("location", [])
        if asked and 400 <= row["status"] < 500:
            continue
        lines.append(f"{row['method']} {row['path']} -> {row['status']}: "
                     f"{'.'.join(map(str, v.get('location', [])))}: {v['message']}")
    return lines


def run_test(tools, name, folder, path):
    log = os.path.join(folder, name + ".log")
    open(log, "w").close()
    env = dict(os.environ, MUSTER_CONTRACT=os.path.join(tools, "prism"),
               MUSTER_CONTRACT_LOG=log, MUSTER_CONTRACT_DOCUMENT=path)
    done = subprocess.run([sys.executable, os.path.join(E2E, name + ".py"), *sys.argv[1:5]],
                          env=env, capture_output=True, text=True, check=False)
    with open(log) as f:
        rows = [json.loads(line) for line in f]
    bad = [line for line in done.stdout.splitlines() if line.startswith(("not ok", "#"))]
    if done.returncode != 0 and not bad:
        bad = [f"ended with {done.returncode}", *done.stderr.splitlines()[-10:]]
    return rows, bad


def check_exchanges(report, tools, api, folder):
    """Which operations answered well, and how often; which codes each gave."""
    path = os.path.join(folder, "openapi.json")
    with open(path, "w") as f:
        json.dump(document.strict(api), f)
    seen = collections.Counter()
    codes = collections.defaultdict(set)
    for name in TESTS:
        rows, bad = run_test(tools, name, folder, path)
        report.ok(bad, f"{name} passes with prism between it and musterd")
        lines = list(dict.fromkeys(line for row in rows for line in lines_of_violations(row)))
        report.ok(lines if rows else ["no exchange was noted"],
                  f"{name}: {len(rows)} exchanges keep the document")
        for row in rows:
            operation = document.operation_of(api, row["method"], row["path"])
            if row["status"] < 400:
                seen[operation] += 1
            elif operation is not None and row["code"] is not None:
                codes[operation].add(row["code"])
    return seen, codes


def lint(report, tools):
    done = subprocess.run([os.path.join(tools, "redocly"), "lint", "--config",
                           os.path.join(HERE, "redocly.yaml"), "--format", "json", document.SOURCE],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, REDOCLY_TELEMETRY="off",
                                   REDOCLY_SUPPRESS_UPDATE_NOTICE="true"))
    lines = []
    if done.returncode != 0:
        found = json.loads(done.stdout[done.stdout.index("{"):])["problems"]
        lines = [f"{p['ruleId']}: {p['message']} ({p['location'][0].get('pointer')})" for p in found]
    report.ok(lines, "redocly has nothing to say of the document")


def main():
    tools = install(os.path.abspath(sys.argv[5]))
    report = Report()
    api = document.load()
    lint(report, tools)
    with tempfile.TemporaryDirectory() as folder:
        seen, codes = check_exchanges(report, tools, api, folder)
    names = [operation["operationId"] for _, _, operation in document.operations(api)]
    report.ok([name for name in names if not seen[name]],
              f"each of the {len(names)} operations was asked for, with success")
    report.ok([f"{name}: {code}" for name in codes for code in sorted(codes[name])
               if code not in document.codes_of(api, name)],
              "each code that came is documented for its operation")
    report.end()


main()
