#!/usr/bin/env python3
"""bench/scale - the shapes of KAI Scheduler's in-process benchmarks, through muster's own core.

usage: bench/run scale [--runs N] [--keep FOLDER]

Every shape is written as a case, and `muster-sim case` runs it until nothing changes any more; a
time is its plan_us, the thread CPU time in the core from the first fact to the settled state (the
policy, the nodes, submissions and reports are in it, reading the case is not), the best of N runs
(3).  An outcome that is not the right one is no time: the exit status is 1.

allocate  one-GPU jobs in 4 queues of 2 departments, an empty cluster
mixed     the same, but every other job runs already
queues    one-GPU jobs in 20 queues of 5 departments
gang      gangs of 4 tasks of one GPU
reclaim   the cluster is full of one-GPU jobs of a queue without a reserve; a gang of whole nodes,
          a tenth of them, claims its reserve

KAI's figures are quoted, not measured here: commit 72de64fc, March 2026, on two cores, mean of
three (reclaim 1000: one run), the building of its session included.  The last line is
`scale VALUE times budget 100`, the smallest of KAI's time by ours; exit status 1 below the budget.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

BUDGET = 100
CARDS = 8
# name, nodes, jobs, departments, queues, tasks a job, ms of KAI
EMPTY = [("allocate", 100, 500, 2, 4, 1, 267),
         ("mixed", 100, 500, 2, 4, 1, 189),
         ("queues", 50, 200, 5, 20, 1, 155),
         ("gang", 50, 100, 2, 4, 4, 177)]
FULL = [("reclaim", 100, 330), ("reclaim", 500, 13100), ("reclaim", 1000, 125900)]


def queue(name, parent, reserved):
    return dict(name=name, parent=parent, reserved=reserved, borrow_limit=None, lend_limit=None,
                max=None, weight=1, reclaim="any", preempt_within="lower_priority")


def job(age, queue_name, tasks, gpus, node=None):
    made = dict(name=f"j{age}", queue=queue_name, priority=50, pods=tasks, min_pods=tasks,
                gpus_per_pod=gpus, submitted=age, preemptible=True, state="pending")
    return made if node is None else dict(made, state="running", on=[node])


def case(shape, node_count, queues, jobs):
    return dict(id=f"{shape}-{node_count}", title=shape, why="scale", tags=["scale"], source={},
                scope="universal", topology_levels=[], queues=queues, jobs=jobs, expect={},
                policy=dict(consolidation=False, nonpreemptible_may_borrow=False,
                            fair_share="none"),
                nodes=[dict(name=f"n{i}", gpus=CARDS) for i in range(node_count)])


def empty_case(shape, node_count, job_count, departments, leaves, tasks):
    """Work that finds room; nobody need be stopped."""
    queues = [queue(f"d{d}", None, None) for d in range(departments)]
    for leaf in range(leaves):
        queues.append(queue(f"q{leaf}", f"d{leaf * departments // leaves}",
                            node_count * CARDS // leaves))
    jobs = []
    for age in range(job_count):
        runs = shape == "mixed" and age % 2 == 0
        jobs.append(job(age, f"q{age % leaves}", tasks, 1,
                        f"n{age % node_count}" if runs else None))
    return case(shape, node_count, queues, jobs)


def full_case(shape, node_count):
    """No card is idle, and the last job is the owner's."""
    cards = node_count * CARDS
    jobs = [job(age, "borrower", 1, 1, f"n{age % node_count}") for age in range(cards)]
    jobs.append(job(cards, "owner", node_count // 10, CARDS))
    return case(shape, node_count, [queue("borrower", None, 0), queue("owner", None, cards)], jobs)


def wrong(c, got):
    """What is not as it must be, or nothing."""
    held = [(p["node"], g) for pods in got["pods"].values() for p in pods for g in p["gpus"]]
    whole = [j for j in c["jobs"] if len(got["pods"].get(j["name"], [])) == j["pods"]]
    evicted = set(got["evicted"])
    claim = c["jobs"][-1]
    cards = len(c["nodes"]) * CARDS
    if not got["settled"]:
        return "it did not settle"
    if len(set(held)) != len(held):
        return "a GPU is held twice"
    if claim["queue"] != "owner":
        return "" if len(whole) == len(c["jobs"]) and not evicted else "not every job runs"
    if claim not in whole or len(held) != cards:
        return "the claim does not run, or GPUs are idle"
    return "" if len(evicted) == claim["pods"] * CARDS else f"{len(evicted)} jobs were evicted"


def best_of(program, path, c, runs):
    """The smallest plan_us, and how many tasks were stopped or started."""
    best = None
    moved = 0
    for _ in range(runs):
        done = subprocess.run([program, "case", path], stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"bench-scale: {c['id']}: muster-sim ended with status {done.returncode}")
        got = json.loads(done.stdout)
        fault = wrong(c, got)
        if fault:
            sys.exit(f"bench-scale: {c['id']}: {fault}")
        best = got["plan_us"] if best is None else min(best, got["plan_us"])
        moved = len(got["evicted"]) + sum(j["pods"] for j in c["jobs"] if j["state"] == "pending")
    return max(best, 1), moved


def shapes():
    for shape, nodes, jobs, departments, leaves, tasks, peer_ms in EMPTY:
        yield empty_case(shape, nodes, jobs, departments, leaves, tasks), jobs, peer_ms
    for shape, nodes, peer_ms in FULL:
        yield full_case(shape, nodes), nodes * CARDS + 1, peer_ms


def main():
    parser = argparse.ArgumentParser(prog="bench/run scale")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", help="write the cases there, and leave them")
    args = parser.parse_args()
    program = os.path.join(os.environ.get("BUILD", "build-bench"), "muster-sim")
    growth = []
    ratios = []
    print(f"{'shape':10}{'nodes':>6}{'jobs':>6}{'muster us':>11}{'KAI ms':>9}{'times':>7}"
          f"{'moved':>7}{'us each':>9}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for c, jobs, peer_ms in shapes():
            path = os.path.join(folder, c["id"] + ".json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(c, f)
            us, moved = best_of(program, path, c, max(args.runs, 1))
            ratios.append(peer_ms * 1000 / us)
            if c["title"] == "reclaim":
                growth.append(us / moved)
            print(f"{c['title']:10}{len(c['nodes']):6}{jobs:6}{us:11}{peer_ms:9}{ratios[-1]:7.0f}"
                  f"{moved:7}{us / moved:9.1f}", flush=True)
    print("KAI: quoted, commit 72de64fc, March 2026, two cores")
    print(f"growth: a task moved took {growth[-1] / growth[0]:.1f} times as long at "
          f"{FULL[-1][1]} nodes as at {FULL[0][1]}")
    print(f"scale {int(min(ratios))} times budget {BUDGET}")
    return 0 if min(ratios) >= BUDGET else 1


sys.exit(main())
