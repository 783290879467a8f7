#include "daemon/services.h"

#include "base/check.h"
#include "base/hash.h"
#include "daemon/account.h"
#include "daemon/bodyread.h"
#include "daemon/command.h"
#include "daemon/jsonout.h"

#include <string.h>
#include <sys/random.h>

#define SECRET_BYTES 32
#define TTL_MS_MAX   ((int64_t)3650 * 86400 * 1000)

static const char *const NO_PARAMS[] = {NULL};

static json_t *roles_json(const struct view_token *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->role_count; i++) {
        json_array_append_new(list, json_string(t->roles[i]));
    }
    return list;
}

void service_token_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"limit", "cursor", NULL};
    const struct core *core = engine_core(d->engine);
    bool admin = (a->call->caller.roles & ROLE_ADMIN) != 0;
    struct answer_page page;

    if (!answer_params(a, PARAMS) || !answer_page_begin(a, &page)) {
        return;
    }
    for (const struct view_token *t = view_token_next(core, page.after); t != NULL;
         t = view_token_next(core, t->id)) {
        json_t *o;

        if (!admin && strcmp(t->subject, a->call->caller.subject) != 0) {
            continue;
        }
        o = json_object();
        jsonout_id(o, "id", t->id);
        jsonout_text(o, "name", t->name);
        jsonout_text(o, "subject", t->subject);
        jsonout_text(o, "user", people_name(d->people, t->subject));
        json_object_set_new(o, "roles", roles_json(t));
        jsonout_ms(o, "created_ms", t->created_ms);
        jsonout_ms(o, "expires_ms", t->expires_ms);
        jsonout_ms(o, "last_used_ms", account_token_used_ms(d, t->id));
        if (!answer_page_add(&page, t->id, o)) {
            break;
        }
    }
    answer_page_end(a, &page);
}

struct secret {
    char token[8 + 2 * SECRET_BYTES];
};

static json_t *created(struct daemon *d, const struct fact *fact, void *own)
{
    const struct fact_token_created *b = fact_of(fact, TOKEN_CREATED);
    const struct secret *secret = own;
    json_t *o = json_object();

    (void)d;
    jsonout_text(o, "token", secret->token);
    jsonout_id(o, "id", b->id);
    jsonout_text(o, "subject", b->subject);
    jsonout_ms(o, "expires_ms", b->expires_ms);
    return o;
}

/* 256 random bits: nothing to guess, so a plain SHA-256 in the journal is enough. */
static struct secret *make_secret(void)
{
    struct secret *s = mem_new(1, sizeof(*s));
    unsigned char bytes[SECRET_BYTES];

    CHECK(getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes));
    memcpy(s->token, "mst_", 4);
    hash_hex(bytes, sizeof(bytes), s->token + 4);
    return s;
}

/* For whom: the caller, or as admin anybody who is known. */
static const char *owner(struct daemon *d, const struct asked *a, struct bodyread *r)
{
    const char *name = bodyread_text(r, a->call->body, "user", "");
    const struct person *person;

    if (name[0] == '\0') {
        return a->call->caller.subject;
    }
    person = people_of_name(d->people, name);
    if ((a->call->caller.roles & ROLE_ADMIN) == 0 &&
        (person == NULL || strcmp(person->subject, a->call->caller.subject) != 0)) {
        bodyread_fail(r, ERR_FORBIDDEN, "user", "only an admin makes tokens for others");
    } else if (person == NULL) {
        bodyread_fail(r, ERR_NOT_FOUND, "user", "there is no user \"%.63s\"", name);
    }
    return r->rc != 0 ? "" : person->subject;
}

static void check_roles(struct daemon *d, struct bodyread *r, const struct fact_token_created *b)
{
    unsigned have = r->rc == 0 ? account_roles(d, b->subject) : 0;

    for (size_t i = 0; i < b->role_count; i++) {
        unsigned role = account_role_of(b->roles[i]);
        const char *field = arena_printf(r->arena, "roles[%zu]", i);

        if (role == 0) {
            bodyread_fail(r, ERR_INVALID, field,
                          "is \"%.20s\", write read, submit, operator, auditor or admin",
                          b->roles[i]);
        } else if ((role & ~have) != 0) {
            bodyread_fail(r, ERR_FORBIDDEN, field, "the owner does not have the role %s",
                          b->roles[i]);
        }
    }
}

void service_token_create(struct daemon *d, const struct asked *a)
{
    static const char *const FIELDS[] = {"name", "roles", "ttl", "user", NULL};
    struct fact_token_created body = {0};
    struct fact fact = {.kind = FACT_TOKEN_CREATED, .body.as_TOKEN_CREATED = &body};
    struct command command = {.d = d,
                              .done = a->done,
                              .arg = a->arg,
                              .answer = created,
                              .forget = mem_free,
                              .created = true};
    struct arena *arena;
    struct bodyread r;
    struct secret *secret;
    char digest[HASH_TEXT_MAX];
    int64_t ttl;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    arena = arena_make();
    bodyread_init(&r, arena);
    bodyread_known(&r, a->call->body, FIELDS);
    body.name = bodyread_text(&r, a->call->body, "name", "token");
    body.roles = bodyread_texts(&r, a->call->body, "roles", 8, &body.role_count);
    ttl = bodyread_time(&r, a->call->body, "ttl", 0);
    body.subject = owner(d, a, &r);
    check_roles(d, &r, &body);
    if (!str_is_name(body.name)) {
        bodyread_fail(&r, ERR_INVALID, "name", "use 1 to 63 of a-z, 0-9 and -");
    }
    if (r.rc == 0 && ttl == 0 && jsonin_get(a->call->body, "ttl") != NULL) {
        bodyread_fail(&r, ERR_RANGE, "ttl", "is 0: leave it out for a token that does not end");
    }
    if (ttl > TTL_MS_MAX) {
        bodyread_fail(&r, ERR_RANGE, "ttl", "is longer than ten years");
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
        arena_free(arena);
        return;
    }
    secret = make_secret();
    hash_sha256_text(secret->token, strlen(secret->token), digest);
    body.digest = digest;
    body.expires_ms = ttl == 0 ? 0 : daemon_now_ms(d) + ttl;
    command.own = secret;
    command_put(&command, &fact);
    arena_free(arena);
}

void service_token_revoke(struct daemon *d, const struct asked *a)
{
    struct fact_token_revoked body = {.subject = a->call->caller.subject};
    struct fact fact = {.kind = FACT_TOKEN_REVOKED, .body.as_TOKEN_REVOKED = &body};
    struct command command = {.d = d, .done = a->done, .arg = a->arg, .answer = command_answer_seq};
    const struct core *core = engine_core(d->engine);
    const struct view_token *t = view_token_next(core, 0);

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    body.id = answer_target_id(a, "token");
    if (body.id == 0) {
        return;
    }
    while (t != NULL && t->id != body.id) {
        t = view_token_next(core, t->id);
    }
    if (t == NULL || ((a->call->caller.roles & ROLE_ADMIN) == 0 &&
                      strcmp(t->subject, a->call->caller.subject) != 0)) {
        answer_refuse(a, ERR_NOT_FOUND, "", "there is no token %lld", (long long)body.id);
        return;
    }
    command_put(&command, &fact);
}

void service_whoami(struct daemon *d, const struct asked *a)
{
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    const char *account = account_os(d, a->call->caller.subject);
    json_t *o;
    json_t *queues = json_array();

    if (!answer_params(a, NO_PARAMS)) {
        json_decref(queues);
        return;
    }
    o = json_object();
    jsonout_text(o, "subject", a->call->caller.subject);
    jsonout_text(o, "name", people_name(d->people, a->call->caller.subject));
    jsonout_text(o, "account", account);
    json_object_set_new(o, "roles", account_roles_json(a->call->caller.roles));
    for (int i = 0; tree != NULL && i < tree->count; i++) {
        if (queue_is_leaf(&tree->items[i]) && account_may_submit(d, a->call->caller.subject, i)) {
            json_array_append_new(queues, json_string(tree->items[i].name));
        }
    }
    json_object_set_new(o, "queues", queues);
    answer_json(a, o);
}

void service_version(struct daemon *d, const struct asked *a)
{
    json_t *o;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    if (d->state_hash_seq != d->durable_seq) {
        CLEANUP(str_fini) struct str state = {0};

        core_snapshot(engine_core(d->engine), &state);
        hash_sha256_text(str_text(&state), state.len, d->state_hash);
        d->state_hash_seq = d->durable_seq;
    }
    o = json_object();
    jsonout_text(o, "version", MUSTER_VERSION);
    jsonout_text(o, "api", "v1");
    jsonout_bool(o, "simulate", d->options.simulate);
    jsonout_big(o, "journal_seq", d->durable_seq);
    jsonout_text(o, "state_hash", d->state_hash);
    jsonout_bool(o, "frozen", engine_frozen(d->engine));
    jsonout_text(o, "frozen_why", d->frozen_why);
    jsonout_bool(o, "disk_full", engine_disk_full(d->engine));
    answer_json(a, o);
}
