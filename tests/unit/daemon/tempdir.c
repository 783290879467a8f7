#include "tempdir.h"

#include "base/check.h"
#include "base/str.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tempdir_make(void **state)
{
    char *path = strdup("/tmp/muster-daemon-XXXXXX");

    CHECK(path != NULL && mkdtemp(path) != NULL);
    *state = path;
    return 0;
}

static int drop(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
    (void)st;
    (void)what;
    (void)ftw;
    return remove(path);
}

int tempdir_drop(void **state)
{
    nftw(*state, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

char *tempdir_file(void **state, const char *name)
{
    struct str s = {0};

    str_addf(&s, "%s/%s", (const char *)*state, name);
    return str_take(&s);
}
