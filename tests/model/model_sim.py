#!/usr/bin/env python3
"""A stand-in for `muster-sim case` that plays the strict reading of quota_model.py: with it
check_random.py is checked itself.  usage: model_sim.py [--fault NAME] case FILE...

--fault plays a scheduler with one known fault: eager (takes one victim too many), timid (never
reclaims), greedy (ignores what is never lent), blunt (stops whole jobs where shrinking is enough).
"""
import json
import sys

from quota_model import Job, Pool, Queue, pack


def read_case(path):
    with open(path) as f:
        d = json.load(f)
    queues = {}
    for q in d["queues"]:
        queues[q["name"]] = Queue(q["name"], queues.get(q["parent"]), q["reserved"], q["max"],
                                  q["lend_limit"], q["borrow_limit"], q["reclaim"],
                                  q["preempt_within"])
    jobs = [Job(j["name"], queues[j["queue"]], j["pods"], j["min_pods"], j["gpus_per_pod"],
                j["priority"], j["submitted"], j["preemptible"]) for j in d["jobs"]]
    nodes = [n["gpus"] for n in d["nodes"]]
    on = {j["name"]: [int(n[1:]) for n in j.get("on", [])] for j in d["jobs"]}
    return d["id"], Pool(sum(nodes), list(queues.values()), jobs), nodes, on


def free_of(pool, nodes, on, state):
    free = list(nodes)
    for name, tasks in state.items():
        for node in on[name][:tasks]:
            free[node] -= pool.jobs[name].gpus
    return free


def least_harm(pool, state, ways, fault):
    """One of the ways that no single victim less would do; whole jobs last, low priorities first."""
    ways = list(ways)
    if fault == "eager":
        return ways[-1] if ways else None

    def cost(way):
        gone = [n for n in way if way[n] < state[n]]
        used = pool.usage(way)
        whole = [n for n in gone if way[n] == 0]
        if fault == "blunt":
            whole = []
        below = [n for n in gone if used[pool.jobs[n].queue] < pool.jobs[n].queue.reserved]
        priorities = sorted((pool.jobs[n].priority for n in gone), reverse=True)
        return len(whole) > 0, len(below) > 0, priorities, len(gone), gone

    ways = [w for w in ways if fault == "blunt" or pool.minimal(state, w, ways)]
    if fault == "blunt":
        ways = [w for w in ways if all(w[n] in (0, state[n]) for n in w)] or ways
    return min(ways, key=cost, default=None)


def step(pool, nodes, on, state, evicted, fault):
    """One start or growth; False when nothing is left to do."""
    waiting = sorted(pool.jobs.values(), key=lambda j: (state[j.name] > 0, -j.priority,
                                                        j.submitted))
    for job in waiting:
        tasks = state[job.name]
        if tasks == job.pods:
            continue
        more = 1 if tasks else job.least

        def fits(after, job=job, more=more):
            return pack(free_of(pool, nodes, on, after), more, job.gpus)

        ways = pool.ways(state, job, more * job.gpus, False, fits, own=not tasks)
        if fault == "timid":
            ways = (w for w in ways if w == state)
        way = least_harm(pool, state, ways, fault) if fault == "eager" else None
        way = way or least_harm(pool, state, ways, fault)
        if way is None and fault == "greedy" and fits(state) and not tasks:
            way = state
        if way is None:
            continue
        evicted |= {n for n in way if way[n] < state[n]}
        for name in way:
            on[name] = on[name][:way[name]]
        free = free_of(pool, nodes, on, way)
        for _ in range(more):
            node = max(i for i, f in enumerate(free) if f >= job.gpus)
            free[node] -= job.gpus
            on[job.name].append(node)
        state.update(way)
        state[job.name] = tasks + more
        return True
    return False


def play(path, fault):
    name, pool, nodes, on = read_case(path)
    state = {n: len(on[n]) for n in pool.jobs}
    evicted = set()
    rounds = 0
    while rounds < 100 and step(pool, nodes, on, state, evicted, fault):
        rounds += 1
    pods, next_gpu = {}, [0] * len(nodes)
    for job, where in on.items():
        pods[job] = []
        for node in where:
            gpus = list(range(next_gpu[node], next_gpu[node] + pool.jobs[job].gpus))
            next_gpu[node] += pool.jobs[job].gpus
            pods[job].append({"node": "n%d" % node, "gpus": gpus})
    return {"id": name, "settled": rounds < 100, "pods": pods, "evicted": sorted(evicted)}


def main():
    args = sys.argv[1:]
    fault = None
    if args[0] == "--fault":
        fault, args = args[1], args[2:]
    for path in args[1:]:
        print(json.dumps(play(path, fault)))


if __name__ == "__main__":
    main()
