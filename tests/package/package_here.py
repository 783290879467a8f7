#!/usr/bin/env python3
"""The packages on this release of Debian: built, looked at, and lived with in an overlay of this
machine's own root.  Usage: package_here.py SOURCES PLACE."""
import os
import subprocess
import sys

from package_build import (build_command, built, copy_sources, repack, version_of, warnings_in)
from package_life import play
from package_root import Root, enter_namespaces

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap  # noqa: E402


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def build(t, sources, place):
    """MUSTER_KEEP_PACKAGES: those of the last time, to look at the rest of the story."""
    if os.environ.get("MUSTER_KEEP_PACKAGES"):
        return built(place, version_of(place + "/src"))
    for name in os.listdir(place):
        if "_" in name:
            os.unlink(f"{place}/{name}")
    copy_sources(sources, place + "/src")
    env = dict(os.environ, PATH="/usr/lib/ccache:" + os.environ["PATH"])
    done = subprocess.run(build_command(check=False), cwd=place + "/src", text=True, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL)
    if not t.equal(done.returncode, 0, "the packages build", done.stdout[-3000:]):
        t.end()
    t.equal(warnings_in(done.stdout), [], "without a warning")
    return built(place, version_of(place + "/src"))


def lint(t, place, files):
    if subprocess.run(["sh", "-c", "command -v lintian"], stdout=subprocess.DEVNULL).returncode:
        t.ok(True, "lintian has nothing to say # SKIP there is no lintian here")
        return
    done = subprocess.run(["lintian", "--allow-root", "-EI", *files], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t.equal([line for line in done.stdout.splitlines() if line[:3] not in ("N: ", "")], [],
            "lintian has nothing to say")


def main():
    sources, place = map(os.path.abspath, sys.argv[1:3])
    for tool in ("dpkg-buildpackage", "dh", "setpriv"):
        if subprocess.run(["sh", "-c", f"command -v {tool}"], stdout=subprocess.DEVNULL).returncode:
            skip(f"there is no {tool} here")
    why = enter_namespaces()
    if why:
        skip(why)
    os.makedirs(place, exist_ok=True)
    t = Tap()
    files = build(t, sources, place)
    lint(t, place, files)
    version = version_of(place + "/src")
    newer = repack(files, version + "+1", place)
    root = Root("/", place + "/overlay")
    play(t, root, lambda debs: root.run("dpkg", "-i", *root.put(*debs)), files, newer, version)
    t.end()


main()
