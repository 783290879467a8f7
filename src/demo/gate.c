/* gate - inotify on the folder, so that forty waiting processes cost a loaded machine nothing. */
#include "demo/gate.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 900

int gate_wait(const char *path)
{
    CLEANUP(mem_freep) char *dir = mem_text(path);
    time_t until = time(NULL) + LIFE_SECONDS;
    struct pollfd wait = {.events = POLLIN};
    char *slash = strrchr(dir, '/');

    if (slash == NULL) {
        return 2;
    }
    *slash = '\0';
    wait.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (wait.fd < 0 || inotify_add_watch(wait.fd, dir, IN_CREATE | IN_DELETE_SELF) < 0) {
        return 1;
    }
    while (access(path, F_OK) != 0) { /* after the watch, so that none is missed */
        char events[4096];

        if (time(NULL) >= until || access(dir, F_OK) != 0) {
            return 1;
        }
        poll(&wait, 1, 10000);
        while (read(wait.fd, events, sizeof(events)) > 0) {
        }
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
