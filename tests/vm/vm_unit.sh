#!/bin/sh
# What the booted systemd of the machine runs: the story, with its TAP on the serial console.
export MUSTER_PATIENCE=10 # the machine is emulated, on a host that may be busy
exec python3 "/muster/$(cat /muster/story).py" /muster/musterd /muster/muster-shepherd \
    /muster/examples >/dev/ttyS0 2>&1
