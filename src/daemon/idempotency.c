#include "daemon/idempotency.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/omap.h"
#include "daemon/jsonout.h"

#include <string.h>

#define ROWS_MAX 200000

struct row {
    struct idempotency_id id;
    int64_t at_ms;
    int64_t number;
    json_t *answer; /* NULL = under way */
};

struct idempotency {
    struct omap by_key;  /* by the first bytes of the key's digest */
    struct omap by_time; /* by time and number */
    int64_t next_number;
    bool read_jobs; /* what was there before this start is in */
};

struct idempotency *idempotency_new(void)
{
    return mem_new(1, sizeof(struct idempotency));
}

/* 24 of the 32 bytes of a SHA-256: two keys do not meet by chance. */
static struct omap_key key_of(const char *digest)
{
    unsigned char bytes[HASH_BYTES];
    struct omap_key key;

    CHECK(hash_of_hex(digest, bytes, HASH_BYTES));
    memcpy(&key, bytes, sizeof(key));
    return key;
}

static struct row *row_of(const struct idempotency *x, const char *key)
{
    return omap_get(&x->by_key, key_of(key));
}

static void drop(struct idempotency *x, struct row *row)
{
    omap_remove(&x->by_key, key_of(row->id.key));
    omap_remove(&x->by_time, (struct omap_key){.a = row->at_ms, .b = row->number});
    json_decref(row->answer);
    mem_free(row);
}

static struct row *add(struct idempotency *x, const struct idempotency_id *id, int64_t at_ms)
{
    struct row *row = row_of(x, id->key);

    if (row != NULL) {
        drop(x, row);
    }
    if (x->by_time.count == ROWS_MAX) {
        drop(x, omap_first(&x->by_time)->value);
    }
    row = mem_new(1, sizeof(*row));
    row->id = *id;
    row->at_ms = at_ms;
    row->number = x->next_number++;
    omap_put(&x->by_key, key_of(id->key), row);
    omap_put(&x->by_time, (struct omap_key){.a = at_ms, .b = row->number}, row);
    return row;
}

void idempotency_free(struct idempotency *x)
{
    if (x == NULL) {
        return;
    }
    while (x->by_time.count > 0) {
        drop(x, omap_first(&x->by_time)->value);
    }
    omap_fini(&x->by_key);
    omap_fini(&x->by_time);
    mem_free(x);
}

/* Bodies that differ in space and order only are the same, as they were for earlier releases. */
void idempotency_id_of(const struct service_call *call, struct idempotency_id *ret)
{
    CLEANUP(str_fini) struct str name = {0};
    json_t *body = json_loadb(call->body_text, call->body_len, JSON_REJECT_DUPLICATES, NULL);
    char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

    CHECK(text != NULL); /* it was read before */
    json_decref(body);
    str_addf(&name, "%s\n%s", call->caller.subject, call->idempotency_key);
    hash_sha256_text(name.text, name.len, ret->key);
    hash_sha256_text(text, strlen(text), ret->body);
    mem_free(text);
}

static json_t *answer_of_job(const struct job *j)
{
    json_t *o = json_object();

    jsonout_id(o, "job", j->id);
    return o;
}

/* An array's jobs share one entry of the content store, and one answer. */
static void add_answer(struct row *row, const struct job *j)
{
    json_t *ids;

    if (j->array == 0) {
        if (row->answer == NULL) {
            row->answer = answer_of_job(j);
        }
        return;
    }
    if (row->answer == NULL) {
        row->answer = json_object();
        json_object_set_new(row->answer, "jobs", json_array());
        jsonout_id(row->answer, "array", j->array);
    }
    ids = jsonout_ids(&j->id, 1);
    json_array_extend(json_object_get(row->answer, "jobs"), ids);
    json_decref(ids);
}

static void take_job(struct daemon *d, const struct job *j)
{
    CLEANUP(str_fini) struct str text = {0};
    struct idempotency_id id = {0};
    const char *key;
    const char *body;
    json_t *o;

    if (content_get(d->content, j->spec, &text, NULL) != 0) {
        return;
    }
    o = json_loadb(str_text(&text), text.len, 0, NULL);
    key = json_string_value(json_object_get(o, "key"));
    body = json_string_value(json_object_get(o, "body"));
    if (key != NULL && body != NULL && strlen(key) == 64 && strlen(body) == 64) {
        struct row *row = row_of(d->idempotency, key);

        memcpy(id.key, key, sizeof(id.key));
        memcpy(id.body, body, sizeof(id.body));
        if (row == NULL) {
            row = add(d->idempotency, &id, j->submitted_ms);
        }
        add_answer(row, j);
    }
    json_decref(o);
}

/* Once, at the first question: the jobs of the last day that the core still knows. */
static void read_jobs(struct daemon *d)
{
    const struct core *core = engine_core(d->engine);
    int64_t from_ms = daemon_now_ms(d) - IDEMPOTENCY_MS;

    for (const struct job *j = view_job_next(core, 0); j != NULL; j = view_job_next(core, j->id)) {
        if (j->submitted_ms >= from_ms && j->submitted_ms < d->started_ms) {
            take_job(d, j);
        }
    }
    d->idempotency->read_jobs = true;
}

int idempotency_find(struct daemon *d, const struct idempotency_id *id, enum idempotency_state *ret,
                     json_t **ret_answer, struct err *err)
{
    struct idempotency *x = d->idempotency;
    const struct row *row;

    if (!x->read_jobs) {
        read_jobs(d);
    }
    row = row_of(x, id->key);
    if (row == NULL || row->at_ms < daemon_now_ms(d) - IDEMPOTENCY_MS) {
        *ret = IDEMPOTENCY_NEW;
        return 0;
    }
    if (strcmp(row->id.body, id->body) != 0) {
        return err_set(err, ERR_IDEMPOTENCY,
                       "the Idempotency-Key was used with another body before: use a new key");
    }
    *ret = row->answer == NULL ? IDEMPOTENCY_BUSY : IDEMPOTENCY_KNOWN;
    *ret_answer = row->answer == NULL ? NULL : json_incref(row->answer);
    return 0;
}

void idempotency_begin(struct idempotency *x, const struct idempotency_id *id, int64_t now_ms)
{
    add(x, id, now_ms);
}

void idempotency_end(struct idempotency *x, const struct idempotency_id *id, const json_t *answer)
{
    struct row *row = row_of(x, id->key);

    if (row == NULL) {
        return;
    }
    if (answer == NULL) {
        drop(x, row);
    } else if (row->answer == NULL) {
        row->answer = json_deep_copy(answer);
    }
}

void idempotency_trim(struct idempotency *x, int64_t now_ms)
{
    struct omap_item *first;

    while ((first = omap_first(&x->by_time)) != NULL && first->key.a < now_ms - IDEMPOTENCY_MS) {
        drop(x, first->value);
    }
}
