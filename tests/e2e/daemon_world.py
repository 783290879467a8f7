"""One musterd in a temporary directory, driven over its socket; and TAP."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "contract"))

# What every wait is multiplied by: on a slow machine (an emulated one) all takes longer.
PATIENCE = int(os.environ.get("MUSTER_PATIENCE", "1"))


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, what, *notes):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {what}", flush=True)
        if not good:
            self.failed += 1
            for note in notes:
                for line in str(note).splitlines():
                    print(f"# {line}", flush=True)
        return good

    def equal(self, have, want, what, *notes):
        return self.ok(have == want, what, f"have {have!r}", f"want {want!r}", *notes)

    def end(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60 * PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60 * PATIENCE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, body, kind=""):
        self.status = status
        self.type = kind.split(";")[0]
        self.text = body
        try:
            self.json = json.loads(body)
        except ValueError:
            self.json = None

    def __getitem__(self, key):
        return self.json[key]

    def __repr__(self):
        return f"{self.status} {self.text[:600]}"


class World:
    """musterd, its state, and what may be asked of it.  Paths: argv[1] musterd, argv[2]
    muster-shepherd, argv[3] the folder of examples."""

    def __init__(self, policy=None):
        self.musterd, self.shepherd, self.examples = sys.argv[1:4]
        # a socket's path has little room
        self.dir = tempfile.mkdtemp(prefix="md-", dir="/tmp")
        self.state = self.dir + "/state"
        self.socket = self.dir + "/m.sock"
        self.config = self.dir + "/muster.yaml"
        self.log = open(self.dir + "/log", "a+")
        self.process = None
        self.proxy = None  # of tests/contract, if the environment asks for one
        if policy is None:
            with open(self.examples + "/two-teams.yaml") as f:
                policy = f.read()
        self.write_policy(policy)

    def write_policy(self, text):
        with open(self.config, "w") as f:
            f.write(text)

    def start(self, *options, wait=True):
        self.process = subprocess.Popen(
            [self.musterd, "--config", self.config, "--state", self.state, "--socket", self.socket,
             "--simulate", "--shepherd", self.shepherd, *options],
            stderr=self.log, stdout=self.log)
        if wait:
            self.until(lambda: self.process.poll() is not None or self.alive(), "musterd answers")
            assert self.process.poll() is None, self.log_text()
        return self

    def asked(self):
        """The socket that requests go to: musterd's own, or a proxy's before it."""
        if "MUSTER_CONTRACT" not in os.environ:
            return self.socket
        if self.proxy is None:
            from proxy import Proxy
            self.proxy = Proxy(self.socket + ".p", self.socket)
        return self.proxy.path

    def alive(self):
        try:
            return self.get("version").status == 200
        except OSError:
            return False

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(60 * PATIENCE)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60 * PATIENCE)
        return self.process.returncode if self.process is not None else None

    def end(self):
        """Cancel what is left, so that no task outlives the test."""
        try:
            if self.process is not None and self.process.poll() is not None:
                self.start("--thaw")
            for job in self.get("jobs?limit=1000")["items"]:
                self.post(f"jobs/{job['job']}/cancel")
            self.until(lambda: not self.get("jobs")["items"], "all is cancelled")
        except (OSError, AssertionError, TypeError, KeyError):
            pass
        self.stop()
        if self.proxy is not None:
            self.proxy.end()
        self.log.close()
        if "KEEP" not in os.environ:
            shutil.rmtree(self.dir, ignore_errors=True)

    def log_text(self):
        with open(self.dir + "/log") as f:
            return f.read()

    def request(self, method, path, body=None, headers=None):
        c = UnixConnection(self.asked())
        headers = dict(headers or {})
        data = None
        if body is not None:
            data = body if isinstance(body, str) else json.dumps(body)
            headers["Content-Type"] = "application/json"
        try:
            c.request(method, path if path.startswith("/") else "/v1/" + path, data, headers)
            r = c.getresponse()
            return Answer(r.status, r.read().decode(), r.headers.get("Content-Type", ""))
        finally:
            c.close()

    def get(self, path, **headers):
        return self.request("GET", path, None, headers)

    def post(self, path, body=None, **headers):
        return self.request("POST", path, {} if body is None else body, headers)

    def submit(self, **fields):
        return self.post("jobs", fields)

    def run(self, script, queue="red", **fields):
        """Submit a shell line; the job's id."""
        answer = self.submit(queue=queue, command=["/bin/sh", "-c", script], **fields)
        assert answer.status == 201, answer
        return answer["job"]

    def state_of(self, job):
        return self.get(f"jobs/{job}")["state"]

    def until(self, what, name, seconds=60):
        seconds *= PATIENCE
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if what():
                return True
            time.sleep(0.05)
        raise AssertionError(f"{name}: not within {seconds} s\n{self.log_text()}")

    def until_state(self, job, *states, seconds=60):
        self.until(lambda: self.state_of(job) in states, f"job {job} is {' or '.join(states)}",
                   seconds)

    def until_says(self, job, text, tasks=1):
        """Each of its tasks has written the text: more than `running`, which only means started."""
        self.until(lambda: all(text in self.logs(job, f"?task={i}") for i in range(tasks)),
                   f"job {job} says {text!r}")

    def logs(self, job, query=""):
        return self.get(f"jobs/{job}/logs{query}").text

    def kinds(self, job=None):
        out = []
        cursor = "0"
        while cursor is not None:
            page = self.get(f"journal?limit=1000&cursor={cursor}" + (f"&job={job}" if job else ""))
            out += [r["kind"] for r in page["items"]]
            cursor = page["next"]
        return out


def play(t, w, *stories):
    """Each story(t, w) on one musterd, which is started first; what breaks is a failure that shows
    the log, and no task outlives it."""
    try:
        w.start()
        for story in stories:
            story(t, w)
    except Exception as e:  # a broken test is a failed one
        t.ok(False, "musterd answers, and in time", repr(e), w.log_text())
    finally:
        w.end()


def shepherds_of(state):
    """Pids of supervisors that work for this state directory."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if b"muster-shepherd" in line.split(b"\0")[0] and state.encode() in line:
            found.append(int(name))
    return found
