/* gate - it looks for the file ten times a second.  inotify would cost less, but an account has
 * only 128 instances of it by default, and forty gates wait at once. */
#include "demo/gate.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 900
#define TICK_NS      100000000L

int gate_wait(const char *path)
{
    CLEANUP(mem_freep) char *dir = mem_text(path);
    const struct timespec tick = {.tv_nsec = TICK_NS};
    time_t until = time(NULL) + LIFE_SECONDS;
    char *slash = strrchr(dir, '/');

    if (slash == NULL) {
        return 2;
    }
    *slash = '\0';
    while (access(path, F_OK) != 0) {
        if (time(NULL) >= until || access(dir, F_OK) != 0) {
            return 1;
        }
        nanosleep(&tick, NULL);
    }
    return 0;
}

int gate_open(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot make %s: %s", path, strerror(errno));
    }
    close(fd);
    return 0;
}
