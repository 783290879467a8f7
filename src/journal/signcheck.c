/* One pass, as an export may come from a pipe.  A checkpoint names a record before itself, so the
 * hashes since the newest proven record are kept: 32 bytes a record that is not proven yet.
 *
 *      key of the chain:   announced -> in force until the next is announced
 *      trust:              given by the caller, or signed by a trusted key when it took over
 *
 * A key that is not trusted is no failure at once: a later checkpoint by a trusted key proves all
 * that lies before it, whoever signed there.  It is one at the end, if nothing did. */
#include "journal/signcheck.h"

#include "base/hash.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct signcheck_key {
    struct signkey *key;
    bool trusted;
};

struct signcheck_hash {
    unsigned char bytes[JOURNAL_HASH_BYTES];
};

struct signcheck {
    VEC(struct signcheck_key) keys;
    VEC(struct attest_checkpoint) witnesses;
    VEC(struct signcheck_hash) hashes; /* of base_seq on */
    int64_t base_seq;
    struct signcheck_verdict verdict;
    char in_force[SIGNKEY_ID_MAX]; /* "" = not known: the records begin later */
    int64_t untrusted_seq;         /* the first record that nobody trusts, not proven since */
    char untrusted[ERR_TEXT_MAX];
    struct str notes;
    enum err_code failed;
    char why[ERR_TEXT_MAX];
};

struct signcheck *signcheck_new(void)
{
    return mem_new(1, sizeof(struct signcheck));
}

void signcheck_free(struct signcheck *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->keys.count; i++) {
        signkey_free(c->keys.items[i].key);
    }
    vec_fini(&c->keys);
    vec_fini(&c->witnesses);
    vec_fini(&c->hashes);
    str_fini(&c->notes);
    mem_free(c);
}

void signcheck_freep(struct signcheck **c)
{
    signcheck_free(*c);
    *c = NULL;
}

void signcheck_trust(struct signcheck *c, struct signkey *taken)
{
    vec_push(&c->keys, (struct signcheck_key){taken, true});
}

void signcheck_witness(struct signcheck *c, const struct attest_checkpoint *witness)
{
    vec_push(&c->witnesses, *witness);
}

void signcheck_verdict(const struct signcheck *c, struct signcheck_verdict *ret)
{
    *ret = c->verdict;
}

const char *signcheck_notes(const struct signcheck *c)
{
    return str_text(&c->notes);
}

static int PRINTF_LIKE(4, 5)
    fail(struct signcheck *c, int64_t seq, struct err *err, const char *fmt, ...)
{
    va_list args;
    int used = 0;

    if (seq > 0) {
        used = snprintf(c->why, sizeof(c->why), "record %" PRId64 ": ", seq);
    }
    va_start(args, fmt);
    vsnprintf(c->why + used, sizeof(c->why) - (size_t)used, fmt, args);
    va_end(args);
    c->failed = ERR_JOURNAL_DAMAGED;
    c->verdict.bad_seq = seq;
    return err_set(err, c->failed, "%s", c->why);
}

/* The key of this id, or NULL; one that was given goes before one that was announced. */
static struct signcheck_key *find_key(struct signcheck *c, const char *id)
{
    for (size_t i = 0; i < c->keys.count; i++) {
        if (strcmp(signkey_id(c->keys.items[i].key), id) == 0) {
            return &c->keys.items[i];
        }
    }
    return NULL;
}

static void PRINTF_LIKE(3, 4) distrust(struct signcheck *c, int64_t seq, const char *fmt, ...)
{
    va_list args;

    if (c->untrusted_seq == 0) {
        c->untrusted_seq = seq;
        va_start(args, fmt);
        vsnprintf(c->untrusted, sizeof(c->untrusted), fmt, args);
        va_end(args);
    }
}

/* ---- a key that comes into force ---- */

/* Whether a trusted key signed this one.  A failure: the signature is there and is not right. */
static int judge_key(struct signcheck *c, const struct attest_key *a, int64_t seq, bool *ret,
                     struct err *err)
{
    const struct signcheck_key *previous = a->is_signed ? find_key(c, a->previous) : NULL;

    *ret = false;
    if (previous == NULL) {
        return 0;
    }
    if (!attest_key_verify(a, previous->key)) {
        return fail(c, seq, err, "key %s did not sign key %s, though it says so", a->previous,
                    a->key);
    }
    *ret = previous->trusted;
    return 0;
}

static void note_change(struct signcheck *c, const struct attest_key *a, int64_t seq, bool trusted)
{
    const char *before = c->in_force[0] != '\0' ? c->in_force : a->previous;

    if (before[0] != '\0' && strcmp(before, a->key) != 0 && !a->is_signed) {
        str_addf(&c->notes,
                 "record %" PRId64 ": key %s took over from key %s without its signature: that key "
                 "was lost or replaced\n",
                 seq, a->key, before);
    }
    if (!trusted) {
        distrust(c, seq, "key %s comes into force here, and no key that was given signed it",
                 a->key);
    }
}

static int take_key(struct signcheck *c, const struct journal_record *r, struct err *err)
{
    struct attest_key a;
    struct signcheck_key *known;
    struct signkey *key;
    struct err why;
    bool trusted;

    if (attest_key_of_body(r->bytes, r->len, &a, &why) != 0) {
        return fail(c, r->seq, err, "it %s", why.text);
    }
    if (a.is_signed && c->in_force[0] != '\0' && strcmp(a.previous, c->in_force) != 0) {
        return fail(c, r->seq, err, "it takes over from key %s, but key %s is in force", a.previous,
                    c->in_force);
    }
    if (judge_key(c, &a, r->seq, &trusted, err) != 0) {
        return c->failed;
    }
    key = signkey_of_bytes(a.public_key);
    if (key == NULL || strcmp(signkey_id(key), a.key) != 0) {
        signkey_free(key);
        return fail(c, r->seq, err, "the public key of %s is not the one of this id", a.key);
    }
    known = find_key(c, a.key);
    if (known == NULL) {
        vec_push(&c->keys, (struct signcheck_key){key, trusted});
    } else {
        signkey_free(key);
        known->trusted = known->trusted || trusted;
        trusted = known->trusted;
    }
    note_change(c, &a, r->seq, trusted);
    snprintf(c->in_force, sizeof(c->in_force), "%s", a.key);
    return 0;
}

/* ---- a checkpoint ---- */

/* Everything up to seq is proven by this key. */
static void prove(struct signcheck *c, int64_t seq, const char *key)
{
    if (seq <= c->verdict.signed_seq) {
        return;
    }
    c->verdict.signed_seq = seq;
    snprintf(c->verdict.key, sizeof(c->verdict.key), "%s", key);
    if (c->untrusted_seq <= seq) {
        c->untrusted_seq = 0;
    }
    if (seq > c->base_seq) {
        size_t gone = (size_t)(seq - c->base_seq);

        memmove(c->hashes.items, c->hashes.items + gone,
                (c->hashes.count - gone) * sizeof(c->hashes.items[0]));
        c->hashes.count -= gone;
        c->base_seq = seq;
    }
}

static bool hash_is(const struct signcheck *c, int64_t seq,
                    const unsigned char hash[JOURNAL_HASH_BYTES])
{
    return memcmp(c->hashes.items[seq - c->base_seq].bytes, hash, JOURNAL_HASH_BYTES) == 0;
}

static int take_checkpoint(struct signcheck *c, const struct journal_record *r, struct err *err)
{
    struct attest_checkpoint a;
    const struct signcheck_key *key;
    struct err why;

    if (attest_checkpoint_of_body(r->bytes, r->len, &a, &why) != 0) {
        return fail(c, r->seq, err, "it %s", why.text);
    }
    if (a.seq >= r->seq) {
        return fail(c, r->seq, err, "it speaks of record %" PRId64 ", which comes later", a.seq);
    }
    if (a.seq >= c->base_seq && !hash_is(c, a.seq, a.hash)) {
        return fail(c, r->seq, err,
                    "record %" PRId64 " had another hash when it was signed: it or one before was "
                    "written anew",
                    a.seq);
    }
    if (c->in_force[0] != '\0' && strcmp(c->in_force, a.key) != 0) {
        return fail(c, r->seq, err, "it is signed by key %s, but key %s is in force", a.key,
                    c->in_force);
    }
    key = find_key(c, a.key);
    if (key == NULL) {
        distrust(c, r->seq, "it is signed by key %s, which was not given", a.key);
        return 0;
    }
    if (!attest_checkpoint_verify(&a, key->key)) {
        return fail(c, r->seq, err, "the signature is not one of key %s", a.key);
    }
    if (key->trusted && a.seq >= c->base_seq) {
        c->verdict.checkpoints++;
        prove(c, a.seq, a.key);
    }
    return 0;
}

/* ---- records ---- */

static int compare_witnesses(struct signcheck *c, int64_t seq, struct err *err)
{
    for (size_t i = 0; i < c->witnesses.count; i++) {
        if (c->witnesses.items[i].seq == seq && !hash_is(c, seq, c->witnesses.items[i].hash)) {
            return fail(c, seq, err,
                        "it is not the one that the witness signed: it or one before was written "
                        "anew");
        }
    }
    return 0;
}

static void push_hash(struct signcheck *c, const unsigned char hash[JOURNAL_HASH_BYTES])
{
    struct signcheck_hash row;

    memcpy(row.bytes, hash, sizeof(row.bytes));
    vec_push(&c->hashes, row);
}

int signcheck_record(struct signcheck *c, const struct journal_record *r,
                     const unsigned char prev[JOURNAL_HASH_BYTES], struct err *err)
{
    if (c->failed != ERR_OK) {
        return err_set(err, c->failed, "%s", c->why);
    }
    if (c->verdict.first_seq == 0) {
        c->verdict.first_seq = r->seq;
        c->base_seq = r->seq - 1;
        push_hash(c, prev);
        if (compare_witnesses(c, r->seq - 1, err) != 0) {
            return c->failed;
        }
    }
    c->verdict.last_seq = r->seq;
    push_hash(c, r->hash);
    if (compare_witnesses(c, r->seq, err) != 0) {
        return c->failed;
    }
    if (strcmp(r->kind, ATTEST_KIND_KEY) == 0) {
        return take_key(c, r, err);
    }
    if (strcmp(r->kind, ATTEST_KIND_CHECKPOINT) == 0) {
        return take_checkpoint(c, r, err);
    }
    return 0;
}

/* ---- the end ---- */

static int end_witness(struct signcheck *c, const struct attest_checkpoint *w, struct err *err)
{
    const struct signcheck_key *key = find_key(c, w->key);

    if (key == NULL || !key->trusted) {
        return fail(c, 0, err,
                    "the witness of record %" PRId64 " is signed by key %s, which no "
                    "key that was given signed",
                    w->seq, w->key);
    }
    if (!attest_checkpoint_verify(w, key->key)) {
        return fail(c, 0, err,
                    "the witness of record %" PRId64 " has a signature that is not one "
                    "of key %s",
                    w->seq, w->key);
    }
    if (w->seq > c->verdict.last_seq) {
        return fail(c, c->verdict.last_seq, err,
                    "it is the last one here, but the witness signed record %" PRId64
                    ": the end was cut off",
                    w->seq);
    }
    if (c->verdict.first_seq > 0 && w->seq < c->verdict.first_seq - 1) {
        str_addf(&c->notes,
                 "the witness of record %" PRId64 " could not be compared: these records begin "
                 "later\n",
                 w->seq);
        return 0;
    }
    prove(c, w->seq, w->key);
    return 0;
}

int signcheck_end(struct signcheck *c, struct err *err)
{
    if (c->failed != ERR_OK) {
        return err_set(err, c->failed, "%s", c->why);
    }
    for (size_t i = 0; i < c->witnesses.count; i++) {
        if (end_witness(c, &c->witnesses.items[i], err) != 0) {
            return c->failed;
        }
    }
    if (c->untrusted_seq > 0) {
        return fail(c, c->untrusted_seq, err, "%s", c->untrusted);
    }
    if (c->verdict.signed_seq == 0) {
        return fail(c, 0, err,
                    "there is no checkpoint of the keys that were given: nothing is "
                    "proven");
    }
    return 0;
}
