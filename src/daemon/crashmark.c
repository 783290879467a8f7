/* The handler may only call what is safe in one, so the file is open and the number is made into
 * text by hand.  This is the one static state of the daemon: a handler has no argument. */
#include "daemon/crashmark.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX 4096

static volatile int64_t at_seq;
static int mark_fd = -1;

static const int CRASHES[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static void on_crash(int number)
{
    char text[24];
    size_t at = sizeof(text);
    uint64_t seq = (uint64_t)at_seq;
    ssize_t n = 0;

    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + seq % 10);
        seq /= 10;
    } while (seq != 0);
    if (mark_fd >= 0) {
        n = write(mark_fd, text + at, sizeof(text) - at);
    }
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

int crashmark_open(const char *state, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

    str_addf(&path, "%s/crashes", state);
    mark_fd = open(path.text, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (mark_fd < 0) {
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", path.text, strerror(errno));
    }
    for (size_t i = 0; i < ARRAY_LEN(CRASHES); i++) {
        CHECK(sigaction(CRASHES[i], &action, NULL) == 0);
    }
    return 0;
}

int crashmark_count(int64_t seq)
{
    char text[FILE_BYTES_MAX + 1];
    off_t size = lseek(mark_fd, 0, SEEK_END);
    off_t from = size > FILE_BYTES_MAX ? size - FILE_BYTES_MAX : 0;
    ssize_t n = pread(mark_fd, text, FILE_BYTES_MAX, from);
    int count = 0;

    text[n < 0 ? 0 : n] = '\0';
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        int64_t value;

        if (end == NULL) {
            break;
        }
        *end = '\0';
        count = str_to_int(line, &value) && value == seq ? count + 1 : 0;
        line = end + 1;
    }
    return count;
}

void crashmark_at(int64_t seq)
{
    at_seq = seq;
}

void crashmark_clear(void)
{
    int rc = ftruncate(mark_fd, 0);

    (void)rc; /* what stays is counted again, which only makes a start more careful */
}

void crashmark_close(void)
{
    for (size_t i = 0; i < ARRAY_LEN(CRASHES); i++) {
        signal(CRASHES[i], SIG_DFL);
    }
    close(mark_fd);
    mark_fd = -1;
}
