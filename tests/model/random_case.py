"""Random small cases: a tree of queues, a lawful state of running jobs, jobs that wait."""

from quota_model import Job, Pool, Queue

MODES = ("plain", "elastic", "many", "nodes", "short", "crowd")


def random_queues(rnd):
    queues = []

    def grow(parent, depth):
        q = Queue("q%d" % len(queues), parent, 0)
        queues.append(q)
        if depth < 2 and len(queues) < 7 and rnd.random() < (0.3 if depth else 0.6):
            for _ in range(rnd.randint(1, 3)):
                grow(q, depth + 1)

    for _ in range(rnd.randint(2, 3)):
        grow(None, 0)
    for q in reversed(queues):
        own = rnd.randint(0, 2 if q.children else 4)
        q.reserved = sum(c.reserved for c in q.children) + own
        if rnd.random() < 0.3:
            q.lend = rnd.randint(0, q.reserved)
        if rnd.random() < 0.2:
            q.borrow = rnd.randint(0, 3)
        if rnd.random() < 0.15:
            q.limit = rnd.randint(max(0, q.reserved - 1), q.reserved + 3)
        q.reclaim = rnd.choice(["any"] * 6 + ["lower_priority", "never"])
        q.preempt_within = rnd.choice(
            ["lower_priority"] * 5 + ["lower_or_newer_equal", "never"])
    if not any(q.reserved for q in queues):
        queues[0].reserved = 2
        if queues[0].children:
            queues[1].reserved = 2
            for q in queues[2:]:  # only the first line of descent gets it
                if q.parent is queues[1]:
                    break
    return queues


def random_job(rnd, mode, name, queue, submitted):
    gpus = rnd.choice([1, 1, 2, 2, 3]) if mode == "nodes" else 1
    pods = rnd.randint(1, 2 if gpus > 1 or mode == "crowd" else 4)
    least = rnd.randint(1, pods) if mode == "elastic" and rnd.random() < 0.6 else pods
    if name[0] == "w" and mode == "crowd":
        pods = least = rnd.randint(2, 6)
    preemptible = least < pods or rnd.random() < 0.8
    return Job(name, queue, pods, least, gpus, rnd.choice([0, 0, 0, 5, 10]), submitted, preemptible)


def random_nodes(rnd, mode, capacity):
    if mode != "nodes":
        return [capacity]
    sizes = []
    while sum(sizes) < capacity:
        sizes.append(min(rnd.randint(2, 4), capacity - sum(sizes)))
    return sizes


class Case:
    """pool: the model; nodes: sizes; state: tasks by job; on: node indices by running job."""

    def __init__(self, name, pool, nodes, state, on):
        self.name, self.pool, self.nodes, self.state, self.on = name, pool, nodes, state, on

    def free(self, state=None, on=None):
        """Free GPUs by node; of a shrunk job the last tasks are taken to be gone."""
        state, on = state or self.state, on or self.on
        free = list(self.nodes)
        for name, tasks in state.items():
            for node in on.get(name, [])[:tasks]:
                free[node] -= self.pool.jobs[name].gpus
        return free

    def to_json(self):
        def limit(value):
            return None if value >= 10**8 else value

        jobs = []
        for job in self.pool.jobs.values():
            j = {"name": job.name, "queue": job.queue.name, "priority": job.priority,
                 "pods": job.pods, "min_pods": job.least, "gpus_per_pod": job.gpus,
                 "submitted": job.submitted, "preemptible": job.preemptible, "state": "pending"}
            if self.state[job.name]:
                j["state"] = "running"
                j["on"] = ["n%d" % n for n in self.on[job.name]]
            jobs.append(j)
        return {
            "id": self.name, "title": "a random case", "scope": "universal", "tags": ["quota"],
            "policy": {"consolidation": False, "nonpreemptible_may_borrow": False,
                       "fair_share": "none"},
            "topology_levels": [],
            "nodes": [{"name": "n%d" % i, "gpus": g} for i, g in enumerate(self.nodes)],
            "queues": [{"name": q.name, "parent": q.parent and q.parent.name,
                        "reserved": q.reserved, "max": limit(q.limit), "weight": 1,
                        "borrow_limit": limit(q.borrow), "lend_limit": limit(q.lend),
                        "reclaim": q.reclaim, "preempt_within": q.preempt_within}
                       for q in self.pool.queues],
            "jobs": jobs, "expect": {}}


def place(rnd, free, job, tasks):
    """Random nodes for so many tasks, or None; takes them off free."""
    on = []
    for _ in range(tasks):
        fit = [i for i, f in enumerate(free) if f >= job.gpus]
        if not fit:
            return None
        node = rnd.choice(fit)
        free[node] -= job.gpus
        on.append(node)
    return on


def random_case(rnd, mode, name):
    queues = random_queues(rnd)
    leaves = [q for q in queues if not q.children]
    capacity = sum(q.reserved for q in queues if q.parent is None) + rnd.randint(0, 2)
    nodes = random_nodes(rnd, mode, max(2, capacity))
    jobs, state, on = [], {}, {}
    pool = Pool(sum(nodes), queues, [])
    case = Case(name, pool, nodes, state, on)
    most = 12 if mode == "crowd" else 7
    for step in range(rnd.randint(4, 2 * most)):  # starts, and now and then an end
        job = random_job(rnd, mode, "r%d" % step, rnd.choice(leaves), step)
        pool.jobs[job.name] = job
        tasks = rnd.randint(job.least, job.pods)
        nodes_of = place(rnd, case.free(), job, tasks)
        if nodes_of is not None and pool.start_fits(state, job, tasks * job.gpus):
            state[job.name], on[job.name] = tasks, nodes_of
            jobs.append(job)
        else:
            del pool.jobs[job.name]
        if len(state) > most or (rnd.random() < 0.15 and state):
            gone = rnd.choice(list(state))
            del state[gone], on[gone], pool.jobs[gone]
            jobs = [j for j in jobs if j.name != gone]
    waiting = rnd.randint(2, 4) if mode in ("many", "short") else 1
    used = pool.usage(state)
    poor = [q for q in leaves if used[q] < q.reserved] or leaves  # they have something to claim
    for i in range(waiting):
        job = random_job(rnd, mode, "w%d" % i, rnd.choice(poor + leaves), 100 + i)
        pool.jobs[job.name] = job
        state[job.name] = 0
    if mode == "short":  # less is there than was promised, never less than is held
        held = sum(state[j.name] * j.gpus for j in pool.jobs.values())
        lost = rnd.randint(0, max(0, sum(nodes) - max(held, 1)))
        nodes[0] -= lost
        pool.capacity -= lost
    return case
