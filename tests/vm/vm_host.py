#!/usr/bin/env python3
"""Boot the virtual machine with one story in it, and print what it says as TAP.

    vm_host.py CACHE STORY MUSTERD SHEPHERD MUSTER MUSTER_JOURNAL UNIT SOURCE

CACHE keeps the image (make-image).  STORY is the name of a file of this folder: its program runs in
the machine as its init's only child, or (first line `# systemd`) as a unit of a booted systemd.  The
machine has no network; /muster is a tar of programs and stories, and the root's changes live as long
as the machine: a reboot keeps them.
"""
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
LIMIT_S = 3400  # below the time that meson gives the test
DISKS_MIB = {"a": 32, "b": 1024}  # the second is for a log of what the first was told


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def make_image(cache):
    done = subprocess.run([f"{HERE}/make-image", cache], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode == 77:
        skip(lines[-1].removeprefix("make-image: "))
    if done.returncode != 0:
        print("\n".join("# " + line for line in lines))
        print("not ok 1 - the image of the machine is made\n1..1")
        sys.exit(1)


def payload(path, story, programs, unit, source):
    with tarfile.open(path, "w") as tar:
        for program in programs:
            tar.add(program, os.path.basename(program))
        tar.add(unit, "musterd.service")
        for folder in (f"{source}/tests/e2e", HERE):
            for name in os.listdir(folder):
                if name.endswith((".py", ".sh")):
                    tar.add(f"{folder}/{name}", name)
        tar.add(f"{source}/examples", "examples")
        about = tarfile.TarInfo("story")
        about.size = len(story)
        tar.addfile(about, io.BytesIO(story.encode()))


def command(cache, work, systemd):
    init = ("systemd.run=/muster/vm_unit.sh systemd.run_success_action=poweroff "
            "systemd.run_failure_action=poweroff" if systemd else "muster.init=/muster/vm_init.py")
    disks = [f"{cache}/root.img", f"{work}/payload.tar", f"{work}/a", f"{work}/b"]
    drives = []
    for disk in disks:
        drives += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"]
    return ["timeout", str(LIMIT_S), "qemu-system-x86_64", "-machine", "pc,accel=tcg",
            "-cpu", "max", "-m", "1024",
            "-smp", "2", "-nic", "none", "-display", "none", "-monitor", "none", "-serial", "stdio",
            "-kernel", f"{cache}/vmlinuz", "-initrd", f"{cache}/initrd", *drives, "-append",
            f"console=ttyS0 quiet loglevel=1 no_timer_check panic=-1 systemd.show_status=no {init}"]


class Listener:
    """Lines of the serial console: what is TAP is numbered anew and printed."""

    def __init__(self):
        self.count = self.failed = 0
        self.planned = None
        self.rest = []

    def take(self, line):
        line = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).strip()
        found = re.match(r"(not )?ok \d+( - .*)?$", line)
        if found:
            self.count += 1
            self.failed += found[1] is not None
            print(f"{found[1] or ''}ok {self.count}{found[2] or ''}", flush=True)
        elif line.startswith("# "):
            print(line, flush=True)
        elif re.match(r"1\.\.\d+$", line):
            self.planned = line
        elif line:
            self.rest = self.rest[-40:] + [line]

    def end(self, why):
        if self.planned is None:
            self.count += 1
            self.failed += 1
            print(f"not ok {self.count} - the story comes to its end", *self.rest, why, sep="\n# ")
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def main():
    cache, story, musterd, shepherd, muster, journal, unit, source = sys.argv[1:]
    with open(f"{HERE}/{story}.py") as f:
        systemd = "# systemd" in f.readline() + f.readline()
    make_image(cache)
    began = time.monotonic()
    listener = Listener()
    with tempfile.TemporaryDirectory(prefix="muster-vm-") as work:
        payload(f"{work}/payload.tar", story, (musterd, shepherd, muster, journal), unit, source)
        for disk, mib in DISKS_MIB.items():
            with open(f"{work}/{disk}", "wb") as f:
                f.truncate(mib << 20)
        machine = subprocess.Popen(command(cache, work, systemd), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, errors="replace")
        try:
            for line in machine.stdout:
                listener.take(line)
            machine.wait()
        finally:
            if machine.poll() is None:
                machine.terminate()
                machine.wait()
    print(f"# {time.monotonic() - began:.0f} s in the machine")
    listener.end(f"qemu ended with {machine.returncode}")


main()
