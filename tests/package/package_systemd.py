#!/usr/bin/env python3
"""The packages under a real systemd, in the virtual machine of tests/vm.
Usage: package_systemd.py IMAGE RELEASES SOURCES: IMAGE is the folder of make-image, RELEASES that of
package_releases with the packages of two versions that it built for this release of Debian."""
import glob
import os
import platform
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
LIMIT_S = 3000


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def payload(path, packages):
    with tarfile.open(path, "w") as tar:
        for package in packages:
            tar.add(package, os.path.basename(package))
        tar.add(HERE + "/../e2e/daemon_world.py", "daemon_world.py")
        tar.add(HERE + "/vm_package_story.py", "vm_package_story.py")


def main():
    image, releases, sources = map(os.path.abspath, sys.argv[1:4])
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    packages = [p for p in glob.glob(f"{releases}/{release}.*/*.deb") if "-dbgsym" not in p]
    if len(packages) != 4:
        skip(f"no packages of two versions in {releases}: package_releases builds them")
    done = subprocess.run([sources + "/tests/vm/make-image", image], capture_output=True, text=True)
    if done.returncode == 77:
        skip((done.stdout + done.stderr).strip().splitlines()[-1])
    if done.returncode != 0:
        print(f"not ok 1 - the image of the machine is made\n# {done.stdout[-500:]}\n1..1")
        sys.exit(1)
    with tempfile.TemporaryDirectory(prefix="muster-vm-") as work:
        payload(work + "/payload.tar", packages)
        drives = []
        for disk in (image + "/root.img", work + "/payload.tar"):
            drives += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"]
        machine = subprocess.run(
            ["timeout", str(LIMIT_S), "qemu-system-x86_64", "-machine", "pc,accel=tcg", "-cpu", "max",
             "-m", "1024", "-smp", "2", "-nic", "none", "-display", "none", "-monitor", "none",
             "-serial", "stdio", "-kernel", image + "/vmlinuz", "-initrd", image + "/initrd", *drives,
             "-append", "console=ttyS0 quiet loglevel=1 no_timer_check panic=-1 "
             "systemd.show_status=no systemd.run=/muster/vm_package_story.py"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    lines = [line.strip() for line in machine.stdout.splitlines()]
    told = [line for line in lines if line.startswith(("ok ", "not ok ", "# ", "1.."))]
    print("\n".join(told))
    if not any(line.startswith("1..") for line in told):
        print("not ok - the story comes to its end", *lines[-20:], sep="\n# ")
        print("1..1")
    sys.exit(any(line.startswith("not ok") for line in told))


main()
