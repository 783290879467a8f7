#include "daemon/recordview.h"

#include "base/check.h"
#include "base/hash.h"
#include "core/codec.h"
#include "daemon/facttext.h"
#include "daemon/jsonout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void recordview_text(struct daemon *d, const struct journal_record *r, struct str *ret)
{
    struct arena *arena = arena_make();
    struct fact fact = {0};
    enum fact_kind kind = fact_kind_of(r->kind);

    if (kind != FACT_NONE && codec_decode_fact(kind, r->bytes, r->len, arena, &fact, NULL) == 0) {
        fact.kind = kind;
        fact.seq = r->seq;
        fact.at_ms = r->at_ms;
        facttext_write(engine_core(d->engine), d->people, &fact, ret);
    }
    arena_free(arena);
}

json_t *recordview_json(struct daemon *d, const struct journal_record *r)
{
    CLEANUP(str_fini) struct str text = {0};
    char hash[HASH_TEXT_MAX];
    json_t *o = json_object();

    hash_hex(r->hash, JOURNAL_HASH_BYTES, hash);
    recordview_text(d, r, &text);
    jsonout_big(o, "seq", r->seq);
    jsonout_int(o, "at_ms", r->at_ms);
    jsonout_int(o, "true_at_ms", r->true_at_ms);
    jsonout_text(o, "kind", r->kind);
    jsonout_int(o, "version", r->version);
    json_object_set_new(o, "body", json_loadb(r->bytes, r->len, 0, NULL));
    jsonout_text(o, "hash", hash);
    jsonout_text(o, "text", str_text(&text));
    return o;
}

/* `"job":N` stands for nothing else in a body: a quote within a text is escaped.  The job of a
 * submission is its id, which comes first. */
bool recordview_names_job(const struct journal_record *r, int64_t job)
{
    char wanted[40];
    size_t len;
    const char *at = r->bytes;
    const char *end = r->bytes + r->len;

    if (strcmp(r->kind, "job_submitted") == 0) {
        snprintf(wanted, sizeof(wanted), "{\"id\":%" PRId64 ",", job);
        len = strlen(wanted);
        return r->len >= len && memcmp(r->bytes, wanted, len) == 0;
    }
    snprintf(wanted, sizeof(wanted), "\"job\":%" PRId64, job);
    len = strlen(wanted);
    while (at < end && (at = memmem(at, (size_t)(end - at), wanted, len)) != NULL) {
        at += len;
        if (at < end && (*at < '0' || *at > '9')) {
            return true;
        }
    }
    return false;
}
