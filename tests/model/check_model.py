#!/usr/bin/env python3
"""The model against the worked examples and its own invariants, and check_random.py against
schedulers with known faults: a check that finds nothing wrong has to be able to.  TAP."""
import os
import random
import subprocess
import sys

from quota_model import Job, Pool, Queue
from random_case import MODES, random_case

HERE = os.path.dirname(os.path.abspath(__file__))


def job(name, queue, pods, least=None, priority=0, preemptible=True):
    return Job(name, queue, pods, least or pods, 1, priority, len(name), preemptible)


def two_queues(**settings):
    a, b = Queue("a", None, 8), Queue("b", None, 8, **settings)
    return a, b


def a_borrower_gives_back():
    a, b = two_queues()
    pool = Pool(16, [a, b], [job("a1", a, 12), job("b1", b, 8)])
    assert pool.must_start({"a1": 12, "b1": 0}, pool.jobs["b1"]) == {"a1": 0, "b1": 0}


def an_elastic_borrower_shrinks():
    a, b = two_queues()
    pool = Pool(16, [a, b], [job("a1", a, 12, 4), job("b1", b, 8)])
    assert pool.must_start({"a1": 12, "b1": 0}, pool.jobs["b1"]) == {"a1": 8, "b1": 0}


def a_nonpreemptible_job_pushes_the_rest_into_borrowing():
    a, b = two_queues()
    jobs = [job("p1", a, 8), job("s", a, 4, preemptible=False),
            job("s2", a, 6, preemptible=False), job("b1", b, 8)]
    pool = Pool(16, [a, b], jobs)
    state = {"p1": 8, "s": 0, "s2": 0, "b1": 0}
    assert pool.must_start(state, pool.jobs["s"]) == state
    state["s"] = 4
    assert pool.must_start(state, pool.jobs["s2"]) is None
    assert pool.must_start(state, pool.jobs["b1"]) == dict(state, p1=0)


def spare_of_an_inner_queue_is_its_own():
    d = Queue("d", None, 12)
    x, y, e = Queue("x", d, 4), Queue("y", d, 4), Queue("e", None, 4)
    jobs = [job("x1", x, 8), job("y1", y, 4), job("y2", y, 8), job("e1", e, 4)]
    pool = Pool(16, [d, x, y, e], jobs)
    state = {"x1": 8, "y1": 0, "y2": 0, "e1": 0}
    assert not pool.over(state) & {d}
    assert pool.must_start(state, pool.jobs["y1"]) == state
    assert pool.must_start(state, pool.jobs["y2"]) == state  # 4 own and 4 borrowed from e
    state["y2"] = 8
    assert {x, y, d} <= pool.over(state)
    ways = list(pool.ways(state, pool.jobs["e1"], 4, False))
    assert dict(state, x1=0) in ways and dict(state, y2=0) in ways


def what_is_not_lent_is_not_had():
    a, b = two_queues(lend=4)
    pool = Pool(16, [a, b], [job("big", a, 16), job("fit", a, 12)])
    state = {"big": 0, "fit": 0}
    assert pool.must_start(state, pool.jobs["big"]) is None
    assert pool.must_start(state, pool.jobs["fit"]) == state


def a_higher_priority_wins_in_its_own_queue():
    for preempt, way in (("lower_priority", {"p1": 0, "q": 0, "b1": 8}), ("never", None)):
        a, b = two_queues()
        a.preempt_within = preempt
        pool = Pool(16, [a, b], [job("p1", a, 8), job("q", a, 8, priority=10), job("b1", b, 8)])
        assert pool.must_start({"p1": 8, "q": 0, "b1": 8}, pool.jobs["q"]) == way


def nobody_goes_whose_return_would_fit():
    a, b = two_queues()
    jobs = [job("one", a, 1), job("two", a, 1), job("four", a, 4), job("rest", a, 8),
            job("b1", b, 4)]
    pool = Pool(16, [a, b], jobs)
    state = {"one": 1, "two": 1, "four": 4, "rest": 8, "b1": 0}
    ways = list(pool.ways(state, pool.jobs["b1"], 4, False))
    assert pool.minimal(state, dict(state, one=0, two=0), ways)
    assert pool.minimal(state, dict(state, four=0), ways)
    assert not pool.minimal(state, dict(state, one=0, four=0), ways)


def lost_capacity_makes_no_victim():
    a, b = two_queues()
    pool = Pool(8, [a, b], [job("a1", a, 8), job("b1", b, 8)])
    assert pool.must_start({"a1": 8, "b1": 0}, pool.jobs["b1"]) is None


def lawful_starts_break_nothing():
    for mode in MODES:
        for seed in range(150):
            case = random_case(random.Random("%s %d" % (mode, seed)), mode, "x")
            if mode != "short":
                wrong = case.pool.broken(case.state, dict.fromkeys(case.state, 0))
                assert wrong is None, (mode, seed, wrong)


def found(fault, mode, cases):
    sim = "%s %s" % (sys.executable, os.path.join(HERE, "model_sim.py"))
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "check_random.py"), "--cases", str(cases), "--as-is",
         "--mode", mode, "--sim", sim + (" --fault " + fault if fault else "")],
        stdout=subprocess.PIPE, check=False)
    return [line for line in done.stdout.decode().splitlines() if line.startswith("not ok")]


def the_model_agrees_with_itself():
    for mode in MODES:
        assert not found(None, mode, 40), mode


def known_faults_are_found():
    for fault, mode in (("eager", "plain"), ("timid", "nodes"), ("timid", "many"),
                        ("greedy", "short"), ("blunt", "elastic")):
        assert found(fault, mode, 80), (fault, mode)


def main():
    tests = [a_borrower_gives_back, an_elastic_borrower_shrinks,
             a_nonpreemptible_job_pushes_the_rest_into_borrowing,
             spare_of_an_inner_queue_is_its_own, what_is_not_lent_is_not_had,
             a_higher_priority_wins_in_its_own_queue, nobody_goes_whose_return_would_fit,
             lost_capacity_makes_no_victim, lawful_starts_break_nothing,
             the_model_agrees_with_itself, known_faults_are_found]
    failed = 0
    print("1..%d" % len(tests))
    for i, test in enumerate(tests):
        try:
            test()
            print("ok %d - %s" % (i + 1, test.__name__))
        except AssertionError as e:
            failed += 1
            print("not ok %d - %s: %s" % (i + 1, test.__name__, e))
    print("# %d passed, %d failed" % (len(tests) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
