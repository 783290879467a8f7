/* engine_act - the durable batch is carried out: each decision becomes calls of backends.
 *
 * Every call is idempotent for the backend, so nothing here remembers what was done: after a crash
 * adopt says what should be there.  What the core knows now may be later than the decision at hand
 * (the batch was applied whole); a start whose job has meanwhile gone on is left out, all else is
 * sent and the backend knows what it is about.
 *
 * A call that cannot be made must not be silent: tasks of a start that failed are reported as
 * refused.  A signal that fails ends in the kill at its deadline, a kill that fails in stop_stuck.
 */
#include "base/check.h"
#include "core/view.h"
#include "engine/engine_impl.h"

#include <signal.h>

static const struct queue *queue_of(const struct engine *e, const struct job *j)
{
    const struct queue_tree *tree = view_queues(e->core);

    return tree != NULL && j->queue >= 0 && j->queue < tree->count ? &tree->items[j->queue] : NULL;
}

static struct backend *backend_of_cluster(const struct engine *e, const char *cluster)
{
    size_t i;

    for (i = 0; i < e->backends.count; i++) {
        if (str_cmp(e->backends.items[i].cluster, cluster) == 0) {
            return e->backends.items[i].backend;
        }
    }
    return NULL;
}

/* The backend that serves the node; NULL when its cluster is not attached. */
static struct backend *backend_of_node(const struct engine *e, int64_t node)
{
    const struct node *n = view_node_of_id(e->core, node);

    return n != NULL ? backend_of_cluster(e, n->cluster) : NULL;
}

/* The backend where the attempt lies, NULL when none of its tasks is left. */
static struct backend *backend_of_job(const struct engine *e, const struct job *j)
{
    const struct node *n;

    if (j == NULL || j->tasks.count == 0) {
        return NULL;
    }
    n = view_node(e->core, j->tasks.items[0].node);
    return n != NULL ? backend_of_cluster(e, n->cluster) : NULL;
}

/* ---- start ---- */

static void refuse_task(struct engine *e, const struct fact_job_started *started, int64_t task,
                        const char *reason)
{
    struct fact_task_refused refused = {
        .job = started->job,
        .attempt = started->attempt,
        .task = task,
        .reason = reason,
        .step = started->step,
    };
    struct fact fact = {.kind = FACT_TASK_REFUSED, .body.as_TASK_REFUSED = &refused};

    engine_put_world(e, &fact);
}

static void refuse_start(struct engine *e, const struct fact_job_started *started,
                         const struct job *j, const char *reason)
{
    size_t i;

    e->stats.backend_errors++;
    for (i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].state == TASK_STATE_STARTING &&
            j->tasks.items[i].step == started->step) {
            refuse_task(e, started, j->tasks.items[i].task, reason);
        }
    }
}

static struct backend_node node_for_start(struct engine *e, int64_t id)
{
    const struct node *n = view_node_of_id(e->core, id);
    struct backend_node ret = {.id = id, .name = ""};
    const char **uuids;
    int i;

    if (n == NULL) {
        return ret;
    }
    uuids = arena_new(e->act_arena, (size_t)n->device_count, sizeof(*uuids));
    for (i = 0; i < n->device_count; i++) {
        uuids[i] = n->devices[i].uuid;
    }
    ret.name = n->name;
    ret.simulated = n->simulated;
    ret.uuids = uuids;
    ret.uuid_count = (size_t)n->device_count;
    return ret;
}

/* One row for each node that the tasks name. */
static size_t nodes_for_start(struct engine *e, const struct fact_job_started *started,
                              struct backend_node *ret)
{
    size_t count = 0;
    size_t i, k;

    for (i = 0; i < started->task_count; i++) {
        for (k = 0; k < count && ret[k].id != started->tasks[i].node; k++) {
        }
        if (k == count) {
            ret[count++] = node_for_start(e, started->tasks[i].node);
        }
    }
    return count;
}

static const char *pool_name(const struct engine *e, const struct job *j)
{
    return j->pool >= 0 && j->pool < view_pool_count(e->core) ? view_pool(e->core, j->pool)->name
                                                              : "";
}

static bool wants_sandbox(const struct queue *queue)
{
    return queue != NULL && queue->row->sandbox == QUEUE_SANDBOX_REQUIRED;
}

static void start_with(struct engine *e, struct backend *b, const struct fact_job_started *started,
                       const struct job *j)
{
    const struct engine_hooks *hooks = &e->config.hooks;
    const struct queue *queue = queue_of(e, j);
    struct fact_job_submitted ask = *j->ask;
    struct backend_node *nodes = arena_new(e->act_arena, started->task_count, sizeof(*nodes));
    struct backend_job call = {
        .job = j->id,
        .attempt = started->attempt,
        .step = started->step,
        .array = j->array,
        .element = j->element,
        .name = j->name,
        .queue = queue != NULL ? queue->name : "",
        .pool = pool_name(e, j),
        .sandbox = ask.sandbox || wants_sandbox(queue),
        .submitted = &ask,
        .tasks = started->tasks,
        .task_count = started->task_count,
        .nodes = nodes,
        .spec = {.script = "", .dir = "", .account = "", .output = ""},
    };
    struct err err = {0};
    int rc = 0;

    /* Jobs of one shape share what they ask for; what is a job's own lies with the job. */
    ask.id = j->id;
    ask.array = j->array;
    ask.element = j->element;
    ask.name = j->name;
    ask.subject = j->subject;
    ask.spec = j->spec;
    call.node_count = nodes_for_start(e, started, nodes);
    if (hooks->spec != NULL) {
        rc = hooks->spec(hooks->ctx, &ask, &call.spec, &err);
    }
    if (rc == 0) {
        rc = b->ops->start(b, &call, &err);
    }
    if (rc != 0) {
        refuse_start(e, started, j, err.text);
    }
}

static void act_started(struct engine *e, const struct fact_job_started *started)
{
    const struct job *j = view_job(e->core, started->job);
    struct backend *b;

    if (j == NULL || j->attempt != started->attempt || j->step != started->step ||
        !job_is_active(j) || started->task_count == 0) {
        return;
    }
    b = backend_of_node(e, started->tasks[0].node);
    if (b == NULL) {
        refuse_start(e, started, j, "no backend serves the cluster of this node");
        return;
    }
    start_with(e, b, started, j);
}

/* ---- stop ---- */

static void signal_one(struct engine *e, struct backend *b, const struct backend_signal *what)
{
    if (b->ops->signal(b, what, NULL) != 0) {
        e->stats.backend_errors++;
    }
}

/* The tasks that a decision names by number, as they are held now; those that are gone meanwhile
 * are left out.  False: it named some, and none of them is left. */
static bool tasks_named(struct engine *e, const struct job *j, const int64_t *numbers, size_t count,
                        struct backend_task **ret, size_t *ret_count)
{
    struct backend_task *rows = arena_new(e->act_arena, count + 1, sizeof(*rows));
    size_t found = 0;
    size_t i, k;

    for (i = 0; j != NULL && i < count; i++) {
        for (k = 0; k < j->tasks.count && j->tasks.items[k].task != numbers[i]; k++) {
        }
        if (k < j->tasks.count) {
            rows[found++] = (struct backend_task){numbers[i], j->tasks.items[k].step};
        }
    }
    *ret = rows;
    *ret_count = found;
    return count == 0 || found > 0;
}

/* An attempt whose place is not known any more is signalled everywhere: backends pass over what
 * they do not have. */
static void act_signal(struct engine *e, struct backend_signal what)
{
    const struct job *j = view_job(e->core, what.job);
    struct backend *b = backend_of_job(e, j);
    size_t i;

    what.number = j != NULL && j->ask->signal > 0 ? j->ask->signal : SIGTERM;
    if (b != NULL) {
        signal_one(e, b, &what);
        return;
    }
    for (i = 0; i < e->backends.count; i++) {
        signal_one(e, e->backends.items[i].backend, &what);
    }
}

static void act_claimed(struct engine *e, const struct fact_job_claimed *claimed)
{
    size_t i;

    for (i = 0; i < claimed->victim_count; i++) {
        const struct fact_victim *v = &claimed->victims[i];
        struct backend_signal what = {.job = v->job,
                                      .attempt = v->attempt,
                                      .deadline_ms = v->deadline_ms,
                                      .reason = "preempted"};
        struct backend_task *tasks;

        if (!v->nominee && tasks_named(e, view_job(e->core, v->job), v->tasks, v->task_count,
                                       &tasks, &what.task_count)) {
            what.tasks = tasks;
            act_signal(e, what);
        }
    }
}

static void act_stopped(struct engine *e, const struct fact_job_stopped *stopped)
{
    act_signal(e, (struct backend_signal){.job = stopped->job,
                                          .attempt = stopped->attempt,
                                          .deadline_ms = stopped->deadline_ms,
                                          .reason = STOP_CAUSE_NAMES[stopped->cause]});
}

static void act_killed(struct engine *e, const struct fact_job_killed *killed)
{
    const struct job *j = view_job(e->core, killed->job);
    struct backend *only = backend_of_job(e, j);
    struct backend_task *tasks;
    size_t count;
    size_t i;

    if (!tasks_named(e, j, killed->tasks, killed->task_count, &tasks, &count)) {
        return;
    }
    for (i = 0; i < e->backends.count; i++) {
        struct backend *b = e->backends.items[i].backend;

        if ((only == NULL || b == only) &&
            b->ops->kill(b, killed->job, killed->attempt, tasks, count, NULL) != 0) {
            e->stats.backend_errors++;
        }
    }
}

/* The core may have forgotten where an attempt lay once it is over, so all backends hear of it. */
static void act_ended(struct engine *e, const struct fact_attempt_ended *ended)
{
    size_t i;

    if (ended->attempt == 0) {
        return;
    }
    for (i = 0; i < e->backends.count; i++) {
        struct backend *b = e->backends.items[i].backend;

        b->ops->forget(b, ended->job, ended->attempt);
    }
}

/* The node is gone for the core; what ran there must not go on, should it come back. */
static void act_lost(struct engine *e, int64_t node)
{
    struct backend *b = backend_of_node(e, node);
    size_t i;

    for (i = 0; b != NULL && i < e->lost.count; i++) {
        const struct backend_held *h = &e->lost.items[i];

        if (h->node == node && b->ops->kill(b, h->job, h->attempt, &h->task, 1, NULL) != 0) {
            e->stats.backend_errors++;
        }
    }
}

/* ---- the batch ---- */

static void act_fact(struct engine *e, const struct fact *fact)
{
    if (fact->kind == FACT_JOB_STARTED) {
        act_started(e, fact_of(fact, JOB_STARTED));
    } else if (fact->kind == FACT_JOB_CLAIMED) {
        act_claimed(e, fact_of(fact, JOB_CLAIMED));
    } else if (fact->kind == FACT_JOB_STOPPED) {
        act_stopped(e, fact_of(fact, JOB_STOPPED));
    } else if (fact->kind == FACT_JOB_KILLED) {
        act_killed(e, fact_of(fact, JOB_KILLED));
    } else if (fact->kind == FACT_ATTEMPT_ENDED) {
        act_ended(e, fact_of(fact, ATTEMPT_ENDED));
    } else if (fact->kind == FACT_NODE_LOST) {
        act_lost(e, fact_of(fact, NODE_LOST)->node);
    } else if (fact->kind == FACT_POLICY_SET && engine_observe(e, NULL) != 0) {
        e->stats.backend_errors++;
    }
}

void engine_act(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->batch.facts.count; i++) {
        act_fact(e, &e->batch.facts.items[i]);
        arena_reset(e->act_arena);
    }
}

/* ---- adopt ---- */

int engine_observe(struct engine *e, struct err *err)
{
    const struct policy *policy = view_policy(e->core);
    size_t i;
    int rc = 0;

    for (i = 0; policy != NULL && rc == 0 && i < e->backends.count; i++) {
        struct backend *b = e->backends.items[i].backend;

        rc = b->ops->observe(b, policy, err);
    }
    return rc;
}

typedef VEC(struct backend_held) held_rows;

static void held_of_job(const struct engine *e, const struct job *j, const struct backend *b,
                        held_rows *ret)
{
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        const struct node *n = view_node(e->core, j->tasks.items[i].node);
        struct backend_held row = {.job = j->id, .attempt = j->attempt};

        if (n == NULL || backend_of_cluster(e, n->cluster) != b) {
            continue;
        }
        row.task = (struct backend_task){j->tasks.items[i].task, j->tasks.items[i].step};
        row.node = n->id;
        vec_push(ret, row);
    }
}

/* Stops that were decided are told again: the crash may have come before the call. */
static void repeat_stop(struct engine *e, const struct job *j)
{
    VEC(int64_t) numbers = {0};
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].state == TASK_STATE_STOPPING) {
            vec_push(&numbers, j->tasks.items[i].task);
        }
    }
    if (numbers.count > 0 && j->stop.killed) {
        const struct fact_job_killed killed = {.job = j->id,
                                               .attempt = j->attempt,
                                               .tasks = numbers.items,
                                               .task_count = numbers.count};

        act_killed(e, &killed);
    } else if (numbers.count > 0) {
        struct backend_signal what = {.job = j->id,
                                      .attempt = j->attempt,
                                      .deadline_ms = j->stop.deadline_ms,
                                      .reason = "repeated"};
        struct backend_task *tasks;

        (void)tasks_named(e, j, numbers.items, numbers.count, &tasks, &what.task_count);
        what.tasks = tasks;
        act_signal(e, what);
    }
    vec_fini(&numbers);
    arena_reset(e->act_arena);
}

int engine_adopt(struct engine *e, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < e->backends.count; i++) {
        struct backend *b = e->backends.items[i].backend;
        const struct job *j;
        held_rows held = {0};

        for (j = view_job_next(e->core, 0); j != NULL; j = view_job_next(e->core, j->id)) {
            held_of_job(e, j, b, &held);
        }
        rc = b->ops->adopt(b, held.items, held.count, err);
        vec_fini(&held);
    }
    for (const struct job *j = view_job_next(e->core, 0); rc == 0 && j != NULL;
         j = view_job_next(e->core, j->id)) {
        repeat_stop(e, j);
    }
    return rc != 0 ? rc : engine_observe(e, err);
}
