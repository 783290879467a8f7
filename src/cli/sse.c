#include "cli/sse.h"

#include "base/mem.h"

#include <string.h>

/* The server sends a comment every 15 s: three missed ones are a dead connection. */
#define SILENCE_MS_MAX 50000
#define RETRY_MS_MIN   200
#define RETRY_MS_MAX   5000

void sse_init(struct sse *s, sse_event *call, void *arg)
{
    *s = (struct sse){.call = call, .arg = arg};
}

void sse_fini(struct sse *s)
{
    str_fini(&s->line);
    str_fini(&s->id);
    str_fini(&s->last_id);
    str_fini(&s->event);
    str_fini(&s->data);
}

void sse_reset(struct sse *s)
{
    str_clear(&s->line);
    str_clear(&s->event);
    str_clear(&s->data);
    str_clear(&s->id);
    str_add(&s->id, str_text(&s->last_id));
    s->has_data = false;
    s->after_cr = false;
    s->begun = false;
}

/* Only a whole event moves last_id: half an event is asked for again after a reconnect. */
static void dispatch(struct sse *s)
{
    str_clear(&s->last_id);
    str_add(&s->last_id, str_text(&s->id));
    if (s->has_data) {
        s->call(s->arg, str_text(&s->id), s->event.len > 0 ? s->event.text : "message",
                str_text(&s->data));
    }
    str_clear(&s->event);
    str_clear(&s->data);
    s->has_data = false;
}

static void take_field(struct sse *s, const char *name, size_t len, const char *value)
{
    if (len == 4 && strncmp(name, "data", 4) == 0) {
        if (s->has_data) {
            str_add_char(&s->data, '\n');
        }
        str_add(&s->data, value);
        s->has_data = true;
    } else if (len == 5 && strncmp(name, "event", 5) == 0) {
        str_clear(&s->event);
        str_add(&s->event, value);
    } else if (len == 2 && strncmp(name, "id", 2) == 0) {
        str_clear(&s->id);
        str_add(&s->id, value);
    }
}

static void take_line(struct sse *s)
{
    const char *line = str_text(&s->line);
    const char *colon = strchr(line, ':');

    if (line[0] == '\0') {
        dispatch(s);
    } else if (colon == NULL) {
        take_field(s, line, strlen(line), "");
    } else if (colon != line) {
        take_field(s, line, (size_t)(colon - line), colon + (colon[1] == ' ' ? 2 : 1));
    }
    str_clear(&s->line);
}

void sse_feed(struct sse *s, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = data[i];

        if (c == '\n' && s->after_cr) {
            s->after_cr = false;
            continue;
        }
        s->after_cr = c == '\r';
        if (c == '\n' || c == '\r') {
            take_line(s);
            s->begun = true;
            continue;
        }
        str_add_char(&s->line, c);
        if (!s->begun && s->line.len == 3) {
            s->begun = true;
            if (memcmp(s->line.text, "\xef\xbb\xbf", 3) == 0) {
                str_clear(&s->line);
            }
        }
    }
}

/* ---- the reader ---- */

static void reader_data(void *arg, const char *data, size_t len)
{
    struct sse_reader *r = arg;

    r->tries = 0;
    r->heard_ms = 0; /* set to now by the next step */
    sse_feed(&r->sse, data, len);
}

void sse_reader_init(struct sse_reader *r, struct client *client, const char *path, sse_event *call,
                     void *arg)
{
    *r = (struct sse_reader){.client = client, .path = mem_text(path)};
    sse_init(&r->sse, call, arg);
    r->stream = client_stream_open(client, path, NULL, reader_data, r);
}

void sse_reader_fini(struct sse_reader *r)
{
    client_stream_close(r->stream);
    mem_free(r->path);
    sse_fini(&r->sse);
}

static void come_back(struct sse_reader *r, int64_t now_ms)
{
    int64_t wait_ms = RETRY_MS_MIN << (r->tries < 5 ? r->tries : 5);

    client_stream_close(r->stream);
    r->stream = NULL;
    sse_reset(&r->sse);
    r->tries++;
    r->retry_at_ms = now_ms + (wait_ms < RETRY_MS_MAX ? wait_ms : RETRY_MS_MAX);
}

int sse_reader_step(struct sse_reader *r, int64_t now_ms, struct err *err)
{
    if (r->stream == NULL) {
        if (now_ms >= r->retry_at_ms) {
            r->heard_ms = now_ms;
            r->stream =
                client_stream_open(r->client, r->path, str_text(&r->sse.last_id), reader_data, r);
        }
        return 0;
    }
    if (r->heard_ms == 0) {
        r->heard_ms = now_ms;
    }
    if (client_stream_ended(r->stream)) {
        int rc = client_stream_result(r->stream, err);

        if (rc != 0 && rc != ERR_UNREACHABLE && rc != ERR_BUSY && rc != ERR_TIMEOUT &&
            rc != ERR_FROZEN) {
            return rc;
        }
        come_back(r, now_ms);
    } else if (now_ms - r->heard_ms > SILENCE_MS_MAX) {
        come_back(r, now_ms);
    }
    return 0;
}
