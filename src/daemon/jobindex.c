#include "daemon/jobindex.h"

#include "base/check.h"
#include "base/omap.h"
#include "base/vec.h"

#include <string.h>

struct story {
    VEC(int64_t) seqs;
};

struct jobindex {
    struct omap stories; /* by job */
    int64_t next_seq;    /* all below are in, once it was built */
    bool built;
};

struct jobindex *jobindex_new(void)
{
    struct jobindex *x = mem_new(1, sizeof(*x));

    x->next_seq = 1;
    return x;
}

void jobindex_free(struct jobindex *x)
{
    if (x == NULL) {
        return;
    }
    for (struct omap_item *i = omap_first(&x->stories); i != NULL; i = omap_next(i)) {
        struct story *story = i->value;

        vec_fini(&story->seqs);
        mem_free(story);
    }
    omap_fini(&x->stories);
    mem_free(x);
}

static void note(struct jobindex *x, int64_t job, int64_t seq)
{
    struct omap_key key = {.a = job};
    struct story *story = omap_get(&x->stories, key);

    if (story == NULL) {
        story = mem_new(1, sizeof(*story));
        omap_put(&x->stories, key, story);
    }
    if (story->seqs.count == 0 || story->seqs.items[story->seqs.count - 1] != seq) {
        vec_push(&story->seqs, seq);
    }
}

static int64_t number_at(const char *at, const char *end)
{
    int64_t value = 0;

    while (at < end && *at >= '0' && *at <= '9' && value < INT64_MAX / 100) {
        value = value * 10 + (*at++ - '0');
    }
    return value;
}

static void scan(struct jobindex *x, const struct journal_record *r)
{
    static const char ID[] = "{\"id\":";
    static const char JOB[] = "\"job\":";
    const char *at = r->bytes;
    const char *end = r->bytes + r->len;

    if (strcmp(r->kind, "job_submitted") == 0) {
        if (r->len > strlen(ID) && memcmp(at, ID, strlen(ID)) == 0) {
            note(x, number_at(at + strlen(ID), end), r->seq);
        }
        return;
    }
    while (at < end && (at = memmem(at, (size_t)(end - at), JOB, strlen(JOB))) != NULL) {
        at += strlen(JOB);
        note(x, number_at(at, end), r->seq);
    }
}

void jobindex_add(struct jobindex *x, const struct journal_record *r)
{
    if (x->built && r->seq >= x->next_seq) {
        scan(x, r);
        x->next_seq = r->seq + 1;
    }
}

static bool build_each(void *ctx, const struct journal_record *r)
{
    struct jobindex *x = ctx;

    scan(x, r);
    x->next_seq = r->seq + 1;
    return true;
}

int jobindex_of(struct jobindex *x, struct journal *journal, int64_t job, const int64_t **ret,
                size_t *ret_count, struct err *err)
{
    const struct story *story;

    if (!x->built) {
        int rc = journal_read(journal, x->next_seq, INT64_MAX, build_each, x, err);

        if (rc != 0) {
            return rc;
        }
        x->built = true;
    }
    story = omap_get(&x->stories, (struct omap_key){.a = job});
    *ret = story == NULL ? NULL : story->seqs.items;
    *ret_count = story == NULL ? 0 : story->seqs.count;
    return 0;
}
