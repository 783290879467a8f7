#include "base/defaults.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>

/* The value of a variable that must be an absolute path to count (as the XDG specification says),
 * or NULL. */
static const char *directory(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] == '/' ? value : NULL;
}

char *defaults_socket(uid_t uid)
{
    const char *runtime = directory("XDG_RUNTIME_DIR");
    struct str s = {0};

    if (uid == 0) {
        return mem_text(DEFAULTS_SYSTEM_SOCKET);
    }
    if (runtime != NULL) {
        str_addf(&s, "%s/muster/muster.sock", runtime);
    } else {
        str_addf(&s, "/tmp/muster-%lu/muster.sock", (unsigned long)uid);
    }
    return str_take(&s);
}

char *defaults_state(uid_t uid)
{
    const char *state = directory("XDG_STATE_HOME");
    const char *home = directory("HOME");
    struct str s = {0};

    if (uid == 0) {
        return mem_text(DEFAULTS_SYSTEM_STATE);
    }
    if (state != NULL) {
        str_addf(&s, "%s/muster", state);
    } else if (home != NULL) {
        str_addf(&s, "%s/.local/state/muster", home);
    } else {
        str_addf(&s, "/tmp/muster-%lu/state", (unsigned long)uid);
    }
    return str_take(&s);
}
