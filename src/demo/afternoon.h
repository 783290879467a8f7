/* afternoon - `muster demo afternoon`: the story that muster was made for, with real processes,
 * against a musterd of its own. */
#ifndef MUSTER_DEMO_AFTERNOON_H
#define MUSTER_DEMO_AFTERNOON_H

#include <stdbool.h>

struct afternoon_want {
    bool fast;  /* shorter graces and steps */
    bool quiet; /* print the scorecard only */
    bool keep;  /* the folder stays */
};

/* Gives the exit status: 0 = everything was as it must be. */
int afternoon_run(const struct afternoon_want *want);

#endif
