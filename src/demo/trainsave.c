#include "demo/trainsave.h"

#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP   2
#define PREFIX "step-"

static void name_of(int64_t step, struct str *ret)
{
    str_clear(ret);
    str_addf(ret, PREFIX "%06" PRId64, step);
}

static int64_t step_of(const char *name)
{
    char *end;
    long long step;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
        return -1;
    }
    step = strtoll(name + strlen(PREFIX), &end, 10);
    return *end == '\0' && step > 0 ? (int64_t)step : -1;
}

/* The steps that were saved, highest first in the first KEEP places. */
static void newest(DIR *list, int64_t ret[KEEP])
{
    struct dirent *entry;

    while ((entry = readdir(list)) != NULL) {
        int64_t step = step_of(entry->d_name);

        for (int i = 0; i < KEEP && step > 0; i++) {
            if (step > ret[i]) {
                int64_t lower = ret[i];

                ret[i] = step;
                step = lower;
            }
        }
    }
}

static void remove_old(int dir, DIR *list)
{
    int64_t kept[KEEP] = {0};
    struct dirent *entry;

    newest(list, kept);
    rewinddir(list);
    while ((entry = readdir(list)) != NULL) {
        int64_t step = step_of(entry->d_name);

        if (step > 0 && step < kept[KEEP - 1]) {
            unlinkat(dir, entry->d_name, 0); /* what stays is no harm */
        }
    }
}

static bool write_file(int dir, const char *name, const struct str *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && write(fd, text->text, text->len) == (ssize_t)text->len && fsync(fd) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return good;
}

int trainsave_write(const char *dir, const struct trainsave *save, struct err *err)
{
    DIR *list = opendir(dir);
    struct str name = {0};
    struct str temporary = {0};
    struct str text = {0};
    bool good = list != NULL;

    name_of(save->step, &name);
    str_addf(&temporary, ".%s", str_text(&name));
    str_addf(&text, "%" PRId64 " %" PRId64 "\n", save->step, save->total);
    if (good) {
        good = write_file(dirfd(list), temporary.text, &text) &&
               renameat(dirfd(list), temporary.text, dirfd(list), name.text) == 0 &&
               fsync(dirfd(list)) == 0;
    }
    if (good) {
        remove_old(dirfd(list), list);
    }
    if (!good) {
        err_set(err, ERR_IO, "cannot save %s in %s: %s", str_text(&name), dir, strerror(errno));
    }
    if (list != NULL) {
        closedir(list);
    }
    str_fini(&name);
    str_fini(&temporary);
    str_fini(&text);
    return good ? 0 : ERR_IO;
}

static int read_file(int dir, const char *where, int64_t step, struct trainsave *ret,
                     struct err *err)
{
    struct trainsave save = {0};
    struct str name = {0};
    char text[64] = "";
    ssize_t len;
    int fd;

    name_of(step, &name);
    fd = openat(dir, str_text(&name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    str_fini(&name);
    len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (len < 0 || sscanf(text, "%" SCNd64 " %" SCNd64, &save.step, &save.total) != 2 ||
        save.step != step) {
        return err_set(err, ERR_SYNTAX, "the checkpoint of step %" PRId64 " in %s is damaged", step,
                       where);
    }
    *ret = save;
    return 0;
}

int trainsave_read(const char *dir, struct trainsave *ret, struct err *err)
{
    DIR *list = opendir(dir);
    int64_t kept[KEEP] = {0};
    int rc = 0;

    if (list == NULL) {
        return err_set(err, ERR_IO, "cannot read %s: %s", dir, strerror(errno));
    }
    newest(list, kept);
    if (kept[0] > 0) {
        rc = read_file(dirfd(list), dir, kept[0], ret, err);
    } else {
        *ret = (struct trainsave){0};
    }
    closedir(list);
    return rc;
}
