#!/usr/bin/env python3
"""One version everywhere.  Usage: release_version.py SOURCES MUSTERD MUSTER"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap  # noqa: E402


def find(path, pattern):
    with open(f"{sys.argv[1]}/{path}") as f:
        found = re.search(pattern, f.read(), re.M)
    return found.group(1) if found else None


def main():
    t = Tap()
    version = find("meson.build", r"version: '([^']+)'")
    t.equal(find("debian/changelog", r"\Amuster \(([^)]+)\)"), version, "the packages' changelog")
    t.equal(find("NEWS.md", r"^## ([0-9.]+)"), version, "the news")
    for program in sys.argv[2:]:
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
        t.equal(done.stdout.split()[1:2], [version], f"{os.path.basename(program)} --version")
    t.end()


main()
