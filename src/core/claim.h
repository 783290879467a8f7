/* claim - what a waiting job could do now: start, or claim capacity by telling victims to stop.
 *
 * A trial that succeeds leaves its effect on the planner's ledgers (started: held; claimed: victims
 * leaving, claimant promised); one that fails leaves nothing.
 */
#ifndef MUSTER_CORE_CLAIM_H
#define MUSTER_CORE_CLAIM_H

#include "core/job.h"
#include "core/load.h"

#define CLAIM_EXACT_MAX                                                                            \
    10 /* candidates up to which the least loss is searched exactly: 2^10 sets */

enum unit_kind { UNIT_WHOLE, UNIT_TASK, UNIT_NOMINEE };

struct claim_unit { /* one thing that could be taken */
    enum unit_kind kind;
    struct job *job;
    int at; /* UNIT_TASK: index in job->tasks */
    int64_t gu;
    int64_t lost_gu_ms;
    int64_t cost_gu_ms; /* with the restart cost */
    bool own;           /* of the claimant's own queue */
    bool passer;        /* ran in front of the claimant's planned start */
};

struct claim_move {
    struct job *job;
    lease_tasks tasks;
};

enum trial_kind { TRIAL_NONE, TRIAL_START, TRIAL_CLAIM };

struct trial {
    enum trial_kind kind;
    struct pool *pool;
    int64_t step;
    int64_t need_gu;
    lease_tasks tasks; /* what is granted or promised */
    VEC(struct claim_unit) victims;
    VEC(struct claim_move) moves;
    const char *rule;
    bool exact;
    int64_t candidates;
    VEC(int64_t) passes;
    VEC(struct lease_task *) marked; /* tasks that the planner marked as told to stop */
};

/* What a trial is about. */
struct ask {
    struct job *job;
    struct pool *pool;
    int64_t need_gu;
    /* growth: tasks of one group; else group < 0 and the minimum of every group */
    int group;
    int64_t *numbers;
    int64_t count;
    bool take;         /* not entitled: from richer borrowers only (fair_share: take) */
    bool growth;       /* takes nobody of its own queue */
    bool leaving_only; /* a victim whose claimant went away: nobody else is taken for it */
    bool planned;      /* its planned start is now: those that passed it are lawful victims */
};

void trial_fini(struct trial *t);
void trial_clear(struct trial *t); /* as new, for the next; to be ended all the same */
/* As if it had not been tried: the ledgers as at mark, and no marks on its victims. */
void trial_undo(struct core *c, struct trial *t, size_t mark);

/* May one more ask of this job be counted by the quota rules, on the ledgers as they are (avail,
 * and for what is not preemptible its own reserve)? */
bool claim_quota_fits(const struct core *c, const struct ask *ask);

/* Could a search find anything, as far as sums tell? */
bool claim_could(struct core *c, const struct ask *ask, int64_t now_ms);

/* Search the least harmful lawful set for an ask that does not fit as things are. */
bool claim_search(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *ret);

/* Place what is asked on the ledger. */
bool claim_place(struct core *c, const struct ask *ask, enum ledger ledger, lease_tasks *ret);

/* Work that a stop of the job (of one task, at >= 0) would lose: units × ms since it was last
 * saved. */
int64_t claim_lost(const struct core *c, const struct job *j, int at, int64_t now_ms);

/* Take everything that is leaving off the ledgers: the state once all that was told to stop is
 * gone. */
void claim_drop_leaving(struct core *c, int pool);

/* Take all that a job holds off the ledgers, what it is leaving too. */
void claim_drop_job(struct core *c, struct job *j, int pool);

/* Put the victims of a trial on the ledgers as decided: they are leaving, nominees have lost their
 * promise. */
void claim_settle(struct core *c, const struct ask *ask, struct trial *t);

/* Take one unit off the ledgers. */
void claim_drop_unit(struct core *c, const struct claim_unit *u, int pool);

#endif
