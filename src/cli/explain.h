/* explain - a why record as people read it, and the exit status that stands for it. */
#ifndef MUSTER_CLI_EXPLAIN_H
#define MUSTER_CLI_EXPLAIN_H

#include "cli/table.h"

/* job may be NULL (a dry run). */
void explain_print(const struct view *view, const json_t *job, const json_t *why, FILE *out);

/* 0: it runs, may start now or has ended; 3: it waits; 4: it can never run. */
int explain_exit_status(const json_t *why);

#endif
