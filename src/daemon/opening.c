#include "daemon/opening.h"

#include "backend/local/local.h"
#include "base/check.h"
#include "base/defaults.h"
#include "base/hash.h"
#include "daemon/crashmark.h"
#include "daemon/loop.h"
#include "daemon/newsite.h"
#include "daemon/note.h"
#include "daemon/services.h"
#include "daemon/statefile.h"
#include "daemon/virtualcluster.h"
#include "http/server.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CRASHES_MAX    2
#define SNAPSHOT_EVERY 50000
#define TAIL_RECORDS   1000

static char *under(const char *dir, const char *name)
{
    struct str s = {0};

    str_addf(&s, "%s/%s", dir, name);
    return str_take(&s);
}

/* ---- state ---- */

/* Option, file, account: in this order. */
static char *choose(const char *option, const char *written, char *usual_taken)
{
    const char *text = option != NULL ? option : written;

    if (text == NULL || text[0] == '\0') {
        return usual_taken;
    }
    mem_free(usual_taken);
    return mem_text(text);
}

static int choose_paths(struct daemon *d, struct err *err)
{
    struct daemon_site *site = NULL;
    int rc = newsite_load(d->options.config, &site, err);

    if (rc != 0 && d->options.state == NULL) {
        return rc;
    }
    d->state =
        choose(d->options.state, rc != 0 ? "" : site->config.state, defaults_state(geteuid()));
    d->socket =
        choose(d->options.socket, rc != 0 ? "" : site->config.socket, defaults_socket(geteuid()));
    d->listen = choose(d->options.listen, rc != 0 ? "" : site->config.listen, mem_text(""));
    daemon_site_free(site);
    return 0; /* a file that is wrong is told when its policy is read */
}

int opening_state(struct daemon *d, struct err *err)
{
    CLEANUP(mem_freep) char *content = NULL;
    CLEANUP(mem_freep) char *people = NULL;
    int rc = choose_paths(d, err);

    if (rc == 0) {
        rc = statefile_dir(d->state, err);
    }
    if (rc == 0) {
        rc = crashmark_open(d->state, err);
    }
    if (rc != 0) {
        return rc;
    }
    if (d->options.thaw) {
        crashmark_clear();
    }
    content = under(d->state, "content");
    rc = content_open(content, &d->content, err);
    if (rc == 0) {
        people = under(d->state, "people.json");
        rc = people_open(people, &d->people, err);
    }
    return rc;
}

/* ---- engine ---- */

bool opening_is_progress(enum fact_kind kind)
{
    return kind != FACT_DAEMON_STARTED && kind != FACT_DAEMON_STOPPED && kind != FACT_NODE_SEEN &&
           kind != FACT_CLOCK_STEPPED && kind != FACT_JOURNAL_KEY &&
           kind != FACT_JOURNAL_CHECKPOINT;
}

static bool find_progress(void *ctx, const struct journal_record *r)
{
    int64_t *seq = ctx;

    if (opening_is_progress(fact_kind_of(r->kind))) {
        *seq = r->seq;
    }
    return true;
}

static void write_case(struct daemon *d, int64_t seq)
{
    CLEANUP(str_fini) struct str text = {0};
    CLEANUP(str_fini) struct str path = {0};
    struct err err;

    str_addf(&path, "%s/crash-%" PRId64 ".json", d->state, seq);
    str_addf(&text, "{\"version\":\"%s\",\"seq\":\"%" PRId64 "\",\"now_ms\":%" PRId64 ",\"state\":",
             MUSTER_VERSION, seq, daemon_now_ms(d));
    core_snapshot(engine_core(d->engine), &text);
    str_add(&text, "}\n");
    if (statefile_write(path.text, text.text, text.len, &err) != 0) {
        note(NOTE_ERROR, "the case is not written: %s", err.text);
    }
}

static int look_for_crashes(struct daemon *d, struct err *err)
{
    CLEANUP(str_fini) struct str why = {0};
    int64_t from = d->durable_seq - TAIL_RECORDS;
    int64_t seq = 0;
    int rc =
        journal_read(d->journal, from < 1 ? 1 : from, TAIL_RECORDS + 1, find_progress, &seq, err);

    if (rc != 0) {
        return rc;
    }
    crashmark_at(seq);
    if (crashmark_count(seq) < CRASHES_MAX) {
        return 0;
    }
    str_addf(&why,
             "musterd crashed %d times after record %" PRId64 ": it adopts and answers but plans "
             "nothing; the state is in %s/crash-%" PRId64 ".json, start with --thaw to plan again",
             crashmark_count(seq), seq, d->state, seq);
    engine_set_frozen(d->engine, true, str_text(&why));
    d->frozen_why = str_take(&why);
    note(NOTE_ERROR, "frozen: %s", d->frozen_why);
    write_case(d, seq);
    return 0;
}

/* A journal that is gone must not begin anew beside what it spoke of: its job numbers would be
 * given out again, and with them other people's logs and checkpoints. */
static int check_not_lost(const struct daemon *d, const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *logs = under(d->state, "logs");

    if (access(path, F_OK) == 0 || access(logs, F_OK) != 0) {
        return 0;
    }
    return err_set(err, ERR_JOURNAL_DAMAGED,
                   "%s is missing, and the directory was in use; restore it from a copy, or begin "
                   "anew in another directory",
                   path);
}

int opening_engine(struct daemon *d, struct err *err)
{
    CLEANUP(mem_freep) char *path = under(d->state, "journal.db");
    struct engine_config config = {.snapshot_every = SNAPSHOT_EVERY};
    struct daemon_site *site = NULL;
    int rc = check_not_lost(d, path, err);

    if (rc == 0) {
        rc = journal_open_sqlite(path, false, &d->journal, err);
    }
    if (rc != 0) {
        return rc;
    }
    config.journal = d->journal;
    config.hooks = daemon_hooks(d);
    rc = engine_open(&config, &d->engine, err);
    if (rc != 0) {
        return rc;
    }
    d->durable_seq = journal_last_seq(d->journal);
    clock_start(&d->clock, clock_read(), core_now_ms(engine_core(d->engine)));
    d->started_ms = daemon_now_ms(d);
    rc = look_for_crashes(d, err);
    if (rc == 0 && view_policy(engine_core(d->engine)) != NULL) {
        struct err lost;

        if (newsite_restore(d, &site, &lost) == 0) {
            d->site = site;
        } else {
            note(NOTE_WARN, "the text of the policy in force cannot be read: %s", lost.text);
            d->text_lost = true; /* so the file is applied, whether it has changed or not */
        }
    }
    return rc;
}

/* ---- backend ---- */

static void warn(void *ctx, const char *text)
{
    (void)ctx;
    note(NOTE_WARN, "%s", text);
}

static bool card(void *ctx, const char *name, struct local_card *ret)
{
    const struct slice_table *table = slice_table_of(name);

    (void)ctx;
    if (table == NULL) {
        return false;
    }
    ret->model = table->model;
    ret->memory_bytes = (int64_t)table->memory_mib << 20;
    return true;
}

/* Beside musterd (a build folder), else where it was installed. */
static char *shepherd_path(const struct daemon *d)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;
    char *path;

    if (d->options.shepherd != NULL) {
        return mem_text(d->options.shepherd);
    }
    self[n < 0 ? 0 : n] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = '\0';
        path = under(self, "muster-shepherd");
        if (access(path, X_OK) == 0) {
            return path;
        }
        mem_free(path);
    }
    return under(MUSTER_LIBEXECDIR, "muster-shepherd");
}

/* The socket and the tasks' own sockets lie in a directory of ours. */
static int make_runtime_dir(const struct daemon *d, struct err *err)
{
    CLEANUP(mem_freep) char *dir = mem_text(d->socket);
    char *slash = strrchr(dir, '/');
    struct stat st;

    if (slash == NULL || d->socket[0] != '/') {
        return err_set(err, ERR_INVALID, "%s: write the whole path of the socket", d->socket);
    }
    if (slash == dir) {
        return 0;
    }
    *slash = '\0';
    if (stat(dir, &st) == 0) {
        if (S_ISDIR(st.st_mode) && st.st_uid != geteuid() && (st.st_mode & S_ISVTX) == 0) {
            return err_set(err, ERR_IO, "%s: belongs to another account (uid %u)", dir,
                           (unsigned)st.st_uid);
        }
        return 0;
    }
    if (statefile_dir(dir, err) != 0) {
        return err == NULL ? ERR_IO : (int)err->code;
    }
    (void)chmod(dir, 0755); /* callers of other accounts reach the socket */
    return 0;
}

/* A task that was adopted is told as running again: no news, and so nothing for the journal. */
static bool is_known(struct daemon *d, const struct fact *fact)
{
    const struct fact_task_running *b;
    const struct job *j;

    if (fact->kind != FACT_TASK_RUNNING) {
        return false;
    }
    b = fact_of(fact, TASK_RUNNING);
    j = view_job(engine_core(d->engine), b->job);
    for (size_t i = 0; j != NULL && j->attempt == b->attempt && i < j->tasks.count; i++) {
        if (j->tasks.items[i].task == b->task) {
            return j->tasks.items[i].state == TASK_STATE_RUNNING;
        }
    }
    return false;
}

/* What backends tell waits in the engine's queue: have it taken soon. */
static void sink(void *ctx, const struct fact *fact)
{
    struct daemon *d = ctx;

    if (is_known(d, fact)) {
        return;
    }
    d->engine_sink(d->engine_sink_ctx, fact);
    loop_step_soon(d->loop);
}

/* What this host holds tasks to, and what it cannot: an operator must not have to guess. */
static void tell_capabilities(const struct backend *b)
{
    for (const char *at = local_capabilities(b); *at != '\0';) {
        int len = (int)strcspn(at, "\n");

        note(NOTE_INFO, "local: %.*s", len, at);
        at += len + (at[len] == '\n');
    }
}

static void attach(struct daemon *d, struct backend *b)
{
    engine_add_backend(d->engine, "local", b);
    d->engine_sink = b->sink;
    d->engine_sink_ctx = b->sink_ctx;
    b->sink = sink;
    b->sink_ctx = d;
}

static int64_t now_ms(void *ctx)
{
    return daemon_now_ms(ctx);
}

static int open_local(struct daemon *d, struct err *err)
{
    CLEANUP(mem_freep) char *shepherd = shepherd_path(d);
    CLEANUP(str_fini) struct str runtime = {0};
    struct local_config config = {
        .state_dir = d->state,
        .shepherd = shepherd,
        .socket = d->socket,
        .account = "",
        .simulate = d->options.simulate,
        .hooks = {.ctx = d, .warn = warn, .card = card},
    };

    str_addf(&runtime, "%s.d", d->socket);
    config.runtime_dir = str_text(&runtime);
    d->local = local_new(&config, d->base, err);
    if (d->local == NULL) {
        return err == NULL ? ERR_IO : (int)err->code;
    }
    tell_capabilities(d->local);
    attach(d, d->local);
    return 0;
}

int opening_backend(struct daemon *d, struct err *err)
{
    int rc = make_runtime_dir(d, err);

    if (rc == 0 && d->options.play) {
        d->played = virtualcluster_new("local", d->base, &(struct virtualcluster_clock){d, now_ms});
        attach(d, d->played);
    } else if (rc == 0) {
        rc = open_local(d, err);
    }
    return rc != 0 ? rc : engine_adopt(d->engine, err);
}

/* ---- policy ---- */

/* The digest of the file as it was read last, over restarts. */
static void remember_file(struct daemon *d, const char *digest)
{
    CLEANUP(mem_freep) char *path = under(d->state, "policy.digest");
    struct err err;

    if (d->file_digest != digest) {
        mem_free(d->file_digest);
        d->file_digest = mem_text(digest);
    }
    if (statefile_write(path, digest, strlen(digest), &err) != 0) {
        note(NOTE_WARN, "%s", err.text);
    }
}

static void recall_file(struct daemon *d)
{
    CLEANUP(mem_freep) char *path = under(d->state, "policy.digest");
    CLEANUP(str_fini) struct str text = {0};

    if (d->file_digest == NULL && statefile_read(path, &text, NULL) == 0) {
        d->file_digest = str_take(&text);
    }
}

static int file_digest(const char *path, char ret[HASH_TEXT_MAX], struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    int rc = statefile_read(path, &text, err);

    if (rc == 0) {
        hash_sha256_text(str_text(&text), text.len, ret);
    }
    return rc;
}

static void refuse(struct daemon *d, const char *digest, const struct err *why)
{
    struct fact_policy_refused body = {.digest = digest, .reason = why->text};
    struct fact fact = {.kind = FACT_POLICY_REFUSED, .body.as_POLICY_REFUSED = &body};

    mem_free(d->refused);
    d->refused = mem_text(why->text);
    engine_put(d->engine, &fact, NULL, NULL);
    loop_step_soon(d->loop);
}

static int apply_file(struct daemon *d, struct err *err)
{
    struct command nobody = {0};
    struct daemon_site *site = NULL;
    int rc = newsite_load(d->options.config, &site, err);

    if (rc == 0) {
        rc = newsite_prepare(d, site, true, err);
        if (rc != 0) {
            daemon_site_free(site);
        } else {
            rc = newsite_apply(d, site, "", &nobody, err);
        }
    }
    return rc;
}

int opening_policy(struct daemon *d, struct err *err)
{
    bool have = view_policy(engine_core(d->engine)) != NULL;
    char digest[HASH_TEXT_MAX] = "";
    struct err why;
    int rc = file_digest(d->options.config, digest, &why);

    recall_file(d);
    if (rc == 0 && have && !d->text_lost && d->file_digest != NULL &&
        strcmp(d->file_digest, digest) == 0) {
        if (str_cmp(view_policy(engine_core(d->engine))->digest, digest) != 0) {
            note(NOTE_WARN,
                 "the policy file %s was seen before and is not what is in force: "
                 "muster policy plan shows how they differ",
                 d->options.config);
        }
        return 0;
    }
    if (rc == 0) {
        rc = apply_file(d, &why);
    }
    if (rc != 0 && !have) {
        return err_set(err, (enum err_code)rc, "%s", why.text);
    }
    if (rc != 0) {
        note(NOTE_ERROR, "the policy file is refused, the policy in force stays: %s", why.text);
        refuse(d, digest, &why);
    } else {
        note(NOTE_INFO, "policy file=%s digest=%.12s", d->options.config, digest);
    }
    remember_file(d, digest);
    return 0;
}

/* ---- server ---- */

int opening_server(struct daemon *d, struct err *err)
{
    struct server_config config = {.unix_path = d->socket, .tcp = d->listen};

    services_fill(d, &d->service);
    if (view_policy(engine_core(d->engine)) == NULL) {
        return err_set(err, ERR_POLICY, "the policy was not taken: see the lines above");
    }
    return server_new(&config, &d->service, d->base, &d->server, err);
}
