#include "journal/ndjson.h"

#include "base/hash.h"
#include "base/mem.h"
#include "journal/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREV "\"prev\":\""
#define HASH "\"hash\":\""

#define HEX_CHARS (HASH_TEXT_MAX - 1)

/* ,"prev":"HEX","hash":"HEX"} */
#define TAIL_CHARS (1 + sizeof(PREV) - 1 + HEX_CHARS + 2 + sizeof(HASH) - 1 + HEX_CHARS + 2)

void ndjson_add(struct str *s, const struct journal_record *r,
                const unsigned char prev[JOURNAL_HASH_BYTES])
{
    char hex[HASH_TEXT_MAX];

    str_add(s, "{\"seq\":");
    str_add_int(s, r->seq);
    str_add(s, ",\"epoch\":");
    str_add_int(s, r->epoch);
    str_add(s, ",\"at_ms\":");
    str_add_int(s, r->at_ms);
    str_add(s, ",\"true_at_ms\":");
    str_add_int(s, r->true_at_ms);
    str_add(s, ",\"precision_ms\":");
    str_add_int(s, r->precision_ms);
    str_add(s, ",\"kind\":\"");
    str_add(s, r->kind);
    str_add(s, "\",\"version\":");
    str_add_int(s, r->version);
    str_add(s, ",\"body\":");
    str_add_n(s, r->bytes, r->len);
    hash_hex(prev, JOURNAL_HASH_BYTES, hex);
    str_add(s, "," PREV);
    str_add(s, hex);
    hash_hex(r->hash, JOURNAL_HASH_BYTES, hex);
    str_add(s, "\"," HASH);
    str_add(s, hex);
    str_add(s, "\"}\n");
}

struct cursor {
    const char *text;
    size_t len;
    size_t at;
    struct err *err;
};

static int wrong(const struct cursor *c, const char *expected)
{
    return err_set(c->err, ERR_SYNTAX, "column %zu: expected %s", c->at + 1, expected);
}

static int skip(struct cursor *c, const char *literal)
{
    size_t len = strlen(literal);

    if (c->len - c->at < len || memcmp(c->text + c->at, literal, len) != 0) {
        return wrong(c, literal);
    }
    c->at += len;
    return 0;
}

/* name and the integer after it, written as str_add_int writes it. */
static int read_int(struct cursor *c, const char *name, int64_t *ret)
{
    char digits[24];
    char again[24];
    size_t count = 0;
    int rc = skip(c, name);

    if (rc != 0) {
        return rc;
    }
    while (c->at + count < c->len && count < sizeof(digits) - 1 &&
           (c->text[c->at + count] == '-' ||
            (c->text[c->at + count] >= '0' && c->text[c->at + count] <= '9'))) {
        digits[count] = c->text[c->at + count];
        count++;
    }
    digits[count] = '\0';
    if (!str_to_int(digits, ret)) {
        return wrong(c, "an integer");
    }
    snprintf(again, sizeof(again), "%" PRId64, *ret);
    if (strcmp(digits, again) != 0) {
        return wrong(c, again); /* no 01, no -0 */
    }
    c->at += count;
    return 0;
}

static bool is_kind_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static int read_kind(struct cursor *c, char ret[JOURNAL_KIND_MAX + 1])
{
    size_t count = 0;
    int rc = skip(c, ",\"kind\":\"");

    if (rc != 0) {
        return rc;
    }
    while (c->at < c->len && count < JOURNAL_KIND_MAX && is_kind_char(c->text[c->at])) {
        ret[count++] = c->text[c->at++];
    }
    ret[count] = '\0';
    return count > 0 ? 0 : wrong(c, "a kind of a-z, 0-9, _ and .");
}

static int read_hash(struct cursor *c, const char *name, unsigned char ret[JOURNAL_HASH_BYTES])
{
    char hex[HASH_TEXT_MAX] = {0};
    int rc = skip(c, name);

    if (rc != 0) {
        return rc;
    }
    if (c->len - c->at >= HEX_CHARS) {
        memcpy(hex, c->text + c->at, HEX_CHARS);
    }
    if (strpbrk(hex, "ABCDEF") != NULL || !hash_of_hex(hex, ret, JOURNAL_HASH_BYTES)) {
        return wrong(c, "64 lower-case hexadecimal digits");
    }
    c->at += HEX_CHARS;
    return skip(c, "\"");
}

static int read_head(struct cursor *c, struct ndjson_line *ret)
{
    int rc = read_int(c, "{\"seq\":", &ret->record.seq);

    rc = rc != 0 ? rc : read_int(c, ",\"epoch\":", &ret->record.epoch);
    rc = rc != 0 ? rc : read_int(c, ",\"at_ms\":", &ret->record.at_ms);
    rc = rc != 0 ? rc : read_int(c, ",\"true_at_ms\":", &ret->record.true_at_ms);
    rc = rc != 0 ? rc : read_int(c, ",\"precision_ms\":", &ret->record.precision_ms);
    rc = rc != 0 ? rc : read_kind(c, ret->kind);
    rc = rc != 0 ? rc : read_int(c, "\",\"version\":", &ret->record.version);
    return rc != 0 ? rc : skip(c, ",\"body\":");
}

int ndjson_read(const char *text, size_t len, struct ndjson_line *ret, struct err *err)
{
    struct cursor c = {text, len, 0, err};
    int rc = read_head(&c, ret);

    if (rc != 0) {
        return rc;
    }
    if (len - c.at <= TAIL_CHARS) {
        return wrong(&c, "a body, \"prev\" and \"hash\"");
    }
    ret->record.kind = ret->kind;
    ret->record.bytes = text + c.at;
    ret->record.len = len - c.at - TAIL_CHARS;
    c.at = len - TAIL_CHARS;
    rc = read_hash(&c, "," PREV, ret->prev);
    rc = rc != 0 ? rc : read_hash(&c, "," HASH, ret->record.hash);
    return rc != 0 ? rc : skip(&c, "}");
}

struct ndjson_check {
    struct chain *chain;
    int64_t first_seq;
    struct journal_verdict verdict;
    enum err_code failed;
    int64_t next_seq;
    struct ndjson_line line;
};

struct ndjson_check *ndjson_check_new(void)
{
    struct ndjson_check *c = mem_new(1, sizeof(*c));

    c->chain = chain_new();
    return c;
}

void ndjson_check_free(struct ndjson_check *c)
{
    if (c != NULL) {
        chain_free(c->chain);
        mem_free(c);
    }
}

void ndjson_check_freep(struct ndjson_check **c)
{
    ndjson_check_free(*c);
    *c = NULL;
}

/* What is wrong with the next line in words, or NULL. */
static const char *find_fault(struct ndjson_check *c, const struct ndjson_line *line)
{
    unsigned char hash[JOURNAL_HASH_BYTES];

    if (line->record.seq < 1 || line->record.seq == INT64_MAX) {
        return "seq is out of range";
    }
    if (c->first_seq != 0 && line->record.seq != c->next_seq) {
        return "seq does not follow the line before";
    }
    if (c->first_seq == 0 && line->record.seq > 1) {
        memcpy(c->verdict.hash, line->prev, sizeof(c->verdict.hash));
    }
    if (memcmp(line->prev, c->verdict.hash, sizeof(line->prev)) != 0) {
        return c->first_seq == 0 ? "the first record's prev is not zero"
                                 : "prev is not the hash of the line before";
    }
    chain_next(c->chain, line->prev, &line->record, hash);
    if (memcmp(hash, line->record.hash, sizeof(hash)) != 0) {
        return "the hash does not match the record";
    }
    return NULL;
}

static int fail(struct ndjson_check *c, enum err_code code, int64_t seq, const char *text,
                struct err *err)
{
    c->failed = code;
    c->verdict.bad_seq = seq;
    snprintf(c->verdict.text, sizeof(c->verdict.text), "%s", text);
    return err_set(err, code, "%s", c->verdict.text);
}

int ndjson_check_line(struct ndjson_check *c, const char *text, size_t len, struct err *err)
{
    struct ndjson_line *line = &c->line;
    struct err why;
    const char *fault;
    int rc;

    if (c->failed != ERR_OK) {
        return err_set(err, c->failed, "%s", c->verdict.text);
    }
    rc = ndjson_read(text, len, line, &why);
    if (rc != 0) {
        return fail(c, ERR_SYNTAX, c->first_seq == 0 ? 1 : c->next_seq, why.text, err);
    }
    fault = find_fault(c, line);
    if (fault != NULL) {
        char said[160];

        snprintf(said, sizeof(said), "record %" PRId64 ": %s", line->record.seq, fault);
        return fail(c, ERR_JOURNAL_DAMAGED, c->first_seq == 0 ? 1 : c->next_seq, said, err);
    }
    if (c->first_seq == 0) {
        c->first_seq = line->record.seq;
    }
    c->next_seq = line->record.seq + 1;
    c->verdict.records++;
    memcpy(c->verdict.hash, line->record.hash, sizeof(c->verdict.hash));
    return 0;
}

const struct ndjson_line *ndjson_check_last(const struct ndjson_check *c)
{
    return &c->line;
}

void ndjson_check_verdict(const struct ndjson_check *c, int64_t *ret_first_seq,
                          struct journal_verdict *ret)
{
    *ret_first_seq = c->first_seq;
    *ret = c->verdict;
}
