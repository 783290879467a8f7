/* auth - the checks that need no knowledge of jobs; ownership is the daemon's. */
#include "http/auth.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

/* The token of "Bearer TOKEN", or NULL. */
static const char *bearer(const char *authorization)
{
    static const char SCHEME[] = "Bearer ";
    const char *token;

    if (strncasecmp(authorization, SCHEME, sizeof(SCHEME) - 1) != 0) {
        return NULL;
    }
    token = authorization + sizeof(SCHEME) - 1;
    token += strspn(token, " ");
    for (const char *c = token; *c != '\0'; c++) {
        if (*c <= 0x20 || *c >= 0x7f) {
            return NULL;
        }
    }
    return *token != '\0' && strlen(token) <= AUTH_TOKEN_MAX ? token : NULL;
}

int auth_caller(const struct service *service, const struct auth_peer *peer,
                const char *authorization, struct service_caller *ret, struct err *err)
{
    struct service_caller caller = {0};
    int rc;

    if (authorization != NULL) {
        const char *token = bearer(authorization);

        if (token == NULL) {
            return err_set(err, ERR_UNAUTHENTICATED,
                           "the Authorization header is not \"Bearer TOKEN\"");
        }
        rc = service->who_token(service->ctx, token, &caller, err);
    } else if (peer->local) {
        rc = service->who_uid(service->ctx, peer->uid, &caller, err);
    } else {
        return err_set(err, ERR_UNAUTHENTICATED,
                       "over TCP a token is needed: \"Authorization: Bearer TOKEN\" (`muster token "
                       "create` makes one)");
    }
    if (rc != 0) {
        return rc;
    }
    caller.subject = mem_text(caller.subject != NULL ? caller.subject : "");
    caller.uid = peer->uid;
    *ret = caller;
    return 0;
}

void auth_caller_fini(struct service_caller *c)
{
    mem_freep(&c->subject);
}

unsigned auth_implied(unsigned roles)
{
    if ((roles & ROLE_ADMIN) != 0) {
        roles |= ROLE_OPERATOR | ROLE_AUDITOR;
    }
    if ((roles & ROLE_OPERATOR) != 0) {
        roles |= ROLE_SUBMIT;
    }
    if ((roles & (ROLE_SUBMIT | ROLE_AUDITOR)) != 0) {
        roles |= ROLE_READ;
    }
    return roles;
}

static const char *role_name(unsigned role)
{
    static const struct {
        unsigned role;
        const char *name;
    } NAMES[] = {
        {ROLE_READ, "read"},   {ROLE_SUBMIT, "submit"},   {ROLE_OPERATOR, "operator"},
        {ROLE_ADMIN, "admin"}, {ROLE_AUDITOR, "auditor"}, {ROLE_TASK, "task"},
    };

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (NAMES[i].role == role) {
            return NAMES[i].name;
        }
    }
    return "unknown";
}

int auth_check(const struct service_caller *caller, unsigned role, const char *target,
               struct err *err)
{
    unsigned roles = auth_implied(caller->roles);
    int64_t job;

    if (role != ROLE_TASK) {
        if ((roles & role) != 0) {
            return 0;
        }
        return err_set(err, ERR_FORBIDDEN, "this needs the role \"%s\", which you do not have",
                       role_name(role));
    }
    if ((roles & ROLE_SUBMIT) != 0) {
        return 0;
    }
    if ((roles & ROLE_TASK) == 0) {
        return err_set(err, ERR_FORBIDDEN,
                       "this needs the job's own token or the role \"submit\", and you have "
                       "neither");
    }
    if (str_to_int(target, &job) && job == caller->task_job) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN, "this token speaks for job %lld only",
                   (long long)caller->task_job);
}

static bool is_host(const char *host, size_t len, const char *name)
{
    return strlen(name) == len && strncasecmp(host, name, len) == 0;
}

int auth_host(const char *host, const char *const *names, size_t name_count, struct err *err)
{
    static const char *const OWN[] = {"localhost", "127.0.0.1", "[::1]"};
    size_t len;

    if (host == NULL) {
        return err_set(err, ERR_FORBIDDEN, "there is no Host header");
    }
    len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (len > strlen(host)) {
        return err_set(err, ERR_FORBIDDEN, "the Host header is not a name");
    }
    for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++) {
        if (is_host(host, len, OWN[i])) {
            return 0;
        }
    }
    for (size_t i = 0; i < name_count; i++) {
        if (is_host(host, len, names[i])) {
            return 0;
        }
    }
    return err_set(err, ERR_FORBIDDEN,
                   "Host \"%.80s\" is not a name of this server (localhost, 127.0.0.1, [::1] or "
                   "one of its configuration)",
                   host);
}
