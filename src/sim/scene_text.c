/* scene_text - one line a decision, its parts always in the same order. */
#include "sim/scene_text.h"

#include "base/quantity.h"

#include <stdlib.h>

static void add_ms(int64_t ms, struct str *ret)
{
    str_addf(ret, "%lld", (long long)(ms / 1000));
    if (ms % 1000 != 0) {
        str_addf(ret, ".%03lld", (long long)(llabs(ms) % 1000));
    }
}

void scene_text_time(const struct scene_text *t, int64_t at_ms, struct str *ret)
{
    add_ms(at_ms - t->zero_ms, ret);
}

static void add_gpus(int64_t gu, struct str *ret)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(gu, text);
    str_add(ret, text);
}

static void add_job(const struct scene_text *t, int64_t id, struct str *ret)
{
    const struct roll_job *j = roll_job(t->roll, id);

    if (j != NULL) {
        str_add(ret, j->name);
    } else {
        str_addf(ret, "job-%lld", (long long)id);
    }
}

static void add_node(const struct scene_text *t, int64_t id, struct str *ret)
{
    const char *name = roll_node_name(t->roll, id);

    if (*name != '\0') {
        str_add(ret, name);
    } else {
        str_addf(ret, "node-%lld", (long long)id);
    }
}

/* ---- devices ---- */

struct card { /* one device of one node, as it is printed */
    int64_t node;
    int64_t slot;
    const struct fact_grant_device *device;
};

static int card_cmp(const void *a, const void *b)
{
    const struct card *x = a;
    const struct card *y = b;

    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    if (x->slot != y->slot) {
        return x->slot < y->slot ? -1 : 1;
    }
    return x->device->start < y->device->start ? -1 : x->device->start > y->device->start;
}

static bool is_whole(const struct card *c)
{
    return c->device->gu == GU_PER_GPU && (c->device->profile == NULL || *c->device->profile == 0);
}

/* "0-7", "3", "2/0.5", "1/3g.40gb@4" */
static size_t add_cards(const struct card *cards, size_t i, size_t count, struct str *ret)
{
    size_t end = i + 1;
    const char *profile = cards[i].device->profile;

    str_add_int(ret, cards[i].slot);
    if (!is_whole(&cards[i])) {
        str_add_char(ret, '/');
        if (profile != NULL && *profile != '\0') {
            str_addf(ret, "%s@%lld", profile, (long long)cards[i].device->start);
        } else {
            add_gpus(cards[i].device->gu, ret);
        }
        str_add(ret, cards[i].device->recut ? " (re-cut)" : "");
        return end;
    }
    while (end < count && is_whole(&cards[end]) && cards[end].node == cards[i].node &&
           cards[end].slot == cards[end - 1].slot + 1) {
        end++;
    }
    if (end - i > 1) {
        str_addf(ret, "-%lld", (long long)cards[end - 1].slot);
    }
    return end;
}

static size_t count_cards(const struct fact_grant *tasks, size_t count)
{
    size_t sum = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        sum += tasks[i].device_count;
    }
    return sum;
}

/* Tasks without devices are named by their nodes alone. */
static void add_bare(const struct scene_text *t, const struct fact_grant *tasks, size_t count,
                     struct str *ret)
{
    size_t i;

    for (i = 0; i < count; i++) {
        str_add(ret, i > 0 ? " " : "");
        add_node(t, tasks[i].node, ret);
    }
}

static void add_tasks(const struct scene_text *t, const struct fact_grant *tasks, size_t count,
                      struct str *ret)
{
    VEC(struct card) cards = {0};
    size_t i, k;

    if (count_cards(tasks, count) == 0) {
        add_bare(t, tasks, count, ret);
        return;
    }
    for (i = 0; i < count; i++) {
        for (k = 0; k < tasks[i].device_count; k++) {
            vec_push(&cards,
                     (struct card){tasks[i].node, tasks[i].devices[k].slot, &tasks[i].devices[k]});
        }
    }
    qsort(cards.items, cards.count, sizeof(cards.items[0]), card_cmp);
    for (i = 0; i < cards.count;) {
        if (i == 0 || cards.items[i].node != cards.items[i - 1].node) {
            str_add(ret, i > 0 ? " " : "");
            add_node(t, cards.items[i].node, ret);
            str_add_char(ret, ':');
        } else {
            str_add_char(ret, ',');
        }
        i = add_cards(cards.items, i, cards.count, ret);
    }
    vec_fini(&cards);
}

/* Numbers of tasks: "8-11" or "3,5". */
static void add_numbers(const int64_t *tasks, size_t count, struct str *ret)
{
    size_t i;

    for (i = 0; i < count; i++) {
        size_t end = i;

        while (end + 1 < count && tasks[end + 1] == tasks[end] + 1) {
            end++;
        }
        str_addf(ret, "%s%lld", i > 0 ? "," : "", (long long)tasks[i]);
        if (end > i) {
            str_addf(ret, "-%lld", (long long)tasks[end]);
        }
        i = end;
    }
}

static void add_rule(const struct fact_reason *why, struct str *ret)
{
    if (why->rule != NULL && *why->rule != '\0') {
        str_addf(ret, " (%s)", why->rule);
    }
}

static void add_lost(int64_t gu_ms, struct str *ret)
{
    add_gpus(gu_ms / 1000, ret);
    str_add(ret, " GPU s lost");
}

/* ---- decisions ---- */

static void add_started(const struct scene_text *t, const struct fact_job_started *s,
                        struct str *ret)
{
    size_t i;

    str_add(ret, s->step > 1 ? "grow " : "start ");
    add_job(t, s->job, ret);
    str_addf(ret, ".%lld", (long long)s->attempt);
    if (s->step > 1) {
        str_addf(ret, " to %zu tasks", s->task_count);
    }
    str_add(ret, " on ");
    add_tasks(t, s->tasks, s->task_count, ret);
    str_add(ret, ", ");
    add_gpus(s->reserved_gu, ret);
    str_add(ret, " reserved + ");
    add_gpus(s->borrowed_gu, ret);
    str_add(ret, " borrowed");
    for (i = 0; i < s->pass_count; i++) {
        str_add(ret, i > 0 ? " " : ", in front of ");
        add_job(t, s->passes[i], ret);
    }
    add_rule(&s->why, ret);
}

static void add_victim(const struct scene_text *t, const struct fact_victim *v, struct str *ret)
{
    add_job(t, v->job, ret);
    if (v->nominee) {
        str_add(ret, " loses its nomination");
        return;
    }
    if (v->task_count > 0) {
        str_add(ret, " gives tasks ");
        add_numbers(v->tasks, v->task_count, ret);
        str_add(ret, " by ");
    } else {
        str_add(ret, v->moved_count > 0 ? " moves by " : " stops by ");
    }
    scene_text_time(t, v->deadline_ms, ret);
    if (v->moved_count > 0) {
        str_add(ret, " to ");
        add_tasks(t, v->moved, v->moved_count, ret);
    }
    str_add(ret, ", ");
    add_lost(v->lost_gu_ms, ret);
}

static void add_claimed(const struct scene_text *t, const struct fact_job_claimed *c,
                        struct str *ret)
{
    size_t i;

    str_add(ret, "claim ");
    add_tasks(t, c->tasks, c->task_count, ret);
    str_add(ret, c->step > 1 ? " for growth of " : " for ");
    add_job(t, c->job, ret);
    add_rule(&c->why, ret);
    for (i = 0; i < c->victim_count; i++) {
        str_add(ret, i > 0 ? "; " : ": ");
        add_victim(t, &c->victims[i], ret);
    }
}

static void add_stopped(const struct scene_text *t, const struct fact_job_stopped *s,
                        struct str *ret)
{
    str_add(ret, "stop ");
    add_job(t, s->job, ret);
    str_add(ret, " by ");
    scene_text_time(t, s->deadline_ms, ret);
    str_addf(ret, " (%s), ", STOP_CAUSE_NAMES[s->cause]);
    add_lost(s->lost_gu_ms, ret);
}

static void add_killed(const struct scene_text *t, const struct fact_job_killed *k, struct str *ret)
{
    str_add(ret, "kill ");
    add_job(t, k->job, ret);
    if (k->task_count > 0) {
        str_add(ret, " tasks ");
        add_numbers(k->tasks, k->task_count, ret);
    }
}

static void add_nomination_ended(const struct scene_text *t, const struct fact_nomination_ended *n,
                                 struct str *ret)
{
    size_t i;

    str_add(ret, "nomination of ");
    add_job(t, n->job, ret);
    str_addf(ret, " ended: %s", n->reason != NULL ? n->reason : "");
    if (n->by != 0) {
        str_add(ret, " by ");
        add_job(t, n->by, ret);
    }
    str_add(ret, ", ");
    add_lost(n->lost_gu_ms, ret);
    for (i = 0; i < n->victim_count; i++) {
        str_add(ret, i > 0 ? " " : " by ");
        add_job(t, n->victims[i], ret);
    }
}

static void add_ended(const struct scene_text *t, const struct fact_attempt_ended *e,
                      struct str *ret)
{
    add_job(t, e->job, ret);
    str_addf(ret, ".%lld %s", (long long)e->attempt, ATTEMPT_OUTCOME_NAMES[e->outcome]);
    if (e->status != 0) {
        str_addf(ret, ", status %lld", (long long)e->status);
    }
    if (e->signal != 0) {
        str_addf(ret, ", signal %lld", (long long)e->signal);
    }
    str_add(ret, e->retry ? ", a retry" : "");
    if (e->not_before_ms != 0) {
        str_add(ret, ", not before ");
        scene_text_time(t, e->not_before_ms, ret);
    }
    if (e->avoid_node != 0) {
        str_add(ret, ", away from ");
        add_node(t, e->avoid_node, ret);
    }
    add_rule(&e->why, ret);
}

static void add_stuck(const struct scene_text *t, const struct fact_device_stuck *s,
                      struct str *ret)
{
    str_add(ret, "stuck ");
    add_node(t, s->node, ret);
    str_add_char(ret, ':');
    add_numbers(s->slots, s->slot_count, ret);
    str_add(ret, " under ");
    add_job(t, s->job, ret);
    str_addf(ret, ".%lld.%lld", (long long)s->attempt, (long long)s->task);
}

void scene_text_fact(const struct scene_text *t, const struct fact *fact, struct str *ret)
{
    if (!fact_kind_is_decision(fact->kind)) {
        return;
    }
    scene_text_time(t, fact->at_ms, ret);
    str_add_char(ret, ' ');
    if (fact->kind == FACT_JOB_STARTED) {
        add_started(t, fact_of(fact, JOB_STARTED), ret);
    } else if (fact->kind == FACT_JOB_CLAIMED) {
        add_claimed(t, fact_of(fact, JOB_CLAIMED), ret);
    } else if (fact->kind == FACT_JOB_STOPPED) {
        add_stopped(t, fact_of(fact, JOB_STOPPED), ret);
    } else if (fact->kind == FACT_JOB_KILLED) {
        add_killed(t, fact_of(fact, JOB_KILLED), ret);
    } else if (fact->kind == FACT_NOMINATION_ENDED) {
        add_nomination_ended(t, fact_of(fact, NOMINATION_ENDED), ret);
    } else if (fact->kind == FACT_ATTEMPT_ENDED) {
        add_ended(t, fact_of(fact, ATTEMPT_ENDED), ret);
    } else if (fact->kind == FACT_DEVICE_STUCK) {
        add_stuck(t, fact_of(fact, DEVICE_STUCK), ret);
    } else if (fact->kind == FACT_NODE_LOST) {
        str_add(ret, "lost ");
        add_node(t, fact_of(fact, NODE_LOST)->node, ret);
    } else {
        str_add(ret, fact_kind_name(fact->kind));
    }
    str_add_char(ret, '\n');
}

/* ---- why ---- */

static void add_blocker(const struct scene_text *t, const struct why_blocker *b, struct str *ret)
{
    size_t i;

    str_addf(ret, "    %s", err_name(b->code));
    if (b->need_gu != 0 || b->have_gu != 0) {
        str_add(ret, ", needs ");
        add_gpus(b->need_gu, ret);
        str_add(ret, ", could have ");
        add_gpus(b->have_gu, ret);
    }
    for (i = 0; i < b->job_count; i++) {
        str_add(ret, i > 0 ? " " : ", jobs ");
        add_job(t, b->jobs[i], ret);
    }
    str_addf(ret, ": %s", b->text != NULL ? b->text : "");
    if (b->remedy != NULL && *b->remedy != '\0') {
        str_addf(ret, " / %s", b->remedy);
    }
    str_add_char(ret, '\n');
}

void scene_text_why(const struct scene_text *t, const struct why *why, int64_t now_ms,
                    struct str *ret)
{
    size_t i;

    scene_text_time(t, now_ms, ret);
    str_add(ret, " why ");
    add_job(t, why->job, ret);
    str_addf(ret, ": %s: %s\n", why->state, why->summary != NULL ? why->summary : "");
    for (i = 0; i < why->blocker_count; i++) {
        add_blocker(t, &why->blockers[i], ret);
    }
    if (why->earliest_ms != 0 || why->latest_ms != 0) {
        str_add(ret, "    between ");
        if (why->earliest_ms != 0) {
            scene_text_time(t, why->earliest_ms, ret);
        } else {
            str_add_char(ret, '?');
        }
        str_add(ret, " and ");
        if (why->latest_ms != 0) {
            scene_text_time(t, why->latest_ms, ret);
        } else {
            str_add_char(ret, '?');
        }
        str_add_char(ret, '\n');
    }
}
