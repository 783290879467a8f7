/* ownmusterd - a musterd of the demo's own: a temporary folder, the policy of the afternoon with
 * short times, the daemon, and its end.  No other musterd is seen or touched.
 *
 * The folder (0700) holds muster.yaml, musterd.log, state/, gates/, ledgers/ and tokens/.
 */
#ifndef MUSTER_DEMO_OWNMUSTERD_H
#define MUSTER_DEMO_OWNMUSTERD_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNMUSTERD_PEOPLE 20 /* p01 … p20 */

struct ownmusterd {
    char *dir;
    char *socket;
    char *self; /* path of this program */
    pid_t pid;  /* 0 = not running */
};

/* Make the folder and the policy; grace_s is the grace of every queue. */
MUST_CHECK int ownmusterd_prepare(struct ownmusterd *m, int64_t grace_s, struct err *err);
MUST_CHECK int ownmusterd_start(struct ownmusterd *m, struct err *err);
/* Has it ended by itself? */
bool ownmusterd_is_gone(struct ownmusterd *m);
/* Stop the daemon and wait for it; 0 = it ended as asked. */
MUST_CHECK int ownmusterd_stop(struct ownmusterd *m, struct err *err);
/* Remove the folder, unless it is kept. */
void ownmusterd_fini(struct ownmusterd *m, bool keep);

/* "DIR/FOLDER/NAME"; ret is cleared first. */
const char *ownmusterd_path(const struct ownmusterd *m, const char *folder, const char *name,
                            struct str *ret);
/* Run one of muster's programs with words (ended by NULL) and the socket in its environment; what
 * it prints on stdout and stderr goes to ret.  Gives its exit status. */
MUST_CHECK int ownmusterd_ask(const struct ownmusterd *m, const char *program,
                              const char *const *words, struct str *ret, int *ret_status,
                              struct err *err);

#endif
