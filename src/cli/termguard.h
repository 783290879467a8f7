/* termguard - a program that takes the whole terminal, and one beside it that gives it back.
 *
 * Whatever ends the first (a crash, kill -9), the second restores the settings of the terminal and
 * leaves its other screen; if the second is killed the first is told and ends as for Ctrl-C. */
#ifndef MUSTER_CLI_TERMGUARD_H
#define MUSTER_CLI_TERMGUARD_H

/* Run in a child process, which has the signals of the terminal; the exit status, 128 + n for a
 * signal n. */
int termguard_run(int (*run)(void *arg), void *arg);

#endif
