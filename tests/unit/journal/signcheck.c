#include "journal/signcheck.h"

#include "base/hash.h"
#include "base/mem.h"
#include "journal/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A chain that is made and checked at once.  What was given to a step stays: `tell` makes a record,
 * key and checkpoint make those of the journal itself. */
struct chained {
    struct signcheck *check;
    struct chain *chain;
    unsigned char prev[JOURNAL_HASH_BYTES]; /* hash of record seq */
    unsigned char hashes[64][JOURNAL_HASH_BYTES];
    int64_t seq;
    int rc;
    struct err err;
};

static void begin(struct chained *t)
{
    *t = (struct chained){.check = signcheck_new(), .chain = chain_new()};
}

static void finish(struct chained *t)
{
    signcheck_freep(&t->check);
    chain_freep(&t->chain);
}

static void add(struct chained *t, const char *kind, const char *body)
{
    struct journal_record r = {
        .seq = ++t->seq, .kind = kind, .version = 1, .bytes = body, .len = strlen(body)};

    chain_next(t->chain, t->prev, &r, r.hash);
    if (t->rc == 0) {
        t->rc = signcheck_record(t->check, &r, t->prev, &t->err);
    }
    memcpy(t->prev, r.hash, sizeof(t->prev));
    memcpy(t->hashes[t->seq], r.hash, sizeof(r.hash));
}

static void tell(struct chained *t, int count)
{
    while (count-- > 0) {
        add(t, "job_held", "{\"job\":1}");
    }
}

static void trust(struct chained *t, const struct signkey *key)
{
    unsigned char bytes[SIGNKEY_PUBLIC_BYTES];

    signkey_public_bytes(key, bytes);
    signcheck_trust(t->check, signkey_of_bytes(bytes));
}

/* previous: signs if signs is set, is only named if not; NULL = none. */
/* The beginning of a key's record: the id of one, the public half of another. */
static void name_key(const struct signkey *id, const struct signkey *half, struct str *ret)
{
    unsigned char bytes[SIGNKEY_PUBLIC_BYTES];
    char hex[2 * SIGNKEY_PUBLIC_BYTES + 1];

    signkey_public_bytes(half, bytes);
    hash_hex(bytes, sizeof(bytes), hex);
    str_addf(ret, "{\"key\":\"%s\",\"public_key\":\"%s\"", signkey_id(id), hex);
}

static void announce(struct chained *t, const struct signkey *key, const struct signkey *previous,
                     bool signs)
{
    CLEANUP(str_fini) struct str body = {0};
    struct attest_key a = {0};
    char hex[2 * SIGNKEY_SIGNATURE_BYTES + 1];

    signkey_public_bytes(key, a.public_key);
    name_key(key, key, &body);
    if (previous != NULL) {
        str_addf(&body, ",\"previous\":\"%s\"", signkey_id(previous));
        attest_key_sign(&a, previous);
        hash_hex(a.signature, sizeof(a.signature), hex);
        if (signs) {
            str_addf(&body, ",\"signature\":\"%s\"", hex);
        }
    }
    str_add(&body, "}");
    add(t, ATTEST_KIND_KEY, str_text(&body));
}

static struct attest_checkpoint attest(const struct chained *t, const struct signkey *key,
                                       int64_t seq)
{
    struct attest_checkpoint a = {.seq = seq, .format = 2};

    memcpy(a.hash, t->hashes[seq], sizeof(a.hash));
    attest_checkpoint_sign(&a, key);
    return a;
}

static void checkpoint_of(struct chained *t, const struct attest_checkpoint *a)
{
    CLEANUP(str_fini) struct str body = {0};
    char hash[HASH_TEXT_MAX];
    char state_hash[HASH_TEXT_MAX];
    char signature[2 * SIGNKEY_SIGNATURE_BYTES + 1];

    hash_hex(a->hash, sizeof(a->hash), hash);
    hash_hex(a->state_hash, sizeof(a->state_hash), state_hash);
    hash_hex(a->signature, sizeof(a->signature), signature);
    str_addf(&body,
             "{\"signed_seq\":%" PRId64 ",\"hash\":\"%s\",\"state_hash\":\"%s\",\"format\":%" PRId64
             ",\"key\":\"%s\",\"signature\":\"%s\"}",
             a->seq, hash, state_hash, a->format, a->key, signature);
    add(t, ATTEST_KIND_CHECKPOINT, str_text(&body));
}

static void checkpoint(struct chained *t, const struct signkey *key)
{
    struct attest_checkpoint a = attest(t, key, t->seq);

    checkpoint_of(t, &a);
}

/* All given was good, and proven up to seq. */
static void is_proven_to(struct chained *t, int64_t seq)
{
    struct signcheck_verdict v;

    if (t->rc == 0) {
        t->rc = signcheck_end(t->check, &t->err);
    }
    if (t->rc != 0) {
        print_message("# %s\n", t->err.text);
    }
    assert_int_equal(t->rc, 0);
    signcheck_verdict(t->check, &v);
    assert_int_equal(v.first_seq, 1);
    assert_int_equal(v.last_seq, t->seq);
    assert_int_equal(v.signed_seq, seq);
    assert_int_equal(v.bad_seq, 0);
}

/* It failed at this record, with these words. */
static void is_bad_at(struct chained *t, int64_t seq, const char *words)
{
    struct signcheck_verdict v;

    if (t->rc == 0) {
        t->rc = signcheck_end(t->check, &t->err);
    }
    assert_int_equal(t->rc, ERR_JOURNAL_DAMAGED);
    if (strstr(t->err.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", t->err.text, words);
    }
    signcheck_verdict(t->check, &v);
    assert_int_equal(v.bad_seq, seq);
    assert_int_equal(signcheck_end(t->check, NULL), ERR_JOURNAL_DAMAGED); /* it stays so */
}

static void what_is_signed_and_what_not_yet_is_said(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct signcheck_verdict v;
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 4);
    checkpoint(&t, key);
    tell(&t, 2);
    checkpoint(&t, key);
    tell(&t, 3);
    is_proven_to(&t, 8);
    signcheck_verdict(t.check, &v);
    assert_int_equal(v.checkpoints, 2);
    assert_string_equal(v.key, signkey_id(key));
    assert_string_equal(signcheck_notes(t.check), "");
    finish(&t);
}

/* With records still on their way a checkpoint speaks of one a little before it. */
static void a_checkpoint_may_name_an_earlier_record(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct attest_checkpoint a;
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 9);
    a = attest(&t, key, 4);
    checkpoint_of(&t, &a);
    tell(&t, 1);
    a = attest(&t, key, 7);
    checkpoint_of(&t, &a);
    is_proven_to(&t, 7);
    finish(&t);
}

static void a_record_written_anew_is_found_at_the_checkpoint(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct attest_checkpoint a;
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 4);
    a = attest(&t, key, 5);
    a.hash[0] ^= 1; /* the chain was another when it was signed */
    attest_checkpoint_sign(&a, key);
    checkpoint_of(&t, &a);
    tell(&t, 1);
    is_bad_at(&t, 6, "record 6: record 5 had another hash when it was signed");
    finish(&t);
}

static void a_signature_that_is_not_right_is_found(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct attest_checkpoint a;
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 1);
    a = attest(&t, key, 2);
    a.signature[9] ^= 4;
    checkpoint_of(&t, &a);
    is_bad_at(&t, 3, "record 3: the signature is not one of key");
    finish(&t);
    begin(&t);
    trust(&t, key);
    tell(&t, 2);
    a = attest(&t, key, 2);
    a.seq = 5;
    checkpoint_of(&t, &a);
    is_bad_at(&t, 3, "it speaks of record 5, which comes later");
    finish(&t);
    begin(&t);
    trust(&t, key);
    add(&t, ATTEST_KIND_CHECKPOINT, "{}");
    is_bad_at(&t, 1, "it is no checkpoint of the journal");
    finish(&t);
    begin(&t);
    trust(&t, key);
    add(&t, ATTEST_KIND_KEY, "{}");
    is_bad_at(&t, 1, "it is no key of the journal");
    finish(&t);
}

static void a_chain_with_another_key_is_found_where_that_key_comes(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    CLEANUP(signkey_freep) struct signkey *forged = signkey_make();
    struct chained t;

    (void)state;
    begin(&t); /* all of it made anew */
    trust(&t, key);
    tell(&t, 2);
    announce(&t, forged, NULL, false);
    tell(&t, 2);
    checkpoint(&t, forged);
    is_bad_at(&t, 3, "comes into force here, and no key that was given signed it");
    finish(&t);
    begin(&t); /* the tail made anew */
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 2);
    checkpoint(&t, key);
    announce(&t, forged, key, false);
    checkpoint(&t, forged);
    is_bad_at(&t, 5, "comes into force here");
    finish(&t);
    begin(&t); /* the old key is said to have signed the new one */
    trust(&t, key);
    announce(&t, key, NULL, false);
    {
        CLEANUP(str_fini) struct str body = {0};
        unsigned char bytes[SIGNKEY_SIGNATURE_BYTES] = {1};
        char hex[2 * SIGNKEY_SIGNATURE_BYTES + 1];

        name_key(forged, forged, &body);
        hash_hex(bytes, sizeof(bytes), hex);
        str_addf(&body, ",\"previous\":\"%s\",\"signature\":\"%s\"}", signkey_id(key), hex);
        add(&t, ATTEST_KIND_KEY, str_text(&body));
    }
    is_bad_at(&t, 2, "did not sign key");
    finish(&t);
}

static void another_key_cannot_sign_unannounced(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    CLEANUP(signkey_freep) struct signkey *forged = signkey_make();
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    checkpoint(&t, forged);
    is_bad_at(&t, 2, "is in force");
    finish(&t);
    begin(&t); /* nor where no key was announced */
    trust(&t, key);
    tell(&t, 1);
    checkpoint(&t, forged);
    is_bad_at(&t, 2, "which was not given");
    finish(&t);
    begin(&t); /* a public key under another's id */
    trust(&t, key);
    announce(&t, key, NULL, false);
    {
        CLEANUP(str_fini) struct str body = {0};

        name_key(key, forged, &body);
        str_add(&body, "}");
        add(&t, ATTEST_KIND_KEY, str_text(&body));
    }
    is_bad_at(&t, 2, "is not the one of this id");
    finish(&t);
}

static void a_key_that_was_rotated_hands_on_its_trust(void **state)
{
    CLEANUP(signkey_freep) struct signkey *one = signkey_make();
    CLEANUP(signkey_freep) struct signkey *two = signkey_make();
    CLEANUP(signkey_freep) struct signkey *three = signkey_make();
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, one);
    announce(&t, one, NULL, false);
    checkpoint(&t, one);
    announce(&t, two, one, true);
    announce(&t, three, two, true);
    tell(&t, 1);
    checkpoint(&t, three);
    is_proven_to(&t, 5);
    assert_string_equal(signcheck_notes(t.check), "");
    finish(&t);
    begin(&t); /* and signs no more afterwards */
    trust(&t, one);
    announce(&t, one, NULL, false);
    announce(&t, two, one, true);
    checkpoint(&t, one);
    is_bad_at(&t, 3, "is in force");
    finish(&t);
    begin(&t); /* nor hands on what is not in force */
    trust(&t, one);
    announce(&t, one, NULL, false);
    announce(&t, two, one, true);
    announce(&t, three, one, true);
    is_bad_at(&t, 3, "it takes over from key");
    finish(&t);
}

static void who_trusts_the_newest_key_has_all_before_it_proven(void **state)
{
    CLEANUP(signkey_freep) struct signkey *one = signkey_make();
    CLEANUP(signkey_freep) struct signkey *two = signkey_make();
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, two);
    announce(&t, one, NULL, false);
    checkpoint(&t, one);
    announce(&t, two, one, true);
    checkpoint(&t, two);
    is_proven_to(&t, 3);
    finish(&t);
}

static void a_lost_key_is_told_and_its_follower_must_be_trusted(void **state)
{
    CLEANUP(signkey_freep) struct signkey *one = signkey_make();
    CLEANUP(signkey_freep) struct signkey *two = signkey_make();

    (void)state;
    for (int given = 1; given <= 2; given++) {
        struct chained t;

        begin(&t);
        trust(&t, one);
        if (given == 2) {
            trust(&t, two);
        }
        announce(&t, one, NULL, false);
        tell(&t, 2);
        checkpoint(&t, one);
        announce(&t, two, one, false);
        tell(&t, 2);
        checkpoint(&t, two);
        if (given == 1) {
            is_bad_at(&t, 5, "no key that was given signed it");
        } else {
            is_proven_to(&t, 7);
        }
        assert_non_null(strstr(signcheck_notes(t.check), "record 5: key "));
        assert_non_null(strstr(signcheck_notes(t.check), "lost or replaced"));
        finish(&t);
    }
}

static void a_witness_finds_a_cut_end(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct attest_checkpoint witness;
    struct chained t;

    (void)state;
    begin(&t);
    announce(&t, key, NULL, false);
    tell(&t, 7);
    witness = attest(&t, key, 8);
    finish(&t);
    for (int records = 6; records <= 9; records++) {
        begin(&t);
        trust(&t, key);
        signcheck_witness(t.check, &witness);
        announce(&t, key, NULL, false);
        tell(&t, records - 1);
        if (records < 8) {
            is_bad_at(&t, records, "the end was cut off");
        } else {
            is_proven_to(&t, 8); /* the witness proves it, without a checkpoint in the chain */
        }
        finish(&t);
    }
}

static void a_witness_finds_what_the_key_itself_wrote_anew(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    CLEANUP(signkey_freep) struct signkey *other = signkey_make();
    struct attest_checkpoint witness;
    struct attest_checkpoint bad;
    struct chained t;

    (void)state;
    begin(&t);
    announce(&t, key, NULL, false);
    tell(&t, 3);
    witness = attest(&t, key, 4);
    finish(&t);
    begin(&t);
    trust(&t, key);
    signcheck_witness(t.check, &witness);
    announce(&t, key, NULL, false);
    add(&t, "job_held", "{\"job\":2}");
    tell(&t, 2);
    checkpoint(&t, key);
    is_bad_at(&t, 4, "it is not the one that the witness signed");
    finish(&t);
    begin(&t); /* a witness of somebody else proves nothing */
    bad = witness;
    attest_checkpoint_sign(&bad, other);
    trust(&t, key);
    signcheck_witness(t.check, &bad);
    announce(&t, key, NULL, false);
    tell(&t, 3);
    is_bad_at(&t, 0, "the witness of record 4 is signed by key");
    finish(&t);
    begin(&t);
    bad = witness;
    bad.signature[0] ^= 1;
    trust(&t, key);
    signcheck_witness(t.check, &bad);
    announce(&t, key, NULL, false);
    tell(&t, 3);
    is_bad_at(&t, 0, "has a signature that is not one of key");
    finish(&t);
}

static void records_from_the_middle_are_proven_too(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct attest_checkpoint early;
    struct signcheck_verdict v;
    struct chained t;

    (void)state;
    begin(&t);
    announce(&t, key, NULL, false);
    tell(&t, 9);
    early = attest(&t, key, 3);
    signcheck_freep(&t.check);
    t.check = signcheck_new();
    trust(&t, key);
    signcheck_witness(t.check, &early);
    tell(&t, 2);
    checkpoint_of(&t, &early); /* of a record that is not here: proves nothing here */
    checkpoint(&t, key);
    tell(&t, 1);
    assert_int_equal(t.rc, 0);
    assert_int_equal(signcheck_end(t.check, &t.err), 0);
    signcheck_verdict(t.check, &v);
    assert_int_equal(v.first_seq, 11);
    assert_int_equal(v.signed_seq, 13);
    assert_int_equal(v.checkpoints, 1);
    assert_non_null(strstr(signcheck_notes(t.check), "could not be compared"));
    finish(&t);
}

static void without_a_checkpoint_nothing_is_proven(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    struct chained t;

    (void)state;
    begin(&t);
    trust(&t, key);
    announce(&t, key, NULL, false);
    tell(&t, 3);
    is_bad_at(&t, 0, "nothing is proven");
    finish(&t);
    begin(&t);
    trust(&t, key);
    is_bad_at(&t, 0, "nothing is proven");
    finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_signed_and_what_not_yet_is_said),
        cmocka_unit_test(a_checkpoint_may_name_an_earlier_record),
        cmocka_unit_test(a_record_written_anew_is_found_at_the_checkpoint),
        cmocka_unit_test(a_signature_that_is_not_right_is_found),
        cmocka_unit_test(a_chain_with_another_key_is_found_where_that_key_comes),
        cmocka_unit_test(another_key_cannot_sign_unannounced),
        cmocka_unit_test(a_key_that_was_rotated_hands_on_its_trust),
        cmocka_unit_test(who_trusts_the_newest_key_has_all_before_it_proven),
        cmocka_unit_test(a_lost_key_is_told_and_its_follower_must_be_trusted),
        cmocka_unit_test(a_witness_finds_a_cut_end),
        cmocka_unit_test(a_witness_finds_what_the_key_itself_wrote_anew),
        cmocka_unit_test(records_from_the_middle_are_proven_too),
        cmocka_unit_test(without_a_checkpoint_nothing_is_proven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
