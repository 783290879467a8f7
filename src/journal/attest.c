/* Why lines of text and not the record's bytes: a signature over hexadecimal words can be checked
 * with a shell, printed, and kept apart from the journal; and a body may get fields later without
 * old signatures losing their meaning. */
#include "journal/attest.h"

#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define TITLE_CHECKPOINT   "muster journal checkpoint 1\n"
#define TITLE_KEY          "muster journal key 1\n"
#define SIGNATURE_TEXT     (2 * SIGNKEY_SIGNATURE_BYTES + 1)
#define DOCUMENT_CHARS_MAX 1024

static void add_hex(struct str *s, const char *name, const unsigned char *bytes, size_t count)
{
    char hex[SIGNATURE_TEXT];

    hash_hex(bytes, count, hex);
    str_addf(s, "%s %s\n", name, hex);
}

void attest_checkpoint_text(const struct attest_checkpoint *a, struct str *ret)
{
    str_addf(ret, TITLE_CHECKPOINT "seq %" PRId64 "\n", a->seq);
    add_hex(ret, "hash", a->hash, sizeof(a->hash));
    add_hex(ret, "state_hash", a->state_hash, sizeof(a->state_hash));
    str_addf(ret, "format %" PRId64 "\nkey %s\n", a->format, a->key);
}

void attest_key_text(const struct attest_key *a, struct str *ret)
{
    str_add(ret, TITLE_KEY);
    add_hex(ret, "public_key", a->public_key, sizeof(a->public_key));
    str_addf(ret, "previous %s\n", a->previous);
}

void attest_checkpoint_sign(struct attest_checkpoint *a, const struct signkey *key)
{
    CLEANUP(str_fini) struct str text = {0};

    snprintf(a->key, sizeof(a->key), "%s", signkey_id(key));
    attest_checkpoint_text(a, &text);
    signkey_sign(key, text.text, text.len, a->signature);
}

void attest_key_sign(struct attest_key *a, const struct signkey *previous)
{
    CLEANUP(str_fini) struct str text = {0};

    snprintf(a->previous, sizeof(a->previous), "%s", signkey_id(previous));
    a->is_signed = true;
    attest_key_text(a, &text);
    signkey_sign(previous, text.text, text.len, a->signature);
}

bool attest_checkpoint_verify(const struct attest_checkpoint *a, const struct signkey *key)
{
    CLEANUP(str_fini) struct str text = {0};

    attest_checkpoint_text(a, &text);
    return strcmp(a->key, signkey_id(key)) == 0 &&
           signkey_verify(key, text.text, text.len, a->signature);
}

bool attest_key_verify(const struct attest_key *a, const struct signkey *previous)
{
    CLEANUP(str_fini) struct str text = {0};

    attest_key_text(a, &text);
    return a->is_signed && strcmp(a->previous, signkey_id(previous)) == 0 &&
           signkey_verify(previous, text.text, text.len, a->signature);
}

void attest_checkpoint_document(const struct attest_checkpoint *a, struct str *ret)
{
    attest_checkpoint_text(a, ret);
    add_hex(ret, "signature", a->signature, sizeof(a->signature));
}

/* ---- back from a document ---- */

/* The word after "name " on the next line, of less than room characters. */
static bool take_line(const char **at, const char *name, char *ret, size_t room)
{
    size_t name_len = strlen(name);
    size_t len;

    if (strncmp(*at, name, name_len) != 0 || (*at)[name_len] != ' ') {
        return false;
    }
    *at += name_len + 1;
    len = strcspn(*at, "\n");
    if (len >= room || (*at)[len] != '\n') {
        return false;
    }
    memcpy(ret, *at, len);
    ret[len] = '\0';
    *at += len + 1;
    return true;
}

static bool take_hex(const char **at, const char *name, unsigned char *ret, size_t count)
{
    char word[SIGNATURE_TEXT];

    return take_line(at, name, word, sizeof(word)) && hash_of_hex(word, ret, count);
}

static bool take_number(const char **at, const char *name, int64_t *ret)
{
    char word[24];

    return take_line(at, name, word, sizeof(word)) && str_to_int(word, ret);
}

static bool take_id(const char **at, char ret[SIGNKEY_ID_MAX])
{
    return take_line(at, "key", ret, SIGNKEY_ID_MAX) && signkey_is_id(ret);
}

int attest_checkpoint_of_document(const char *text, size_t len, struct attest_checkpoint *ret,
                                  struct err *err)
{
    struct attest_checkpoint a = {0};
    CLEANUP(str_fini) struct str again = {0};
    CLEANUP(mem_freep) char *copy = len < DOCUMENT_CHARS_MAX ? mem_text_n(text, len) : mem_text("");
    const char *at = copy;

    if (strncmp(at, TITLE_CHECKPOINT, strlen(TITLE_CHECKPOINT)) != 0) {
        return err_set(err, ERR_SYNTAX, "line 1: expected \"muster journal checkpoint 1\"");
    }
    at += strlen(TITLE_CHECKPOINT);
    if (!take_number(&at, "seq", &a.seq) || !take_hex(&at, "hash", a.hash, sizeof(a.hash)) ||
        !take_hex(&at, "state_hash", a.state_hash, sizeof(a.state_hash)) ||
        !take_number(&at, "format", &a.format) || !take_id(&at, a.key) ||
        !take_hex(&at, "signature", a.signature, sizeof(a.signature))) {
        return err_set(err, ERR_SYNTAX,
                       "the lines seq, hash, state_hash, format, key and signature must follow, as "
                       "muster journal checkpoint prints them");
    }
    attest_checkpoint_document(&a, &again);
    if (strcmp(str_text(&again), copy) != 0) {
        return err_set(err, ERR_SYNTAX, "it is not written as muster journal checkpoint writes it");
    }
    *ret = a;
    return 0;
}

/* ---- back from a record ---- */

static const char *member(const json_t *body, const char *name)
{
    const char *text = json_string_value(json_object_get(body, name));

    return text == NULL ? "" : text;
}

static bool member_hex(const json_t *body, const char *name, unsigned char *ret, size_t count)
{
    return hash_of_hex(member(body, name), ret, count);
}

static bool member_id(const json_t *body, const char *name, char ret[SIGNKEY_ID_MAX])
{
    const char *text = member(body, name);

    if (!signkey_is_id(text)) {
        return false;
    }
    snprintf(ret, SIGNKEY_ID_MAX, "%s", text);
    return true;
}

int attest_checkpoint_of_body(const char *bytes, size_t len, struct attest_checkpoint *ret,
                              struct err *err)
{
    json_t *body = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
    struct attest_checkpoint a = {
        .seq = json_integer_value(json_object_get(body, "signed_seq")),
        .format = json_integer_value(json_object_get(body, "format")),
    };
    bool good = member_hex(body, "hash", a.hash, sizeof(a.hash)) &&
                member_hex(body, "state_hash", a.state_hash, sizeof(a.state_hash)) &&
                member_id(body, "key", a.key) &&
                member_hex(body, "signature", a.signature, sizeof(a.signature));

    json_decref(body);
    if (!good || a.seq < 1) {
        return err_set(err, ERR_SYNTAX, "is no checkpoint of the journal");
    }
    *ret = a;
    return 0;
}

int attest_key_of_body(const char *bytes, size_t len, struct attest_key *ret, struct err *err)
{
    json_t *body = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
    struct attest_key a = {0};
    bool good = member_id(body, "key", a.key) &&
                member_hex(body, "public_key", a.public_key, sizeof(a.public_key));

    if (member(body, "previous")[0] != '\0') {
        good = good && member_id(body, "previous", a.previous);
    }
    if (member(body, "signature")[0] != '\0') {
        a.is_signed = true;
        good = good && member_hex(body, "signature", a.signature, sizeof(a.signature));
    }
    json_decref(body);
    if (!good || (a.is_signed && a.previous[0] == '\0')) {
        return err_set(err, ERR_SYNTAX, "is no key of the journal");
    }
    *ret = a;
    return 0;
}
