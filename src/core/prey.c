#include "core/prey.h"

#include "base/minmax.h"
#include "core/load.h"

#include <stdlib.h>

void prey_forget(struct queue *leaf)
{
    leaf->prey_known = false;
    leaf->by_loss_known = false;
}

void prey_know(struct queue *leaf)
{
    if (leaf->prey_known) {
        return;
    }
    leaf->largest_gu = leaf->takeable_gu = 0;
    leaf->smallest_gu = leaf->lowest = INT64_MAX;
    leaf->elastic = 0;
    for (size_t i = 0; i < leaf->active.count; i++) {
        const struct job *j = leaf->active.items[i];
        int64_t gu = j->leased_gu;

        if (j->ask->nonpreemptible) {
            continue;
        }
        for (size_t k = 0; j->nomination.is && k < j->nomination.tasks.count; k++) {
            gu += load_task_gu(&j->nomination.tasks.items[k]);
        }
        leaf->takeable_gu += gu;
        leaf->largest_gu = max64(leaf->largest_gu, gu);
        leaf->smallest_gu = min64(leaf->smallest_gu, gu);
        leaf->lowest = min64(leaf->lowest, j->ask->priority);
        leaf->elastic += j->shape->elastic && job_is_active(j);
    }
    leaf->prey_known = true;
}

int64_t prey_saved_ms(const struct job *j)
{
    return job_is_active(j) ? max64(j->started_ms, j->checkpoint_ms) : INT64_MAX;
}

static int by_loss(const void *pa, const void *pb)
{
    const struct job *a = *(struct job *const *)pa;
    const struct job *b = *(struct job *const *)pb;
    int64_t saved_a = prey_saved_ms(a);
    int64_t saved_b = prey_saved_ms(b);

    if (a->ask->priority != b->ask->priority) {
        return a->ask->priority < b->ask->priority ? -1 : 1;
    }
    if (saved_a != saved_b) {
        return saved_a > saved_b ? -1 : 1;
    }
    return a->id > b->id ? -1 : a->id < b->id;
}

void prey_sort(struct queue *leaf)
{
    if (leaf->by_loss_known) {
        return;
    }
    vec_clear(&leaf->by_loss);
    for (size_t i = 0; i < leaf->active.count; i++) {
        if (!leaf->active.items[i]->ask->nonpreemptible) {
            vec_push(&leaf->by_loss, leaf->active.items[i]);
        }
    }
    if (leaf->by_loss.count > 1) {
        qsort(leaf->by_loss.items, leaf->by_loss.count, sizeof(leaf->by_loss.items[0]), by_loss);
    }
    leaf->by_loss_known = true;
}
