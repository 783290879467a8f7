"""Do the journal, the API, the process table, the control groups, the disk and the devices tell one
story?  `disagreements(w)` compares them for one musterd (World of daemon_world.py)."""
import os
import time

from daemon_world import PATIENCE

GPU_GU = 126000
GROUPS = ("/sys/fs/cgroup/muster", "/sys/fs/cgroup/unified/muster",
          "/sys/fs/cgroup/muster.slice/muster-tasks.slice")


def records(w):
    cursor = "0"
    while cursor is not None:
        page = w.get(f"journal?limit=1000&cursor={cursor}")
        yield from page["items"]
        cursor = page["next"]


class Journal:
    """What the records say is held, folded here and not by musterd."""

    def __init__(self, w):
        self.tasks = {}  # (job, attempt, task) -> {step, running, node, slots}
        self.nodes = {}
        for r in records(w):
            take = getattr(self, "on_" + r["kind"], None)
            if take is not None:
                take(r["body"])

    def on_node_seen(self, b):
        self.nodes[b["id"]] = f"{b['cluster']}/{b['name']}"

    def on_job_started(self, b):
        for t in b["tasks"]:
            key = (b["job"], b["attempt"], t.get("task", 0))
            if key not in self.tasks:
                self.tasks[key] = {
                    "step": t.get("step", b["step"]), "running": False,
                    "node": self.nodes[t["node"]],
                    "slots": {d.get("slot", 0): d["gu"] for d in t.get("devices", [])}}

    def on_task_running(self, b):
        self.tasks[(b["job"], b["attempt"], b.get("task", 0))]["running"] = True

    def gone(self, b):
        self.tasks.pop((b["job"], b["attempt"], b.get("task", 0)), None)

    on_task_ended = on_task_refused = on_device_stuck = gone

    def on_attempt_ended(self, b):
        self.tasks = {k: v for k, v in self.tasks.items()
                      if k[:2] != (b["job"], b.get("attempt", 0))}

    def names(self):
        return {f"{j}.{a}.{t}.{v['step']}" for (j, a, t), v in self.tasks.items()}


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def processes(w):
    """pid -> name of the task ("J.A.T.S", "?" where nothing says it), its supervisor not among
    them; and the names that supervisors work for."""
    tasks, supervised = {}, []
    state = (w.state + "/").encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([], [b"Z"]):
            continue
        line = read(f"/proc/{pid}/cmdline").split(b"\0")
        variables = read(f"/proc/{pid}/environ").split(b"\0")
        if line[0].endswith(b"muster-shepherd") and len(line) > 1 and line[1].startswith(state):
            attempt, control = line[1].decode().split("/")[-2:]
            supervised.append(f"{attempt}.{control}")
            continue
        mark = [v for v in variables if v.startswith(b"MUSTER_TASK_KEY=")]
        ours = any(state in v for v in variables if v.startswith(b"MUSTER_"))
        if ours and mark:
            tasks[int(pid)] = mark[0].decode().split("=")[1].rsplit("-", 1)[0]
        elif ours or any(w.token.encode() in word for word in line):
            tasks[int(pid)] = "?"
    return tasks, supervised


def zombies(w):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if fields[:1] == [b"Z"] and int(fields[1]) == w.process.pid:
            found.append(pid)
    return found


def attempts_on_disk(w):
    return {n for n in os.listdir(w.state + "/attempts") if n[0].isdigit()}


def salts(w):
    """Of the attempts on the disk: their control groups bear them."""
    out = {}
    for name in attempts_on_disk(w):
        text = read(f"{w.state}/attempts/{name}/attempt.json").decode(errors="replace")
        if '"salt":"' in text:
            out[text.split('"salt":"')[1].split('"')[0]] = name
    return out


def groups_left(w, known):
    """Control groups of attempts that were ours and are over."""
    w.salts = {**getattr(w, "salts", {}), **salts(w)}
    left = []
    for base in GROUPS:
        for name in os.listdir(base) if os.path.isdir(base) else []:
            unit = name.removeprefix("muster-task-").removesuffix(".service")
            key, _, salt = unit.rpartition("-")
            if salt in w.salts and key not in known:
                left.append(name)
    return left


def api_tasks(w):
    found = {}
    for j in w.get("jobs?limit=1000")["items"]:
        for t in w.get(f"jobs/{j['job']}").json.get("tasks") or []:
            found[tuple(map(int, t["task"].split(".")))] = (t["node"], set(t["gpus"] or []))
    return found


def compare_api(w, journal):
    wrong = []
    api = api_tasks(w)
    want = {k: (v["node"].split("/")[1], set(v["slots"])) for k, v in journal.tasks.items()}
    if api != want:
        wrong.append(f"the API shows tasks {api}, the journal {want}")
    held = {}
    for (j, a, t), v in journal.tasks.items():
        for slot, gu in v["slots"].items():
            held.setdefault((v["node"], slot), {})[f"{j}.{a}.{t}"] = gu
    for g in w.get("gpus?limit=1000")["items"]:
        shown = {h["task"]: int(h["gu"]) for h in g["holders"]}
        want = held.get((g["node"], g["slot"]), {})
        if shown != want:
            wrong.append(f"GPU {g['node']}:{g['slot']} shows {shown}, the journal {want}")
        if sum(want.values()) > GPU_GU:
            wrong.append(f"GPU {g['node']}:{g['slot']} is given more than once: {want}")
        if not want and g["state"] == "used":
            wrong.append(f"GPU {g['node']}:{g['slot']} is used by nobody")
    return wrong


def compare_host(w, journal):
    wrong = []
    known = journal.names()
    tasks, supervised = processes(w)
    for pid, name in tasks.items():
        if name not in known and not (name == "?" and known):
            wrong.append(f"process {pid} is of task {name}, which the journal does not hold")
    for key, v in journal.tasks.items():
        name = ".".join(map(str, key)) + f".{v['step']}"
        if v["running"] and name not in tasks.values():
            wrong.append(f"task {name} runs in the journal and has no process")
        if v["running"] and name not in supervised:
            wrong.append(f"task {name} runs in the journal and has no supervisor")
    for name in set(supervised) - known:
        wrong.append(f"a supervisor works for {name}, which the journal does not hold")
    for name in {n for n in supervised if supervised.count(n) > 1}:
        wrong.append(f"task {name} has {supervised.count(name)} supervisors")
    want = {f"{j}.{a}" for j, a, _ in journal.tasks}
    for name in attempts_on_disk(w) ^ want:
        wrong.append(f"attempts/{name} is {'missing' if name in want else 'left'}")
    for name in os.listdir(w.socket + ".d"):
        if name.removesuffix(".sock") not in known:
            wrong.append(f"the socket {name} is left")
    wrong += [f"the control group {n} is left" for n in groups_left(w, known)]
    wrong += [f"zombie {pid} of musterd" for pid in zombies(w)]
    return wrong


def disagreements(w):
    seq = w.get("version")["journal_seq"]
    wrong = compare_api(w, Journal(w)) + compare_host(w, Journal(w))
    if w.get("version")["journal_seq"] != seq:
        wrong.append("the journal went on meanwhile")
    return wrong


def agree(t, w, what, seconds=30):
    """One line of TAP: within the time all tell the same, and the chain verifies."""
    deadline = time.monotonic() + seconds * PATIENCE
    wrong = ["nothing was asked"]
    while wrong and time.monotonic() < deadline:
        wrong = disagreements(w)
        if wrong:
            time.sleep(0.1)
    if not wrong and w.post("journal/verify").json.get("ok") is not True:
        wrong = ["the chain of the journal does not verify"]
    return t.ok(not wrong, what, *wrong)
