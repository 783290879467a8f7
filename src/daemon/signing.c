/* Taking over, so that no crash loses a key that the journal speaks of:
 *
 *      journal.key.next written -> journal_key durable -> journal.key = next -> next removed
 *
 * A next that is found at start is looked for in the journal: it is in force if the journal has it,
 * and nothing if it has not. */
#include "daemon/signing.h"

#include "base/check.h"
#include "base/hash.h"
#include "daemon/command.h"
#include "daemon/jsonout.h"
#include "daemon/loop.h"
#include "daemon/note.h"
#include "daemon/statefile.h"
#include "journal/attest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINT_EVERY_MS ((int64_t)3600 * 1000)
#define SIGNATURE_HEX       (2 * SIGNKEY_SIGNATURE_BYTES + 1)

struct signing {
    char *path;      /* of the private key */
    char *next_path; /* of the one that takes over */
    char *id_path;
    struct signkey *key;
    struct signkey *next; /* its record is on its way, NULL = none */
    bool announced;       /* the journal knows the key */
    bool announcing;
    char previous[SIGNKEY_ID_MAX]; /* that the key is announced as the follower of, "" = none */
    int64_t due_ms;
    int64_t checkpoint_seq;    /* the record of the newest checkpoint since the start */
    VEC(struct asked) waiting; /* for the next checkpoint */
};

static char *under(const struct daemon *d, const char *name)
{
    struct str s = {0};

    str_addf(&s, "%s/%s", d->state, name);
    return str_take(&s);
}

/* ---- files ---- */

static void wipe(struct str *secret)
{
    if (secret->text != NULL) {
        explicit_bzero(secret->text, secret->room);
    }
    str_fini(secret);
}

static int write_key(const char *path, const struct signkey *key, struct err *err)
{
    CLEANUP(wipe) struct str pem = {0};

    signkey_private_pem(key, &pem);
    return statefile_write(path, str_text(&pem), pem.len, err);
}

static int read_key(const char *path, struct signkey **ret, struct err *err)
{
    CLEANUP(wipe) struct str pem = {0};
    struct err why;
    struct stat st;
    int rc = statefile_read(path, &pem, err);

    if (rc != 0) {
        return rc;
    }
    if (stat(path, &st) == 0 && (st.st_mode & 077) != 0) {
        return err_set(err, ERR_IO,
                       "%s: others may read or write it (mode %04o): chmod 0600, and let a new key "
                       "take over (muster journal rotate-key)",
                       path, (unsigned)st.st_mode & 07777U);
    }
    if (signkey_of_private(str_text(&pem), pem.len, ret, &why) != 0) {
        return err_set(err, ERR_INVALID,
                       "%s: %s: restore it, or move it away and a new one is made (the journal "
                       "will say so)",
                       path, why.text);
    }
    return 0;
}

static void write_id(struct signing *s)
{
    struct err err;

    if (statefile_write(s->id_path, signkey_id(s->key), SIGNKEY_ID_MAX - 1, &err) != 0) {
        note(NOTE_WARN, "the id of the journal's key is not remembered: %s", err.text);
    }
}

static void read_id(const struct signing *s, char ret[SIGNKEY_ID_MAX])
{
    CLEANUP(str_fini) struct str text = {0};

    ret[0] = '\0';
    if (statefile_read(s->id_path, &text, NULL) == 0 && signkey_is_id(str_text(&text))) {
        memcpy(ret, text.text, SIGNKEY_ID_MAX);
    }
}

/* The key that takes over has become the key. */
static void keep_next(struct signing *s)
{
    struct err err;

    if (write_key(s->path, s->key, &err) != 0) {
        note(NOTE_ERROR, "the new key of the journal stays in %s until the next start: %s",
             s->next_path, err.text);
        return;
    }
    write_id(s);
    unlink(s->next_path);
}

/* ---- start ---- */

struct search {
    const char *id;
    bool found;
};

static bool find_announced(void *ctx, const struct journal_record *r)
{
    struct search *search = ctx;
    struct attest_key a;

    search->found = strcmp(r->kind, ATTEST_KIND_KEY) == 0 &&
                    attest_key_of_body(r->bytes, r->len, &a, NULL) == 0 &&
                    strcmp(a.key, search->id) == 0;
    return !search->found;
}

/* A change of keys was cut short: the journal says whether it happened. */
static int settle_next(struct daemon *d, struct err *err)
{
    struct signing *s = d->signing;
    struct signkey *next = NULL;
    struct search search = {0};
    int rc;

    if (access(s->next_path, F_OK) != 0) {
        return 0;
    }
    rc = read_key(s->next_path, &next, err);
    if (rc != 0) {
        return rc;
    }
    search.id = signkey_id(next);
    rc = journal_read(d->journal, 1, INT64_MAX, find_announced, &search, err);
    if (rc != 0 || !search.found) {
        signkey_free(next);
        if (rc == 0) {
            unlink(s->next_path);
        }
        return rc;
    }
    signkey_free(s->key);
    s->key = next;
    keep_next(s);
    return 0;
}

static int load_key(struct signing *s, struct err *err)
{
    struct err why;
    int rc = read_key(s->path, &s->key, &why);

    if (rc == ERR_NOT_FOUND) {
        s->key = signkey_make();
        return write_key(s->path, s->key, err);
    }
    return rc != 0 ? err_set(err, (enum err_code)rc, "%s", why.text) : 0;
}

/* ---- the journal hears of a key ---- */

static void put_key(const struct command *command, const struct attest_key *a, const char *subject)
{
    char public_key[HASH_TEXT_MAX];
    char signature[SIGNATURE_HEX] = "";
    struct fact_journal_key body = {.key = a->key,
                                    .public_key = public_key,
                                    .previous = a->previous,
                                    .signature = signature,
                                    .subject = subject};
    struct fact fact = {.kind = FACT_JOURNAL_KEY, .body.as_JOURNAL_KEY = &body};

    hash_hex(a->public_key, sizeof(a->public_key), public_key);
    if (a->is_signed) {
        hash_hex(a->signature, sizeof(a->signature), signature);
    }
    command_put(command, &fact);
}

static void describe(const struct signkey *key, struct attest_key *ret)
{
    *ret = (struct attest_key){0};
    memcpy(ret->key, signkey_id(key), SIGNKEY_ID_MAX);
    signkey_public_bytes(key, ret->public_key);
}

static json_t *announced(struct daemon *d, const struct fact *fact, void *own)
{
    struct signing *s = d->signing;

    (void)own;
    (void)fact;
    s->announcing = false;
    s->announced = true;
    write_id(s);
    return NULL;
}

static void not_announced(struct daemon *d, void *own, int rc, const struct err *err)
{
    (void)own;
    (void)rc;
    (void)err;
    d->signing->announcing = false; /* tick tries again */
}

static void announce(struct daemon *d)
{
    struct signing *s = d->signing;
    struct command command = {.d = d, .answer = announced, .failed = not_announced};
    struct attest_key a;

    describe(s->key, &a);
    memcpy(a.previous, s->previous, sizeof(a.previous));
    s->announcing = true;
    put_key(&command, &a, "");
}

static void tell(const struct signing *s)
{
    if (s->previous[0] == '\0') {
        note(NOTE_INFO, "the journal is signed by key %s (muster journal key shows it)",
             signkey_id(s->key));
    } else {
        note(NOTE_WARN,
             "the journal was signed by key %s, which is not in %s: key %s takes over without its "
             "signature",
             s->previous, s->path, signkey_id(s->key));
    }
}

int signing_open(struct daemon *d, struct err *err)
{
    struct signing *s = mem_new(1, sizeof(*s));
    char known[SIGNKEY_ID_MAX];
    int rc;

    d->signing = s;
    s->path = under(d, "journal.key");
    s->next_path = under(d, "journal.key.next");
    s->id_path = under(d, "journal.key.id");
    s->due_ms = daemon_now_ms(d) + CHECKPOINT_EVERY_MS;
    rc = load_key(s, err);
    if (rc == 0) {
        rc = settle_next(d, err);
    }
    if (rc != 0) {
        return rc;
    }
    read_id(s, known);
    s->announced = strcmp(known, signkey_id(s->key)) == 0;
    if (!s->announced) {
        memcpy(s->previous, known, sizeof(known));
        tell(s);
        announce(d);
    }
    return 0;
}

void signing_free(struct signing *s)
{
    if (s != NULL) {
        signkey_free(s->key);
        signkey_free(s->next);
        vec_fini(&s->waiting);
        mem_free(s->path);
        mem_free(s->next_path);
        mem_free(s->id_path);
        mem_free(s);
    }
}

const struct signkey *signing_key(const struct daemon *d)
{
    return d->signing->key;
}

/* ---- checkpoints ---- */

static json_t *signed_durable(struct daemon *d, const struct fact *fact, void *own)
{
    CLEANUP(str_fini) struct str document = {0};
    const struct fact_journal_checkpoint *b = fact_of(fact, JOURNAL_CHECKPOINT);
    json_t *o = json_object();

    d->signing->checkpoint_seq = fact->seq;
    attest_checkpoint_document(own, &document);
    jsonout_big(o, "seq", fact->seq);
    jsonout_big(o, "signed_seq", b->signed_seq);
    jsonout_text(o, "hash", b->hash);
    jsonout_text(o, "state_hash", b->state_hash);
    jsonout_int(o, "format", b->format);
    jsonout_text(o, "key", b->key);
    jsonout_text(o, "signature", b->signature);
    jsonout_text(o, "document", str_text(&document));
    return o;
}

/* asked NULL: nobody waits. */
static void put_checkpoint(struct daemon *d, const struct attest_checkpoint *a,
                           const struct asked *asked)
{
    struct command command = {.d = d, .answer = signed_durable, .forget = mem_free};
    char hash[HASH_TEXT_MAX];
    char state_hash[HASH_TEXT_MAX];
    char signature[SIGNATURE_HEX];
    struct fact_journal_checkpoint body = {
        .signed_seq = a->seq,
        .hash = hash,
        .state_hash = state_hash,
        .format = a->format,
        .key = a->key,
        .signature = signature,
        .subject = asked == NULL ? "" : asked->call->caller.subject,
    };
    struct fact fact = {.kind = FACT_JOURNAL_CHECKPOINT, .body.as_JOURNAL_CHECKPOINT = &body};
    struct attest_checkpoint *own = mem_new(1, sizeof(*own));

    hash_hex(a->hash, sizeof(a->hash), hash);
    hash_hex(a->state_hash, sizeof(a->state_hash), state_hash);
    hash_hex(a->signature, sizeof(a->signature), signature);
    *own = *a;
    command.own = own;
    if (asked != NULL) {
        command.done = asked->done;
        command.arg = asked->arg;
    }
    command_put(&command, &fact);
}

/* While a key takes over nothing is signed: the old one might sign behind the record that ends it.
 */
static bool may_sign(const struct signing *s)
{
    return s != NULL && s->announced && s->next == NULL;
}

/* Each who waits has a record of his own: his name is in it. */
void signing_snapshot(struct daemon *d, const struct journal_snapshot *snapshot)
{
    struct attest_checkpoint a = {.seq = snapshot->seq, .format = snapshot->format};
    struct signing *s = d->signing;

    if (!may_sign(s)) {
        return;
    }
    memcpy(a.hash, snapshot->hash, sizeof(a.hash));
    memcpy(a.state_hash, snapshot->state_hash, sizeof(a.state_hash));
    attest_checkpoint_sign(&a, s->key);
    for (size_t i = 0; i < s->waiting.count; i++) {
        put_checkpoint(d, &a, &s->waiting.items[i]);
    }
    if (s->waiting.count == 0) {
        put_checkpoint(d, &a, NULL);
    }
    vec_clear(&s->waiting);
    s->due_ms = daemon_now_ms(d) + CHECKPOINT_EVERY_MS;
}

void signing_tick(struct daemon *d, int64_t now_ms)
{
    struct signing *s = d->signing;

    if (!s->announced && !s->announcing) {
        announce(d);
    }
    if (now_ms < s->due_ms) {
        return;
    }
    s->due_ms = now_ms + CHECKPOINT_EVERY_MS;
    if (d->durable_seq > s->checkpoint_seq && may_sign(s)) {
        engine_want_snapshot(d->engine);
        loop_step_soon(d->loop);
    }
}

void signing_checkpoint(struct daemon *d, const struct asked *a)
{
    struct signing *s = d->signing;

    if (!may_sign(s)) {
        answer_refuse(a, ERR_BUSY, "", "a key of the journal is just coming into force: ask again");
        return;
    }
    vec_push(&s->waiting, *a);
    engine_want_snapshot(d->engine);
    loop_step_soon(d->loop);
}

/* ---- a key takes over ---- */

static json_t *rotated(struct daemon *d, const struct fact *fact, void *own)
{
    struct signing *s = d->signing;
    const struct fact_journal_key *b = fact_of(fact, JOURNAL_KEY);
    json_t *o = json_object();

    (void)own;
    signkey_free(s->key);
    s->key = s->next;
    s->next = NULL;
    keep_next(s);
    if (s->waiting.count > 0) {
        engine_want_snapshot(d->engine);
        loop_step_soon(d->loop);
    }
    note(NOTE_INFO, "key %s signs the journal from record %" PRId64 " on", b->key, fact->seq);
    jsonout_big(o, "seq", fact->seq);
    jsonout_text(o, "key", b->key);
    jsonout_text(o, "public_key", b->public_key);
    jsonout_text(o, "previous", b->previous);
    return o;
}

static void not_rotated(struct daemon *d, void *own, int rc, const struct err *err)
{
    struct signing *s = d->signing;

    (void)own;
    (void)rc;
    (void)err;
    signkey_free(s->next);
    s->next = NULL;
    unlink(s->next_path);
    if (s->waiting.count > 0) {
        engine_want_snapshot(d->engine);
    }
}

void signing_rotate(struct daemon *d, const struct asked *a)
{
    struct signing *s = d->signing;
    struct command command = {
        .d = d, .done = a->done, .arg = a->arg, .answer = rotated, .failed = not_rotated};
    struct attest_key attest;
    struct err err;
    int rc;

    if (!may_sign(s)) {
        answer_refuse(a, ERR_BUSY, "", "a key of the journal is just coming into force: ask again");
        return;
    }
    s->next = signkey_make();
    rc = write_key(s->next_path, s->next, &err);
    if (rc != 0) {
        signkey_free(s->next);
        s->next = NULL;
        answer_error(a, rc, &err, "");
        return;
    }
    describe(s->next, &attest);
    attest_key_sign(&attest, s->key);
    put_key(&command, &attest, a->call->caller.subject);
}
