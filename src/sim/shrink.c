#include "sim/shrink.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shrinker {
    const struct shrink_job *job;
    struct seeded_options *options;
    struct seeded_cut *cut;
    struct shrink_end want;
    int64_t until_s;
    int64_t tries;
};

/* An event or a quiet phase: 2 × number, + 1 for quiet. */
typedef VEC(int64_t) item_list;

static int64_t now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec;
}

/* ---- one try ---- */

struct shared {
    struct shrink_end end;
    volatile int64_t progress;
};

static void live(const struct seeded_options *options, struct shared *shared)
{
    struct seeded_result r;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null >= 0) { /* what a broken CHECK says is said once, at the end */
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(null, STDOUT_FILENO);
    }
    seeded_run(options, &shared->progress, &r);
    shared->end.failed = r.failure.len > 0;
    shared->end.ran_out = r.ran_out;
    (void)snprintf(shared->end.what, sizeof(shared->end.what), "%s", r.what != NULL ? r.what : "");
    (void)snprintf(shared->end.text, sizeof(shared->end.text), "%s", r.failure.text);
    seeded_result_fini(&r);
}

int shrink_try_life(void *ctx, const struct seeded_options *options, struct shrink_end *ret,
                    struct err *err)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    pid_t child;

    (void)ctx;
    if (shared == MAP_FAILED) {
        return err_set(err, ERR_IO, "no memory to share: %s", strerror(errno));
    }
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        live(options, shared);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        (void)munmap(shared, sizeof(*shared));
        return err_set(err, ERR_IO, "no process for a try: %s", strerror(errno));
    }
    *ret = shared->end;
    ret->event = shared->progress;
    if (status != 0) {
        ret->failed = true;
        (void)snprintf(ret->what, sizeof(ret->what), "ended by signal %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        (void)snprintf(ret->text, sizeof(ret->text), "event %lld: %s", (long long)ret->event,
                       ret->what);
    }
    (void)munmap(shared, sizeof(*shared));
    return 0;
}

/* Does the life as it is cut now still fail in the same way? */
static bool fails(struct shrinker *s)
{
    struct shrink_end end;

    s->tries++;
    return s->job->try_life(s->job->ctx, s->options, &end, NULL) == 0 && end.failed &&
           strcmp(end.what, s->want.what) == 0;
}

static bool has_time(const struct shrinker *s)
{
    return now_s() < s->until_s;
}

/* ---- events ---- */

static void set_item(struct seeded_cut *cut, int64_t item, bool out)
{
    bool *list = item % 2 != 0 ? cut->quiets : cut->events;

    list[item / 2] = out;
}

static void set_items(struct seeded_cut *cut, const item_list *items, size_t from, size_t count,
                      bool out)
{
    size_t i;

    for (i = from; i < from + count && i < items->count; i++) {
        set_item(cut, items->items[i], out);
    }
}

static void list_items(const struct shrinker *s, item_list *ret)
{
    int64_t i;

    vec_clear(ret);
    for (i = 0; i < s->options->events; i++) {
        if (!s->cut->events[i]) {
            vec_push(ret, 2 * i);
        }
        if ((i + 1) % SEEDED_QUIET_EVERY == 0 && !s->cut->quiets[i]) {
            vec_push(ret, 2 * i + 1);
        }
    }
}

/* Leave out parts of so many, from the end on; true if any could go. */
static bool drop_parts(struct shrinker *s, item_list *items, size_t part)
{
    bool dropped = false;
    size_t at = items->count;

    while (at > 0 && has_time(s)) {
        size_t count = part < at ? part : at;

        at -= count;
        set_items(s->cut, items, at, count, true);
        if (fails(s)) {
            dropped = true;
        } else {
            set_items(s->cut, items, at, count, false);
        }
    }
    return dropped;
}

static void shrink_events(struct shrinker *s)
{
    item_list items = {0};
    size_t part;

    list_items(s, &items);
    part = items.count / 2;
    while (part > 0 && has_time(s)) {
        bool dropped = drop_parts(s, &items, part);

        list_items(s, &items);
        if (part == 1 && !dropped) {
            break;
        }
        part = part > 1 ? (part + 1) / 2 : 1;
        part = part > items.count ? items.count : part;
    }
    vec_fini(&items);
}

/* ---- the site and the faults ---- */

static void shrink_bits(struct shrinker *s, uint64_t *bits, uint64_t all)
{
    int id;

    for (id = 63; id > 0 && has_time(s); id--) {
        uint64_t bit = (uint64_t)1 << id;

        if ((all & bit) != 0 && (*bits & bit) == 0) {
            *bits |= bit;
            if (!fails(s)) {
                *bits &= ~bit;
            }
        }
    }
}

static void shrink_faults(struct shrinker *s)
{
    unsigned i;

    for (i = 0; i < SEEDED_FAULT_COUNT && has_time(s); i++) {
        unsigned had = s->options->faults;

        s->options->faults = had & ~(1U << i);
        if (s->options->faults != had && !fails(s)) {
            s->options->faults = had;
        }
    }
}

int shrink_run(const struct shrink_job *job, struct shrink_end *ret, struct err *err)
{
    struct shrinker s = {.job = job,
                         .options = job->options,
                         .cut = job->cut,
                         .until_s = now_s() + job->budget_s};
    uint64_t nodes = 0, queues = 0;
    int rc = job->try_life(job->ctx, s.options, &s.want, err);

    if (rc != 0) {
        return rc;
    }
    if (!s.want.failed) {
        return err_set(err, ERR_INVALID, "this life does not fail: there is nothing to shrink");
    }
    s.options->events = s.want.event;
    s.options->no_end = !s.want.ran_out;
    shrink_faults(&s);
    shrink_events(&s);
    seeded_site_ids(s.options, &nodes, &queues);
    shrink_bits(&s, &s.cut->nodes, nodes);
    shrink_bits(&s, &s.cut->queues, queues);
    shrink_events(&s);
    return job->try_life(job->ctx, s.options, ret, err);
}
