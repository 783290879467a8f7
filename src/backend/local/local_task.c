/* States:
 *
 *      STARTING ── "running" ──> RUNNING ── "ended" or exit.json ──> ENDED
 *         │ └───── "refused" ───────┼──────────────────────────────────^
 *         │                         │ link lost, supervisor dead       │
 *         └── it never came up ─────┴────────> SWEEPING ── gone ───────┘
 *
 * The supervisor is the proof of the end while it lives.  If it was killed, its processes are not
 * its children any more; we find them by the task's control group (which has no hole), and on a
 * host without one by the mark in their environment, the session of the main process and their
 * parents (proctree.c names the holes).  They are killed until two scans in a row find nothing;
 * only then the task is told lost.  A parent-death signal for the tree was rejected: it reaches one
 * generation only and would kill the tasks whose supervisor an operator restarts.
 *
 * A supervisor that lives but does not answer an order to kill is killed after KILL_PATIENCE_MS,
 * and we sweep.
 */
#include "backend/local/local_task.h"

#include "backend/local/launch.h"
#include "backend/local/local_checkpoint.h"
#include "base/mem.h"

#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS       50 /* between tries */
#define CONNECT_MAX_MS   30000
#define SWEEP_MS         20
#define SWEEP_SLOW_MS    250 /* after a second: what cannot be killed sleeps in the kernel */
#define CLEAN_SCANS      2
#define KILL_PATIENCE_MS 5000

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_timer(evutil_socket_t fd, short what, void *arg);

static void set_timer(struct local_task *t, int64_t ms)
{
    struct timeval wait = {.tv_sec = (time_t)(ms / 1000),
                           .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    (void)event_add(t->timer, &wait);
}

static void enter(struct local_task *t, enum local_task_state state)
{
    t->state = state;
    t->since_ms = monotonic_ms();
}

struct local_task *local_task_new(struct local_attempt *a, int64_t task, int64_t step)
{
    struct local_task *t = mem_new(1, sizeof(*t));

    t->attempt = a;
    t->task = task;
    t->step = step;
    t->timer = evtimer_new(a->local->loop, on_timer, t);
    snprintf(t->control, sizeof(t->control), "%lld.%lld", (long long)task, (long long)step);
    snprintf(t->key, sizeof(t->key), "%s.%s", a->name, t->control);
    snprintf(t->mark, sizeof(t->mark), "MUSTER_TASK_KEY=%s-%s", t->key, a->salt);
    enter(t, LOCAL_TASK_STARTING);
    vec_push(&a->tasks, t);
    return t;
}

static void close_link(struct local_task *t)
{
    if (t->link != NULL) {
        bufferevent_free(t->link);
        t->link = NULL;
    }
}

void local_task_free(struct local_task *t)
{
    if (t == NULL) {
        return;
    }
    local_drop_starter(t->attempt->local, t);
    close_link(t);
    event_free(t->timer);
    mem_free(t);
}

/* ---- what it tells ---- */

static bool is_told(const struct local_task *t)
{
    return !t->unwanted && !t->attempt->unwanted;
}

static void tell_running(struct local_task *t)
{
    struct fact_task_running fact = {.job = t->attempt->job,
                                     .attempt = t->attempt->attempt,
                                     .task = t->task,
                                     .step = t->step};

    if (is_told(t) && !t->told_running) {
        t->told_running = true;
        local_tell(t->attempt->local, FACT_TASK_RUNNING, &fact, 0);
        local_attempt_begin(t->attempt);
    }
}

static void tell_refused(struct local_task *t, const struct exitrec *r)
{
    struct fact_task_refused fact = {
        .job = t->attempt->job,
        .attempt = t->attempt->attempt,
        .task = t->task,
        .reason = r->text,
        .node_fault = r->node_fault,
        .step = t->step,
    };

    local_tell(t->attempt->local, FACT_TASK_REFUSED, &fact, r->ended_ms);
}

static int cause_of(enum exitrec_cause cause)
{
    switch (cause) {
    case EXITREC_EXITED:
        return TASK_EXITED;
    case EXITREC_SIGNALLED:
        return TASK_SIGNALLED;
    case EXITREC_LOST:
    case EXITREC_REFUSED:
        break;
    }
    return TASK_LOST;
}

static void tell_ended(struct local_task *t, const struct exitrec *r)
{
    struct fact_task_ended fact = {
        .job = t->attempt->job,
        .attempt = t->attempt->attempt,
        .task = t->task,
        .cause = cause_of(r->cause),
        .status = r->status,
        .step = t->step,
    };

    local_tell(t->attempt->local, FACT_TASK_ENDED, &fact, r->ended_ms);
}

/* An attempt that nobody knows goes with its last task. */
static void remove_unwanted(struct local_attempt *a)
{
    for (size_t i = 0; i < a->tasks.count; i++) {
        if (a->tasks.items[i]->state != LOCAL_TASK_ENDED) {
            return;
        }
    }
    local_attempt_remove(a);
}

/* A link that has told the end stays: a supervisor that could not write its record waits for
 * "forget" on it.  May free the task. */
static void finish(struct local_task *t, const struct exitrec *r)
{
    struct local_attempt *a = t->attempt;

    if (t->state == LOCAL_TASK_ENDED) {
        return;
    }
    enter(t, LOCAL_TASK_ENDED);
    event_del(t->timer);
    filewatch_drain(a->local->watch);
    local_attempt_begin(a);
    local_checkpoint_flush(a);
    local_attempt_look_done(a, t->task);
    if (a->unwanted) {
        remove_unwanted(a);
        return;
    }
    if (local_attempt_task(a, t->task) == t) { /* else the number is another's now */
        local_attempt_leave(a, t->task);
    }
    if (!is_told(t)) {
        return;
    }
    if (r->cause == EXITREC_REFUSED) {
        tell_refused(t, r);
    } else {
        tell_ended(t, r);
    }
}

/* ---- the link ---- */

static void say(struct local_task *t, const char *line)
{
    (void)bufferevent_write(t->link, line, strlen(line));
}

static void flush_orders(struct local_task *t)
{
    char line[32];

    if (t->link == NULL || t->state != LOCAL_TASK_RUNNING) {
        return;
    }
    if (t->signal != 0) {
        snprintf(line, sizeof(line), "signal %lld\n", (long long)t->signal);
        say(t, line);
        t->signal = 0;
    }
    if (t->kill_wanted && !t->kill_said) {
        say(t, "kill\nstatus\n");
        t->kill_said = true;
        set_timer(t, KILL_PATIENCE_MS);
    }
}

/* May free the task. */
static void take_line(struct local_task *t, const char *line)
{
    struct exitrec r = {0};
    char cause[16];
    long long status = 0;
    long long ended_ms = 0;
    int fault = 0;
    int text_at = 0;

    t->kill_answered = t->kill_said;
    if (strncmp(line, "running ", 8) == 0) {
        if (t->state == LOCAL_TASK_STARTING) {
            event_del(t->timer);
            enter(t, LOCAL_TASK_RUNNING);
            tell_running(t);
        }
        flush_orders(t);
    } else if (sscanf(line, "ended %15s %lld %lld", cause, &status, &ended_ms) == 3) {
        r.cause = strcmp(cause, "exited") == 0 ? EXITREC_EXITED : EXITREC_SIGNALLED;
        r.status = status;
        r.ended_ms = ended_ms;
        tell_running(t);
        finish(t, &r);
    } else if (sscanf(line, "refused %d %lld %n", &fault, &ended_ms, &text_at) == 2) {
        r.cause = EXITREC_REFUSED;
        r.node_fault = fault != 0;
        r.ended_ms = ended_ms;
        snprintf(r.text, sizeof(r.text), "%s", line + text_at);
        finish(t, &r);
    }
}

static bool is_known(const struct local *l, const struct local_task *t)
{
    for (size_t i = 0; i < l->attempts.count; i++) {
        const struct local_attempt *a = l->attempts.items[i];

        for (size_t k = 0; k < a->tasks.count; k++) {
            if (a->tasks.items[k] == t) {
                return true;
            }
        }
    }
    return false;
}

static void on_read(struct bufferevent *link, void *arg)
{
    struct local_task *t = arg;
    const struct local *l = t->attempt->local;
    bool more = true;

    while (more) {
        char *line = evbuffer_readln(bufferevent_get_input(link), NULL, EVBUFFER_EOL_LF);

        more = line != NULL;
        if (more) {
            take_line(t, line);
            free(line);
            more = is_known(l, t) && t->link == link;
        }
    }
}

static void lost_link(struct local_task *t);

static void on_event(struct bufferevent *link, short what, void *arg)
{
    struct local_task *t = arg;

    (void)link;
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
        close_link(t);
        lost_link(t);
    }
}

static void take_link(struct local_task *t, int fd)
{
    t->link = bufferevent_socket_new(t->attempt->local->loop, fd, BEV_OPT_CLOSE_ON_FREE);
    if (t->link == NULL) {
        close(fd);
        set_timer(t, CONNECT_MS);
        return;
    }
    bufferevent_setcb(t->link, on_read, NULL, on_event, t);
    t->kill_said = false;
    t->kill_answered = false;
    (void)bufferevent_enable(t->link, EV_READ | EV_WRITE);
}

/* ---- without a link ---- */

static int open_control(const struct local_task *t)
{
    int fd;

    return safedir_open(t->attempt->dir_fd, t->control, &fd, NULL) == 0 ? fd : -1;
}

/* What the supervisor left: its end, or who it is.  False: neither. */
static bool read_end(const struct local_task *t, struct exitrec *ret)
{
    CLEANUP(safedir_closep) int control = open_control(t);

    return control >= 0 && exitrec_read(control, ret, NULL) == 0;
}

static bool read_shepherd(const struct local_task *t, struct exitrec_shepherd *ret)
{
    CLEANUP(safedir_closep) int control = open_control(t);

    return control >= 0 && exitrec_read_shepherd(control, ret, NULL) == 0;
}

static bool shepherd_lives(const struct exitrec_shepherd *who)
{
    char boot[PROCTREE_BOOT_LEN];

    proctree_boot(boot);
    return strcmp(boot, who->boot) == 0 && proctree_alive(&who->shepherd);
}

static void sweep(struct local_task *t);

static void connect_again(struct local_task *t)
{
    int fd;

    if (launch_connect(t, &fd, NULL) == 0) {
        take_link(t, fd);
    } else {
        set_timer(t, CONNECT_MS);
    }
}

/* The link is gone or there never was one: an end, a living supervisor, or a dead one.  May free
 * the task. */
static void lost_link(struct local_task *t)
{
    struct exitrec_shepherd who;
    struct exitrec end;
    bool known;

    if (t->state == LOCAL_TASK_ENDED || t->state == LOCAL_TASK_SWEEPING) {
        return;
    }
    if (read_end(t, &end)) {
        finish(t, &end);
        return;
    }
    known = read_shepherd(t, &who);
    if (known ? !shepherd_lives(&who) : t->born_linked) {
        enter(t, LOCAL_TASK_SWEEPING);
        sweep(t);
        return;
    }
    if (monotonic_ms() - t->since_ms >= CONNECT_MAX_MS) {
        if (known) {
            (void)proctree_signal(&who.shepherd, SIGKILL);
        }
        enter(t, LOCAL_TASK_SWEEPING);
        sweep(t);
        return;
    }
    connect_again(t);
}

/* The supervisor's first connection ended before it said who it is. */
static void start_ended(struct local_task *t)
{
    struct exitrec_shepherd who;

    if (t->state == LOCAL_TASK_STARTING && t->link == NULL && !read_shepherd(t, &who)) {
        enter(t, LOCAL_TASK_SWEEPING);
        sweep(t);
    }
}

static size_t kill_found(const struct local_task *t, const struct exitrec_shepherd *who)
{
    struct proctree_query query = {.marker = t->mark};
    struct proctree_list found = {0};
    size_t count;

    if (who->child.pid != 0 && proctree_alive(&who->child)) {
        query.root = who->child.pid;
        query.session = who->child;
        (void)proctree_signal(&who->child, SIGKILL);
    }
    proctree_find(&query, &found);
    for (size_t i = 0; i < found.count; i++) {
        (void)proctree_signal(&found.items[i], SIGKILL);
    }
    count = found.count + (query.root != 0);
    vec_fini(&found);
    return count;
}

static void record_lost(const struct local_task *t, const struct exitrec *r)
{
    CLEANUP(safedir_closep) int control = open_control(t);
    struct err err;

    if (control < 0 || exitrec_write(control, r, &err) != 0) {
        local_warn(t->attempt->local, "task %s: its end is not on the disk", t->key);
    }
}

/* A supervisor that died before its first process existed has started nothing.  May free the task.
 */
static void swept(struct local_task *t, bool started)
{
    struct exitrec r = {.cause = EXITREC_LOST, .ended_ms = local_now_ms()};

    if (!started && !t->told_running) {
        r.cause = EXITREC_REFUSED;
        r.node_fault = true;
        snprintf(r.text, sizeof(r.text), "the supervisor ended before it had started the task");
    }
    record_lost(t, &r);
    finish(t, &r);
}

static void sweep(struct local_task *t)
{
    struct exitrec_shepherd who = {0};
    char boot[PROCTREE_BOOT_LEN];
    int64_t slow_ms = monotonic_ms() - t->since_ms;
    bool known = read_shepherd(t, &who);
    bool clean;

    proctree_boot(boot);
    if (known && strcmp(boot, who.boot) != 0) {
        swept(t, who.child.pid != 0); /* nothing outlives a boot */
        return;
    }
    if (who.cgroup[0] != '\0') {
        cgroup_kill(who.cgroup);
    }
    clean = kill_found(t, &who) == 0 && (who.cgroup[0] == '\0' || cgroup_empty(who.cgroup));
    t->clean_scans = clean ? t->clean_scans + 1 : 0;
    if (t->clean_scans < CLEAN_SCANS) {
        set_timer(t, slow_ms < 1000 ? SWEEP_MS : SWEEP_SLOW_MS);
        return;
    }
    if (who.cgroup[0] != '\0') {
        cgroup_remove(who.cgroup);
    }
    swept(t, who.child.pid != 0);
}

/* A supervisor that does not even answer (it was stopped, or hangs on a dead file system).  One
 * that answers and waits for processes that do not die is not helped by being killed. */
static void hurry_kill(struct local_task *t)
{
    struct exitrec_shepherd who;

    if (read_shepherd(t, &who) && shepherd_lives(&who)) {
        local_warn(t->attempt->local, "supervisor of task %s does not kill: it is killed", t->key);
        (void)proctree_signal(&who.shepherd, SIGKILL);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct local_task *t = arg;

    (void)fd;
    (void)what;
    switch (t->state) {
    case LOCAL_TASK_SWEEPING:
        sweep(t);
        break;
    case LOCAL_TASK_STARTING:
    case LOCAL_TASK_RUNNING:
        if (t->link == NULL) {
            lost_link(t);
        } else if (t->kill_wanted && !t->kill_answered) {
            hurry_kill(t);
        }
        break;
    case LOCAL_TASK_ENDED:
        break;
    }
}

/* ---- orders ---- */

int local_task_start(struct local_task *t, const struct backend_job *job, size_t index,
                     const struct osaccount *account, struct err *err)
{
    int fd = -1;
    int rc = launch_prepare(t, job, index, account, err);

    if (rc == 0) {
        rc = launch_shepherd(t, &fd, err);
    }
    if (rc != 0) {
        return rc;
    }
    t->born_linked = fd >= 0;
    if (fd >= 0) {
        take_link(t, fd);
    } else {
        set_timer(t, CONNECT_MS);
    }
    return 0;
}

void local_task_adopt(struct local_task *t, bool wanted)
{
    CLEANUP(safedir_closep) int dir = -1;
    struct exitrec end;
    char name[48];

    t->unwanted = !wanted;
    snprintf(name, sizeof(name), "task.%lld", (long long)t->task);
    if (safedir_open(t->attempt->dir_fd, name, &dir, NULL) == 0) {
        local_attempt_watch(t->attempt, dir, t->task);
    }
    if (!wanted && read_end(t, &end)) {
        enter(t, LOCAL_TASK_ENDED); /* the core has it already */
        return;
    }
    if (!wanted) {
        t->kill_wanted = true;
    }
    /* Not before the caller has all its tasks: an end may tell, and remove, at once. */
    set_timer(t, 0);
}

void local_task_signal(struct local_task *t, int64_t signal)
{
    t->signal = signal;
    flush_orders(t);
}

void local_task_kill(struct local_task *t)
{
    if (!t->kill_wanted) {
        t->kill_wanted = true;
        flush_orders(t);
        if (t->state == LOCAL_TASK_STARTING && t->link != NULL) {
            set_timer(t, KILL_PATIENCE_MS);
        }
    }
}

void local_task_start_failed(struct local_task *t, const char *why)
{
    local_warn(t->attempt->local, "task %s: %s", t->key, why);
    start_ended(t);
}

int local_task_write_deadline(const struct local_task *t, int64_t deadline_ms, const char *reason,
                              struct err *err)
{
    struct safedir_owner owner = local_attempt_owner(t->attempt, 0600);
    CLEANUP(safedir_closep) int dir = -1;
    time_t seconds = (time_t)(deadline_ms / 1000);
    struct str text = {0};
    char name[48];
    char iso[32];
    struct tm tm;
    int rc;

    snprintf(name, sizeof(name), "task.%lld", (long long)t->task);
    rc = safedir_open(t->attempt->dir_fd, name, &dir, err);
    if (rc != 0) {
        return rc;
    }
    gmtime_r(&seconds, &tm);
    strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%S", &tm);
    str_addf(&text, "%lld\n%s.%03dZ\n%s\n", (long long)deadline_ms, iso, (int)(deadline_ms % 1000),
             reason == NULL ? "" : reason);
    rc = safedir_write(dir, "preempt", text.text, text.len, &owner, err);
    str_fini(&text);
    return rc;
}

void local_task_forget(struct local_task *t)
{
    struct filewatch_key key = {.job = t->attempt->job,
                                .attempt = t->attempt->attempt,
                                .task = t->task};
    char name[2 * LOCAL_NAME_MAX + 8];

    if (t->link != NULL) {
        int fd = bufferevent_getfd(t->link);

        (void)send(fd, "forget\n", 7, MSG_NOSIGNAL); /* at once: the link goes with the task */
    }
    filewatch_remove(t->attempt->local->watch, &key);
    snprintf(name, sizeof(name), "%s.sock", t->key);
    (void)unlinkat(t->attempt->local->runtime_fd, name, 0);
}
