/* attempt.json holds what cannot be computed again: the account, MASTER_PORT, the salt of the
 * marks, the rows of the tasks.  It is not fsynced: after a crash of the whole machine no process
 * of the attempt is left, and then its loss only means that the attempt is lost, as it is.
 *
 * Which checkpoints and which "done" were told is not kept: a restarted musterd tells the last one
 * again, with its true time, as it cannot know whether it was journaled. */
#include "backend/local/local_attempt.h"

#include "backend/environ.h"
#include "backend/local/local_checkpoint.h"
#include "backend/local/local_task.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX  (8 * 1024 * 1024)
#define STATUS_MAX  4096
#define TOKEN_BYTES 32

/* ---- small helpers ---- */

struct safedir_owner local_attempt_owner(const struct local_attempt *a, mode_t mode)
{
    return (struct safedir_owner){.uid = a->uid, .gid = a->gid, .mode = mode};
}

static struct safedir_owner own(mode_t mode)
{
    return (struct safedir_owner){.uid = geteuid(), .gid = getegid(), .mode = mode};
}

char *local_attempt_path(const struct local_attempt *a, const char *below)
{
    struct str s = {0};

    str_addf(&s, "%s/attempts/%s/%s", a->local->config.state_dir, a->name, below);
    return str_take(&s);
}

char *local_attempt_log_dir(const struct local_attempt *a)
{
    struct str s = {0};

    str_addf(&s, "%s/logs/%lld", a->local->config.state_dir, (long long)a->job);
    return str_take(&s);
}

static int random_hex(char *ret, size_t bytes, struct err *err)
{
    unsigned char raw[TOKEN_BYTES];

    if (getrandom(raw, bytes, 0) != (ssize_t)bytes) {
        return err_set(err, ERR_IO, "no random bytes: %s", strerror(errno));
    }
    for (size_t i = 0; i < bytes; i++) {
        snprintf(ret + 2 * i, 3, "%02x", raw[i]);
    }
    return 0;
}

static struct local_attempt *make(struct local *l, int64_t job, int64_t attempt)
{
    struct local_attempt *a = mem_new(1, sizeof(*a));

    a->local = l;
    a->job = job;
    a->attempt = attempt;
    a->dir_fd = -1;
    a->rows = json_array();
    snprintf(a->name, sizeof(a->name), "%lld.%lld", (long long)job, (long long)attempt);
    return a;
}

/* ---- MASTER_PORT ---- */

static bool port_is_free(int64_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    bool ok;

    if (fd < 0) {
        return true; /* no IPv4: nobody listens there */
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ok = bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0;
    close(fd);
    return ok;
}

static bool port_is_ours(const struct local *l, int64_t port)
{
    for (size_t i = 0; i < l->attempts.count; i++) {
        if (l->attempts.items[i]->port == port) {
            return true;
        }
    }
    return false;
}

/* The same attempt gets the same port unless somebody has it; the step is odd and not small, so
 * that neighbours in job number do not walk into each other. */
static int64_t choose_port(const struct local *l, int64_t job, int64_t attempt)
{
    int64_t span = l->config.port_last - l->config.port_first + 1;
    uint64_t mixed = (uint64_t)job * 2654435761u + (uint64_t)attempt * 97;

    for (int64_t i = 0; i < span; i++) {
        int64_t port = l->config.port_first + (int64_t)((mixed + (uint64_t)i) % (uint64_t)span);

        if (!port_is_ours(l, port) && port_is_free(port)) {
            return port;
        }
    }
    return l->config.port_first + (int64_t)(mixed % (uint64_t)span);
}

/* ---- files ---- */

static int save(const struct local_attempt *a, struct err *err)
{
    struct safedir_owner owner = own(0600);
    json_t *o =
        json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:O}", "uid", (json_int_t)a->uid, "gid",
                  (json_int_t)a->gid, "port", (json_int_t)a->port, "step", (json_int_t)a->step,
                  "salt", a->salt, "made_ms", (json_int_t)a->made_ms, "tasks", a->rows);
    char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT);
    int rc;

    json_decref(o);
    if (text == NULL) {
        return err_set(err, ERR_INTERNAL, "attempt.json cannot be written");
    }
    rc = safedir_write(a->dir_fd, "attempt.json", text, strlen(text), &owner, err);
    free(text);
    return rc;
}

static int write_tasks_file(const struct local_attempt *a, struct err *err)
{
    struct safedir_owner owner = local_attempt_owner(a, 0600);
    CLEANUP(safedir_closep) int dir = -1;
    json_t *o;
    char *text;
    int rc = safedir_open(a->dir_fd, "job", &dir, err);

    if (rc != 0) {
        return rc;
    }
    o = json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:O}", "job", (json_int_t)a->job, "attempt",
                  (json_int_t)a->attempt, "step", (json_int_t)a->step, "world_size",
                  (json_int_t)json_array_size(a->rows), "master_addr", "127.0.0.1", "master_port",
                  (json_int_t)a->port, "tasks", a->rows);
    text = o == NULL ? NULL : json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    if (text == NULL) {
        return err_set(err, ERR_INTERNAL, "MUSTER_TASKS_FILE cannot be written");
    }
    rc = safedir_write(dir, "tasks.json", text, strlen(text), &owner, err);
    free(text);
    return rc;
}

/* Our copy is what a token is compared with; the account's copy is for its tasks. */
static int write_token(const struct local_attempt *a, struct err *err)
{
    struct safedir_owner theirs = local_attempt_owner(a, 0600);
    struct safedir_owner ours = own(0600);
    CLEANUP(safedir_closep) int dir = -1;
    char hex[2 * TOKEN_BYTES + 1];
    struct str token = {0};
    int rc = random_hex(hex, TOKEN_BYTES, err);

    if (rc == 0) {
        str_addf(&token, "mat_%s_%s", a->name, hex);
        rc = safedir_write(a->dir_fd, "token", token.text, token.len, &ours, err);
    }
    if (rc == 0) {
        rc = safedir_open(a->dir_fd, "job", &dir, err);
    }
    if (rc == 0) {
        rc = safedir_write(dir, "token", token.text, token.len, &theirs, err);
    }
    str_fini(&token);
    return rc;
}

void local_attempt_watch(struct local_attempt *a, int dir, int64_t task)
{
    struct filewatch_key key = {.job = a->job, .attempt = a->attempt, .task = task};
    struct err err;

    if (filewatch_add(a->local->watch, dir, &key, &err) != 0) {
        local_warn(a->local, "%s of attempt %s not seen: %s",
                   task < 0 ? "checkpoints are" : "a status file is", a->name, err.text);
    }
}

/* Made once, kept over attempts. */
static int make_checkpoint_dir(struct local_attempt *a, struct err *err)
{
    struct safedir_owner owner = local_attempt_owner(a, 0700);
    CLEANUP(safedir_closep) int dir = -1;
    char name[32];
    int rc;

    snprintf(name, sizeof(name), "%lld", (long long)a->job);
    rc = safedir_make(a->local->checkpoints_fd, name, &owner, &dir, err);
    if (rc == 0) {
        local_attempt_watch(a, dir, -1);
    }
    return rc;
}

static int make_dirs(struct local_attempt *a, struct err *err)
{
    struct safedir_owner through = own(a->local->dir_mode);
    struct safedir_owner theirs = local_attempt_owner(a, 0700);
    CLEANUP(safedir_closep) int logs = -1;
    CLEANUP(safedir_closep) int job = -1;
    char name[32];
    int rc = safedir_make(a->local->attempts_fd, a->name, &through, &a->dir_fd, err);

    snprintf(name, sizeof(name), "%lld", (long long)a->job);
    if (rc == 0) {
        rc = safedir_make(a->dir_fd, "job", &theirs, &job, err);
    }
    if (rc == 0) {
        rc = safedir_make(a->local->logs_fd, name, &through, &logs, err);
    }
    if (rc == 0) {
        rc = make_checkpoint_dir(a, err);
    }
    return rc;
}

/* ---- the object ---- */

int local_attempt_new(struct local *l, const struct backend_job *job,
                      const struct osaccount *account, struct local_attempt **ret, struct err *err)
{
    struct local_attempt *a = make(l, job->job, job->attempt);
    int rc;

    a->uid = account->uid;
    a->gid = account->gid;
    a->port = choose_port(l, job->job, job->attempt);
    a->made_ms = local_now_ms();
    local_checkpoint_init(a);
    rc = random_hex(a->salt, 8, err);
    if (rc == 0) {
        rc = make_dirs(a, err);
    }
    if (rc == 0) {
        rc = write_token(a, err);
    }
    if (rc == 0) {
        rc = save(a, err);
    }
    if (rc != 0) {
        local_attempt_free(a);
        return rc;
    }
    vec_push(&l->attempts, a);
    *ret = a;
    return 0;
}

static int64_t integer(const json_t *o, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(o, name));
}

static int read_record(struct local_attempt *a, struct err *err)
{
    CLEANUP(mem_freep) char *text = NULL;
    const char *salt;
    json_error_t where;
    json_t *rows;
    json_t *o;
    int rc = safedir_read(a->dir_fd, "attempt.json", RECORD_MAX, &text, err);

    if (rc != 0) {
        return rc;
    }
    o = json_loads(text, 0, &where);
    rows = json_object_get(o, "tasks");
    salt = json_string_value(json_object_get(o, "salt"));
    if (salt == NULL || !json_is_array(rows)) {
        json_decref(o);
        return err_set(err, ERR_SYNTAX, "attempts/%s/attempt.json is damaged", a->name);
    }
    a->uid = (uid_t)integer(o, "uid");
    a->gid = (gid_t)integer(o, "gid");
    a->port = integer(o, "port");
    a->step = integer(o, "step");
    a->made_ms = integer(o, "made_ms");
    local_checkpoint_init(a);
    snprintf(a->salt, sizeof(a->salt), "%s", salt);
    json_decref(a->rows);
    a->rows = json_incref(rows);
    json_decref(o);
    return 0;
}

int local_attempt_load(struct local *l, int64_t job, int64_t attempt, struct local_attempt **ret,
                       struct err *err)
{
    struct local_attempt *a = make(l, job, attempt);
    int rc = safedir_open(l->attempts_fd, a->name, &a->dir_fd, err);

    if (rc == 0) {
        rc = read_record(a, err);
    }
    if (rc == 0) {
        rc = make_checkpoint_dir(a, err);
    }
    if (rc != 0) {
        local_attempt_free(a);
        return rc;
    }
    vec_push(&l->attempts, a);
    *ret = a;
    return 0;
}

void local_attempt_free(struct local_attempt *a)
{
    if (a == NULL) {
        return;
    }
    for (size_t i = 0; i < a->tasks.count; i++) {
        local_task_free(a->tasks.items[i]);
    }
    vec_fini(&a->tasks);
    local_checkpoint_fini(a);
    if (a->dir_fd >= 0) {
        close(a->dir_fd);
    }
    json_decref(a->rows);
    mem_free(a);
}

void local_attempt_remove(struct local_attempt *a)
{
    struct filewatch_key key = {.job = a->job, .attempt = a->attempt, .task = -1};
    struct local *l = a->local;
    struct err err;

    filewatch_remove(l->watch, &key);
    for (size_t i = 0; i < a->tasks.count; i++) {
        local_task_forget(a->tasks.items[i]);
    }
    if (safedir_remove(l->attempts_fd, a->name, &err) != 0) {
        local_warn(l, "attempts/%s stays: %s", a->name, err.text);
    }
    for (size_t i = 0; i < l->attempts.count; i++) {
        if (l->attempts.items[i] == a) {
            vec_remove(&l->attempts, i);
            break;
        }
    }
    local_attempt_free(a);
}

struct local_task *local_attempt_task(const struct local_attempt *a, int64_t task)
{
    struct local_task *newest = NULL;

    for (size_t i = 0; i < a->tasks.count; i++) {
        struct local_task *t = a->tasks.items[i];

        if (t->task == task && (newest == NULL || t->step > newest->step)) {
            newest = t;
        }
    }
    return newest;
}

/* ---- MUSTER_TASKS_FILE ---- */

static json_t *row_of(const struct backend_job *job, size_t index)
{
    const struct fact_grant *task = &job->tasks[index];
    struct environ_place place;
    CLEANUP(mem_freep) char *devices = NULL;

    environ_place_of(job, index, &place);
    devices = environ_devices(task, place.node);
    return json_pack("{s:I, s:I, s:I, s:s, s:I, s:I, s:s, s:b}", "task", (json_int_t)task->task,
                     "rank", (json_int_t)place.rank, "group", (json_int_t)task->group, "node",
                     place.node == NULL ? "" : place.node->name, "node_rank",
                     (json_int_t)place.node_rank, "local_rank", (json_int_t)place.local_rank,
                     "devices", devices, "simulated",
                     (int)(place.node != NULL && place.node->simulated));
}

int local_attempt_want(struct local_attempt *a, const struct backend_job *job, struct err *err)
{
    json_t *rows = json_array();
    int rc;

    for (size_t i = 0; i < job->task_count; i++) {
        if (json_array_append_new(rows, row_of(job, i)) != 0) {
            json_decref(rows);
            return err_set(err, ERR_INVALID, "a node's or device's name is not UTF-8");
        }
    }
    json_decref(a->rows);
    a->rows = rows;
    a->step = job->step > a->step ? job->step : a->step;
    rc = save(a, err);
    return rc != 0 ? rc : write_tasks_file(a, err);
}

void local_attempt_leave(struct local_attempt *a, int64_t task)
{
    struct err err;

    for (size_t i = 0; i < json_array_size(a->rows); i++) {
        if (integer(json_array_get(a->rows, i), "task") == task) {
            json_array_remove(a->rows, i);
            break;
        }
    }
    for (size_t i = 0; i < json_array_size(a->rows); i++) {
        json_object_set_new(json_array_get(a->rows, i), "rank", json_integer((json_int_t)i));
    }
    if (save(a, &err) != 0 || write_tasks_file(a, &err) != 0) {
        local_warn(a->local, "MUSTER_TASKS_FILE of %s is old: %s", a->name, err.text);
    }
}

/* ---- the word "done" ---- */

static bool says_done(const char *text)
{
    static const char SPACE[] = " \t\r\n";

    while (*text != '\0') {
        size_t len;

        text += strspn(text, SPACE);
        len = strcspn(text, SPACE);
        if (len == 4 && strncmp(text, "done", 4) == 0) {
            return true;
        }
        text += len;
    }
    return false;
}

void local_attempt_look_done(struct local_attempt *a, int64_t task)
{
    struct fact_job_asked fact = {.job = a->job,
                                  .attempt = a->attempt,
                                  .subject = "",
                                  .reason = "MUSTER_STATUS_FILE"};
    CLEANUP(mem_freep) char *text = NULL;
    CLEANUP(safedir_closep) int dir = -1;
    char name[48];

    snprintf(name, sizeof(name), "task.%lld", (long long)task);
    if (!a->begun || a->done_told || a->unwanted ||
        safedir_open(a->dir_fd, name, &dir, NULL) != 0 ||
        safedir_read(dir, "status", STATUS_MAX, &text, NULL) != 0 || !says_done(text)) {
        return;
    }
    a->done_told = true;
    local_tell(a->local, FACT_JOB_DONE, &fact, 0);
}

void local_attempt_begin(struct local_attempt *a)
{
    if (a->begun) {
        return;
    }
    a->begun = true;
    local_checkpoint_flush(a);
    for (size_t i = 0; i < a->tasks.count; i++) {
        local_attempt_look_done(a, a->tasks.items[i]->task);
    }
}
