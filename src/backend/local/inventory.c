/* A card in MIG mode is told as the instances that are cut on it, each a device of its own with a
 * static profile: this backend does not cut real cards (that needs the whole card's root rights and
 * an idle card), so their layout is the operator's.  Simulated cards in MIG mode are cut as work
 * asks. */
#include "backend/local/inventory.h"

#include "backend/local/nvml.h"
#include "base/arena.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct survey { /* one observation */
    struct local *local;
    struct arena *arena;
    struct nvml_devices devices;
    size_t next_device; /* real ones are given to the nodes in order */
    bool looked;
};

static bool card_of(const struct local *l, const char *name, struct local_card *ret)
{
    return l->config.hooks.card != NULL && l->config.hooks.card(l->config.hooks.ctx, name, ret);
}

static void simulate(const struct survey *s, const struct policy_node *node,
                     struct fact_node_seen *fact)
{
    struct local_card card = {.model = node->model};

    (void)card_of(s->local, node->model, &card);
    fact->device_count = node->gpus > 0 ? (size_t)node->gpus : 0;
    fact->devices = arena_new(s->arena, fact->device_count + 1, sizeof(*fact->devices));
    for (size_t i = 0; i < fact->device_count; i++) {
        fact->devices[i] = (struct fact_device){
            .slot = (int64_t)i,
            .uuid = arena_printf(s->arena, "SIM-%s-%zu", node->name, i),
            .model = node->model,
            .memory_bytes = card.memory_bytes,
            .mig = node->mig,
            .profile = "",
        };
    }
}

/* Once an observation, and only if a node needs it. */
static void look(struct survey *s)
{
    const char *library = s->local->config.nvml;
    struct err err;

    if (s->looked) {
        return;
    }
    s->looked = true;
    if (library[0] == '\0') {
        return;
    }
    if (nvml_read(library, &s->devices, &err) != 0) {
        local_warn(s->local, "no GPU is used: %s", err.text);
    }
}

static void add_real(const struct survey *s, const struct nvml_device *d,
                     const struct policy_node *node, struct fact_node_seen *fact)
{
    struct local_card card = {0};
    const char *model = node->model;

    if (card_of(s->local, d->name, &card)) {
        model = card.model;
        if (node->model != NULL && node->model[0] != '\0' && strcmp(node->model, model) != 0) {
            local_warn(s->local, "node %s: GPU %s is a %s, the policy says %s", node->name, d->uuid,
                       model, node->model);
        }
    }
    fact->devices[fact->device_count] = (struct fact_device){
        .slot = (int64_t)fact->device_count,
        .uuid = arena_text(s->arena, d->uuid),
        .model = model == NULL || model[0] == '\0' ? arena_text(s->arena, d->name) : model,
        .memory_bytes = d->memory_bytes,
        .profile = arena_text(s->arena, d->profile),
    };
    fact->device_count++;
}

static void use_real(struct survey *s, const struct policy_node *node, struct fact_node_seen *fact)
{
    int64_t cards = 0;
    int last = -1;

    if (node->gpus <= 0) {
        return;
    }
    look(s);
    fact->devices = arena_new(s->arena, s->devices.count + 1, sizeof(*fact->devices));
    while (s->next_device < s->devices.count) {
        const struct nvml_device *d = &s->devices.items[s->next_device];

        if (d->card != last && cards == node->gpus) {
            break;
        }
        cards += d->card != last;
        last = d->card;
        add_real(s, d, node, fact);
        s->next_device++;
    }
    if (cards != node->gpus) {
        local_warn(s->local, "node %s: the policy says %lld GPUs, %lld %s there for it", node->name,
                   (long long)node->gpus, (long long)cards, cards == 1 ? "is" : "are");
    }
}

static void fill_host(struct fact_node_seen *fact)
{
    if (fact->cpu_milli == 0) {
        fact->cpu_milli = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    }
    if (fact->memory_bytes == 0) {
        fact->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    }
}

static void tell_node(struct survey *s, const struct policy_node *node)
{
    struct fact_node_seen fact = {
        .id = node->id,
        .name = node->name,
        .cluster = node->cluster,
        .pool = node->pool,
        .simulated = node->simulated,
        .cpu_milli = node->cpu_milli,
        .memory_bytes = node->memory_bytes,
        .labels = node->labels,
        .label_count = node->label_count,
        .domains = node->domains,
        .domain_count = node->domain_count,
    };

    fill_host(&fact);
    if (node->simulated) {
        simulate(s, node, &fact);
    } else {
        use_real(s, node, &fact);
    }
    local_tell(s->local, FACT_NODE_SEEN, &fact, 0);
}

int inventory_observe(struct local *l, const struct policy *policy, struct err *err)
{
    struct survey s = {.local = l, .arena = arena_make()};
    int rc = 0;

    for (size_t i = 0; i < policy->node_count; i++) {
        const struct policy_node *node = &policy->nodes[i];

        if (strcmp(node->cluster, "local") != 0) {
            continue;
        }
        if (node->simulated && !l->config.simulate) {
            rc = err_set(err, ERR_UNSUPPORTED,
                         "node %s has simulated GPUs, and this musterd takes none (--simulate "
                         "allows them)",
                         node->name);
            continue;
        }
        tell_node(&s, node);
    }
    if (s.looked && s.next_device < s.devices.count) {
        local_warn(l, "%zu GPUs or slices of this machine belong to no node of the policy",
                   s.devices.count - s.next_device);
    }
    nvml_fini(&s.devices);
    arena_free(s.arena);
    return rc;
}
