#!/usr/bin/env python3
"""Random small cases through the real core, judged by the rules of quota_model.py.

usage: check_random.py [--cases N] [--seed S] [--mode M] [--workers W] [--save DIR] [--as-is]
           --sim PROGRAM

PROGRAM is run as `PROGRAM case FILE...` and prints one JSON object a case.  What is asked of the
settled outcome: nothing past a limit, a lend or a borrow limit; no task too many on a node and no
gang in part; nothing waits that may run, with lawful victims if need be; who was stopped was a
lawful victim that could not have stayed; non-preemptible jobs were never stopped.  The smallest
case that still fails is printed, and written to DIR.  TAP on standard output.
"""
import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from quota_model import Queue, pack
from random_case import MODES, Case, random_case

STATES_MAX = 600  # of an exploration; a case that needs more is not judged by it
JOBS_MAX = 10  # likewise
BATCH = 200  # cases a process of the program


# ---- what the program made of the cases ----

def run_cases(sim, cases):
    """Outcomes by case name; a case whose run failed has none."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for case in cases:
            paths.append(os.path.join(folder, case.name + ".json"))
            with open(paths[-1], "w") as f:
                f.write(json.dumps(case.to_json()))
        done = subprocess.run(sim + ["case"] + paths, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600, check=False)
    outcomes = {}
    for line in done.stdout.decode().splitlines():
        if line.strip():
            outcome = json.loads(line)
            outcomes[outcome["id"]] = outcome
    lacking = [case for case in cases if case.name not in outcomes]
    if lacking and len(cases) > 1:  # one that ends the program takes no other with it
        for case in lacking:
            outcomes.update(run_cases(sim, [case])[0])
    return outcomes, done.stderr.decode()


# ---- the judgement ----

def final_state(case, outcome):
    return {name: len(outcome["pods"].get(name, [])) for name in case.pool.jobs}


def check_places(case, outcome):
    taken = {}
    for name, pods in outcome["pods"].items():
        job = case.pool.jobs[name]
        if pods and not job.least <= len(pods) <= job.pods:
            return "%s runs with %d tasks" % (name, len(pods))
        for pod in pods:
            node = int(pod["node"][1:])
            if len(set(pod["gpus"])) != job.gpus:
                return "a task of %s holds GPUs %s" % (name, pod["gpus"])
            for gpu in pod["gpus"]:
                if (node, gpu) in taken:
                    return "GPU %d of n%d is held by %s and %s" % (
                        gpu, node, name, taken[node, gpu])
                if not 0 <= gpu < case.nodes[node]:
                    return "n%d has no GPU %d" % (node, gpu)
                taken[node, gpu] = name
    return None


def fits_on_nodes(case, outcome, job, tasks):
    """Placement is a question only where cards lie on several nodes; there no job is elastic."""
    if len(case.nodes) == 1:
        return None
    on = {name: [int(p["node"][1:]) for p in pods] for name, pods in outcome["pods"].items()}
    return lambda after: pack(case.free(after, on), tasks, job.gpus)


def check_waits(case, outcome, state):
    """Nothing waits that has to run."""
    for name, job in case.pool.jobs.items():
        tasks = 1 if state[name] else job.least
        fits = fits_on_nodes(case, outcome, job, tasks)
        must = case.pool.must_grow if state[name] else case.pool.must_start
        way = must(state, job, fits)
        if way is not None:
            gone = {n: state[n] - way[n] for n in state if way[n] < state[n]}
            return "%s waits%s, but may %s: %s" % (
                name, " with one more task" if state[name] else "",
                "start" if not state[name] else "grow",
                "victims would be %s" % gone if gone else "it fits and nobody has to go")
    return None


def check_stopped(case, outcome):
    for name in outcome.get("evicted", []):
        if not case.pool.jobs[name].preemptible:
            return "%s is not preemptible and was stopped" % name
    return None


def single_claim(case, state, evicted):
    """The waiting job, if the outcome is one claim met by one set of victims."""
    waiting = [n for n, tasks in case.state.items() if not tasks]
    if len(waiting) != 1 or state[waiting[0]] != case.pool.jobs[waiting[0]].least:
        return None
    for name, tasks in case.state.items():
        if name != waiting[0] and (state[name] > tasks or (state[name] < tasks) !=
                                   (name in evicted)):
            return None
    return case.pool.jobs[waiting[0]]


def harm(case, job, after):
    """What rule 6 compares first; only what has one reading: inelastic jobs."""
    gone = [case.pool.jobs[n] for n in after if after[n] < case.state[n]]
    shown = case.pool.reach(case.pool.usage(after))
    below = any(shown[q] < case.pool.total[q] for g in gone
                for q in case.pool.below_common(g.queue, job.queue))
    own = any(g.queue is job.queue for g in gone)
    queues = {g.queue for g in gone}
    order = sorted((g.priority for g in gone), reverse=True)
    return below, own, (queues.pop() if len(queues) == 1 else None), order


def check_victims(case, outcome, state):
    """Where one claim explains the outcome, its victims are lawful, needed and the least harm."""
    evicted = set(outcome.get("evicted", []))
    job = single_claim(case, state, evicted)
    if not evicted:
        return None
    if job is None:
        return None
    pool, gpus = case.pool, job.least * job.gpus
    after = {n: 0 if n == job.name else state[n] for n in state}
    fits = None
    if len(case.nodes) > 1:
        def fits(s):
            return pack(case.free(s), job.least, job.gpus)
    wide = list(pool.ways(case.state, job, gpus, True, fits))
    strict = list(pool.ways(case.state, job, gpus, False, fits))
    gone = sorted(evicted)
    if after not in wide:
        return "%s are no lawful and sufficient victims for %s" % (gone, job.name)
    if not pool.minimal(case.state, after, strict):
        return "of %s one could have stayed" % gone
    if all(j.least == j.pods for j in pool.jobs.values()):
        mine = harm(case, job, after)
        for other in strict:
            theirs = harm(case, job, other)
            if not pool.minimal(case.state, other, strict):
                continue
            names = sorted(n for n in other if other[n] < case.state[n])
            if theirs[:2] < mine[:2]:
                return "%s were stopped, %s would have been less harm" % (gone, names)
            shorter = min(len(mine[3]), len(theirs[3]))  # a list that ends first says nothing
            if theirs[:2] == mine[:2] and theirs[2] is mine[2] is not None and \
                    theirs[3][:shorter] < mine[3][:shorter]:
                return "%s were stopped, %s have lower priorities" % (gone, names)
    elif any(state[n] == 0 for n in evicted):
        for other in strict:
            if all(t > 0 or n == job.name or case.state[n] == 0 for n, t in other.items()):
                return "a whole job of %s was stopped where shrinking was enough" % gone
    return None


def successors(case, state):
    for name, job in case.pool.jobs.items():
        tasks = state[name]
        if tasks and not job.least <= tasks < job.pods:
            continue
        more = 1 if tasks else job.least
        strict = list(case.pool.ways(state, job, more * job.gpus, False, own=not tasks))
        for after in case.pool.ways(state, job, more * job.gpus, True):
            if case.pool.minimal(state, after, strict):
                gone = {n for n in state if after[n] < state[n]}
                yield dict(after, **{name: tasks + more}), gone


def check_reached(case, outcome, state):
    """Is the outcome one that lawful steps lead to, in whatever order?  Of those that were stopped
    only jobs that ran at first are compared: a job whose nomination is taken over never started."""
    if len(case.nodes) > 1 or len(case.pool.jobs) > JOBS_MAX:
        return None
    ran = {n for n, tasks in case.state.items() if tasks}
    want = (tuple(state.values()), frozenset(outcome.get("evicted", [])) & ran)
    first = (tuple(case.state.values()), frozenset())
    seen, todo = {first}, [first]
    while todo:
        tasks, gone = todo.pop()
        if (tasks, gone) == want:
            return None
        for after, more in successors(case, dict(zip(case.state, tasks))):
            then = (tuple(after.values()), gone | (more & ran))
            if then not in seen and then[1] <= want[1]:
                if len(seen) > STATES_MAX:
                    return None
                seen.add(then)
                todo.append(then)
    return "no lawful steps lead to %s with %s stopped" % (
        {n: t for n, t in state.items() if t}, sorted(want[1]))


def judge(case, outcome):
    """What is wrong, in words that begin with the name of the check, or None."""
    if outcome is None:
        return "run: no outcome was printed"
    if not outcome.get("settled"):
        return "settled: it does not settle"
    state = final_state(case, outcome)
    try:
        checks = (("place", check_places(case, outcome)),
                  ("quota", case.pool.broken(state, case.state)),
                  ("nonpreemptible", check_stopped(case, outcome)),
                  ("waits", check_waits(case, outcome, state)),
                  ("victims", check_victims(case, outcome, state)),
                  ("reached", check_reached(case, outcome, state)))
    except OverflowError:
        return None
    for name, wrong in checks:
        if wrong:
            return "%s: %s" % (name, wrong)
    return None


# ---- making a failing case small ----

def smaller(case):
    """Cases with one job or one setting less."""
    from quota_model import Pool
    for drop in list(case.pool.jobs):
        jobs = [j for n, j in case.pool.jobs.items() if n != drop]
        state = {n: t for n, t in case.state.items() if n != drop}
        pool = Pool(case.pool.capacity, case.pool.queues, jobs)
        yield Case(case.name, pool, case.nodes, state, case.on)
    for i, queue in enumerate(case.pool.queues):
        for field, value in (("borrow", 10**9), ("limit", 10**9), ("lend", 10**9),
                             ("reclaim", "any"), ("preempt_within", "lower_priority")):
            if getattr(queue, field) != value:
                yield changed(case, i, field, value)
        if queue.children == [] and not any(j.queue is queue for j in case.pool.jobs.values()):
            yield changed(case, i, None, None)


def changed(case, index, field, value):
    """The case with one setting of one queue changed, or (field None) without that leaf."""
    from quota_model import Job, Pool
    new = {}
    for i, q in enumerate(case.pool.queues):
        if i == index and field is None:
            continue
        new[q] = Queue(q.name, new.get(q.parent), q.reserved, q.limit, q.lend, q.borrow,
                       q.reclaim, q.preempt_within)
        if i == index:
            setattr(new[q], field, value)
    jobs = [Job(j.name, new[j.queue], j.pods, j.least, j.gpus, j.priority, j.submitted,
                j.preemptible) for j in case.pool.jobs.values()]
    pool = Pool(case.pool.capacity, list(new.values()), jobs)
    return Case(case.name, pool, case.nodes, case.state, case.on)


def shrink(sim, case, wrong):
    kind = wrong.split(":")[0]
    again = True
    while again:
        again = False
        for less in smaller(case):
            outcomes, _ = run_cases(sim, [less])
            verdict = judge(less, outcomes.get(less.name))
            if verdict and verdict.split(":")[0] == kind:
                case, wrong, again = less, verdict, True
                break
    return case, wrong


def report(sim, case, wrong, save, as_is):
    if not as_is:
        case, wrong = shrink(sim, case, wrong)
    outcomes, errors = run_cases(sim, [case])
    print("# %s: %s" % (case.name, wrong))
    print("# outcome: %s" % json.dumps(outcomes.get(case.name)))
    for line in errors.splitlines()[-5:]:
        print("# stderr: %s" % line)
    text = case.to_json()
    text["why"] = wrong
    if save:
        os.makedirs(save, exist_ok=True)
        with open(os.path.join(save, case.name + ".json"), "w") as f:
            json.dump(text, f, indent=1)
    else:
        print("# %s" % json.dumps(text))


def case_named(mode, name):
    return random_case(random.Random(name), mode, name)


def check_batch(job):
    """[(name, what is wrong)] of the cases of a batch that fail, and the last words of the program."""
    sim, mode, names = job
    cases = [case_named(mode, name) for name in names]
    outcomes, errors = run_cases(sim, cases)
    verdicts = [(case.name, judge(case, outcomes.get(case.name))) for case in cases]
    return [row for row in verdicts if row[1]], errors.strip()[-300:]


def check_mode(sim, mode, count, args):
    """True if all cases of the mode hold; the first few that do not are made small and shown."""
    names = ["%s-%d-%d" % (mode, args.seed, i) for i in range(count)]
    batches = [(sim, mode, names[i:i + BATCH]) for i in range(0, count, BATCH)]
    bad, errors = [], ""
    with concurrent.futures.ProcessPoolExecutor(args.workers) as pool:
        for more, said in pool.map(check_batch, batches):
            bad += more
            errors = said if more else errors
    if bad:
        print("# %d of %d fail; %s" % (len(bad), count, errors))
    shown = set()
    for name, wrong in bad:
        kind = wrong.split(":")[0]
        if kind not in shown:  # one of each kind
            shown.add(kind)
            report(sim, case_named(mode, name), wrong, args.save, args.as_is)
    return not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500, help="over all modes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--save", help="folder for the cases that fail")
    parser.add_argument("--as-is", action="store_true", help="do not make failing cases small")
    parser.add_argument("--sim", required=True, help="the program, with arguments if need be")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    began = time.monotonic()
    modes = args.mode or MODES
    failed = 0
    print("1..%d" % len(modes))
    for i, mode in enumerate(modes):
        count = max(1, args.cases // len(modes))
        fine = check_mode(args.sim.split(), mode, count, args)
        failed += not fine
        print("%sok %d - %d random cases, %s" % ("" if fine else "not ", i + 1, count, mode))
        sys.stdout.flush()
    print("# %d cases a second" % (args.cases / (time.monotonic() - began)))
    print("# %d passed, %d failed" % (len(modes) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
