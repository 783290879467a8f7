/* sandbox - the command line that fences a task off from the rest of its node: bubblewrap's.
 *
 * Inside, the system is read-only, /tmp, /var/tmp and /dev/shm are private and empty, processes and
 * IPC are those of the task alone, no privilege can be gained, and of the GPUs there are the device
 * files of those it holds.  Writable are its working directory (unless that is / or a private one)
 * and what the ask names.  The network is the node's, and so are sockets in the file system.
 */
#ifndef MUSTER_LOCAL_SANDBOX_H
#define MUSTER_LOCAL_SANDBOX_H

#include "backend/backend.h"
#include "base/vec.h"

#define SANDBOX_CARDS "/proc/driver/nvidia/gpus"

typedef VEC(char *) sandbox_texts;

struct sandbox_ask { /* paths, absolute; those that are not there are passed over */
    const char *program;
    const char *dir;            /* the working directory */
    const char *socket;         /* of musterd, "" = none: its directory is seen wherever it lies */
    const char *read[2];        /* seen as they are, read-only */
    const char *write[2];       /* and these are writable */
    const char *const *devices; /* device files */
    size_t device_count;
};

/* The device files of the cards that the task holds: by UUID from the driver's list (cards, usually
 * SANDBOX_CARDS).  A MIG instance cannot be told from its neighbours by a file name: then those of
 * all cards, which leaves the fence to the driver.  None for simulated cards. */
void sandbox_devices(const struct fact_grant *task, const struct backend_node *node,
                     const char *cards, sandbox_texts *ret);

/* argv (ends with NULL; taken) as the sandbox runs it.  So many of the result stand before what is
 * run inside: *ret_fence.  Free as argv was. */
char **sandbox_wrap(const struct sandbox_ask *ask, char **argv, int64_t *ret_fence);

void sandbox_texts_fini(sandbox_texts *t);

#endif
