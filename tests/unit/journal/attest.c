#include "journal/attest.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SIXTEEN(hex) hex hex hex hex hex hex hex hex hex hex hex hex hex hex hex hex

static struct attest_checkpoint example(void)
{
    struct attest_checkpoint a = {.seq = 17, .format = 2, .key = "0123456789abcdef"};

    memset(a.hash, 0xa1, sizeof(a.hash));
    memset(a.state_hash, 0x0b, sizeof(a.state_hash));
    memset(a.signature, 0x77, sizeof(a.signature));
    return a;
}

/* These bytes are in signatures that exist: they never change. */
static void what_is_signed_is_these_lines(void **state)
{
    CLEANUP(str_fini) struct str text = {0};
    CLEANUP(str_fini) struct str key_text = {0};
    struct attest_checkpoint a = example();
    struct attest_key k = {.previous = "0123456789abcdef"};

    (void)state;
    attest_checkpoint_text(&a, &text);
    assert_string_equal(text.text, "muster journal checkpoint 1\n"
                                   "seq 17\n"
                                   "hash " SIXTEEN("a1")
                                       SIXTEEN("a1") "\n"
                                                     "state_hash " SIXTEEN("0b")
                                                         SIXTEEN("0b") "\n"
                                                                       "format 2\n"
                                                                       "key 0123456789abcdef\n");
    memset(k.public_key, 0xcd, sizeof(k.public_key));
    attest_key_text(&k, &key_text);
    assert_string_equal(key_text.text,
                        "muster journal key 1\n"
                        "public_key " SIXTEEN("cd") SIXTEEN("cd") "\n"
                                                                  "previous 0123456789abcdef\n");
}

static void a_document_is_read_back_and_nothing_else_is(void **state)
{
    CLEANUP(str_fini) struct str text = {0};
    struct attest_checkpoint a = example();
    struct attest_checkpoint b;
    struct err err;

    (void)state;
    attest_checkpoint_document(&a, &text);
    assert_int_equal(attest_checkpoint_of_document(text.text, text.len, &b, &err), 0);
    assert_memory_equal(&a, &b, sizeof(a));
    for (size_t i = 0; i < text.len; i++) { /* every cut, and every byte another one */
        char was = text.text[i];

        assert_int_equal(attest_checkpoint_of_document(text.text, i, &b, &err), ERR_SYNTAX);
        text.text[i] = '\x7f';
        assert_int_equal(attest_checkpoint_of_document(text.text, text.len, &b, &err), ERR_SYNTAX);
        text.text[i] = was;
    }
    str_add_char(&text, '\n');
    assert_int_equal(attest_checkpoint_of_document(text.text, text.len, &b, &err), ERR_SYNTAX);
}

static void a_signature_covers_every_field(void **state)
{
    CLEANUP(signkey_freep) struct signkey *key = signkey_make();
    CLEANUP(signkey_freep) struct signkey *other = signkey_make();
    struct attest_checkpoint a = example();
    struct attest_checkpoint b;

    (void)state;
    attest_checkpoint_sign(&a, key);
    assert_true(attest_checkpoint_verify(&a, key));
    assert_false(attest_checkpoint_verify(&a, other));
    b = a;
    b.seq++;
    assert_false(attest_checkpoint_verify(&b, key));
    b = a;
    b.hash[31] ^= 1;
    assert_false(attest_checkpoint_verify(&b, key));
    b = a;
    b.state_hash[0] ^= 1;
    assert_false(attest_checkpoint_verify(&b, key));
    b = a;
    b.format++;
    assert_false(attest_checkpoint_verify(&b, key));
    b = a;
    snprintf(b.key, sizeof(b.key), "%s", signkey_id(other));
    assert_false(attest_checkpoint_verify(&b, key));
    assert_false(attest_checkpoint_verify(&b, other));
}

static void a_key_is_signed_by_the_one_before(void **state)
{
    CLEANUP(signkey_freep) struct signkey *old = signkey_make();
    CLEANUP(signkey_freep) struct signkey *next = signkey_make();
    struct attest_key k = {0};

    (void)state;
    signkey_public_bytes(next, k.public_key);
    assert_false(attest_key_verify(&k, old));
    attest_key_sign(&k, old);
    assert_string_equal(k.previous, signkey_id(old));
    assert_true(attest_key_verify(&k, old));
    assert_false(attest_key_verify(&k, next));
    k.public_key[5] ^= 1;
    assert_false(attest_key_verify(&k, old));
}

#define ID     "\"0123456789abcdef\""
#define HASH   "\"" SIXTEEN("a1") SIXTEEN("a1") "\""
#define SIGNED "\"" SIXTEEN("77") SIXTEEN("77") SIXTEEN("77") SIXTEEN("77") "\""

static int of_body(const char *body)
{
    struct attest_checkpoint a;

    return attest_checkpoint_of_body(body, strlen(body), &a, NULL);
}

static int key_of_body(const char *body, struct attest_key *ret)
{
    return attest_key_of_body(body, strlen(body), ret, NULL);
}

static void bodies_are_read_and_later_fields_passed_over(void **state)
{
    struct attest_key k;

    (void)state;
    assert_int_equal(of_body("{\"signed_seq\":1,\"hash\":" HASH ",\"state_hash\":" HASH
                             ",\"format\":2,\"key\":" ID ",\"signature\":" SIGNED ",\"new\":[]}"),
                     0);
    assert_int_equal(of_body("{\"signed_seq\":0,\"hash\":" HASH ",\"state_hash\":" HASH
                             ",\"format\":2,\"key\":" ID ",\"signature\":" SIGNED "}"),
                     ERR_SYNTAX);
    assert_int_equal(of_body("{\"signed_seq\":1,\"state_hash\":" HASH ",\"format\":2,\"key\":" ID
                             ",\"signature\":" SIGNED "}"),
                     ERR_SYNTAX);
    assert_int_equal(of_body("{\"signed_seq\":1,\"hash\":" HASH ",\"state_hash\":" HASH
                             ",\"format\":2,\"key\":" HASH ",\"signature\":" SIGNED "}"),
                     ERR_SYNTAX);
    assert_int_equal(of_body("[]"), ERR_SYNTAX);
    assert_int_equal(of_body("nonsense"), ERR_SYNTAX);
    assert_int_equal(key_of_body("{\"key\":" ID ",\"public_key\":" HASH "}", &k), 0);
    assert_false(k.is_signed);
    assert_int_equal(key_of_body("{\"key\":" ID ",\"public_key\":" HASH ",\"previous\":" ID
                                 ",\"signature\":" SIGNED "}",
                                 &k),
                     0);
    assert_true(k.is_signed);
    assert_int_equal(key_of_body("{\"key\":" ID ",\"public_key\":" HASH ",\"signature\":" SIGNED
                                 "}",
                                 &k),
                     ERR_SYNTAX);
    assert_int_equal(key_of_body("{\"key\":" ID ",\"public_key\":" HASH ",\"previous\":\"x\"}", &k),
                     ERR_SYNTAX);
    assert_int_equal(key_of_body("{\"key\":" ID "}", &k), ERR_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_signed_is_these_lines),
        cmocka_unit_test(a_document_is_read_back_and_nothing_else_is),
        cmocka_unit_test(a_signature_covers_every_field),
        cmocka_unit_test(a_key_is_signed_by_the_one_before),
        cmocka_unit_test(bodies_are_read_and_later_fields_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
