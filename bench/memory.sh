#!/bin/sh
# bench/memory - bytes of a waiting job, with 100,000 of them over 400 queues; see bench/plan.c.
#
# How many nodes there are changes nothing a waiting job takes: a small cluster is filled sooner.
set -eu
exec "$BUILD/bench/bench-plan" --memory-only --nodes 1250 "$@"
