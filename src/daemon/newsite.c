#include "daemon/newsite.h"

#include "base/check.h"
#include "config/policyids.h"
#include "core/codec.h"
#include "daemon/account.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

void daemon_site_free(struct daemon_site *s)
{
    if (s != NULL) {
        arena_free(s->arena);
        mem_free(s);
    }
}

static struct daemon_site *newsite_new(void)
{
    struct daemon_site *s = mem_new(1, sizeof(*s));

    s->arena = arena_make();
    return s;
}

int newsite_read(const char *text, size_t len, const char *file, struct daemon_site **ret,
                 struct err *err)
{
    struct daemon_site *s = newsite_new();
    struct complaints c;
    int rc;

    complaints_init(&c, s->arena, file);
    rc = config_read(text, len, &c, &s->config, err);
    if (rc != 0) {
        daemon_site_free(s);
        return rc;
    }
    s->text = arena_text_n(s->arena, text, len);
    *ret = s;
    return 0;
}

int newsite_load(const char *path, struct daemon_site **ret, struct err *err)
{
    struct daemon_site *s = newsite_new();
    struct complaints c;
    int rc;

    complaints_init(&c, s->arena, path);
    rc = config_load(path, &c, &s->config, &s->text, err);
    if (rc != 0) {
        daemon_site_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

/* Does the driver's library load at all?  Whether the cards are those of the policy is told by the
 * backend when it observes. */
static bool driver_is_there(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL && access("/dev/nvidiactl", F_OK) == 0;
}

static int fill_simulated(const struct daemon *d, struct daemon_site *site, struct err *err)
{
    struct policy *p = &site->config.policy;
    bool driver = driver_is_there();

    for (size_t i = 0; i < p->node_count; i++) {
        struct policy_node *node = &p->nodes[i];

        node->simulated = node->simulated || (site->config.node_auto[i] && !driver);
        if (node->simulated && node->gpus > 0 && !d->options.simulate) {
            return err_set(err, ERR_POLICY,
                           "node %s has simulated GPUs: start musterd with --simulate, or name a "
                           "node with real ones (simulated: false)",
                           node->name);
        }
    }
    return 0;
}

static void fill_machine(struct daemon_site *site)
{
    struct policy *p = &site->config.policy;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < p->node_count; i++) {
        if (p->nodes[i].cpu_milli == 0) {
            p->nodes[i].cpu_milli = cpus > 0 ? cpus * 1000 : 1000;
        }
        if (p->nodes[i].memory_bytes == 0) {
            p->nodes[i].memory_bytes = memory;
        }
    }
}

int newsite_prepare(struct daemon *d, struct daemon_site *site, bool keep, struct err *err)
{
    const struct core *core = engine_core(d->engine);
    struct policyids next = {core_next_pool(core), core_next_queue(core), core_next_node(core)};
    int rc = fill_simulated(d, site, err);

    if (rc != 0) {
        return rc;
    }
    fill_machine(site);
    rc = account_bind(d, site, keep, err);
    if (rc != 0) {
        return rc;
    }
    policyids_assign(&site->config.policy, view_policy(core), &next);
    return core_policy_check(core, &site->config.policy, err);
}

struct application {
    struct daemon_site *site;
    struct command command; /* the caller's */
};

static void forget(void *own)
{
    struct application *a = own;

    daemon_site_free(a->site);
    mem_free(a);
}

/* Durable: from now on classes, accounts and unknown users are those of this text. */
static json_t *in_force(struct daemon *d, const struct fact *fact, void *own)
{
    struct application *a = own;

    daemon_site_free(d->site);
    d->site = a->site;
    a->site = NULL;
    mem_free(d->refused);
    d->refused = NULL;
    return a->command.answer == NULL ? json_object() : a->command.answer(d, fact, a->command.own);
}

static void refused(struct daemon *d, void *own, int rc, const struct err *err)
{
    struct application *a = own;

    if (a->command.failed != NULL) {
        a->command.failed(d, a->command.own, rc, err);
    }
}

static void forget_both(void *own)
{
    struct application *a = own;

    if (a->command.forget != NULL) {
        a->command.forget(a->command.own);
    }
    forget(a);
}

int newsite_apply(struct daemon *d, struct daemon_site *taken, const char *subject,
                  const struct command *command, struct err *err)
{
    struct fact_policy_set body = {.policy = taken->config.policy, .subject = subject};
    struct fact fact = {.kind = FACT_POLICY_SET, .body.as_POLICY_SET = &body};
    struct application *a;
    struct command own;
    char digest[HASH_TEXT_MAX];
    int rc = content_put(d->content, taken->text, strlen(taken->text), digest, err);

    if (rc != 0) {
        daemon_site_free(taken);
        return rc;
    }
    a = mem_new(1, sizeof(*a));
    a->site = taken;
    a->command = *command;
    own = *command;
    own.d = d;
    own.answer = in_force;
    own.failed = refused;
    own.forget = forget_both;
    own.own = a;
    command_put(&own, &fact);
    return 0;
}

int newsite_restore(struct daemon *d, struct daemon_site **ret, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    const struct policy *policy = view_policy(engine_core(d->engine));
    struct daemon_site *site = NULL;
    int rc;

    if (policy == NULL || policy->digest == NULL || policy->digest[0] == '\0') {
        return err_set(err, ERR_NOT_FOUND, "no policy is in force");
    }
    rc = content_get(d->content, policy->digest, &text, err);
    if (rc != 0) {
        return rc;
    }
    rc = newsite_read(str_text(&text), text.len, "the policy in force", &site, err);
    if (rc != 0) {
        return rc;
    }
    rc = account_bind(d, site, true, err);
    if (rc != 0) {
        daemon_site_free(site);
        return rc;
    }
    /* What the journal says holds, and its ids with it. */
    site->config.policy = *(struct policy *)codec_copy(&POLICY_SCHEMA, policy, site->arena);
    *ret = site;
    return 0;
}
