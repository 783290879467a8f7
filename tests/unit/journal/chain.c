#include "journal/chain.h"

#include "base/check.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Computed by Python's hashlib and struct from the description in chain.h. */
#define FIRST  "cff590d30dbc58dbf7c1fb219deece504f0230378f3a28c7885c6ffcc1addd06"
#define SECOND "7b86b32403686481752d08c6575a12797204a983b3a1d1938e1258390c352ea9"

static const struct journal_record RECORDS[] = {
    {.seq = 1,
     .epoch = 0,
     .at_ms = 1700000000000,
     .true_at_ms = -5,
     .precision_ms = 7,
     .kind = "job_submitted",
     .version = 2,
     .bytes = "{\"id\":1}",
     .len = 8},
    {.seq = 2,
     .epoch = 3,
     .at_ms = INT64_MAX,
     .true_at_ms = INT64_MIN,
     .precision_ms = 0,
     .kind = "x",
     .version = 1,
     .bytes = "{}",
     .len = 2},
};

static void the_encoding_is_the_one_described(void **state)
{
    struct chain *c = chain_new();
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};
    char text[HASH_TEXT_MAX];

    (void)state;
    chain_next(c, hash, &RECORDS[0], hash);
    hash_hex(hash, sizeof(hash), text);
    assert_string_equal(text, FIRST);
    chain_next(c, hash, &RECORDS[1], hash);
    hash_hex(hash, sizeof(hash), text);
    assert_string_equal(text, SECOND);
    chain_freep(&c);
    assert_null(c);
    chain_free(NULL);
}

static void every_part_counts(void **state)
{
    struct chain *c = chain_new();
    static const unsigned char zero[JOURNAL_HASH_BYTES];
    unsigned char prev[JOURNAL_HASH_BYTES] = {0};
    struct journal_record r[10];
    unsigned char hashes[10][JOURNAL_HASH_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        r[i] = RECORDS[0];
    }
    r[1].seq++;
    r[2].epoch++;
    r[3].at_ms++;
    r[4].true_at_ms++;
    r[5].precision_ms++;
    r[6].kind = "job_submittec";
    r[7].version++;
    r[8].bytes = "{\"id\":2}";
    prev[31] = 1;
    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        chain_next(c, i == 9 ? prev : zero, &r[i], hashes[i]);
        for (size_t k = 0; k < i; k++) {
            assert_memory_not_equal(hashes[i], hashes[k], JOURNAL_HASH_BYTES);
        }
    }
    chain_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_encoding_is_the_one_described),
        cmocka_unit_test(every_part_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
