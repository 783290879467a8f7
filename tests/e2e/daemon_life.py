#!/usr/bin/env python3
"""musterd from start to stop: jobs run, are seen, and are found again after a kill."""
import os
import signal

from daemon_world import Tap, World, play, shepherds_of


def runs_to_the_end(t, w):
    job = w.run("echo hello $RANK of $WORLD_SIZE on $CUDA_VISIBLE_DEVICES", gpus=2, tasks=2)
    w.until_state(job, "succeeded")
    shown = w.get(f"jobs/{job}")
    t.equal(shown["exit"], {"status": 0, "signal": 0}, "a job runs to its end")
    t.equal(w.logs(job), "hello 0 of 2 on 0,1\n", "and its log is there")
    t.equal(w.logs(job, "?task=1"), "hello 1 of 2 on 2,3\n", "task by task")
    t.equal(shown["user"], "root" if os.geteuid() == 0 else shown["user"], "its owner has a name")
    kinds = [h["kind"] for h in shown["history"]]
    t.equal(kinds[:2], ["job_submitted", "job_started"], "its history is the journal's")
    t.ok(kinds[-1] == "attempt_ended" and kinds.count("task_ended") == 2, "to the end", kinds)

    job = w.run("exit 3", gpus=1, retries=0)
    w.until_state(job, "failed")
    t.equal(w.get(f"jobs/{job}")["exit"]["status"], 3, "a failure keeps its status")

    job = w.run("cat", gpus=1)
    w.until_state(job, "succeeded", "running")
    w.post(f"jobs/{job}/cancel", {"reason": "no longer wanted"})
    w.until_state(job, "cancelled", "succeeded")
    t.ok(True, "a job is cancelled")

    array = w.submit(queue="blue", array="0-2", gpus=1, command=["/bin/sh", "-c", "exit 0"])
    t.equal(len(array["jobs"]), 3, "an array is several jobs")
    for one in array["jobs"]:
        w.until_state(one, "succeeded")
    t.equal([w.get(f"jobs/{j}")["element"] for j in array["jobs"]], [0, 1, 2], "with elements")


def survives_a_kill(t, w):
    job = w.run("for i in $(seq 6000); do echo $i; sleep 0.2; done", gpus=4)
    w.until_state(job, "running")
    before = w.get(f"jobs/{job}")["tasks"]
    w.kill()
    w.start()
    t.equal(w.state_of(job), "running", "a running job is adopted after kill -9")
    t.equal(w.get(f"jobs/{job}")["tasks"], before, "with all it holds")
    lines = len(w.logs(job).splitlines())
    w.until(lambda: len(w.logs(job).splitlines()) > lines, "the log grows")
    t.ok(True, "and it goes on writing")
    t.equal(w.get(f"jobs/{job}")["attempt"], 1, "as the same attempt")

    quick = w.run(f"while [ ! -e {w.dir}/go ]; do sleep 0.1; done; exit 7", queue="blue", gpus=1,
                  retries=0)
    w.until_state(quick, "running")
    w.kill()
    with open(w.dir + "/go", "w"):
        pass
    w.until(lambda: not shepherds_of(f"{w.state}/attempts/{quick}."), "its supervisor has seen it end")
    w.start()
    w.until_state(quick, "failed")
    t.equal(w.get(f"jobs/{quick}")["exit"]["status"], 7, "an end that nobody watched is told")

    for pid in shepherds_of(w.state):
        os.kill(pid, signal.SIGKILL)
    w.until(lambda: w.get(f"jobs/{job}")["state"] in ("queued", "failed") or
            w.get(f"jobs/{job}")["attempt"] > 1, "the loss is seen", 60)
    t.ok(True, "a killed supervisor does not go unnoticed")
    ended = [r["body"].get("cause") for r in
             w.get(f"journal?job={job}&kind=task_ended&limit=1000")["items"]]
    t.ok(ended and ended[0] in ("lost", "signalled"), "the task is taken as gone", ended)
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")


def tells_what_holds(t, w):
    log = w.log_text()
    t.ok("local: simulated GPUs are taken" in log, "the log says that GPUs are simulated", log)
    t.ok("local: " in log and ("control group" in log or "cgroup" in log),
         "and what tasks are limited by on this host, or why not", log)


def stops_and_starts(t, w):
    job = w.run("sleep 600", gpus=1)
    w.until_state(job, "running")
    t.equal(w.stop(), 0, "SIGTERM stops musterd")
    w.start()
    t.equal(w.state_of(job), "running", "and its tasks run on")
    kinds = w.kinds()
    t.ok("daemon_stopped" in kinds, "the stop is in the journal")
    verdict = w.post("journal/verify")
    t.equal((verdict["ok"], verdict["records"]), (True, str(len(kinds))), "the chain verifies")
    export = w.get("journal/export").text.splitlines()
    t.equal(len(export), len(w.kinds()), "the export has every record")
    second = World.__new__(World)
    second.__dict__.update(w.__dict__)
    second.start(wait=False)
    t.equal(second.process.wait(60), 7, "a second musterd on the same state is refused")
    t.ok("belongs to a running process" in w.log_text(), "and says who has it")
    w.post(f"jobs/{job}/cancel")
    w.until_state(job, "cancelled")


def main():
    t = Tap()
    play(t, World(), tells_what_holds, runs_to_the_end, survives_a_kill, stops_and_starts)
    t.end()


main()
