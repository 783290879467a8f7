"""What systemd would do with the unit: its command line, directories, limits and rights, without
systemd.  A stand-in for systemd-run starts supervisors as process 1 does: from outside, so that
they inherit nothing of what binds musterd."""
import os
import resource
import shlex
import signal
import subprocess
import threading
import time

# Sends its words to a pipe that the test reads, and does no more.
SYSTEMD_RUN = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
printf '%s\\n' "$*" > /run/muster-test.start
"""


def read_unit(path):
    """{section: {key: [values]}}; a line that ends with a backslash goes on."""
    sections, section = {}, None
    with open(path) as f:
        text = f.read().replace("\\\n", " ")
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = sections.setdefault(line.strip("[]"), {})
            continue
        key, _, value = line.partition("=")
        section.setdefault(key, []).append(value)
    return sections


class Service:
    """musterd in a root, as its unit says."""

    PLACES = ("/lib/systemd/system", "/usr/lib/systemd/system")

    def __init__(self, root):
        self.root = root
        self.process = None
        self.supervisors = []
        self.log = root.path("/tmp/musterd.log")
        self.stand_in()
        self.load()

    def load(self):
        files = [f"{p}/musterd.service" for p in self.PLACES]
        self.file = next(f for f in files if self.root.exists(f))
        self.unit = read_unit(self.root.path(self.file))["Service"]

    def one(self, key, default=""):
        return self.unit.get(key, [default])[-1]

    def variables(self):
        found = {}
        for name in self.unit.get("EnvironmentFile", []):
            path = self.root.path(name.lstrip("-"))
            if name[0] != "-" or os.path.exists(path):
                with open(path) as f:
                    lines = [line.strip() for line in f]
                found.update(line.split("=", 1) for line in lines if line and line[0] != "#")
        return found

    def command(self):
        variables = self.variables()
        words = []
        for word in shlex.split(self.one("ExecStart")):
            if word[0] == "$":
                words += shlex.split(variables.get(word[1:], ""))
            else:
                words.append(word)
        return words

    def directories(self):
        for key, below, usual in (("RuntimeDirectory", "/run", "0755"),
                                  ("StateDirectory", "/var/lib", "0755"),
                                  ("ConfigurationDirectory", "/etc", "0755")):
            path = self.root.path(f"{below}/{self.one(key)}")
            os.makedirs(path, exist_ok=True)
            os.chmod(path, int(self.one(key + "Mode", usual), 8))

    def rights(self):
        kept = self.one("CapabilityBoundingSet").lower().replace("cap_", "+").split()
        words = ["setpriv", "--bounding-set", ",".join(["-all", *kept])]
        if self.one("NoNewPrivileges") == "yes":
            words.append("--no-new-privs")
        return words

    # ---- process 1 ----

    def stand_in(self):
        """The pipe of the stand-in for systemd-run, and what starts what comes through it."""
        fifo = self.root.path("/run/muster-test.start")
        os.mkfifo(fifo, 0o600)
        os.makedirs(self.root.path("/usr/bin"), exist_ok=True)
        self.pipe = os.open(fifo, os.O_RDWR)
        threading.Thread(target=self.start_supervisors, daemon=True).start()

    def start_supervisors(self):
        with os.fdopen(self.pipe) as lines:
            for line in lines:
                self.supervisors.append(subprocess.Popen(
                    ["chroot", self.root.dir, *line.split()], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                    env=self.root.environment()))

    # ---- the service ----

    def start(self):
        self.load()
        self.root.write("/usr/bin/systemd-run", SYSTEMD_RUN, 0o755)
        os.makedirs(self.root.path("/run/systemd/system"), exist_ok=True)
        self.directories()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        files = min(int(self.one("LimitNOFILE", "1024")), hard)
        umask = int(self.one("UMask", "0022"), 8)

        def limits():
            os.umask(umask)
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                ["chroot", self.root.dir, *self.rights(), *self.command()], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, preexec_fn=limits,
                env={"PATH": self.root.environment()["PATH"], "LANG": "C.UTF-8"})
        self.until(self.answers, "musterd answers")
        os.rmdir(self.root.path("/run/systemd/system"))  # the scripts of packages look for it

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"musterd ended with {self.process.returncode}: {self.log_text()}")
        return self.root.run("muster", "version").returncode == 0

    def stop(self):
        """As the unit is stopped: SIGTERM to musterd alone."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(int(self.one("TimeoutStopSec", "90")))
        self.process = None
        return status

    def running_supervisors(self):
        return [p.pid for p in self.supervisors if p.poll() is None]

    def log_text(self):
        with open(self.log) as f:
            return f.read()

    def until(self, what, name, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if what():
                return
            time.sleep(0.1)
        raise AssertionError(f"{name}: not within {seconds} s\n{self.log_text()}")
