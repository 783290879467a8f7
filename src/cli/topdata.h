/* topdata - what muster top shows, asked of musterd in one go. */
#ifndef MUSTER_CLI_TOPDATA_H
#define MUSTER_CLI_TOPDATA_H

#include "cli/verb.h"

#include <stdbool.h>
#include <stdint.h>

#define TOPDATA_JOBS_MAX 1000 /* of each state: who has more looks with ps */

struct topdata {
    json_t *pools; /* lists of the API's objects, owned; NULL before the first answer */
    json_t *queues;
    json_t *jobs; /* those that have not ended */
    bool more;    /* there are more of them */
};

struct topdata_filter { /* NULL = all */
    const char *queue;
    const char *user;
};

/* Ask for everything; d is replaced as a whole or stays as it is. */
MUST_CHECK int topdata_fetch(struct topdata *d, struct cli *cli,
                             const struct topdata_filter *filter, struct err *err);
void topdata_fini(struct topdata *d);

#endif
