/* What the core holds and what lies in attempts/ are two lists, and each may have what the other
 * lacks:
 *   - held and there: its end is told, when there is one;
 *   - held, not there: it was never started, and it never will be: lost;
 *   - there, of an attempt that is held: the core has its end already, or it is a leftover: in
 *     silence it is ended, and its record kept until the attempt is forgotten;
 *   - there, of an attempt that nobody holds: in silence ended and removed.
 */
#include "backend/local/local_adopt.h"

#include "backend/local/local_attempt.h"
#include "backend/local/local_checkpoint.h"
#include "backend/local/local_task.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool two_numbers(const char *name, int64_t *ret_first, int64_t *ret_second)
{
    char end;

    return sscanf(name, "%" SCNd64 ".%" SCNd64 "%c", ret_first, ret_second, &end) == 2;
}

static bool is_attempt_held(const struct backend_held *held, size_t count,
                            const struct local_attempt *a)
{
    for (size_t i = 0; i < count; i++) {
        if (held[i].job == a->job && held[i].attempt == a->attempt) {
            return true;
        }
    }
    return false;
}

static bool is_held(const struct backend_held *held, size_t count, const struct local_task *t)
{
    const struct local_attempt *a = t->attempt;

    for (size_t i = 0; i < count; i++) {
        if (held[i].job == a->job && held[i].attempt == a->attempt &&
            backend_task_is(&held[i].task, t->task, t->step)) {
            return true;
        }
    }
    return false;
}

static void load_tasks(struct local_attempt *a)
{
    struct dirent *entry;
    int64_t task;
    int64_t step;
    DIR *dir;
    int fd;

    if (safedir_open(a->dir_fd, ".", &fd, NULL) != 0) {
        return;
    }
    dir = fdopendir(fd);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (two_numbers(entry->d_name, &task, &step)) {
            local_task_new(a, task, step);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void adopt_attempt(struct local *l, const char *name, const struct backend_held *held,
                          size_t count)
{
    struct local_attempt *a;
    struct err err;
    int64_t attempt;
    int64_t job;
    int rc;

    if (!two_numbers(name, &job, &attempt) || local_find(l, job, attempt) != NULL) {
        return;
    }
    rc = local_attempt_load(l, job, attempt, &a, &err);
    if (rc == ERR_NOT_FOUND) { /* a crash while it was made: before its first task */
        (void)!safedir_remove(l->attempts_fd, name, NULL);
        return;
    }
    if (rc != 0) {
        local_warn(l, "attempts/%s is not taken up: %s", name, err.text);
        return;
    }
    a->unwanted = !is_attempt_held(held, count, a);
    load_tasks(a);
    for (size_t i = 0; i < a->tasks.count; i++) {
        struct local_task *t = a->tasks.items[i];

        local_task_adopt(t, local_attempt_task(a, t->task) == t && is_held(held, count, t));
    }
    if (!a->unwanted) {
        a->begun = true; /* the core has it, in whatever state */
        local_checkpoint_scan(a);
    }
}

/* Attempts of which nothing runs and which nobody knows. */
static void remove_dead(struct local *l)
{
    size_t i = l->attempts.count;

    while (i-- > 0) {
        struct local_attempt *a = l->attempts.items[i];
        bool living = false;

        for (size_t k = 0; k < a->tasks.count; k++) {
            living = living || a->tasks.items[k]->state != LOCAL_TASK_ENDED;
        }
        if (a->unwanted && !living) {
            local_attempt_remove(a);
        }
    }
}

static void tell_lost(struct local *l, const struct backend_held *held)
{
    struct fact_task_ended fact = {.job = held->job,
                                   .attempt = held->attempt,
                                   .task = held->task.task,
                                   .cause = TASK_LOST,
                                   .step = held->task.step};

    local_tell(l, FACT_TASK_ENDED, &fact, 0);
}

/* Was it ever started?  One of its number in another step does not speak for it. */
static bool is_there(const struct local *l, const struct backend_held *held)
{
    const struct local_attempt *a = local_find(l, held->job, held->attempt);
    const struct local_task *t = a == NULL ? NULL : local_attempt_task(a, held->task.task);

    return t != NULL && backend_task_is(&held->task, t->task, t->step);
}

int local_adopt(struct local *l, const struct backend_held *held, size_t count, struct err *err)
{
    struct dirent *entry;
    DIR *dir;
    int fd;
    int rc = safedir_open(l->attempts_fd, ".", &fd, err);

    if (rc != 0) {
        return rc;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return err_set(err, ERR_IO, "cannot list the attempts: %s", strerror(errno));
    }
    while ((entry = readdir(dir)) != NULL) {
        adopt_attempt(l, entry->d_name, held, count);
    }
    closedir(dir);
    remove_dead(l);
    for (size_t i = 0; i < count; i++) {
        if (!is_there(l, &held[i])) {
            tell_lost(l, &held[i]);
        }
    }
    return 0;
}
