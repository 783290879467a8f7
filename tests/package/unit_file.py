#!/usr/bin/env python3
"""The systemd unit: systemd takes it, and its exposure stays low.  Usage: unit_file.py UNIT"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from daemon_world import Tap  # noqa: E402
from package_unit import read_unit  # noqa: E402

THRESHOLD = 32  # tenths, of 100; systemd 252 says 3.2, and the scale may move with systemd

# What the unit must say, whatever the score.
MUST = {
    "KillMode": "process",  # tasks outlive musterd
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "IPAddressDeny": "any",
    "IPAddressAllow": "localhost",
    "MemoryDenyWriteExecute": "yes",
    "UMask": "0077",
    "StateDirectoryMode": "0711",
    "Restart": "on-failure",
    "RestartPreventExitStatus": "2 5",
}
RIGHTS = {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SYS_PTRACE"}


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def main():
    t = Tap()
    service = read_unit(sys.argv[1])["Service"]
    t.equal({k: service.get(k, [""])[-1] for k in MUST}, MUST, "the unit says what it must")
    t.equal(set(service["CapabilityBoundingSet"][-1].split()), RIGHTS, "and has five rights of root")
    if subprocess.run(["sh", "-c", "command -v systemd-analyze"],
                      stdout=subprocess.DEVNULL).returncode:
        t.ok(True, "systemd takes it # SKIP there is no systemd-analyze here")
        t.end()
    with tempfile.TemporaryDirectory() as place:
        # Where the program is not installed yet, one that is; the pages of the manual alike.
        with open(sys.argv[1]) as f:
            text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", f.read(), flags=re.M)
        path = place + "/musterd.service"
        with open(path, "w") as f:
            f.write(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
        done = analyze("verify", path)
        said = [line for line in done.stdout.splitlines() if "musterd.service" in line]
        t.equal((done.returncode, said), (0, []), "systemd takes it without a word")
        done = analyze("security", "--offline=yes", f"--threshold={THRESHOLD}", "--no-pager", path)
        level = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
        t.ok(done.returncode == 0 and level, f"its exposure is below {THRESHOLD / 10}: "
             f"{level.group(1) if level else '?'}", done.stdout)
    t.end()


main()
