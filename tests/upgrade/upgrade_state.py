"""The stored states of releases, and what of a state must not depend on the release that reads it."""
import os
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))


def fixtures():
    """Versions that have one, oldest first."""
    found = [n for n in os.listdir(HERE) if os.path.exists(f"{HERE}/{n}/state.tar.xz")]
    return sorted(found, key=lambda n: [int(p) if p.isdigit() else p for p in n.split(".")])


def unpack(version, place):
    with tarfile.open(f"{HERE}/{version}/state.tar.xz") as tar:
        tar.extractall(place)


def digest(state):
    """Of a snapshot, with the names that every format has: who waits, runs and has ended, what is
    held, what was used, who may come in."""
    jobs = {str(j["ask"]["id"]): {
        "name": j["ask"].get("name", ""), "queue": j["ask"]["queue"], "state": j.get("state", ""),
        "attempt": j.get("attempt", 0), "held": sorted([t.get("task", 0), t.get("node", 0)] for t in j.get("tasks", []))}
        for j in state["jobs"]}
    return {
        "jobs": jobs,
        "ended": sorted(state.get("ended", [])),
        "nodes": {n["seen"]["name"]: n.get("health", "") for n in state["nodes"]},
        "queues": sorted(q["name"] for q in state["policy"]["queues"]),
        "tokens": sorted(t["name"] for t in state.get("tokens", [])),
        "next_job": state["next_job"],
        "used": {str(q["id"]): q["sums"][:2] for q in state.get("queues", [])},
    }
