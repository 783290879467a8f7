#!/usr/bin/env python3
"""The packages on each release of Debian: built there with the unit tests and without a warning,
installed by apt into a system that has nothing else, and lived with; the upgrade is to a second
build.  The systems are made with debootstrap from the mirror of this machine and kept in the build
folder.  MUSTER_NOCHECK leaves the unit tests out.  Usage: package_releases.py SOURCES PLACE RELEASE..."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

from package_build import build_command, built, copy_sources, set_version, version_of, warnings_in
from package_life import play
from package_root import Root, enter_namespaces

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap  # noqa: E402


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def mirror():
    """Where apt of this machine has Debian from."""
    done = subprocess.run(["apt-get", "indextargets", "--format",
                           "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in done.stdout.splitlines():
        origin, label, uri = (line.split() + ["", "", ""])[:3]
        if origin == "Debian" and label == "Debian":
            return uri
    return None


def call(*words, **more):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def resolve(tree):
    for name in ("/etc/resolv.conf", "/etc/hosts"):
        if os.path.exists(name):
            shutil.copy(name, tree + name)


def make_system(tree, release, uri):
    """A minimal system, whole or not at all."""
    if os.path.isdir(tree):
        return
    aside = tree + ".part"
    shutil.rmtree(aside, ignore_errors=True)
    call("debootstrap", "--variant=minbase", release, aside, uri)
    os.rename(aside, tree)


def make_builder(base, sources):
    """The same with what a build needs; made anew when that changes.  Its tree."""
    with open(sources + "/debian/control", "rb") as f:
        needs = f.read().split(b"Build-Depends:")[1].split(b"Standards-Version")[0]
    tree = f"{base}-build-{hashlib.sha256(needs).hexdigest()[:12]}"
    for old in glob.glob(base + "-build*"):
        if old != tree:
            shutil.rmtree(old)
    aside = tree + ".part"
    if not os.path.isdir(tree):
        shutil.rmtree(aside, ignore_errors=True)
        call("cp", "-a", base, aside)
        resolve(aside)
        os.makedirs(aside + "/src")
        shutil.copytree(sources + "/debian", aside + "/src/debian")
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        call("chroot", aside, "apt-get", "update", "-q", env=env)
        call("chroot", aside, "sh", "-c", "cd /src && apt-get build-dep -y -q"
             " --no-install-recommends ./", env=env)
        os.rename(aside, tree)
    return tree


def trouble(log):
    """What matters of the log of a build that failed; the whole lies beside the packages."""
    lines = log.splitlines()
    found = [line for line in lines if re.search(
        r"^not ok|\[  FAILED|broken check|error:|\d+/\d+ .* (FAIL|ERROR|TIMEOUT) ", line)]
    return found[:60] + lines[-15:]


def build(t, root, sources, place, check):
    """Build in the root; the packages come to place.  MUSTER_KEEP_PACKAGES: those of the last time,
    to look at the rest of the story."""
    if os.environ.get("MUSTER_KEEP_PACKAGES"):
        return built(place, version_of(sources))
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    call("cp", "-a", sources, root.path("/tmp/src"))
    done = root.run("sh", "-c", "cd /tmp/src && exec " + " ".join(
        f"'{w}'" for w in build_command(check)), timeout=3000)
    with open(place + ".log", "w") as f:
        f.write(done.stdout)
    if not t.equal(done.returncode, 0, "the packages build" +
                   (", and the unit tests pass there" if check else ""), *trouble(done.stdout)):
        return None
    t.equal(warnings_in(done.stdout), [], "without a warning")
    for name in os.listdir(root.path("/tmp")):
        if name.endswith(".deb"):
            shutil.move(root.path("/tmp/" + name), place)
    shutil.rmtree(root.path("/tmp/src"))
    return built(place, version_of(sources))


def install_with_apt(root):
    """apt finds what the packages depend on; configuration that was changed is kept."""
    resolve(root.dir)
    root.good("apt-get", "update", "-q")
    # apt reads local files as another account, which must reach them
    return lambda debs: root.run("apt-get", "install", "-y", "-q", "--no-install-recommends",
                                 "-o", "APT::Sandbox::User=root", *root.put(*debs))


def check_release(t, sources, place, release, uri):
    base = f"{place}/{release}"
    try:
        make_system(base, release, uri)
        root = Root(make_builder(base, sources), f"{place}/{release}.overlay")
        files = build(t, root, sources, f"{place}/{release}.first",
                      check="MUSTER_NOCHECK" not in os.environ)
        newer_sources = f"{place}/newer"
        call("rm", "-rf", newer_sources)
        call("cp", "-a", sources, newer_sources)
        version = version_of(sources) + "+1"
        set_version(newer_sources, version)
        newer = files and build(t, root, newer_sources, f"{place}/{release}.second", check=False)
        root.close()
        if newer:
            clean = Root(base, f"{place}/{release}.overlay")
            play(t, clean, install_with_apt(clean), files, newer, version)
            clean.close()
    except (AssertionError, OSError, subprocess.SubprocessError) as e:
        t.ok(False, f"the system of {release} can be made", e)


def main():
    sources, place = map(os.path.abspath, sys.argv[1:3])
    for tool in ("debootstrap", "setpriv", "apt-get"):
        if not shutil.which(tool):
            skip(f"there is no {tool} here")
    why = enter_namespaces()
    if why:
        skip(why)
    uri = mirror()
    if not uri:
        skip("apt of this machine knows no mirror of Debian")
    os.makedirs(place, exist_ok=True)
    t = Tap()
    copy_sources(sources, place + "/src")
    for release in sys.argv[3:]:
        print(f"# {release}", flush=True)
        check_release(t, place + "/src", place, release, uri)
    t.end()


main()
