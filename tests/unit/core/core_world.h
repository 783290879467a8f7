/* core_world - a core and a world that does what the core decides, when the test says so. */
#ifndef MUSTER_TESTS_UNIT_CORE_CORE_WORLD_H
#define MUSTER_TESTS_UNIT_CORE_CORE_WORLD_H

#include "base/arena.h"
#include "base/str.h"
#include "core/core.h"
#include "core/view.h"

struct core_world {
    struct core *core;
    struct arena *arena; /* of what the test builds */
    int64_t now_ms;
    int64_t seq;
    int64_t decided;      /* decisions of the last plan */
    struct str decisions; /* the same, as text */
    int64_t next_ms;      /* when it wants to be asked again */
};

/* Applies the policy and nodes of these sizes, simulated, in pool 7. */
void core_world_begin(struct core_world *w, const struct policy *policy, const int *sizes,
                      size_t count);
void core_world_end(struct core_world *w);

/* Another node: gpus cards, in this rack and with this label key (NULL = none).  Returns its id. */
int64_t core_world_node(struct core_world *w, int gpus, const char *rack, const char *label);

/* Apply a fact of the world; it must be taken, or (try) the code is returned. */
void core_world_apply(struct core_world *w, enum fact_kind kind, const void *body);
int core_world_try(struct core_world *w, enum fact_kind kind, const void *body);

struct core_world_job { /* of one group: tasks of gpus each */
    int64_t queue;
    int64_t tasks;
    int64_t min_tasks;
    int64_t gpus;
    int64_t priority;
    bool nonpreemptible;
};

/* So many tasks, at least all of them, of so many whole cards each. */
struct fact_group core_world_group(int64_t tasks, int64_t gpus);

/* Returns the id. */
int64_t core_world_submit(struct core_world *w, const struct core_world_job *ask);

/* Plan and apply what was decided. */
void core_world_plan(struct core_world *w);
/* Started tasks run, and end what was told to stop. */
void core_world_obey(struct core_world *w);
/* Plan and obey until nothing more is decided; time passes by a second a round. */
void core_world_settle(struct core_world *w);
/* All tasks of the job end with this status. */
void core_world_finish(struct core_world *w, int64_t job, int64_t status);

/* The decisions of a plan as text.  They are not applied: this core must not be planned again. */
void core_world_text(struct core *c, int64_t now_ms, struct str *ret);

#endif
