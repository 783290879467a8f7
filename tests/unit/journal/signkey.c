#include "journal/signkey.h"

#include "base/hash.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* The first test vector of RFC 8032, section 7.1: an empty text. */
#define RFC_PUBLIC "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define RFC_SIGNATURE                                                                              \
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"                             \
    "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
#define RFC_PRIVATE_PEM                                                                            \
    "-----BEGIN PRIVATE KEY-----\n"                                                                \
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"                           \
    "-----END PRIVATE KEY-----\n"

static void a_signature_is_the_one_of_the_standard(void **state)
{
    unsigned char public_bytes[SIGNKEY_PUBLIC_BYTES];
    unsigned char want[SIGNKEY_SIGNATURE_BYTES];
    unsigned char have[SIGNKEY_SIGNATURE_BYTES];
    CLEANUP(signkey_freep) struct signkey *pair = NULL;
    CLEANUP(signkey_freep) struct signkey *other = NULL;

    (void)state;
    assert_true(hash_of_hex(RFC_PUBLIC, public_bytes, sizeof(public_bytes)));
    assert_true(hash_of_hex(RFC_SIGNATURE, want, sizeof(want)));
    assert_int_equal(signkey_of_private(RFC_PRIVATE_PEM, strlen(RFC_PRIVATE_PEM), &pair, NULL), 0);
    signkey_sign(pair, "", 0, have);
    assert_memory_equal(have, want, sizeof(want));
    signkey_public_bytes(pair, have);
    assert_memory_equal(have, public_bytes, sizeof(public_bytes));
    other = signkey_of_bytes(public_bytes);
    assert_non_null(other);
    assert_string_equal(signkey_id(other), signkey_id(pair));
    assert_true(signkey_verify(other, "", 0, want));
    assert_false(signkey_verify(other, "x", 1, want));
    want[3] ^= 1;
    assert_false(signkey_verify(other, "", 0, want));
}

static void a_new_pair_survives_its_texts(void **state)
{
    CLEANUP(signkey_freep) struct signkey *pair = signkey_make();
    CLEANUP(signkey_freep) struct signkey *other = signkey_make();
    CLEANUP(signkey_freep) struct signkey *again = NULL;
    CLEANUP(signkey_freep) struct signkey *public_half = NULL;
    CLEANUP(str_fini) struct str private_pem = {0};
    CLEANUP(str_fini) struct str public_pem = {0};
    unsigned char signature[SIGNKEY_SIGNATURE_BYTES];

    (void)state;
    signkey_private_pem(pair, &private_pem);
    signkey_public_pem(pair, &public_pem);
    assert_int_equal(signkey_of_private(private_pem.text, private_pem.len, &again, NULL), 0);
    assert_int_equal(signkey_of_public(public_pem.text, public_pem.len, &public_half, NULL), 0);
    signkey_sign(again, "text", 4, signature);
    assert_true(signkey_verify(public_half, "text", 4, signature));
    assert_false(signkey_verify(other, "text", 4, signature));
    assert_string_equal(signkey_id(pair), signkey_id(public_half));
    assert_string_not_equal(signkey_id(pair), signkey_id(other));
    assert_true(signkey_is_id(signkey_id(pair)));
}

static void what_is_no_key_is_refused(void **state)
{
    static const char *const TEXTS[] = {
        "",
        "hello",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----\n",
        /* X25519: a key, but not one that signs */
        "-----BEGIN PUBLIC KEY-----\n"
        "MCowBQYDK2VuAyEA3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\n"
        "-----END PUBLIC KEY-----\n",
        /* with a passphrase: nobody is asked for it */
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgQ2ZwsvDuZmAICCAAw\n"
        "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHGwNsQ9oQxT0vvW1yTdy3gEQHZ0\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n",
    };
    struct signkey *key = NULL;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        assert_int_equal(signkey_of_private(TEXTS[i], strlen(TEXTS[i]), &key, &err), ERR_INVALID);
        assert_int_equal(signkey_of_public(TEXTS[i], strlen(TEXTS[i]), &key, &err), ERR_INVALID);
        assert_null(key);
    }
    assert_int_equal(signkey_of_public(RFC_PRIVATE_PEM, strlen(RFC_PRIVATE_PEM), &key, &err),
                     ERR_INVALID);
    assert_string_equal(err.text, "is no public Ed25519 key in PEM");
}

static void an_id_is_sixteen_digits(void **state)
{
    (void)state;
    assert_true(signkey_is_id("0123456789abcdef"));
    assert_false(signkey_is_id("0123456789ABCDEF"));
    assert_false(signkey_is_id("0123456789abcde"));
    assert_false(signkey_is_id("0123456789abcdef0"));
    assert_false(signkey_is_id(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_the_one_of_the_standard),
        cmocka_unit_test(a_new_pair_survives_its_texts),
        cmocka_unit_test(what_is_no_key_is_refused),
        cmocka_unit_test(an_id_is_sixteen_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
