#include "cli/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)

int textfile_read(const char *path, struct str *ret, struct err *err)
{
    bool input = strcmp(path, "-") == 0;
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char buf[16384];
    ssize_t len;
    int rc = 0;

    if (fd < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", path,
                       strerror(errno));
    }
    while ((len = read(fd, buf, sizeof(buf))) > 0 || (len < 0 && errno == EINTR)) {
        if (len > 0 && ret->len + (size_t)len > BYTES_MAX) {
            rc = err_set(err, ERR_TOO_LARGE, "%s is larger than 16Mi", path);
            break;
        }
        str_add_n(ret, buf, len > 0 ? (size_t)len : 0);
    }
    if (len < 0) {
        rc = err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
    }
    if (!input) {
        close(fd);
    }
    return rc;
}
