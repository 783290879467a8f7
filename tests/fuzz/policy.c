/* fuzz/policy - policies that follow each other on one core, with work on them.
 *
 * Input: configuration files, one after the other, divided by lines "===".  What is refused by its
 * words changes nothing.  What is read gets its ids against the policy before, and its changes are
 * told; the core takes it or refuses it as its check had said.  Then its nodes report, each leaf
 * gets jobs, and what is planned is applied.
 *
 * Whatever comes: a policy does not differ from itself; what a plan decides is taken, whatever the
 * policy before was; the invariants hold, and the snapshot gives the same state again.
 */
#include "config/config.h"
#include "config/policyids.h"
#include "core/codec.h"
#include "core/core.h"
#include "core/view.h"
#include "daemon/policydiff.h"

#include "base/check.h"
#include "base/mem.h"
#include "planned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX   6
#define NODES_MAX   6
#define DEVICES_MAX 8
#define LEAVES_MAX  6
#define STEP_MS     20000

struct play {
    struct core *core;
    struct arena *arena;
    int64_t seq;
    int64_t now_ms;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int apply(struct play *p, struct fact *fact)
{
    struct err err = {0};
    int rc;

    fact->seq = p->seq + 1;
    fact->at_ms = p->now_ms;
    rc = core_apply(p->core, fact, &err);
    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    p->seq += rc == 0;
    return rc;
}

static void plan(struct play *p)
{
    size_t count;
    struct fact *facts = planned(p->core, p->now_ms, p->arena, &count);

    for (size_t i = 0; i < count; i++) {
        CHECK(apply(p, &facts[i]) == 0);
    }
}

static void report(struct play *p, const struct policy_node *n)
{
    struct fact_device devices[DEVICES_MAX];
    char uuids[DEVICES_MAX][16];
    struct fact_node_seen seen = {.id = n->id,
                                  .name = n->name,
                                  .cluster = n->cluster,
                                  .pool = n->pool,
                                  .simulated = n->simulated,
                                  .cpu_milli = n->cpu_milli,
                                  .memory_bytes = n->memory_bytes,
                                  .labels = n->labels,
                                  .label_count = n->label_count,
                                  .domains = n->domains,
                                  .domain_count = n->domain_count,
                                  .devices = devices};
    struct fact fact = {.kind = FACT_NODE_SEEN, .body.any = &seen};

    for (int64_t i = 0; i < n->gpus && i < DEVICES_MAX; i++) {
        snprintf(uuids[i], sizeof(uuids[i]), "u-%d-%d", (int)(n->id % 1000), (int)i);
        devices[i] = (struct fact_device){.slot = i,
                                          .uuid = uuids[i],
                                          .model = n->model,
                                          .memory_bytes = (int64_t)80 << 30,
                                          .mig = n->mig,
                                          .profile = ""};
        seen.device_count++;
    }
    (void)apply(p, &fact);
}

static void submit(struct play *p, const struct policy_queue *q, int64_t gpus)
{
    struct fact_group group = {.name = "main",
                               .tasks = 1 + gpus % 3,
                               .min_tasks = 1,
                               .gpus = gpus,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted job = {.id = core_next_job(p->core),
                                     .name = "j",
                                     .queue = q->id,
                                     .subject = "s",
                                     .nonpreemptible = gpus == 1,
                                     .retries = 1,
                                     .backoff_ms = 1000,
                                     .groups = &group,
                                     .group_count = 1,
                                     .spec = ""};
    struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.any = &job};
    struct err err;

    if (core_submit_check(p->core, &job, &err) == 0) {
        CHECK(apply(p, &fact) == 0);
    }
}

static size_t differences(const struct policy *from, const struct policy *to)
{
    json_t *changes = policydiff_changes(from, to);
    size_t count = json_array_size(changes);

    json_decref(changes);
    return count;
}

static bool is_leaf(const struct policy *policy, const struct policy_queue *q)
{
    for (size_t i = 0; i < policy->queue_count; i++) {
        if (policy->queues[i].parent == q->id) {
            return false;
        }
    }
    return true;
}

static void work(struct play *p, const struct policy *policy)
{
    size_t leaves = 0;

    for (size_t i = 0; i < policy->node_count && i < NODES_MAX; i++) {
        report(p, &policy->nodes[i]);
    }
    for (size_t i = 0; i < policy->queue_count && leaves < LEAVES_MAX; i++) {
        if (is_leaf(policy, &policy->queues[i])) {
            submit(p, &policy->queues[i], (int64_t)leaves + 1);
            submit(p, &policy->queues[i], DEVICES_MAX - (int64_t)leaves);
            leaves++;
        }
    }
    for (int i = 0; i < 3; i++) {
        plan(p);
        p->now_ms += STEP_MS;
    }
}

static void take(struct play *p, const char *text, size_t len)
{
    struct policyids next = {core_next_pool(p->core), core_next_queue(p->core),
                             core_next_node(p->core)};
    const struct policy *before = view_policy(p->core);
    struct complaints c;
    struct config config;
    struct fact_policy_set set = {0};
    struct fact fact = {.kind = FACT_POLICY_SET, .body.any = &set};
    struct err err = {0};
    const char *broken;
    int rc;

    complaints_init(&c, p->arena, "fuzz.yaml");
    if (config_read(text, len, &c, &config, &err) != 0) {
        CHECK(c.total > 0 && c.count > 0 && c.items[0].line >= 0 && err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < config.policy.node_count; i++) { /* as musterd fills them */
        struct policy_node *n = &config.policy.nodes[i];

        n->cpu_milli = n->cpu_milli == 0 ? 64000 : n->cpu_milli;
        n->memory_bytes = n->memory_bytes == 0 ? (int64_t)256 << 30 : n->memory_bytes;
    }
    policyids_assign(&config.policy, before, &next);
    CHECK(differences(&config.policy, &config.policy) == 0);
    (void)differences(before, &config.policy);
    rc = core_policy_check(p->core, &config.policy, &err);
    set.policy = config.policy;
    CHECK(apply(p, &fact) == rc);
    if (rc == 0) {
        CHECK(differences(view_policy(p->core), &config.policy) == 0);
        work(p, &config.policy);
    }
    broken = core_check(p->core, p->arena);
    if (broken != NULL) {
        (void)fprintf(stderr, "broken: %s\n", broken);
        abort();
    }
}

static void finish(struct play *p)
{
    struct core *restored = NULL;
    struct str texts[2] = {0};
    struct err err;

    core_snapshot(p->core, &texts[0]);
    CHECK(core_restore(texts[0].text, texts[0].len, &restored, &err) == 0);
    core_snapshot(restored, &texts[1]);
    CHECK(strcmp(texts[0].text, texts[1].text) == 0);
    core_free(restored);
    str_fini(&texts[0]);
    str_fini(&texts[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play p = {.core = core_new(), .arena = arena_make(), .now_ms = 1000000};
    const char *text = (const char *)data;

    for (int i = 0; i < TEXTS_MAX && size > 0; i++) {
        const char *end = memmem(text, size, "\n===\n", 5);
        size_t len = end != NULL ? (size_t)(end - text) + 1 : size;
        size_t gone = end != NULL ? len + 4 : len;

        take(&p, text, len);
        text += gone;
        size -= gone;
    }
    finish(&p);
    core_free(p.core);
    arena_free(p.arena);
    return 0;
}
