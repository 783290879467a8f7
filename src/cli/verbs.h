/* commands - the rows of the command files; command.h joins them to one table. */
#ifndef MUSTER_CLI_VERBS_H
#define MUSTER_CLI_VERBS_H

#include "cli/verb.h"

/* Each ends with a row without a name. */
extern const struct verb SUBMIT_VERBS[];     /* run submit */
extern const struct verb ATTACH_VERBS[];     /* attach */
extern const struct verb TOP_VERBS[];        /* top */
extern const struct verb JOB_VERBS[];        /* ps why show cancel hold release requeue */
extern const struct verb LOG_VERBS[];        /* logs */
extern const struct verb TASK_VERBS[];       /* done checkpoint */
extern const struct verb QUEUE_VERBS[];      /* queue pool */
extern const struct verb NODE_VERBS[];       /* node gpu */
extern const struct verb POLICY_VERBS[];     /* policy */
extern const struct verb JOURNAL_VERBS[];    /* journal */
extern const struct verb TOKEN_VERBS[];      /* token whoami version */
extern const struct verb PROGRAM_VERBS[];    /* sim demo */
extern const struct verb COMPLETION_VERBS[]; /* completion */
extern const struct verb HELP_VERBS[];       /* help */

#endif
