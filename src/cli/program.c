#include "cli/program.h"

#include "base/check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool found(struct str *ret, const char *dir, const char *between, const char *name)
{
    str_clear(ret);
    str_addf(ret, "%s%s/%s", dir, between, name);
    return access(str_text(ret), X_OK) == 0;
}

int program_find(const char *name, struct str *ret, struct err *err)
{
    static const char *const BETWEEN[] = {"", "/data", "/../libexec/muster", "/../lib/muster"};
    const char *libexec = getenv("MUSTER_LIBEXEC");
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (libexec != NULL && libexec[0] == '/' && found(ret, libexec, "", name)) {
        return 0;
    }
    self[len > 0 ? len : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = '\0';
        for (size_t i = 0; i < ARRAY_LEN(BETWEEN); i++) {
            if (found(ret, self, BETWEEN[i], name)) {
                return 0;
            }
        }
    }
    return err_set(err, ERR_NOT_FOUND, "the program %s is not installed beside muster", name);
}

int program_exec(const char *name, char **argv, struct err *err)
{
    struct str path = {0};
    int rc = program_find(name, &path, err);

    if (rc == 0) {
        argv[0] = path.text;
        execv(path.text, argv);
        rc = err_set(err, ERR_IO, "cannot run %s: %s", str_text(&path), strerror(errno));
    }
    str_fini(&path);
    return rc;
}
