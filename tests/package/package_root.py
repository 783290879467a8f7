"""A root directory that packages are installed in: an overlay whose upper part is forgotten, so that
neither the machine nor the cached system below it is changed.

Processes that are started in it live in a PID namespace of the test and end with it."""
import glob
import os
import subprocess
import sys

INSIDE = "MUSTER_PACKAGE_INSIDE"


def enter_namespaces():
    """Run this program again with mounts and processes of its own; returns there.  None, or why it
    cannot be."""
    if os.environ.get(INSIDE):
        return None
    if os.geteuid() != 0:
        return "installing packages needs root"
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*unshare, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"no namespaces here: {done.stderr.strip()}"
    env = dict(os.environ, **{INSIDE: "1"})
    sys.exit(subprocess.run([*unshare, sys.executable, *sys.argv], env=env).returncode)


class Root:
    """Lower is a system (/ is this one).  ERR: OSError with what the mount said."""

    def __init__(self, lower, place):
        self.lower = lower.rstrip("/")
        self.dir = place + "/root"
        os.makedirs(place, exist_ok=True)
        self.call("mount", "-t", "tmpfs", "-o", "mode=0755", "muster-test", place)
        for name in ("upper", "work", "root"):
            os.mkdir(f"{place}/{name}")
        self.call("mount", "-t", "overlay", "muster-test", "-o",
                  f"lowerdir={lower},upperdir={place}/upper,workdir={place}/work", self.dir)
        self.call("mount", "-t", "proc", "proc", self.dir + "/proc")
        self.call("mount", "--rbind", "/dev", self.dir + "/dev")
        self.call("mount", "-t", "tmpfs", "-o", "mode=0755", "run", self.dir + "/run")
        self.call("mount", "-t", "tmpfs", "-o", "mode=1777", "tmp", self.dir + "/tmp")

    @staticmethod
    def call(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")

    def close(self):
        """Forget what was done in it."""
        self.call("umount", "--lazy", "--recursive", os.path.dirname(self.dir))

    def path(self, inside):
        return self.dir + inside

    def read(self, inside):
        with open(self.path(inside)) as f:
            return f.read()

    def write(self, inside, text, mode=0o644):
        with open(self.path(inside), "w") as f:
            f.write(text)
        os.chmod(self.path(inside), mode)

    def put(self, *files):
        """Copy files into /tmp of the root; their names there."""
        names = []
        for file in files:
            names.append("/tmp/" + os.path.basename(file))
            with open(file, "rb") as source, open(self.path(names[-1]), "wb") as to:
                to.write(source.read())
        return names

    def environment(self, extra=None):
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                **(extra or {})}

    def run(self, *words, user=None, timeout=600, env=None):
        """Its result, with both streams as one text in stdout."""
        start = ["setpriv", "--reuid", user, "--regid", user, "--init-groups"] if user else []
        return subprocess.run(["chroot", self.dir, *start, *words], text=True, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, env=self.environment(env))

    def good(self, *words, **options):
        done = self.run(*words, **options)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}")
        return done.stdout

    # What dpkg and the tools around it write by themselves.
    NOT_OURS = ("/proc", "/sys", "/dev", "/tmp", "/work", "/var/lib/dpkg", "/var/lib/apt",
                "/var/cache", "/var/log", "/root", "/home", "/etc/passwd", "/etc/shadow",
                "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/.pwd.lock")

    def names(self):
        """All that was added to the system below."""
        upper = os.path.dirname(self.dir) + "/upper"
        found = set()
        for top in (upper, self.dir + "/run"):
            for at, dirs, files in os.walk(top):
                inside = ("/run" if top != upper else "") + at[len(top):]
                for name in dirs + files:
                    path = f"{inside}/{name}"
                    if (not path.startswith(self.NOT_OURS) and self.exists(path) and
                            (top != upper or not os.path.lexists(self.lower + path))):
                        found.add(path)
        return found

    def names_of_packages(self):
        """All that packages which are installed now brought, as names() would tell them."""
        found = set()
        for path in glob.glob(self.path("/var/lib/dpkg/info/*.list")):
            with open(path) as f:
                for line in f.read().splitlines():
                    at, name = os.path.split(line)
                    at = os.path.realpath(self.path(at)).removeprefix(self.dir)  # /lib is /usr/lib
                    found.add(f"{at}/{name}")
        return found

    def exists(self, inside):
        return os.path.lexists(self.path(inside))
