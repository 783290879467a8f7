/* A submission is read, kept in the content store, and put to the engine as a fact; an array as
 * many, answered together.  With ?dry_run=true the same is tried on a copy of the core. */
#include "daemon/services.h"

#include "base/check.h"
#include "daemon/command.h"
#include "daemon/idempotency.h"
#include "daemon/jobview.h"
#include "daemon/jsonout.h"
#include "daemon/submitjson.h"
#include "daemon/trycore.h"

#include <string.h>

struct submission { /* waits for its facts to be durable; all elements share it */
    struct asked asked;
    struct idempotency_id id;
    bool keyed;
    bool is_array;
    size_t left;    /* facts that have not come back */
    size_t refused; /* of those that came */
    struct err err; /* of the first refused */
    VEC(int64_t) jobs;
};

static json_t *answer_of(const struct submission *s)
{
    json_t *o = json_object();

    if (s->is_array) {
        json_object_set_new(o, "jobs", jsonout_ids(s->jobs.items, s->jobs.count));
        jsonout_id(o, "array", s->jobs.items[0]);
    } else {
        jsonout_id(o, "job", s->jobs.items[0]);
    }
    return o;
}

static void finish(struct daemon *d, struct submission *s)
{
    json_t *o = NULL;

    if (s->jobs.count == 0) {
        if (s->keyed) {
            idempotency_end(d->idempotency, &s->id, NULL);
        }
        answer_error(&s->asked, s->err.code, &s->err, "");
    } else if (s->is_array || s->keyed) {
        o = answer_of(s);
        if (s->keyed) {
            idempotency_end(d->idempotency, &s->id, o);
        }
        answer_created(&s->asked, o);
    } else {
        struct str text = {0};

        str_add(&text, "{\"job\":\"");
        str_add_int(&text, s->jobs.items[0]);
        str_add(&text, "\"}");
        answer_created_text(&s->asked, str_take(&text));
    }
    vec_fini(&s->jobs);
    mem_free(s);
}

static json_t *durable(struct daemon *d, const struct fact *fact, void *own)
{
    struct submission *s = own;

    vec_push(&s->jobs, fact_of(fact, JOB_SUBMITTED)->id);
    if (--s->left == 0) {
        finish(d, s);
    }
    return NULL;
}

static void failed(struct daemon *d, void *own, int rc, const struct err *err)
{
    struct submission *s = own;

    (void)rc;
    if (s->refused++ == 0) {
        s->err = *err;
    }
    if (--s->left == 0) {
        finish(d, s);
    }
}

/* An array names its first id in every element, so ids are given out here and not by the engine. */
static void put(struct daemon *d, struct submission *s, struct submitjson *sub)
{
    struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &sub->fact};
    struct command command = {.d = d, .answer = durable, .own = s, .failed = failed};
    int64_t next = core_next_job(engine_core(d->engine));
    int64_t first = d->next_job > next ? d->next_job : next;
    size_t count = s->is_array ? sub->element_count : 1;

    d->next_job = first + (int64_t)count;
    s->left = count;
    for (size_t i = 0; i < count; i++) {
        sub->fact.array = s->is_array ? first : 0;
        sub->fact.id = first + (int64_t)i;
        sub->fact.element = s->is_array ? sub->elements[i] : 0;
        command_put(&command, &fact);
    }
}

static int keep_spec(struct daemon *d, struct str *spec, const struct idempotency_id *id,
                     char digest[HASH_TEXT_MAX], struct err *err)
{
    if (id != NULL) {
        CHECK(spec->len > 0 && spec->text[spec->len - 1] == '}');
        spec->len--;
        str_addf(spec, ",\"key\":\"%s\",\"body\":\"%s\"}", id->key, id->body);
    }
    return content_put(d->content, spec->text, spec->len, digest, err);
}

/* True: the call is answered already. */
static bool known_before(struct daemon *d, const struct asked *a, struct idempotency_id *id)
{
    enum idempotency_state state = IDEMPOTENCY_NEW;
    json_t *answer = NULL;
    struct err err;
    int rc;

    if (strlen(a->call->idempotency_key) > IDEMPOTENCY_KEY_MAX) {
        answer_refuse(a, ERR_TOO_LARGE, "Idempotency-Key", "the key is longer than %d bytes",
                      IDEMPOTENCY_KEY_MAX);
        return true;
    }
    idempotency_id_of(a->call, id);
    rc = idempotency_find(d, id, &state, &answer, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
    } else if (state == IDEMPOTENCY_KNOWN) {
        answer_created(a, answer);
    } else if (state == IDEMPOTENCY_BUSY) {
        answer_refuse(a, ERR_BUSY, "", "the first request with this key is not answered yet");
    }
    return rc != 0 || state != IDEMPOTENCY_NEW;
}

static void submit(struct daemon *d, const struct asked *a, struct submitjson *sub)
{
    bool keyed = a->call->idempotency_key[0] != '\0';
    struct submission *s;
    struct idempotency_id id;
    char digest[HASH_TEXT_MAX];
    struct err err;
    int rc;

    if (keyed && known_before(d, a, &id)) {
        return;
    }
    rc = keep_spec(d, &sub->spec, keyed ? &id : NULL, digest, &err);
    if (rc == ERR_DISK_FULL) {
        daemon_disk_full(d, &err);
    }
    if (rc != 0) {
        answer_error(a, rc, &err, "");
        return;
    }
    sub->fact.spec = digest;
    s = mem_new(1, sizeof(*s));
    s->asked = *a;
    s->asked.call = NULL; /* it does not outlive this call */
    s->keyed = keyed;
    s->is_array = sub->element_count > 0;
    if (keyed) {
        s->id = id;
        idempotency_begin(d->idempotency, &id, daemon_now_ms(d));
    }
    put(d, s, sub);
}

/* ---- dry run ---- */

/* The jobs that wait before it, or for a planned start, and that it passes if it starts. */
static json_t *passed_jobs(const struct why *why)
{
    json_t *list = json_array();

    for (size_t i = 0; i < why->blocker_count; i++) {
        const struct why_blocker *b = &why->blockers[i];

        if (b->code == WHY_AHEAD || b->code == WHY_PLANNED_START || b->code == WHY_DRAINING_FOR) {
            json_t *ids = jsonout_ids(b->jobs, b->job_count);

            json_array_extend(list, ids);
            json_decref(ids);
        }
    }
    return list;
}

/* On a copy of the core: what it says before its plan is carried out is what the job passes, what
 * it says afterwards is why it runs, or still waits. */
static void dry_run(struct daemon *d, const struct asked *a, struct submitjson *sub)
{
    struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &sub->fact};
    struct arena *arena = arena_make();
    struct trycore copy;
    struct why before;
    struct why why;
    struct err err;
    bool starts = false;
    json_t *record;
    json_t *o;
    int rc;

    sub->fact.id = core_next_job(engine_core(d->engine));
    rc = trycore_init(&copy, d, &fact, &err);
    if (rc == 0) {
        rc = why_job(copy.core, sub->fact.id, fact.at_ms, arena, &before, &err);
    }
    if (rc == 0) {
        starts = trycore_starts(&copy, sub->fact.id);
        trycore_carry_out(&copy, fact.seq);
        rc = why_job(copy.core, sub->fact.id, fact.at_ms, arena, &why, &err);
    }
    if (rc != 0) {
        answer_error(a, rc, &err, "");
    } else {
        o = json_object();
        jsonout_text(o, "would", starts ? "start" : sub->fact.held ? "hold" : "wait");
        json_object_set_new(o, "passes", starts ? passed_jobs(&before) : json_array());
        record = jobview_why(d, &why);
        json_object_set_new(record, "job", json_null()); /* neither is in the journal */
        json_object_set_new(json_object_get(record, "decision"), "seq", json_null());
        json_object_set_new(o, "why", record);
        answer_json(a, o);
    }
    arena_free(arena);
    trycore_fini(&copy);
}

void service_job_submit(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"dry_run", NULL};
    struct submitjson sub;
    struct bodyread r;
    bool dry = false;

    if (!answer_params(a, PARAMS) || !answer_param_bool(a, "dry_run", &dry)) {
        return;
    }
    arena_reset(d->submit_arena);
    bodyread_init(&r, d->submit_arena);
    if (!submitjson_read(d, &a->call->caller, a->call->body, &r, &sub)) {
        answer_error(a, r.rc, &r.err, r.field);
        return;
    }
    r.rc = core_submit_check(engine_core(d->engine), &sub.fact, &r.err);
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, "");
    } else if (dry) {
        dry_run(d, a, &sub);
    } else if (engine_disk_full(d->engine)) {
        answer_refuse(a, ERR_DISK_FULL, "", "the disk of the journal is full: no work is taken");
    } else {
        submit(d, a, &sub);
    }
    str_fini(&sub.spec);
}
