#!/usr/bin/python3
"""The init of the virtual machine for stories without systemd: file systems, the story, power off."""
import os
import subprocess
import time

os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
os.environ["MUSTER_PATIENCE"] = "10"  # the machine is emulated, on a host that may be busy


def mount(kind, where, options="defaults"):
    os.makedirs(where, exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", options, kind, where], check=True)


mount("tmpfs", "/run")
mount("tmpfs", "/tmp", "mode=1777")
mount("tmpfs", "/dev/shm", "mode=1777")
mount("cgroup2", "/sys/fs/cgroup")
with open("/muster/story") as f:
    story = f.read()
child = subprocess.Popen(["/usr/bin/python3", f"/muster/{story}.py", "/muster/musterd",
                          "/muster/muster-shepherd", "/muster/examples"], stdin=subprocess.DEVNULL)
while True:  # also what was orphaned
    pid, status = os.wait()
    if pid == child.pid:
        break
os.sync()
with open("/proc/sysrq-trigger", "w") as f:
    f.write("o")
time.sleep(60)
