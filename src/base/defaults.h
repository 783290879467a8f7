/* defaults - where musterd and muster meet when nobody says otherwise: one place, so that they do.
 *
 * root:   /run/muster/muster.sock                    /var/lib/muster
 * others: $XDG_RUNTIME_DIR/muster/muster.sock, or    $XDG_STATE_HOME/muster, or
 *         /tmp/muster-UID/muster.sock                $HOME/.local/state/muster
 */
#ifndef MUSTER_BASE_DEFAULTS_H
#define MUSTER_BASE_DEFAULTS_H

#include <sys/types.h>

#define DEFAULTS_SYSTEM_SOCKET "/run/muster/muster.sock"
#define DEFAULTS_SYSTEM_STATE  "/var/lib/muster"

/* Of the account uid under the present environment; free with mem_free. */
char *defaults_socket(uid_t uid);
char *defaults_state(uid_t uid);

#endif
