#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* FIPS 180-4's examples. */
#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void known_digests(void **state)
{
    char text[HASH_TEXT_MAX];

    (void)state;
    hash_sha256_text("", 0, text);
    assert_string_equal(text, OF_NOTHING);
    hash_sha256_text("abc", 3, text);
    assert_string_equal(text, OF_ABC);
}

static void pieces_give_the_same(void **state)
{
    struct hash *h = hash_new();
    unsigned char bytes[HASH_BYTES];
    char text[HASH_TEXT_MAX];

    (void)state;
    hash_add(h, "a", 1);
    hash_add(h, "", 0);
    hash_add(h, "bc", 2);
    hash_end(h, bytes);
    hash_hex(bytes, HASH_BYTES, text);
    assert_string_equal(text, OF_ABC);
    hash_free(hash_new());
    hash_free(NULL);
}

static void one_is_used_again(void **state)
{
    struct hash *h = hash_new();
    unsigned char bytes[HASH_BYTES];
    char text[HASH_TEXT_MAX];

    (void)state;
    for (int i = 0; i < 3; i++) {
        hash_whole(h, "abc", 3, bytes);
        hash_hex(bytes, HASH_BYTES, text);
        assert_string_equal(text, OF_ABC);
        hash_whole(h, "", 0, bytes);
        hash_hex(bytes, HASH_BYTES, text);
        assert_string_equal(text, OF_NOTHING);
    }
    hash_free(h);
}

static void hexadecimal_is_read_back(void **state)
{
    unsigned char bytes[3] = {7, 7, 7};

    (void)state;
    assert_true(hash_of_hex("00fFa9", bytes, 3));
    assert_memory_equal(bytes, "\x00\xff\xa9", 3);
    assert_true(hash_of_hex("", bytes, 0));
}

static void what_is_no_hexadecimal_writes_nothing(void **state)
{
    static const char *const TEXTS[] = {"",       "00ffa",    "00ffa90",      "00ffa900", "00ffag",
                                        "0x00ff", "00 ff a9", "00ff\xc3\xa4", NULL};
    unsigned char bytes[3] = {7, 7, 7};

    (void)state;
    for (size_t i = 0; TEXTS[i] != NULL; i++) {
        assert_false(hash_of_hex(TEXTS[i], bytes, 3));
        assert_memory_equal(bytes, "\x07\x07\x07", 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),
        cmocka_unit_test(pieces_give_the_same),
        cmocka_unit_test(one_is_used_again),
        cmocka_unit_test(hexadecimal_is_read_back),
        cmocka_unit_test(what_is_no_hexadecimal_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
