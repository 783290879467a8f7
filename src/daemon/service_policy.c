#include "daemon/services.h"

#include "base/check.h"
#include "core/codec.h"
#include "daemon/bodyread.h"
#include "daemon/command.h"
#include "daemon/jsonout.h"
#include "daemon/newsite.h"
#include "daemon/policydiff.h"
#include "daemon/policyplan.h"

#include <string.h>

static const char *const NO_PARAMS[] = {NULL};

void service_policy_show(struct daemon *d, const struct asked *a)
{
    CLEANUP(str_fini) struct str text = {0};
    const struct core *core = engine_core(d->engine);
    const struct policy *policy = view_policy(core);
    json_t *o;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    if (policy == NULL) {
        answer_refuse(a, ERR_NOT_FOUND, "", "no policy is in force yet");
        return;
    }
    codec_encode(&POLICY_SCHEMA, policy, &text);
    o = json_object();
    json_object_set_new(o, "policy", json_loadb(str_text(&text), text.len, 0, NULL));
    jsonout_text(o, "digest", policy->digest);
    jsonout_big(o, "seq", view_policy_seq(core));
    jsonout_bool(o, "file_differs",
                 d->file_digest != NULL && str_cmp(d->file_digest, policy->digest) != 0);
    jsonout_text(o, "file_refused", d->refused);
    jsonout_text(o, "text", d->site == NULL ? "" : d->site->text);
    answer_json(a, o);
}

/* The site of the body, prepared; keep: it is to be applied.  NULL = answered. */
static struct daemon_site *read_site(struct daemon *d, const struct asked *a, bool keep)
{
    static const char *const FIELDS[] = {"yaml", "file", NULL};
    struct arena *arena = arena_make();
    struct daemon_site *site = NULL;
    struct bodyread r;
    const char *yaml;
    const char *file;

    bodyread_init(&r, arena);
    bodyread_known(&r, a->call->body, FIELDS);
    yaml = bodyread_text(&r, a->call->body, "yaml", NULL);
    file = bodyread_text(&r, a->call->body, "file", "policy");
    if (yaml == NULL) {
        bodyread_fail(&r, ERR_INVALID, "yaml", "is missing, send the text of the policy");
    }
    if (r.rc == 0) {
        r.rc = newsite_read(yaml, strlen(yaml), file, &site, &r.err);
        r.field = "";
    }
    if (r.rc == 0) {
        r.rc = newsite_prepare(d, site, keep, &r.err);
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
        daemon_site_free(site);
        site = NULL;
    }
    arena_free(arena);
    return site;
}

void service_policy_check(struct daemon *d, const struct asked *a)
{
    struct daemon_site *site;
    json_t *o;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    site = read_site(d, a, false);
    if (site == NULL) {
        return;
    }
    daemon_site_free(site);
    o = json_object();
    jsonout_bool(o, "ok", true);
    answer_json(a, o);
}

static void add_lines(struct str *text, const json_t *changes, const json_t *effects)
{
    size_t i;
    json_t *item;

    if (json_array_size(changes) == 0) {
        str_add(text, "Nothing changes.\n");
    }
    json_array_foreach(changes, i, item)
    {
        const char *from = json_string_value(json_object_get(item, "from"));
        const char *to = json_string_value(json_object_get(item, "to"));

        str_addf(text, "%s: %s -> %s\n", json_string_value(json_object_get(item, "what")),
                 from[0] == '\0' ? "(not there)" : from, to[0] == '\0' ? "(default)" : to);
    }
    json_array_foreach(effects, i, item)
    {
        str_addf(text, "%s\n", json_string_value(json_object_get(item, "text")));
    }
}

void service_policy_plan(struct daemon *d, const struct asked *a)
{
    CLEANUP(str_fini) struct str text = {0};
    struct daemon_site *site;
    json_t *changes;
    json_t *effects = NULL;
    struct err err;
    json_t *o;
    int rc;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    site = read_site(d, a, false);
    if (site == NULL) {
        return;
    }
    changes = policydiff_changes(view_policy(engine_core(d->engine)), &site->config.policy);
    rc = policyplan_effects(d, &site->config.policy, &effects, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
    } else {
        add_lines(&text, changes, effects);
        o = json_object();
        json_object_set(o, "changes", changes);
        json_object_set(o, "effects", effects);
        jsonout_text(o, "text", str_text(&text));
        answer_json(a, o);
    }
    json_decref(changes);
    json_decref(effects);
    daemon_site_free(site);
}

static json_t *applied(struct daemon *d, const struct fact *fact, void *own)
{
    json_t *o = json_object();

    (void)d;
    jsonout_big(o, "seq", fact->seq);
    json_object_set(o, "changes", own);
    return o;
}

static void forget_changes(void *own)
{
    json_decref(own);
}

void service_policy_apply(struct daemon *d, const struct asked *a)
{
    struct command command = {.done = a->done,
                              .arg = a->arg,
                              .answer = applied,
                              .forget = forget_changes};
    struct daemon_site *site;
    struct err err;
    int rc;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    site = read_site(d, a, true);
    if (site == NULL) {
        return;
    }
    command.own = policydiff_changes(view_policy(engine_core(d->engine)), &site->config.policy);
    rc = newsite_apply(d, site, a->call->caller.subject, &command, &err);
    if (rc != 0) {
        json_decref(command.own);
        answer_error(a, rc, &err, "");
    }
}
