/* props - what the acts of the demo need again and again: jobs to submit, gates to open, and the
 * check that inference's GPUs are untouched. */
#ifndef MUSTER_DEMO_PROPS_H
#define MUSTER_DEMO_PROPS_H

#include "demo/stepledger.h"
#include "demo/story.h"

#define PROPS_RANKS 32

struct props_trainer {
    const char *name; /* of the job and of its ledger */
    int64_t more;
    int64_t step_ms;
    bool ignores_signal;
};

/* A gang of PROPS_RANKS tasks of one GPU each, for research. */
json_t *props_gang(const struct story *s, const struct props_trainer *t);
/* A job that holds its GPUs until the gate of its name is opened.  The caller adds what it asks
 * for. */
json_t *props_gated(const struct story *s, const char *name, const char *queue);
/* The same with tasks of whole GPUs. */
json_t *props_whole(const struct story *s, const char *name, const char *queue, int64_t tasks,
                    int64_t gpus);
MUST_CHECK int props_open(const struct story *s, const char *name, struct err *err);
/* The ledger of a gang. */
MUST_CHECK int props_ledger(const struct story *s, const char *name, struct stepledger_sum *ret,
                            struct err *err);

/* Check by the queue's own numbers that inference's reserve is whole, used and lent by nobody. */
MUST_CHECK int props_check_inference(struct story *s, const char *when, struct err *err);
/* Print what `muster WORDS… JOB` says. */
MUST_CHECK int props_show(struct story *s, const char *const *words, int64_t job, struct err *err);
/* GPU-seconds with one decimal, for texts. */
const char *props_gpu_s(int64_t gu_ms, char ret[32]);

#endif
