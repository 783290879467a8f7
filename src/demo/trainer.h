/* trainer - the job that the demo runs as a gang: ranks that do each step together.
 *
 * Rank 0 leads: for each step it tells all ranks the number over TCP (MASTER_ADDR, MASTER_PORT),
 * each answers with its part, and the sum goes into a counter.  It saves the counter into
 * MUSTER_CHECKPOINT_DIR now and then and when the preemption signal comes, and goes on from the
 * newest checkpoint.  The other ranks do as they are told, so that the gang stops whole.
 */
#ifndef MUSTER_DEMO_TRAINER_H
#define MUSTER_DEMO_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

struct trainer_want {
    const char *ledger;  /* file of stepledger, written by rank 0 */
    int64_t more;        /* once resumed, ends so many steps past all that were done before */
    int64_t step_ms;     /* how long a step takes */
    int64_t save_every;  /* steps between checkpoints */
    bool ignores_signal; /* badly behaved: does not stop, and saves once an attempt */
};

/* Run as a task of muster; gives the exit status. */
int trainer_run(const struct trainer_want *want);

#endif
