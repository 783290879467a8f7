#include "cli/logfollow.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

#define RETRY_MS   500
#define TAIL_BYTES ((size_t)4 << 20)

struct logfollow *logfollow_new(struct client *client, const char *job, int64_t attempt,
                                int64_t task, const char *stream)
{
    struct logfollow *l = mem_new(1, sizeof(*l));

    l->client = client;
    l->job = mem_text(job);
    l->attempt = attempt;
    l->task = task;
    l->stream = stream;
    l->tail = -1;
    l->out = strcmp(stream, "stderr") == 0 ? stderr : stdout;
    return l;
}

static void flush_line(struct logfollow *l)
{
    if (l->line.len > 0) {
        fprintf(l->out, "%s%s\n", l->prefix, str_text(&l->line));
        str_clear(&l->line);
    }
}

void logfollow_free(struct logfollow *l)
{
    if (l == NULL) {
        return;
    }
    flush_line(l);
    client_stream_close(l->live);
    str_fini(&l->line);
    mem_free(l->prefix);
    mem_free(l->job);
    mem_free(l);
}

void logfollow_set_prefix(struct logfollow *l, const char *prefix)
{
    mem_free(l->prefix);
    l->prefix = mem_text(prefix);
}

void logfollow_path(const struct logfollow *l, bool follow, struct str *path)
{
    char number[24];

    str_add(path, "/v1/jobs");
    path_add(path, l->job);
    str_add(path, "/logs");
    snprintf(number, sizeof(number), "%" PRId64, l->task);
    path_add_query(path, "task", number);
    if (l->attempt > 0) {
        snprintf(number, sizeof(number), "%" PRId64, l->attempt);
        path_add_query(path, "attempt", number);
    }
    path_add_query(path, "stream", l->stream);
    if (follow) {
        path_add_query(path, "follow", "true");
    }
    if (l->shown_bytes > 0) {
        snprintf(number, sizeof(number), "%" PRId64, l->shown_bytes);
        path_add_query(path, "from", number);
    } else if (l->tail >= 0) {
        snprintf(number, sizeof(number), "%" PRId64, l->tail);
        path_add_query(path, "tail", number);
    }
}

static void show(void *arg, const char *data, size_t len)
{
    struct logfollow *l = arg;

    l->shown_bytes += (int64_t)len;
    l->missing = 0;
    if (l->prefix == NULL) {
        fwrite(data, 1, len, l->out);
        fflush(l->out);
        return;
    }
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t part = end != NULL ? (size_t)(end - data) : len;

        str_add_n(&l->line, data, part);
        if (end == NULL) {
            return;
        }
        fprintf(l->out, "%s%s\n", l->prefix, str_text(&l->line));
        str_clear(&l->line);
        data = end + 1;
        len -= part + 1;
    }
    fflush(l->out);
}

struct lines_tail { /* the last lines of what came, and how much that was */
    struct str text;
    int64_t lines_max;
    int64_t bytes;
};

static void keep_tail(struct lines_tail *t)
{
    int64_t lines = 0;
    size_t at = t->text.len;

    while (at > 0) {
        bool begins = t->text.text[at - 1] == '\n' && at < t->text.len;

        if (begins && ++lines == t->lines_max) {
            break;
        }
        at--;
    }
    if (t->lines_max == 0) {
        at = t->text.len;
    }
    t->text.len -= at;
    memmove(t->text.text, t->text.text + at, t->text.len);
}

static void take_tail(void *arg, const char *data, size_t len)
{
    struct lines_tail *t = arg;

    str_add_n(&t->text, data, len);
    t->bytes += (int64_t)len;
    if (t->text.len > TAIL_BYTES) {
        keep_tail(t);
    }
}

int logfollow_begin(struct logfollow *l, int64_t lines, struct err *err)
{
    struct lines_tail t = {.lines_max = lines};
    struct str path = {0};
    int rc;

    l->tail = -1;
    logfollow_path(l, false, &path);
    rc = client_read(l->client, str_text(&path), take_tail, &t, err);
    if (rc == 0 && t.bytes > 0) {
        keep_tail(&t);
        show(l, str_text(&t.text), t.text.len);
        l->shown_bytes = t.bytes;
    }
    str_fini(&t.text);
    str_fini(&path);
    return rc == ERR_NOT_FOUND || rc == ERR_JOB_STATE || rc == ERR_CONFLICT ? 0 : rc;
}

static void open_live(struct logfollow *l)
{
    struct str path = {0};

    logfollow_path(l, true, &path);
    l->live = client_stream_open(l->client, str_text(&path), NULL, show, l);
    str_fini(&path);
}

int logfollow_step(struct logfollow *l, int64_t now_ms, struct err *err)
{
    int rc;

    if (l->ended) {
        return 0;
    }
    if (l->live == NULL) {
        if (now_ms >= l->retry_at_ms) {
            open_live(l);
        }
        return 0;
    }
    if (!client_stream_ended(l->live)) {
        return 0;
    }
    rc = client_stream_result(l->live, err);
    client_stream_close(l->live);
    l->live = NULL;
    l->retry_at_ms = now_ms + RETRY_MS;
    switch (rc) {
    case 0:
        l->ended = true;
        return 0;
    case ERR_NOT_FOUND:
    case ERR_CONFLICT:
    case ERR_JOB_STATE:
        l->missing = rc;
        return 0;
    case ERR_UNREACHABLE:
    case ERR_BUSY:
    case ERR_TIMEOUT:
    case ERR_FROZEN:
        return 0;
    default:
        return rc;
    }
}
