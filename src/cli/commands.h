/* commands - the rows of the command files; command.h joins them to one table. */
#ifndef MUSTER_CLI_COMMANDS_H
#define MUSTER_CLI_COMMANDS_H

#include "cli/command.h"

/* Each ends with a row without a name. */
extern const struct command SUBMIT_COMMANDS[];  /* run submit */
extern const struct command JOB_COMMANDS[];     /* ps why show cancel hold release requeue */
extern const struct command LOG_COMMANDS[];     /* logs */
extern const struct command TASK_COMMANDS[];    /* done checkpoint */
extern const struct command QUEUE_COMMANDS[];   /* queue pool */
extern const struct command NODE_COMMANDS[];    /* node gpu */
extern const struct command POLICY_COMMANDS[];  /* policy */
extern const struct command JOURNAL_COMMANDS[]; /* journal */
extern const struct command TOKEN_COMMANDS[];   /* token whoami version */
extern const struct command PROGRAM_COMMANDS[]; /* sim demo */
extern const struct command HELP_COMMANDS[];    /* completion help */

#endif
