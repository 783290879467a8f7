#include "journal/ballast.h"

#include "base/mem.h"
#include "base/str.h"
#include "journal/vfsfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void ballast_init(struct ballast *b, const char *journal_path)
{
    struct str path = {0};

    str_addf(&path, "%s.ballast", journal_path);
    *b = (struct ballast){.path = str_take(&path), .state = BALLAST_MISSING};
}

void ballast_fini(struct ballast *b)
{
    mem_freep(&b->path);
}

static int reserve_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error;

    if (fd < 0) {
        return errno;
    }
    do {
        error = posix_fallocate(fd, 0, BALLAST_BYTES);
    } while (error == EINTR);
    close(fd);
    if (error != 0) { /* a part of it would only be in the way */
        unlink(path);
    }
    return error;
}

static int reserve(const struct ballast *b, const char *path)
{
    return b->vfs != NULL ? vfsfile_reserve(b->vfs, path, BALLAST_BYTES) : reserve_file(path);
}

static bool give_up(const struct ballast *b, const char *path)
{
    return b->vfs != NULL ? vfsfile_remove(b->vfs, path) : unlink(path) == 0;
}

static bool is_there(const struct ballast *b)
{
    struct stat st;

    return b->vfs != NULL ? vfsfile_exists(b->vfs, b->path) : stat(b->path, &st) == 0;
}

static int no_room(const struct ballast *b, struct err *err)
{
    return err_set(err, ERR_DISK_FULL,
                   "the disk is full: no room for %d bytes beside %s; free some, work is taken "
                   "again by itself",
                   BALLAST_BYTES, b->path);
}

int ballast_make(struct ballast *b, struct err *err)
{
    int error;

    if (b->state != BALLAST_MISSING) {
        return 0;
    }
    error = reserve(b, b->path);
    if (error == ENOSPC || error == EDQUOT) {
        return no_room(b, err);
    }
    b->state = error == 0 ? BALLAST_HELD : BALLAST_IMPOSSIBLE;
    return 0;
}

/* Asking the file system would not see a quota, so the room is really taken for a moment. */
int ballast_probe(const struct ballast *b, struct err *err)
{
    struct str path = {0};
    int error;

    str_addf(&path, "%s.probe", b->path);
    error = reserve(b, path.text);
    (void)give_up(b, path.text);
    str_fini(&path);
    return error == ENOSPC || error == EDQUOT ? no_room(b, err) : 0;
}

bool ballast_drop(struct ballast *b)
{
    /* Left by an earlier process, perhaps: what counts is the file. */
    if (b->state == BALLAST_HELD || is_there(b)) {
        b->state = BALLAST_MISSING;
        return give_up(b, b->path);
    }
    return false;
}
