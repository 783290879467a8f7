#include "daemon/services.h"

#include "base/check.h"
#include "base/hash.h"
#include "daemon/bodyread.h"
#include "daemon/eventlog.h"
#include "daemon/jsonout.h"
#include "daemon/recordview.h"

#include <string.h>

struct listing {
    struct daemon *d;
    struct answer_page page;
    int64_t job;
    enum fact_kind kind;
    int64_t
        looked; /* how many records were looked at, so that a rare kind does not hold the loop */
};

#define LOOKED_MAX 200000

static bool wanted(const struct listing *l, const struct journal_record *r)
{
    return (l->kind == FACT_NONE || fact_kind_of(r->kind) == l->kind) &&
           (l->job == 0 || recordview_names_job(r, l->job));
}

static bool each(void *ctx, const struct journal_record *r)
{
    struct listing *l = ctx;

    if (r->seq > l->d->durable_seq) {
        return false;
    }
    if (l->looked++ == LOOKED_MAX) {
        l->page.more = true;
        return false;
    }
    if (!wanted(l, r)) {
        l->page.last = r->seq;
        return true;
    }
    return answer_page_add(&l->page, r->seq, recordview_json(l->d, r));
}

/* kind and job of the query. */
static bool read_filter(const struct asked *a, enum fact_kind *kind, int64_t *job)
{
    const char *name = answer_param(a->call, "kind", "");

    *kind = FACT_NONE;
    if (!answer_param_int(a, "job", 1, INT64_MAX, job)) {
        return false;
    }
    if (name[0] != '\0') {
        *kind = fact_kind_of(name);
        if (*kind == FACT_NONE) {
            answer_refuse(a, ERR_INVALID, "kind", "there is no kind \"%s\" of records", name);
            return false;
        }
    }
    return true;
}

void service_journal_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"from", "limit", "cursor", "kind", "job", NULL};
    struct listing l = {.d = d};
    int64_t from = 1;
    struct err err;
    int rc;

    if (!answer_params(a, PARAMS) || !read_filter(a, &l.kind, &l.job) ||
        !answer_param_int(a, "from", 1, INT64_MAX, &from) || !answer_page_begin(a, &l.page)) {
        return;
    }
    if (l.page.after >= from) {
        from = l.page.after + 1;
    }
    rc = journal_read(d->journal, from, INT64_MAX, each, &l, &err);
    if (rc != 0) {
        json_decref(l.page.items);
        answer_error(a, rc, &err, "");
        return;
    }
    answer_page_end(a, &l.page);
}

static bool take_one(void *ctx, const struct journal_record *r)
{
    struct listing *l = ctx;

    answer_page_add(&l->page, r->seq, recordview_json(l->d, r));
    return false;
}

void service_journal_show(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {NULL};
    struct listing l = {.d = d};
    struct err err;
    int64_t seq;
    int rc;

    if (!answer_params(a, PARAMS)) {
        return;
    }
    seq = answer_target_id(a, "record");
    if (seq == 0) {
        return;
    }
    l.page.items = json_array();
    l.page.limit = 1;
    rc = seq > d->durable_seq ? 0 : journal_read(d->journal, seq, 1, take_one, &l, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
    } else if (json_array_size(l.page.items) == 0) {
        answer_refuse(a, ERR_NOT_FOUND, "", "the journal has no record %lld, its newest is %lld",
                      (long long)seq, (long long)d->durable_seq);
    } else {
        answer_json(a, json_incref(json_array_get(l.page.items, 0)));
    }
    json_decref(l.page.items);
}

void service_journal_verify(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {NULL};
    struct journal_verdict verdict = {0};
    char hash[HASH_TEXT_MAX];
    struct err err;
    json_t *o;
    int rc;

    if (!answer_params(a, PARAMS) || !bodyread_nothing(a)) {
        return;
    }
    rc = journal_verify(d->journal, &verdict, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
        return;
    }
    o = json_object();
    hash_hex(verdict.hash, JOURNAL_HASH_BYTES, hash);
    jsonout_big(o, "records", verdict.records);
    jsonout_bool(o, "ok", true);
    jsonout_text(o, "hash", hash);
    answer_json(a, o);
}

void service_journal_export(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"from", NULL};
    struct service_answer answer = {.field = ""};
    int64_t from = 1;

    if (!answer_params(a, PARAMS) || !answer_param_int(a, "from", 1, INT64_MAX, &from)) {
        return;
    }
    answer.stream = eventlog_export(d, from);
    a->done(a->arg, &answer);
}

/* From the seq after the last one the client saw; without any from now on. */
static bool read_from(struct daemon *d, const struct asked *a, int64_t *ret)
{
    const char *last = a->call->last_event_id;
    int64_t seq;

    *ret = d->durable_seq + 1;
    if (last != NULL && last[0] != '\0') {
        if (!str_to_int(last, &seq) || seq < 0) {
            answer_refuse(a, ERR_INVALID, "Last-Event-ID", "\"%s\" is no seq of the journal", last);
            return false;
        }
        *ret = seq + 1;
        return true;
    }
    return answer_param_int(a, "from", 1, INT64_MAX, ret);
}

void service_events(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"from", "job", "kind", NULL};
    struct service_answer answer = {.field = ""};
    struct eventlog_filter filter = {0};
    struct err err;
    int rc;

    if (!answer_params(a, PARAMS) || !read_filter(a, &filter.kind, &filter.job) ||
        !read_from(d, a, &filter.from_seq)) {
        return;
    }
    rc = eventlog_stream(d->events, &filter, &answer.stream, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
        return;
    }
    a->done(a->arg, &answer);
}
