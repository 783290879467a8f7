"""The quota rules, written plainly and apart from the core, for comparing the two.

One pool, one kind of card, whole GPUs.  A rule that the design leaves open is kept in two readings:
`strict` answers "must this happen?", `wide` answers "may this happen?".  A scheduler is wrong when
it leaves undone what the strict reading demands, or does what the wide reading forbids.
"""

NONE = None
BIG = 10**9


class Queue:
    def __init__(self, name, parent, reserved, limit=NONE, lend=NONE, borrow=NONE,
                 reclaim="any", preempt_within="lower_priority"):
        self.name, self.parent, self.children = name, parent, []
        self.reserved = reserved
        self.limit = BIG if limit is None else limit
        self.lend = BIG if lend is None else lend
        self.borrow = BIG if borrow is None else borrow
        self.reclaim, self.preempt_within = reclaim, preempt_within
        self.line = [self] + (parent.line if parent else [])
        if parent:
            parent.children.append(self)


class Job:
    """pods tasks of gpus each; elastic where least < pods."""

    def __init__(self, name, queue, pods, least, gpus, priority, submitted, preemptible):
        self.name, self.queue, self.pods, self.least, self.gpus = name, queue, pods, least, gpus
        self.priority, self.submitted, self.preemptible = priority, submitted, preemptible


class Pool:
    """queues: parents before children.  A state is a dict: job name -> tasks that hold devices."""

    def __init__(self, capacity, queues, jobs, nodes=None):
        self.capacity, self.queues, self.jobs = capacity, queues, {j.name: j for j in jobs}
        self.nodes = nodes  # sizes; None where placement never matters
        self.kept, self.total = {}, {}
        for q in reversed(queues):
            if q.children:
                own = q.reserved - sum(c.reserved for c in q.children)
                self.total[q] = own + sum(self.total[c] - self.kept[c] for c in q.children)
            else:
                self.total[q] = q.reserved
            self.kept[q] = max(0, self.total[q] - q.lend)

    # ---- what is used ----

    def usage(self, state, only=None):
        """Plain usage by queue: the sum of its leaves; only: of the jobs for which it is true."""
        used = dict.fromkeys(self.queues, 0)
        for name, tasks in state.items():
            job = self.jobs[name]
            if only is None or only(job):
                used[job.queue] += tasks * job.gpus
        for q in reversed(self.queues):
            if q.parent:
                used[q.parent] += used[q]
        return used

    def reach(self, used):
        """U by queue: what a queue shows to the one above is what it uses past what it keeps."""
        shown = {}
        for q in reversed(self.queues):
            if q.children:
                shown[q] = sum(max(0, shown[c] - self.kept[c]) for c in q.children)
            else:
                shown[q] = used[q]
        return shown

    def over(self, state):
        shown = self.reach(self.usage(state))
        return {q for q in self.queues if shown[q] > self.total[q]}

    def avail(self, state, queue):
        used = self.usage(state)
        shown = self.reach(used)
        held = sum(used[q] for q in self.queues if q.parent is None)
        unused = sum(max(0, self.kept[q] - shown[q]) for q in self.queues)
        may = max(0, self.capacity - held - unused)
        for q in reversed(queue.line):  # from the top down
            own = max(0, self.kept[q] - shown[q])
            lent = self.total[q] - self.kept[q] - max(0, shown[q] - self.kept[q]) + q.borrow
            may = own + max(0, min(may, lent))
        return min([may, self.capacity - held] + [q.limit - used[q] for q in queue.line])

    # ---- what must hold in every state ----

    def broken(self, state, before):
        """What no decision may bring about, in words; `before` excuses what was so already."""
        used, was = self.usage(state), self.usage(before)
        shown, shown_was = self.reach(used), self.reach(was)
        held = sum(used[q] for q in self.queues if q.parent is None)
        for q in self.queues:
            if used[q] > max(q.limit, was[q]):
                return "%s uses %d, its limit is %d" % (q.name, used[q], q.limit)
            most = self.total[q] + q.borrow
            if shown[q] > max(most, shown_was[q], self.kept[q]):
                return "%s is %d past its reserve, its borrow limit is %d" % (
                    q.name, shown[q] - self.total[q], q.borrow)
        free = self.capacity - held - sum(max(0, self.kept[q] - shown[q]) for q in self.queues)
        held_was = sum(was[q] for q in self.queues if q.parent is None)
        free_was = self.capacity - held_was - sum(
            max(0, self.kept[q] - shown_was[q]) for q in self.queues)
        if free < min(0, free_was):
            return "%d GPUs that are never lent are not free" % -free
        firm = self.usage(state, lambda j: not j.preemptible)
        firm_was = self.usage(before, lambda j: not j.preemptible)
        for q in self.queues:
            if firm[q] > max(q.reserved, firm_was[q]):
                return "non-preemptible jobs of %s hold %d, its reserve is %d" % (
                    q.name, firm[q], q.reserved)
        return None

    # ---- claims ----

    @staticmethod
    def below_common(queue, other):
        return [q for q in queue.line if q not in other.line]

    def entitled(self, state, job, victim_queue, gpus, wide):
        """Does the claim stay within a reserve that stands against this victim's queue?"""
        after = dict(state)
        used = self.usage(after)
        for q in job.queue.line:
            used[q] += gpus
        shown = self.reach(used)
        within = {q for q in self.queues if shown[q] <= self.total[q]}
        if not job.preemptible and not wide:
            return all(q in within for q in job.queue.line)
        return any(q in within for q in self.below_common(job.queue, victim_queue))

    def firm_fits(self, state, job, gpus):
        if job.preemptible:
            return True
        firm = self.usage(state, lambda j: not j.preemptible)
        return all(firm[q] + gpus <= q.reserved for q in job.queue.line)

    def own_victim(self, job, victim):
        if victim.queue is not job.queue or not victim.preemptible or victim is job:
            return False
        if job.queue.preempt_within == "never":
            return False
        if victim.priority < job.priority:
            return True
        return (job.queue.preempt_within == "lower_or_newer_equal" and
                victim.priority == job.priority and victim.submitted > job.submitted)

    def foreign_victim(self, job, victim):
        if victim.queue is job.queue or not victim.preemptible:
            return False
        if job.queue.reclaim == "never":
            return False
        return job.queue.reclaim == "any" or victim.priority < job.priority

    def steps(self, name, tasks):
        """Tasks left after each step of taking from a job: surplus one by one, then the gang."""
        job = self.jobs[name]
        return list(range(tasks - 1, job.least - 1, -1)) + [0]

    def own_sets(self, state, job):
        """Every state that taking off own-queue victims can lead to."""
        choices = [state]
        for name, tasks in state.items():
            if tasks and self.own_victim(job, self.jobs[name]):
                choices = [dict(s, **{name: left}) for s in choices
                           for left in [tasks] + self.steps(name, tasks)]
        return choices

    def foreign_sets(self, state, job, limit=6000):
        """Every state that lawful victims of other queues can lead to, `state` first: each is taken
        while its queue and all above it, below the common ancestor, are over their reserves."""
        names = [n for n, t in state.items() if t and self.foreign_victim(job, self.jobs[n])]
        key = tuple(state[n] for n in names)
        seen, todo = {key}, [key]
        while todo:
            now = todo.pop(0)
            current = dict(state, **dict(zip(names, now)))
            yield current
            over = self.over(current)
            for i, name in enumerate(names):
                victim = self.jobs[name]
                if not now[i]:
                    continue
                if not all(q in over for q in self.below_common(victim.queue, job.queue)):
                    continue
                left = self.steps(name, now[i])[0]
                then = now[:i] + (left,) + now[i + 1:]
                if then not in seen:
                    if len(seen) > limit:
                        raise OverflowError
                    seen.add(then)
                    todo.append(then)

    def start_fits(self, state, job, gpus):
        return self.avail(state, job.queue) >= gpus and self.firm_fits(state, job, gpus)

    def lawful(self, base, after, job, gpus, wide):
        """base: own-queue victims are off; after: those of other queues too.  May the claim take
        what lies between the two?"""
        for name in base:
            if after[name] < base[name]:
                tested = after if wide else base
                if not self.entitled(tested, job, self.jobs[name].queue, gpus, wide):
                    return False
        return True

    def ways(self, state, job, gpus, wide, fits=None, own=True):
        """Every state with victims off in which the claim of gpus may start.  fits: placement."""
        for base in self.own_sets(state, job) if own else [state]:
            for after in self.foreign_sets(base, job):
                if not self.start_fits(after, job, gpus) or (fits and not fits(after)):
                    continue
                if self.lawful(base, after, job, gpus, wide):
                    yield after

    def must_start(self, state, job, fits=None):
        """A state with victims off in which this waiting job has to start, or None."""
        return next(self.ways(state, job, job.least * job.gpus, False, fits), None)

    def must_grow(self, state, job, fits=None):
        """The same for one more task of a running elastic job; own-queue victims are left out, as
        growth beyond reserve uses idle capacity only."""
        if not job.least <= state.get(job.name, 0) < job.pods:
            return None
        return next(self.ways(state, job, job.gpus, False, fits, own=False), None)

    def minimal(self, state, after, ways):
        """Could one victim of `after` have stayed, the others as they are?  `ways`: strict ones."""
        for name in state:
            if after[name] < state[name]:
                for way in ways:
                    if way[name] > after[name] and all(
                            way[n] == after[n] for n in state if n != name):
                        return False
        return True


def pack(free, tasks, gpus):
    """Do tasks of gpus fit on nodes with these free GPUs?"""
    return sum(f // gpus for f in free) >= tasks if gpus else True
