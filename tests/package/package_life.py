"""The life of the packages in one root: installed, started by the unit's own command line, upgraded
over a running job, removed, installed again, purged."""
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import UnixConnection, Answer  # noqa: E402
from package_unit import Service  # noqa: E402

CONFIG = "/etc/muster/muster.yaml"
DEFAULT = "/etc/default/musterd"
STATE = "/var/lib/muster"
POLICY = """# of this site
pools: [{name: main, nodes: [{name: here, gpus: 8, simulated: true}]}]
queues: [{name: everyone}]
users:
  - {name: root, account: self, roles: [submit, operator, admin, auditor], queues: [everyone]}
  - {name: alice, roles: [submit], queues: [everyone]}
"""

# Mode and owner of each file that matters beside its name.
MODES = {
    "/usr/bin/muster": 0o755,
    "/usr/sbin/musterd": 0o755,
    "/usr/libexec/muster/muster-shepherd": 0o755,
    "/usr/libexec/muster/muster-journal": 0o755,
    "/usr/libexec/muster/muster-sim": 0o755,
    "/usr/libexec/muster/muster-demo": 0o755,
    "/etc/muster": 0o755,
    CONFIG: 0o644,
    DEFAULT: 0o644,
}
STATE_MODES = {
    STATE: 0o711,
    STATE + "/journal.db": 0o600,
    STATE + "/people.json": 0o600,
    STATE + "/content": 0o700,
    STATE + "/attempts": 0o711,
    STATE + "/logs": 0o711,
    STATE + "/checkpoints": 0o711,
    "/run/muster": 0o755,
    "/run/muster/muster.sock": 0o666,
    "/run/muster/muster.sock.d": 0o700,
}


class Life:
    def __init__(self, tap, root, install):
        """install(files): how packages get into the root."""
        self.t = tap
        self.root = root
        self.install = install
        self.job = None

    def request(self, method, path, body=None):
        c = UnixConnection(self.root.path("/run/muster/muster.sock"))
        try:
            c.request(method, "/v1/" + path, body)
            r = c.getresponse()
            return Answer(r.status, r.read().decode())
        finally:
            c.close()

    def job_state(self, job):
        return self.request("GET", f"jobs/{job}")["state"]

    def modes(self, want, what):
        wrong = []
        for path, mode in want.items():
            try:
                st = os.lstat(self.root.path(path))
            except FileNotFoundError:
                wrong.append(f"{path}: is missing")
                continue
            if (stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid) != (mode, 0, 0):
                wrong.append(f"{path}: {stat.S_IMODE(st.st_mode):o} of {st.st_uid}:{st.st_gid}, "
                             f"not {mode:o} of 0:0")
        self.t.equal(wrong, [], what)

    # ---- the story ----

    def installed(self, files):
        root = self.root
        before = root.names()
        done = self.install(files)
        self.t.equal(done.returncode, 0, "the packages install", done.stdout)
        self.modes(MODES, "what is installed belongs to root, with the right modes")
        odd = [p for p in root.names() - before
               if not os.path.islink(root.path(p)) and
               (os.lstat(root.path(p)).st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH))]
        self.t.equal(odd, [], "nothing is set-user-id or writable by others")
        done = root.run("musterd", "--check", CONFIG)
        self.t.ok(done.returncode == 0 and "good" in done.stdout, "the first policy is good",
                  done.stdout)
        root.good("useradd", "--create-home", "alice")

    def first_start(self):
        t, root = self.t, self.root
        os.rename(root.path(CONFIG), root.path(CONFIG + ".away"))
        done = root.run("musterd", "--config", CONFIG)
        lines = done.stdout.splitlines()
        t.ok(done.returncode == 5 and len(lines) == 1 and CONFIG in lines[0] and
             "muster.yaml(5)" in lines[0], "without a policy one line says what to do", done.stdout)
        os.rename(root.path(CONFIG + ".away"), root.path(CONFIG))
        self.service = Service(root)
        self.service.start()
        t.ok(True, "musterd starts by the unit's own command line, with the unit's rights alone")
        self.modes(STATE_MODES, "its state is closed to others")
        t.equal(self.listening(), [], "and it listens on its socket alone")
        done = root.run("muster", "token", "create", "first", "--role", "admin")
        t.equal(done.returncode, 0, "root makes the first token", done.stdout)
        done = root.run("muster", "submit", "--queue", "everyone", "--", "true", user="alice")
        t.ok(done.returncode == 6 and "ask for an entry under users" in done.stdout,
             "others are refused until named", done.stdout)

    def listening(self):
        """Sockets of the network that musterd holds."""
        fds = f"/proc/{self.service.process.pid}/fd"
        held = {os.readlink(f"{fds}/{n}") for n in os.listdir(fds)}
        rows = []
        for table in ("tcp", "tcp6", "udp", "udp6"):
            with open(f"/proc/net/{table}") as f:
                rows += [line.split()[9] for line in f.readlines()[1:]]
        return [inode for inode in rows if f"socket:[{inode}]" in held]

    def changed_policy(self):
        root = self.root
        root.write(CONFIG, POLICY)
        root.write(DEFAULT, "MUSTERD_OPTIONS=--simulate\n")
        self.t.equal(self.service.stop(), 0, "musterd stops as the unit stops it")
        self.service.start()
        self.t.ok("simulated GPUs are allowed" in self.service.log_text(),
                  "options of /etc/default/musterd are taken")
        script = "trap '' HUP; for i in $(seq 600); do id -un; sleep 0.2; done"
        done = root.run("muster", "submit", "-q", "everyone", "-g", "2", "--", "sh", "-c", script,
                        user="alice", env={"HOME": "/home/alice"})
        self.t.equal(done.returncode, 0, "alice submits a job", done.stdout)
        self.job = int(done.stdout.split()[1])
        self.service.until(lambda: self.job_state(self.job) == "running", "the job runs")
        self.service.until(lambda: "alice" in self.output(), "it writes")
        self.t.ok(True, "and it runs as alice")

    def output(self):
        return self.request("GET", f"jobs/{self.job}/logs").text

    def upgraded(self, files, version):
        t, root = self.t, self.root
        supervisors = self.service.running_supervisors()
        tasks = self.request("GET", f"jobs/{self.job}")["tasks"]
        done = self.install(files)
        t.equal(done.returncode, 0, "an upgrade over a running job", done.stdout)
        t.ok(root.read(CONFIG) == POLICY and "simulate" in root.read(DEFAULT),
             "keeps what was configured")
        t.equal(self.service.running_supervisors(), supervisors, "and leaves its supervisor alone")
        quick = root.good("muster", "submit", "-q", "everyone", "-g", "1", "--", "sh", "-c",
                          "while [ ! -e /tmp/go ]; do sleep 0.1; done; exit 7", user="alice",
                          env={"HOME": "/home/alice"}).split()[1]
        self.service.until(lambda: self.job_state(quick) == "running", "a second job runs")
        self.service.stop()
        root.write("/tmp/go", "")
        lines = len(self.log_lines())
        self.service.until(lambda: len(self.service.running_supervisors()) == len(supervisors),
                           "the second job ends")
        self.service.start()
        shown = self.request("GET", f"jobs/{self.job}")
        t.equal((shown["state"], shown["attempt"], shown["tasks"]), ("running", 1, tasks),
                "the job is adopted with all it holds")
        self.service.until(lambda: len(self.log_lines()) > lines + 3, "it goes on")
        t.ok(True, "and goes on writing")
        self.service.until(lambda: self.job_state(quick) in ("failed", "queued"), "the end is told")
        t.equal(self.ends(quick), [7], "what ended while musterd was away is told")
        t.equal(self.request("GET", "version")["version"], version, "it is the new musterd")

    def ends(self, job):
        page = self.request("GET", f"journal?job={job}&kind=task_ended&limit=10")
        return [r["body"]["status"] for r in page["items"]]

    def log_lines(self):
        """As they lie on the disk: musterd may be away."""
        folder = self.root.path(f"{STATE}/logs/{self.job}")
        lines = []
        for name in os.listdir(folder):
            with open(f"{folder}/{name}") as f:
                lines += f.read().splitlines()
        return lines

    def removed(self):
        t, root = self.t, self.root
        hashed = self.request("POST", "journal/verify", "{}")
        self.service.stop()  # as the script before the removal asks systemd to
        done = root.run("dpkg", "--remove", "musterd", "muster-cli")
        t.equal(done.returncode, 0, "the packages are removed", done.stdout)
        left = [p for p in ("/usr/bin/muster", "/usr/sbin/musterd", "/usr/libexec/muster",
                            self.service.file) if root.exists(p)]
        t.equal(left, [], "programs and unit are gone")
        self.modes({STATE: 0o711, STATE + "/journal.db": 0o600, CONFIG: 0o644, DEFAULT: 0o644},
                   "state and configuration are kept")
        before = len(self.log_lines())
        self.service.until(lambda: len(self.log_lines()) > before + 3, "the job runs on")
        t.ok(True, "and the job runs on")
        return hashed

    def installed_again(self, files, hashed):
        done = self.install(files)
        self.t.equal(done.returncode, 0, "the packages are installed again", done.stdout)
        self.service.start()
        self.t.equal(self.job_state(self.job), "running", "the job is adopted")
        again = self.request("POST", "journal/verify", "{}")
        self.t.ok(again["ok"] and int(again["records"]) > int(hashed["records"]),
                  "and the journal goes on where it was", again, hashed)

    def purged(self, files):
        t, root = self.t, self.root
        self.service.stop()
        done = root.run("dpkg", "--purge", "musterd", "muster-cli")
        t.equal(done.returncode, 0, "a purge while a task runs", done.stdout)
        t.ok("tasks still run" in done.stdout and root.exists(STATE + "/journal.db"),
             "keeps the state and says so", done.stdout)
        t.ok(not root.exists("/etc/muster") and not root.exists(DEFAULT),
             "but not the configuration")
        done = self.install(files)
        root.write(CONFIG, POLICY)
        root.write(DEFAULT, "MUSTERD_OPTIONS=--simulate\n")
        self.service.start()
        root.good("muster", "cancel", str(self.job))
        self.service.until(lambda: not self.service.running_supervisors(), "the job ends")
        self.service.stop()
        done = root.run("dpkg", "--purge", "musterd", "muster-cli")
        t.equal(done.returncode, 0, "a purge after all has ended", done.stdout)

    def left_behind(self, before):
        """Logs and checkpoints of jobs, which are their owners', and nothing else."""
        before |= self.root.names_of_packages()  # what apt installed because of them
        left = sorted(p for p in self.root.names() - before if not p.endswith(".pyc") and
                      not p.startswith((STATE + "/logs", STATE + "/checkpoints")))
        self.t.equal(left, [STATE], "leaves the logs and checkpoints of jobs, and nothing else")
        self.t.ok(self.log_lines(), "which are whole")


def play(tap, root, install, files, newer, version):
    """All of it.  files and newer: the packages of two versions; version: what the newer says."""
    life = Life(tap, root, install)
    before = root.names()
    try:
        life.installed(files)
        life.first_start()
        before |= {"/usr/bin/systemd-run", "/run/muster-test.start", "/run/systemd"}
        life.changed_policy()
        life.upgraded(newer, version)
        hashed = life.removed()
        life.installed_again(newer, hashed)
        life.purged(newer)
        life.left_behind(before)
    except Exception as e:  # a broken test is a failed one
        log = life.service.log_text() if hasattr(life, "service") else ""
        tap.ok(False, "the story goes on", repr(e), log)
