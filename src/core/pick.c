#include "core/pick.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/load.h"
#include "core/state.h"

#include <limits.h>
#include <string.h>

static bool model_suits(const struct device *d, const struct fact_group *want)
{
    return want->model[0] == '\0' || strcmp(want->model, d->model) == 0;
}

bool pick_node_suits(const struct node *n, const struct fact_group *want)
{
    bool named = want->node_count == 0;

    for (size_t i = 0; i < want->node_count && !named; i++) {
        named = strcmp(want->nodes[i], n->name) == 0;
    }
    if (!named) {
        return false;
    }
    for (size_t i = 0; i < want->label_count; i++) {
        bool found = false;

        for (size_t k = 0; k < n->label_count && !found; k++) {
            found = strcmp(n->labels[k].key, want->labels[i].key) == 0 &&
                    strcmp(n->labels[k].value, want->labels[i].value) == 0;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

int64_t pick_slice_gu(const struct core *c, const struct device *d, const char *profile)
{
    if (d->profile[0] != '\0') {
        return strcmp(d->profile, profile) == 0 ? d->size_gu : -1;
    }
    if (!d->mig || d->table == NULL || slice_profile_of(d->table, profile) < 0) {
        return -1;
    }
    for (size_t i = 0; i < c->policy->charge_count; i++) {
        const struct policy_charge *row = &c->policy->charges[i];

        if (strcmp(row->profile, profile) == 0 && strcmp(row->model, d->model) == 0) {
            return row->charge_gu;
        }
    }
    return slice_charge_gu(d->table, slice_profile_of(d->table, profile));
}

/* ---- slices ---- */

static bool device_open(const struct node *n, const struct device *d)
{
    return node_usable(n) && !d->out && d->soft == 0;
}

/* Layout with what was promised held too. */
static struct slice merged(const struct device *d)
{
    struct slice s = d->layout;

    for (int i = 0; i < d->promised.count; i++) {
        slice_hold(d->table, &s, d->promised.cuts[i].profile, d->promised.cuts[i].start);
    }
    return s;
}

static bool slice_fits(const struct node *n, const struct device *d, const struct fact_group *want,
                       const struct slice *layout, struct lease_device *ret, bool *ret_recut)
{
    int profile;
    int start;

    if (!device_open(n, d) || !model_suits(d, want)) {
        return false;
    }
    if (d->profile[0] != '\0') {
        if (strcmp(d->profile, want->profile) != 0 || d->whole > 0) {
            return false;
        }
        *ret = (struct lease_device){.start = -1, .profile = -1};
        *ret_recut = false;
        return true;
    }
    if (!d->mig || d->table == NULL || d->whole > 0 || d->share_count > 0 ||
        load_pending_overlap(d)) {
        return false; /* what is promised lies over what is leaving: nothing more until that is
                         settled */
    }
    profile = slice_profile_of(d->table, want->profile);
    if (profile < 0 || !slice_choose(d->table, layout, profile, &start, ret_recut)) {
        return false;
    }
    *ret = (struct lease_device){.start = (int16_t)start, .profile = (int16_t)profile};
    return true;
}

/* Fewest re-cuts, then the fullest card (empty cards stay whole), then the lowest slot. */
static bool pick_slice(struct core *c, const struct node *n, const struct fact_group *want,
                       struct slice *layouts, struct lease_device *ret)
{
    int best = -1;
    bool best_recut = false;
    int64_t best_held = 0;

    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];
        struct lease_device part;
        bool recut;
        int64_t held;

        if (!slice_fits(n, d, want, &layouts[i], &part, &recut)) {
            continue;
        }
        held = d->profile[0] != '\0' ? 0 : slice_held_gu(d->table, &layouts[i]);
        if (best < 0 || recut < best_recut || (recut == best_recut && held > best_held)) {
            part.slot = i;
            part.recut = recut;
            part.gu = pick_slice_gu(c, d, want->profile);
            *ret = part;
            best = i;
            best_recut = recut;
            best_held = held;
        }
    }
    return best >= 0;
}

static bool pick_slices(struct core *c, const struct node *n, const struct fact_group *want,
                        struct lease_task *ret)
{
    struct slice *layouts = arena_new(c->plan_arena, (size_t)n->device_count, sizeof(*layouts));

    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];

        if (d->mig && d->table != NULL && !load_pending_overlap(d)) {
            layouts[i] = merged(d);
        }
    }
    for (int64_t k = 0; k < want->slices; k++) {
        struct lease_device *part = &ret->devices[k];

        if (!pick_slice(c, n, want, layouts, part)) {
            return false;
        }
        ret->device_count++;
        if (part->profile >= 0) {
            slice_hold(n->devices[part->slot].table, &layouts[part->slot], part->profile,
                       part->start);
        }
    }
    return true;
}

/* How many instances could still be held on the node. */
static int64_t slices_free(const struct node *n, const struct fact_group *want)
{
    int64_t fits = 0;

    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];
        struct lease_device part;
        struct slice layout = {0};
        bool recut;

        if (d->mig && d->table != NULL && !load_pending_overlap(d)) {
            layout = merged(d);
        }
        if (slice_fits(n, d, want, &layout, &part, &recut)) {
            fits += part.profile < 0 ? 1 : slice_room(d->table, &layout, part.profile);
        }
    }
    return fits;
}

/* ---- shares ---- */

static int64_t share_free(const struct device *d)
{
    int64_t busy = d->gu[LEDGER_PROMISED] > d->gu[LEDGER_LEAVING] ? d->gu[LEDGER_PROMISED]
                                                                  : d->gu[LEDGER_LEAVING];

    return d->size_gu - d->gu[LEDGER_HELD] - busy;
}

static int64_t share_memory_free(const struct device *d)
{
    int64_t busy = d->memory[LEDGER_PROMISED] > d->memory[LEDGER_LEAVING]
                       ? d->memory[LEDGER_PROMISED]
                       : d->memory[LEDGER_LEAVING];

    return d->memory_bytes - d->memory[LEDGER_HELD] - busy;
}

int64_t pick_shares_in(const struct fact_group *want, int64_t gu, int64_t memory_bytes)
{
    int64_t by_gu = gu / want->share_gu;
    int64_t bytes = want->share_memory_bytes;

    return bytes > 0 ? min64(by_gu, memory_bytes / bytes) : by_gu;
}

/* Who may sit on one device is the pool's word; MPS is always one user. */
static bool share_company(const struct core *c, const struct job *job, const struct device *d,
                          const struct fact_group *want, int pool)
{
    int within = c->policy->pools[pool].share_within;
    int64_t n = d->share_count;
    int64_t top = c->queues->items[job->queue].top + 1;
    uint64_t subject = (uint64_t)job->subject_key;

    if (n == 0) {
        return true;
    }
    if (d->share_mps != (want->mps ? n : 0)) {
        return false;
    }
    if (want->mps || within == SHARE_USER) {
        return d->share_subjects == (uint64_t)n * subject &&
               d->share_subjects_sq == (uint64_t)n * subject * subject;
    }
    return within == SHARE_ANY || (d->share_tops == n * top && d->share_tops_sq == n * top * top);
}

static bool share_fits(const struct core *c, const struct job *job, const struct node *n,
                       const struct device *d, const struct fact_group *want)
{
    return device_open(n, d) && d->profile[0] == '\0' && !d->mig && d->whole == 0 &&
           model_suits(d, want) && pick_shares_in(want, share_free(d), share_memory_free(d)) > 0 &&
           share_company(c, job, d, want, n->pool);
}

/* The fullest device that still takes it, so that whole cards stay whole. */
static bool pick_share(struct core *c, const struct job *job, const struct node *n,
                       const struct fact_group *want, struct lease_task *ret)
{
    int best = -1;

    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];

        if (share_fits(c, job, n, d, want) &&
            (best < 0 || share_free(d) < share_free(&n->devices[best]))) {
            best = i;
        }
    }
    if (best < 0) {
        return false;
    }
    ret->devices[0] = (struct lease_device){.slot = best,
                                            .start = -1,
                                            .profile = -1,
                                            .gu = want->share_gu,
                                            .memory_bytes = want->share_memory_bytes};
    ret->device_count = 1;
    return true;
}

static int64_t shares_free(const struct core *c, const struct job *job, const struct node *n,
                           const struct fact_group *want)
{
    int64_t fits = 0;

    for (int i = 0; i < n->device_count; i++) {
        if (share_fits(c, job, n, &n->devices[i], want)) {
            fits +=
                pick_shares_in(want, share_free(&n->devices[i]), share_memory_free(&n->devices[i]));
        }
    }
    return fits;
}

/* ---- whole cards ---- */

static bool pick_cards(const struct node *n, const struct fact_group *want, struct lease_task *ret)
{
    /* cards that are not cut first: an idle cut card is worth more to those who need slices; and
     * those that are free already before those that a victim has to leave */
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < n->device_count && ret->device_count < want->gpus; i++) {
            const struct device *d = &n->devices[i];

            if (d->free_whole && d->mig == (pass >= 2) && (d->vacated > 0) == (pass % 2 == 1) &&
                model_suits(d, want)) {
                ret->devices[ret->device_count++] =
                    (struct lease_device){.slot = i, .start = -1, .profile = -1, .gu = d->size_gu};
            }
        }
    }
    return ret->device_count == want->gpus;
}

static int64_t cards_free(const struct node *n, const struct fact_group *want)
{
    int64_t cards = 0;

    if (want->model[0] == '\0') {
        return n->free_whole;
    }
    for (int i = 0; i < n->device_count; i++) {
        cards += n->devices[i].free_whole && model_suits(&n->devices[i], want);
    }
    return cards;
}

/* ---- both ---- */

/* A task without GPUs leaves each free card its CPUs. */
static int64_t cpu_for(const struct core *c, const struct node *n, const struct fact_group *want)
{
    int64_t keep = c->policy->pools[n->pool].cpu_per_gpu_milli;

    if (want->gpus > 0 || want->profile[0] != '\0' || want->share_gu > 0) {
        keep = 0;
    }
    return node_cpu_free(n) - keep * n->free_whole;
}

bool pick_avoids(const struct core *c, const struct job *job)
{
    return job->avoid_node != 0 && c->planning_ms < job->not_before_ms + JOB_AVOID_MS;
}

int64_t pick_count(const struct core *c, const struct job *job, const struct node *n,
                   const struct fact_group *want)
{
    int64_t fits = INT64_MAX;

    if (!node_usable(n) || (n->id == job->avoid_node && pick_avoids(c, job))) {
        return 0;
    }
    if (want->gpus > 0) {
        if (n->free_whole < want->gpus) {
            return 0;
        }
        fits = cards_free(n, want) / want->gpus;
    }
    if (want->cpu_milli > 0) {
        fits = min64(fits, cpu_for(c, n, want) / want->cpu_milli);
    }
    if (want->memory_bytes > 0) {
        fits = min64(fits, node_memory_free(n) / want->memory_bytes);
    }
    if (fits <= 0 || !pick_node_suits(n, want)) {
        return 0;
    }
    if (want->profile[0] != '\0') {
        return min64(fits, slices_free(n, want) / want->slices);
    }
    if (want->share_gu > 0) {
        return min64(fits, shares_free(c, job, n, want));
    }
    return fits;
}

bool pick_devices(struct core *c, const struct job *job, const struct node *n,
                  const struct fact_group *want, struct lease_task *ret)
{
    int64_t room = want->profile[0] != '\0' ? want->slices : want->gpus;

    ret->device_count = 0;
    ret->devices = arena_new(c->plan_arena, (size_t)room + 1, sizeof(ret->devices[0]));
    if (want->profile[0] != '\0') {
        return pick_slices(c, n, want, ret);
    }
    if (want->share_gu > 0) {
        return pick_share(c, job, n, want, ret);
    }
    return pick_cards(n, want, ret);
}

static int64_t fullest(const struct node *n)
{
    int64_t most = 0;

    for (int i = 0; i < n->device_count; i++) {
        if (n->devices[i].taken_gu < n->devices[i].size_gu && n->devices[i].taken_gu > most) {
            most = n->devices[i].taken_gu;
        }
    }
    return most;
}

bool pick_is_tighter(const struct node *a, const struct node *b, const struct fact_group *want)
{
    if (want->gpus == 0 && (want->profile[0] != '\0' || want->share_gu > 0) &&
        fullest(a) != fullest(b)) {
        return fullest(a) > fullest(b);
    }
    if (a->free_whole != b->free_whole) {
        return a->free_whole < b->free_whole;
    }
    if (a->vacated != b->vacated) {
        return a->vacated < b->vacated; /* less has to be waited for */
    }
    return a->index < b->index;
}
