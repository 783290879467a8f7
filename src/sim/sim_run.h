/* sim_run - the commands run and shrink of muster-sim. */
#ifndef MUSTER_SIM_SIM_RUN_H
#define MUSTER_SIM_SIM_RUN_H

/* The words after the command.  Exit status: 0 all well, 1 something did not hold, 2 wrong usage,
 * told in a line. */
int sim_run(int argc, char **argv);
int sim_shrink(int argc, char **argv);

#endif
