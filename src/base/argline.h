/* argline - argp_parse whose complaint is one line with a stable code, like every other refusal:
 * `PROGRAM: request.invalid: what is wrong; see PROGRAM --help`, and the exit status of that code.
 *
 * argp and getopt write theirs to stderr in two lines or more, so they are caught on the way.  A
 * parser goes on saying argp_error, argp_failure or argp_usage. */
#ifndef MUSTER_BASE_ARGLINE_H
#define MUSTER_BASE_ARGLINE_H

#include <argp.h>

/* Ends the process if the words are wrong or ask for help.  argv[0] is the name in messages:
 * "muster ps" is the command ps of the program muster. */
void argline_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

#endif
