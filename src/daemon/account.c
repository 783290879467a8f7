#include "daemon/account.h"

#include "backend/local/local.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/str.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *word;
    unsigned bit;
    unsigned all; /* with what it implies */
} ROLES[] = {
    {"read", ROLE_READ, ROLE_READ},
    {"submit", ROLE_SUBMIT, ROLE_SUBMIT | ROLE_READ},
    {"operator", ROLE_OPERATOR, ROLE_OPERATOR | ROLE_SUBMIT | ROLE_READ},
    {"auditor", ROLE_AUDITOR, ROLE_AUDITOR | ROLE_READ},
    {"admin", ROLE_ADMIN, ROLE_ADMIN | ROLE_OPERATOR | ROLE_SUBMIT | ROLE_AUDITOR | ROLE_READ},
};

#define ROLES_ALL (ROLE_ADMIN | ROLE_OPERATOR | ROLE_SUBMIT | ROLE_AUDITOR | ROLE_READ)

unsigned account_role_of(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(ROLES); i++) {
        if (strcmp(ROLES[i].word, word) == 0) {
            return ROLES[i].all;
        }
    }
    return 0;
}

json_t *account_roles_json(unsigned roles)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_LEN(ROLES); i++) {
        if ((roles & ROLES[i].bit) != 0 && ROLES[i].bit != ROLE_READ) {
            json_array_append_new(list, json_string(ROLES[i].word));
        }
    }
    return list;
}

#define KEEP_MS ((int64_t)10 * 1000)

/* The login name of a uid, or "uid-N" for one that has none. */
static char *find_login(uint32_t uid)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];
    struct str name = {0};

    if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL) {
        str_add(&name, found->pw_name);
    } else {
        str_addf(&name, "uid-%u", uid);
    }
    return str_take(&name);
}

/* The same, kept for some seconds: the database of accounts is read anew at each question.  Lent
 * until the next call. */
static const char *login_of(struct daemon *d, uint32_t uid)
{
    int64_t now_ms = daemon_now_ms(d);
    struct daemon_login *row = NULL;

    for (size_t i = 0; i < d->logins.count && row == NULL; i++) {
        row = d->logins.items[i].uid == uid ? &d->logins.items[i] : NULL;
    }
    if (row == NULL) {
        vec_push(&d->logins, (struct daemon_login){.uid = uid});
        row = &d->logins.items[d->logins.count - 1];
    }
    if (row->name == NULL || row->until_ms <= now_ms) {
        mem_free(row->name);
        row->name = find_login(uid);
        row->until_ms = now_ms + KEEP_MS;
    }
    return row->name;
}

static const struct config *config_of(const struct daemon *d)
{
    return d->site == NULL ? NULL : &d->site->config;
}

/* Does a login speak for this user?  One whose tasks run as musterd's account (self) is known by
 * the name. */
static bool is_login_of(const struct config_user *user, const char *login)
{
    return strcmp(user->account[0] != '\0' ? user->account : user->name, login) == 0;
}

/* Index of the policy's user for a login, -1 = none. */
static int64_t user_of_login(const struct daemon *d, const char *login)
{
    const struct config *c = config_of(d);

    for (size_t i = 0; c != NULL && i < c->policy.user_count; i++) {
        if (is_login_of(&c->users[i], login)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* A login without an entry may bear the name of a user who is somebody else. */
static bool is_name_of_user(const struct daemon *d, const char *login)
{
    const struct config *c = config_of(d);

    for (size_t i = 0; c != NULL && i < c->policy.user_count; i++) {
        if (strcmp(c->users[i].name, login) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t user_of_subject(const struct daemon *d, const char *subject)
{
    const struct config *c = config_of(d);

    for (size_t i = 0; c != NULL && i < c->policy.user_count; i++) {
        if (strcmp(c->policy.users[i].subject, subject) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* root, or the account of musterd: they can read and end it anyway. */
static bool is_master(struct daemon *d, const char *login)
{
    return strcmp(login, "root") == 0 || strcmp(login, login_of(d, geteuid())) == 0;
}

static bool is_master_subject(struct daemon *d, const char *subject)
{
    const struct config *c = config_of(d);
    const struct person *person = people_of_subject(d->people, subject);
    int64_t user = user_of_subject(d, subject);

    return person != NULL && is_master(d, person->name) &&
           (c == NULL || user < 0 || is_login_of(&c->users[user], person->name));
}

static unsigned roles_of_user(const struct policy_user *user)
{
    unsigned roles = user->role_count == 0 ? account_role_of("submit") : 0;

    for (size_t i = 0; i < user->role_count; i++) {
        roles |= account_role_of(user->roles[i]);
    }
    return roles;
}

unsigned account_roles(struct daemon *d, const char *subject)
{
    const struct config *c = config_of(d);
    const struct person *person = people_of_subject(d->people, subject);
    int64_t user = user_of_subject(d, subject);

    if (is_master_subject(d, subject)) {
        return ROLES_ALL;
    }
    if (user >= 0) {
        return roles_of_user(&c->policy.users[user]);
    }
    return person != NULL && c != NULL && c->unknown_queue_count > 0 ? account_role_of("submit")
                                                                     : 0;
}

int account_of_uid(void *ctx, uint32_t uid, struct service_caller *ret, struct err *err)
{
    struct daemon *d = ctx;
    const struct config *c = config_of(d);
    const struct person *person = NULL;
    CLEANUP(mem_freep) char *login = mem_text(login_of(d, uid));
    CLEANUP(str_fini) struct str spare = {0};
    const char *name = login;
    int64_t user;
    int rc;

    user = user_of_login(d, login);
    if (user >= 0) {
        name = c->users[user].name;
    } else if (!is_master(d, login) && (c == NULL || c->unknown_queue_count == 0)) {
        return err_set(err, ERR_UNAUTHENTICATED,
                       "the account %s is not a user of this site: ask for an entry under users",
                       login);
    } else if (is_name_of_user(d, login) && !is_master(d, login)) {
        return err_set(err, ERR_UNAUTHENTICATED,
                       "the user %s of this site is another account than %s", login, login);
    } else if (is_name_of_user(d, login)) {
        /* A policy that gives root's name away must not lock root out, who alone could mend it. */
        str_addf(&spare, "uid-%u", uid);
        name = str_text(&spare);
    }
    rc = people_take(d->people, name, "", &person, err);
    if (rc == 0) {
        rc = people_save(d->people, err);
    }
    if (rc != 0) {
        return rc;
    }
    memset(ret, 0, sizeof(*ret));
    ret->subject = person->subject;
    ret->uid = uid;
    ret->roles = is_master(d, login) ? ROLES_ALL : account_roles(d, person->subject);
    return 0;
}

/* ---- tokens ---- */

static void mark_used(struct daemon *d, int64_t token)
{
    for (size_t i = 0; i < d->token_uses.count; i++) {
        if (d->token_uses.items[i].token == token) {
            d->token_uses.items[i].at_ms = daemon_now_ms(d);
            return;
        }
    }
    vec_push(&d->token_uses, (struct daemon_token_use){token, daemon_now_ms(d)});
}

int64_t account_token_used_ms(struct daemon *d, int64_t token)
{
    for (size_t i = 0; i < d->token_uses.count; i++) {
        if (d->token_uses.items[i].token == token) {
            return d->token_uses.items[i].at_ms;
        }
    }
    return 0;
}

static const struct view_token *token_of(struct daemon *d, const char *digest)
{
    const struct core *core = engine_core(d->engine);
    const struct view_token *t = view_token_next(core, 0);

    while (t != NULL && strcmp(t->digest, digest) != 0) {
        t = view_token_next(core, t->id);
    }
    return t;
}

static int task_token(struct daemon *d, const char *token, struct service_caller *ret,
                      struct err *err)
{
    const struct job *j = NULL;
    int64_t job = 0;
    int64_t attempt = 0;

    if (d->local != NULL && local_token_check(d->local, token, &job, &attempt)) {
        j = view_job(engine_core(d->engine), job);
    }
    if (j == NULL || j->attempt != attempt || !job_is_active(j)) {
        return err_set(err, ERR_TOKEN, "the token is not known, or was revoked");
    }
    ret->subject = j->subject;
    ret->roles = ROLE_TASK;
    ret->task_job = job;
    ret->task_attempt = attempt;
    return 0;
}

int account_of_token(void *ctx, const char *token, struct service_caller *ret, struct err *err)
{
    struct daemon *d = ctx;
    char digest[HASH_TEXT_MAX];
    const struct view_token *t;
    unsigned roles = 0;

    memset(ret, 0, sizeof(*ret));
    ret->uid = (uint32_t)-1;
    hash_sha256_text(token, strlen(token), digest);
    t = token_of(d, digest);
    if (t == NULL) {
        return task_token(d, token, ret, err);
    }
    if (t->expires_ms != 0 && t->expires_ms <= daemon_now_ms(d)) {
        return err_set(err, ERR_TOKEN, "the token \"%s\" has expired: make a new one", t->name);
    }
    for (size_t i = 0; i < t->role_count; i++) {
        roles |= account_role_of(t->roles[i]);
    }
    ret->subject = t->subject;
    ret->roles = account_roles(d, t->subject);
    if (t->role_count > 0) {
        ret->roles &= roles;
    }
    if (ret->roles == 0) {
        return err_set(err, ERR_TOKEN, "the owner of the token is no user of this site any more");
    }
    mark_used(d, t->id);
    return 0;
}

/* ---- what a subject may ---- */

const char *account_os(struct daemon *d, const char *subject)
{
    const struct config *c = config_of(d);
    int64_t user = user_of_subject(d, subject);
    const struct person *person = people_of_subject(d->people, subject);

    if (user >= 0) {
        return c->users[user].account;
    }
    if (person == NULL) {
        return "?"; /* erased: no such account, and never musterd's own */
    }
    return is_master(d, person->name) ? "" : person->name;
}

int account_runs_here(struct daemon *d, const char *account, struct err *err)
{
    int64_t now_ms = daemon_now_ms(d);
    int rc;

    if (d->local == NULL ||
        (d->account_good_until_ms > now_ms && str_cmp(d->account_good, account) == 0)) {
        return 0;
    }
    rc = local_account_check(d->local, account, err);
    if (rc == 0) {
        mem_free(d->account_good);
        d->account_good = mem_text(account);
        d->account_good_until_ms = now_ms + KEEP_MS;
    }
    return rc;
}

bool account_may_submit(struct daemon *d, const char *subject, int queue)
{
    const struct config *c = config_of(d);
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    int64_t user = user_of_subject(d, subject);
    const struct policy *policy = view_policy(engine_core(d->engine));

    if (is_master_subject(d, subject)) {
        return true;
    }
    if (user < 0) {
        for (size_t i = 0; c != NULL && i < c->unknown_queue_count; i++) {
            int at = queue_index_of_name(tree, c->unknown_queues[i]);

            if (at >= 0 && queue_covers(tree, at, queue)) {
                return true;
            }
        }
        return false;
    }
    for (size_t i = 0; i < policy->user_count; i++) {
        const struct policy_user *row = &policy->users[i];

        for (size_t k = 0; strcmp(row->subject, subject) == 0 && k < row->queue_count; k++) {
            if (queue_covers(tree, queue_index(tree, row->queues[k]), queue)) {
                return true;
            }
        }
    }
    return false;
}

int account_owns(const struct service_caller *caller, const struct job *j, struct err *err)
{
    if ((caller->roles & (ROLE_OPERATOR | ROLE_ADMIN)) != 0 ||
        ((caller->roles & ROLE_SUBMIT) != 0 && strcmp(caller->subject, j->subject) == 0)) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "job %lld belongs to somebody else: its owner or an operator may do this",
                   (long long)j->id);
}

int account_bind(struct daemon *d, struct daemon_site *site, bool keep, struct err *err)
{
    struct config *c = &site->config;

    for (size_t i = 0; i < c->policy.user_count; i++) {
        const struct person *person = people_of_name(d->people, c->users[i].name);
        const char *wanted = c->policy.users[i].subject;
        int rc = 0;

        if (keep || (person != NULL && wanted[0] == '\0')) {
            rc = people_take(d->people, c->users[i].name, wanted, &person, err);
        }
        if (rc != 0) {
            return rc;
        }
        if (person != NULL) {
            c->policy.users[i].subject = arena_text(site->arena, person->subject);
        } else if (wanted[0] == '\0') {
            c->policy.users[i].subject = arena_printf(site->arena, "new-%zu", i);
        }
    }
    return keep ? people_save(d->people, err) : 0;
}
