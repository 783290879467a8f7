#include "backend/local/local_checkpoint.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BURST         16
#define REFILL_MS     1000
#define CTIME_BACK_MS 60000 /* a rename older than this was not what we were just told of */

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tell_due(struct local_attempt *a);

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    tell_due(arg);
}

void local_checkpoint_init(struct local_attempt *a)
{
    struct local_checkpoints *c = &a->checkpoints;

    c->told_ms = a->made_ms;
    c->tokens = BURST;
    c->refilled_ms = monotonic_ms();
    c->timer = evtimer_new(a->local->loop, on_timer, a);
}

void local_checkpoint_fini(struct local_attempt *a)
{
    struct local_checkpoints *c = &a->checkpoints;

    for (size_t i = 0; i < c->waiting.count; i++) {
        mem_free(c->waiting.items[i].name);
    }
    vec_fini(&c->waiting);
    if (c->timer != NULL) {
        event_free(c->timer);
        c->timer = NULL;
    }
}

static void tell_first(struct local_attempt *a)
{
    struct local_checkpoints *c = &a->checkpoints;
    struct local_checkpoint first = c->waiting.items[0];
    CLEANUP(mem_freep) char *name = first.name;
    struct fact_job_checkpointed fact = {.job = a->job, .attempt = a->attempt, .name = name};

    vec_remove(&c->waiting, 0);
    c->tokens -= c->tokens > 0;
    if (first.true_ms > c->told_ms) {
        c->told_ms = first.true_ms;
    }
    if (!a->unwanted) {
        local_tell(a->local, FACT_JOB_CHECKPOINTED, &fact, first.true_ms);
    }
}

static void refill(struct local_checkpoints *c)
{
    int64_t now_ms = monotonic_ms();
    int64_t more = (now_ms - c->refilled_ms) / REFILL_MS;

    c->tokens = c->tokens + more < BURST ? c->tokens + more : BURST;
    c->refilled_ms += more * REFILL_MS;
}

static void tell_due(struct local_attempt *a)
{
    struct local_checkpoints *c = &a->checkpoints;
    struct timeval wait = {.tv_sec = REFILL_MS / 1000};

    refill(c);
    while (a->begun && c->tokens > 0 && c->waiting.count > 0) {
        tell_first(a);
    }
    if (a->begun && c->waiting.count > 0) {
        (void)event_add(c->timer, &wait);
    }
}

void local_checkpoint_flush(struct local_attempt *a)
{
    while (a->checkpoints.waiting.count > 0) {
        tell_first(a);
    }
}

static void add(struct local_attempt *a, const char *name, int64_t true_ms)
{
    struct local_checkpoints *c = &a->checkpoints;

    if (c->waiting.count >= BURST) {
        mem_free(vec_pop(&c->waiting).name); /* the newer one speaks for it */
    }
    vec_push(&c->waiting, ((struct local_checkpoint){mem_text(name), true_ms}));
    tell_due(a);
}

static int64_t ctime_ms(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    return (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
}

static int open_dir(const struct local_attempt *a, int *ret)
{
    char name[32];

    snprintf(name, sizeof(name), "%lld", (long long)a->job);
    return safedir_open(a->local->checkpoints_fd, name, ret, NULL);
}

static bool is_checkpoint(const char *name)
{
    return name[0] != '.' && str_is_utf8(name, strlen(name));
}

/* rename sets the change time: the true time of the checkpoint, unless the file was changed since.
 */
void local_checkpoint_seen(struct local_attempt *a, const char *name)
{
    CLEANUP(safedir_closep) int dir = -1;
    int64_t now_ms = local_now_ms();
    int64_t true_ms = now_ms;

    if (!is_checkpoint(name)) {
        return;
    }
    if (open_dir(a, &dir) == 0) {
        true_ms = ctime_ms(dir, name);
    }
    if (true_ms > now_ms || true_ms < now_ms - CTIME_BACK_MS) {
        true_ms = now_ms;
    }
    add(a, name, true_ms);
}

void local_checkpoint_scan(struct local_attempt *a)
{
    CLEANUP(mem_freep) char *newest = NULL;
    int64_t newest_ms = a->checkpoints.told_ms;
    struct dirent *entry;
    DIR *list;
    int dir;

    if (open_dir(a, &dir) != 0) {
        return;
    }
    list = fdopendir(dir); /* takes dir */
    while (list != NULL && (entry = readdir(list)) != NULL) {
        int64_t at_ms = is_checkpoint(entry->d_name) ? ctime_ms(dir, entry->d_name) : 0;

        if (at_ms > newest_ms) {
            mem_free(newest);
            newest = mem_text(entry->d_name);
            newest_ms = at_ms;
        }
    }
    if (list != NULL) {
        closedir(list);
    } else {
        close(dir);
    }
    if (newest != NULL) {
        add(a, newest, newest_ms);
    }
}
