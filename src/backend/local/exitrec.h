/* exitrec - the two small records a supervisor leaves in its control directory:
 * shepherd.json (who supervises whom) and exit.json (how the task ended, durable until forgotten).
 */
#ifndef MUSTER_LOCAL_EXITREC_H
#define MUSTER_LOCAL_EXITREC_H

#include "backend/local/proctree.h"
#include "base/err.h"

#define EXITREC_EXIT_FILE     "exit.json"
#define EXITREC_SHEPHERD_FILE "shepherd.json"
#define EXITREC_TEXT_MAX      256
#define EXITREC_PATH_MAX      4096

enum exitrec_cause {
    EXITREC_EXITED,
    EXITREC_SIGNALLED,
    EXITREC_LOST, /* the supervisor was killed, and what it left too */
    EXITREC_REFUSED
};

struct exitrec {
    enum exitrec_cause cause;
    int64_t status;              /* exit status, or the signal's number */
    int64_t ended_ms;            /* when the whole tree was gone */
    bool node_fault;             /* refused: another node may do */
    char text[EXITREC_TEXT_MAX]; /* refused: why; else what else there is to say */
};

struct exitrec_shepherd {
    char boot[PROCTREE_BOOT_LEN];
    struct proctree_id shepherd;
    struct proctree_id child; /* pid 0 = not started yet */
    char mark[EXITREC_TEXT_MAX];
    char cgroup[EXITREC_PATH_MAX]; /* of the task, "" = none */
};

MUST_CHECK int exitrec_write(int dir, const struct exitrec *r, struct err *err);
/* ERR_NOT_FOUND; ERR_SYNTAX. */
MUST_CHECK int exitrec_read(int dir, struct exitrec *ret, struct err *err);

MUST_CHECK int exitrec_write_shepherd(int dir, const struct exitrec_shepherd *r, struct err *err);
MUST_CHECK int exitrec_read_shepherd(int dir, struct exitrec_shepherd *ret, struct err *err);

#endif
