#include "daemon/facttext.h"

#include "base/check.h"
#include "base/quantity.h"

#include <inttypes.h>

struct teller {
    const struct core *core;
    const struct people *people;
    struct str *out;
};

typedef void tell(const struct teller *t, const struct fact *f);

static const char *node_name(const struct teller *t, int64_t id)
{
    const struct node *n = view_node_of_id(t->core, id);

    return n == NULL ? "a node that is gone" : n->name;
}

static const char *queue_name(const struct teller *t, int64_t id)
{
    const struct queue_tree *tree = view_queues(t->core);
    int at = tree == NULL ? -1 : queue_index(tree, id);

    return at < 0 ? "a queue that is gone" : tree->items[at].name;
}

static const char *pool_name(const struct teller *t, int64_t id)
{
    for (int i = 0; i < view_pool_count(t->core); i++) {
        if (view_pool(t->core, i)->id == id) {
            return view_pool(t->core, i)->name;
        }
    }
    return "a pool that is gone";
}

static void add_gpus(const struct teller *t, int64_t gu)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(gu, text);
    str_addf(t->out, "%s %s", text, gu == GU_PER_GPU ? "GPU" : "GPUs");
}

static void add_why(const struct teller *t, const struct fact_reason *why)
{
    if (why->text != NULL && why->text[0] != '\0') {
        str_addf(t->out, ": %s", why->text);
    }
}

static void add_text(const struct teller *t, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        str_addf(t->out, "%s%s", before, text);
    }
}

static void add_person(const struct teller *t, const char *subject)
{
    if (subject != NULL && subject[0] != '\0') {
        str_addf(t->out, " by %s", t->people == NULL ? subject : people_name(t->people, subject));
    }
}

static int64_t grants_gu(const struct fact_grant *tasks, size_t count)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < tasks[i].device_count; k++) {
            sum += tasks[i].devices[k].gu;
        }
    }
    return sum;
}

static void add_count(const struct teller *t, size_t count, const char *word, const char *after)
{
    str_addf(t->out, "%zu %s%s%s", count, word, count == 1 ? "" : "s", after);
}

/* ---- facts of the world ---- */

static void tell_policy_set(const struct teller *t, const struct fact *f)
{
    const struct fact_policy_set *b = fact_of(f, POLICY_SET);

    str_add(t->out, "policy applied: ");
    add_count(t, b->policy.pool_count, "pool", ", ");
    add_count(t, b->policy.queue_count, "queue", ", ");
    add_count(t, b->policy.node_count, "node", ", ");
    add_count(t, b->policy.user_count, "user", "");
    add_person(t, b->subject);
}

static void tell_node_seen(const struct teller *t, const struct fact *f)
{
    const struct fact_node_seen *b = fact_of(f, NODE_SEEN);

    str_addf(t->out, "node %s/%s has %zu %sGPU%s", b->cluster, b->name, b->device_count,
             b->simulated ? "simulated " : "", b->device_count == 1 ? "" : "s");
}

static void tell_node_state(const struct teller *t, const struct fact *f)
{
    const struct fact_node_state *b = fact_of(f, NODE_STATE);

    str_addf(t->out, "node %s is %s", node_name(t, b->node), NODE_STATE_NAMES[b->state]);
    add_text(t, ": ", b->reason);
}

static void tell_node_drain(const struct teller *t, const struct fact *f)
{
    const struct fact_node_drain *b = fact_of(f, NODE_DRAIN);

    str_addf(t->out, "node %s is %s", node_name(t, b->node), b->drain ? "drained" : "resumed");
    add_person(t, b->subject);
    add_text(t, ": ", b->reason);
}

static void tell_device_state(const struct teller *t, const struct fact *f)
{
    const struct fact_device_state *b = fact_of(f, DEVICE_STATE);

    str_addf(t->out, "GPU %" PRId64 " of node %s is %s", b->slot, node_name(t, b->node),
             b->out ? "out of service" : "in service");
    add_text(t, ": ", b->reason);
}

static void tell_job_submitted(const struct teller *t, const struct fact *f)
{
    const struct fact_job_submitted *b = fact_of(f, JOB_SUBMITTED);

    str_addf(t->out, "job %" PRId64 " (%s) submitted to %s", b->id, b->name,
             queue_name(t, b->queue));
    add_person(t, b->subject);
    str_add(t->out, b->held ? ", held" : "");
}

static void tell_job_asked(const struct teller *t, const struct fact *f)
{
    const struct fact_job_asked *b = fact_of(f, JOB_CANCEL);
    const char *what = f->kind == FACT_JOB_HELD       ? "held"
                       : f->kind == FACT_JOB_RELEASED ? "released"
                       : f->kind == FACT_JOB_CANCEL   ? "cancelled"
                       : f->kind == FACT_JOB_REQUEUE  ? "to be requeued"
                                                      : "said it is done";

    str_addf(t->out, "job %" PRId64 " %s", b->job, what);
    add_person(t, b->subject);
    add_text(t, ": ", b->reason);
}

static void tell_job_checkpointed(const struct teller *t, const struct fact *f)
{
    const struct fact_job_checkpointed *b = fact_of(f, JOB_CHECKPOINTED);

    str_addf(t->out, "job %" PRId64 " saved a checkpoint", b->job);
    add_text(t, " ", b->name);
}

static void tell_task_running(const struct teller *t, const struct fact *f)
{
    const struct fact_task_running *b = fact_of(f, TASK_RUNNING);

    str_addf(t->out, "task %" PRId64 ".%" PRId64 ".%" PRId64 " runs", b->job, b->attempt, b->task);
}

static void tell_task_ended(const struct teller *t, const struct fact *f)
{
    const struct fact_task_ended *b = fact_of(f, TASK_ENDED);

    str_addf(t->out, "task %" PRId64 ".%" PRId64 ".%" PRId64 " is gone: ", b->job, b->attempt,
             b->task);
    if (b->cause == TASK_EXITED) {
        str_addf(t->out, "exit status %" PRId64, b->status);
    } else if (b->cause == TASK_SIGNALLED) {
        str_addf(t->out, "signal %" PRId64, b->status);
    } else {
        str_add(t->out, TASK_CAUSE_NAMES[b->cause]);
    }
}

static void tell_task_refused(const struct teller *t, const struct fact *f)
{
    const struct fact_task_refused *b = fact_of(f, TASK_REFUSED);

    str_addf(t->out, "task %" PRId64 ".%" PRId64 ".%" PRId64 " could not be started", b->job,
             b->attempt, b->task);
    add_text(t, ": ", b->reason);
}

static void tell_clock_stepped(const struct teller *t, const struct fact *f)
{
    str_addf(t->out, "the clock of the machine was set by %" PRId64 " ms",
             fact_of(f, CLOCK_STEPPED)->by_ms);
}

static void tell_daemon(const struct teller *t, const struct fact *f)
{
    const struct fact_daemon_state *b = fact_of(f, DAEMON_STARTED);

    str_addf(t->out, "musterd %s %s%s", b->version,
             f->kind == FACT_DAEMON_STARTED ? "started" : "stopped", b->frozen ? ", frozen" : "");
    add_text(t, ": ", b->reason);
}

static void tell_policy_refused(const struct teller *t, const struct fact *f)
{
    str_add(t->out, "the policy file was refused");
    add_text(t, ": ", fact_of(f, POLICY_REFUSED)->reason);
}

static void tell_journal_key(const struct teller *t, const struct fact *f)
{
    const struct fact_journal_key *b = fact_of(f, JOURNAL_KEY);

    str_addf(t->out, "key %s signs the journal from here on", b->key);
    if (b->previous != NULL && b->previous[0] != '\0') {
        str_addf(t->out, ", taking over from key %s %s its signature", b->previous,
                 b->signature != NULL && b->signature[0] != '\0' ? "with" : "without");
    }
    add_person(t, b->subject);
}

static void tell_journal_checkpoint(const struct teller *t, const struct fact *f)
{
    const struct fact_journal_checkpoint *b = fact_of(f, JOURNAL_CHECKPOINT);

    str_addf(t->out, "all up to record %" PRId64 " signed by key %s", b->signed_seq, b->key);
    add_person(t, b->subject);
}

static void tell_token_created(const struct teller *t, const struct fact *f)
{
    const struct fact_token_created *b = fact_of(f, TOKEN_CREATED);

    str_addf(t->out, "token %" PRId64 " (%s) made", b->id, b->name);
    add_person(t, b->subject);
}

static void tell_token_revoked(const struct teller *t, const struct fact *f)
{
    str_addf(t->out, "token %" PRId64 " revoked", fact_of(f, TOKEN_REVOKED)->id);
    add_person(t, fact_of(f, TOKEN_REVOKED)->subject);
}

/* ---- decisions ---- */

static void tell_job_started(const struct teller *t, const struct fact *f)
{
    const struct fact_job_started *b = fact_of(f, JOB_STARTED);

    str_addf(t->out, "job %" PRId64 " %s on ", b->job, b->step > 1 ? "grows" : "starts");
    add_gpus(t, grants_gu(b->tasks, b->task_count));
    str_addf(t->out, " of pool %s, attempt %" PRId64, pool_name(t, b->pool), b->attempt);
    if (b->borrowed_gu > 0) {
        str_add(t->out, ", ");
        add_gpus(t, b->borrowed_gu);
        str_add(t->out, " of them borrowed");
    }
    add_why(t, &b->why);
}

static void tell_job_claimed(const struct teller *t, const struct fact *f)
{
    const struct fact_job_claimed *b = fact_of(f, JOB_CLAIMED);

    add_gpus(t, grants_gu(b->tasks, b->task_count));
    str_addf(t->out, " of pool %s promised to job %" PRId64, pool_name(t, b->pool), b->job);
    for (size_t i = 0; i < b->victim_count; i++) {
        str_addf(t->out, "%s%" PRId64 "%s", i == 0 ? "; told to stop: job " : ", ",
                 b->victims[i].job, b->victims[i].task_count > 0 ? " (in part)" : "");
    }
    add_why(t, &b->why);
}

static void tell_job_stopped(const struct teller *t, const struct fact *f)
{
    const struct fact_job_stopped *b = fact_of(f, JOB_STOPPED);

    str_addf(t->out, "job %" PRId64 " is told to stop (%s)", b->job, STOP_CAUSE_NAMES[b->cause]);
    add_why(t, &b->why);
}

static void tell_job_killed(const struct teller *t, const struct fact *f)
{
    str_addf(t->out, "job %" PRId64 " is killed: its grace is over", fact_of(f, JOB_KILLED)->job);
}

static void tell_nomination_ended(const struct teller *t, const struct fact *f)
{
    const struct fact_nomination_ended *b = fact_of(f, NOMINATION_ENDED);

    str_addf(t->out, "the promise to job %" PRId64 " is broken (%s)", b->job, b->reason);
    if (b->by != 0) {
        str_addf(t->out, ", job %" PRId64 " takes it over", b->by);
    }
}

static void tell_attempt_ended(const struct teller *t, const struct fact *f)
{
    const struct fact_attempt_ended *b = fact_of(f, ATTEMPT_ENDED);

    str_addf(t->out, "job %" PRId64 ", attempt %" PRId64 " %s", b->job, b->attempt,
             ATTEMPT_OUTCOME_NAMES[b->outcome]);
    if (b->signal != 0) {
        str_addf(t->out, ", signal %" PRId64, b->signal);
    } else if (b->status != 0) {
        str_addf(t->out, ", exit status %" PRId64, b->status);
    }
    add_why(t, &b->why);
}

static void tell_device_stuck(const struct teller *t, const struct fact *f)
{
    const struct fact_device_stuck *b = fact_of(f, DEVICE_STUCK);

    str_addf(t->out, "%zu GPU%s of node %s not proven free of job %" PRId64 ": out of service",
             b->slot_count, b->slot_count == 1 ? "" : "s", node_name(t, b->node), b->job);
}

static void tell_node_lost(const struct teller *t, const struct fact *f)
{
    str_addf(t->out, "node %s is lost", node_name(t, fact_of(f, NODE_LOST)->node));
    add_text(t, ": ", fact_of(f, NODE_LOST)->reason);
}

static tell *const TELLERS[FACT_KIND_COUNT] = {
    [FACT_POLICY_SET] = tell_policy_set,
    [FACT_NODE_SEEN] = tell_node_seen,
    [FACT_NODE_STATE] = tell_node_state,
    [FACT_NODE_DRAIN] = tell_node_drain,
    [FACT_DEVICE_STATE] = tell_device_state,
    [FACT_JOB_SUBMITTED] = tell_job_submitted,
    [FACT_JOB_HELD] = tell_job_asked,
    [FACT_JOB_RELEASED] = tell_job_asked,
    [FACT_JOB_CANCEL] = tell_job_asked,
    [FACT_JOB_REQUEUE] = tell_job_asked,
    [FACT_JOB_DONE] = tell_job_asked,
    [FACT_JOB_CHECKPOINTED] = tell_job_checkpointed,
    [FACT_TASK_RUNNING] = tell_task_running,
    [FACT_TASK_ENDED] = tell_task_ended,
    [FACT_TASK_REFUSED] = tell_task_refused,
    [FACT_CLOCK_STEPPED] = tell_clock_stepped,
    [FACT_DAEMON_STARTED] = tell_daemon,
    [FACT_DAEMON_STOPPED] = tell_daemon,
    [FACT_POLICY_REFUSED] = tell_policy_refused,
    [FACT_TOKEN_CREATED] = tell_token_created,
    [FACT_TOKEN_REVOKED] = tell_token_revoked,
    [FACT_JOURNAL_KEY] = tell_journal_key,
    [FACT_JOURNAL_CHECKPOINT] = tell_journal_checkpoint,
    [FACT_JOB_STARTED] = tell_job_started,
    [FACT_JOB_CLAIMED] = tell_job_claimed,
    [FACT_JOB_STOPPED] = tell_job_stopped,
    [FACT_JOB_KILLED] = tell_job_killed,
    [FACT_NOMINATION_ENDED] = tell_nomination_ended,
    [FACT_ATTEMPT_ENDED] = tell_attempt_ended,
    [FACT_DEVICE_STUCK] = tell_device_stuck,
    [FACT_NODE_LOST] = tell_node_lost,
};

void facttext_write(const struct core *core, const struct people *people, const struct fact *fact,
                    struct str *ret)
{
    struct teller t = {.core = core, .people = people, .out = ret};

    if (fact->kind > FACT_NONE && fact->kind < FACT_KIND_COUNT && TELLERS[fact->kind] != NULL) {
        TELLERS[fact->kind](&t, fact);
    }
}
