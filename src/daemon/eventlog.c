#include "daemon/eventlog.h"

#include "base/check.h"
#include "base/str.h"
#include "daemon/recordview.h"

#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#define PIECE_RECORDS 256
#define PIECE_BYTES   ((size_t)256 * 1024)

/* Records kept, and how many streams share one millisecond between two wakings. */
#define RECENT_MAX     1024
#define STREAMS_PER_MS 20
#define WAKE_AT_ONCE   (STREAMS_PER_MS * 2)

struct recent { /* a record, and its text once a stream has asked for it */
    struct journal_record record;
    char *bytes;
    char *kind;
    char *text;
    size_t len;
};

struct eventlog {
    struct daemon *d;
    VEC(struct eventstream *) open;
    struct recent *recent; /* by seq modulo RECENT_MAX */
    int64_t recent_first;  /* seqs, none if first > last */
    int64_t recent_last;
    struct event *timer;
    int64_t woken_ms;
    bool due; /* the timer is set */
};

struct eventstream {
    struct service_stream base; /* first: HTTP holds this */
    struct eventlog *log;       /* NULL once the log is gone */
    struct eventlog_filter filter;
    int64_t next_seq;
    struct str out;
    size_t taken; /* bytes of out that are sent */
};

struct eventlog *eventlog_new(struct daemon *d)
{
    struct eventlog *l = mem_new(1, sizeof(*l));

    l->d = d;
    l->recent = mem_new(RECENT_MAX, sizeof(*l->recent));
    l->recent_first = 1;
    return l;
}

static void recent_drop(struct recent *r)
{
    mem_free(r->bytes);
    mem_free(r->kind);
    mem_free(r->text);
    *r = (struct recent){0};
}

static void recent_clear(struct eventlog *l)
{
    for (int64_t seq = l->recent_first; seq <= l->recent_last; seq++) {
        recent_drop(&l->recent[seq % RECENT_MAX]);
    }
    l->recent_first = l->recent_last + 1;
}

void eventlog_add(struct eventlog *l, const struct journal_record *record)
{
    struct recent *r = &l->recent[record->seq % RECENT_MAX];

    if (l->open.count == 0 || record->seq != l->recent_last + 1) {
        recent_clear(l);
        l->recent_first = record->seq;
    }
    l->recent_last = record->seq;
    if (l->open.count == 0) {
        l->recent_first = record->seq + 1;
        return;
    }
    if (l->recent_last - l->recent_first == RECENT_MAX) {
        l->recent_first++; /* its place is the new one's */
    }
    recent_drop(r);
    r->record = *record;
    r->record.bytes = r->bytes = mem_text_n(record->bytes, record->len);
    r->record.kind = r->kind = mem_text(record->kind);
}

void eventlog_free(struct eventlog *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < l->open.count; i++) {
        l->open.items[i]->log = NULL;
    }
    vec_fini(&l->open);
    if (l->timer != NULL) {
        event_free(l->timer);
    }
    recent_clear(l);
    mem_free(l->recent);
    mem_free(l);
}

static bool wanted(const struct eventstream *s, const struct journal_record *r)
{
    return (s->filter.kind == FACT_NONE || fact_kind_of(r->kind) == s->filter.kind) &&
           (s->filter.job == 0 || recordview_names_job(r, s->filter.job));
}

static void write_event(struct daemon *d, const struct journal_record *r, struct str *out)
{
    json_t *o = recordview_json(d, r);
    char *text = json_dumps(o, JSON_COMPACT);

    str_addf(out, "id: %" PRId64 "\nevent: %s\ndata: ", r->seq, r->kind);
    str_add(out, text == NULL ? "{}" : text);
    str_add(out, "\n\n");
    mem_free(text);
    json_decref(o);
}

static bool each(void *ctx, const struct journal_record *r)
{
    struct eventstream *s = ctx;

    if (r->seq > s->log->d->durable_seq) {
        return false;
    }
    s->next_seq = r->seq + 1;
    if (wanted(s, r)) {
        write_event(s->log->d, r, &s->out);
    }
    return s->out.len < PIECE_BYTES;
}

/* Some of the records that are kept, from the stream's place on. */
static void take_recent(struct eventstream *s)
{
    struct eventlog *l = s->log;

    while (s->next_seq <= l->recent_last && s->out.len < PIECE_BYTES) {
        struct recent *r = &l->recent[s->next_seq++ % RECENT_MAX];
        struct str text = {0};

        if (!wanted(s, &r->record)) {
            continue;
        }
        if (r->text == NULL) {
            write_event(l->d, &r->record, &text);
            r->len = text.len;
            r->text = str_take(&text);
        }
        str_add_n(&s->out, r->text, r->len);
    }
}

static int64_t give(struct str *out, size_t *taken, char *buf, size_t room)
{
    size_t n = out->len - *taken < room ? out->len - *taken : room;

    memcpy(buf, str_text(out) + *taken, n);
    *taken += n;
    if (*taken == out->len) {
        str_clear(out);
        *taken = 0;
    }
    return (int64_t)n;
}

static int64_t pull(struct service_stream *base, char *buf, size_t room)
{
    struct eventstream *s = (struct eventstream *)base;

    if (s->log == NULL) {
        return -1;
    }
    while (s->out.len == 0 && s->next_seq <= s->log->d->durable_seq) {
        if (s->next_seq >= s->log->recent_first && s->next_seq <= s->log->recent_last) {
            take_recent(s);
        } else if (journal_read(s->log->d->journal, s->next_seq, PIECE_RECORDS, each, s, NULL) !=
                   0) {
            return -1;
        }
    }
    return s->out.len == 0 ? 0 : give(&s->out, &s->taken, buf, room);
}

static void close_stream(struct service_stream *base)
{
    struct eventstream *s = (struct eventstream *)base;

    for (size_t i = 0; s->log != NULL && i < s->log->open.count; i++) {
        if (s->log->open.items[i] == s) {
            vec_remove(&s->log->open, i);
            break;
        }
    }
    str_fini(&s->out);
    mem_free(s);
}

int eventlog_stream(struct eventlog *l, const struct eventlog_filter *filter,
                    struct service_stream **ret, struct err *err)
{
    static const struct service_stream_ops OPS = {pull, close_stream};
    struct eventstream *s;

    if (l->open.count == EVENTLOG_STREAMS_MAX) {
        return err_set(err, ERR_BUSY, "%d streams of events are open already, try again later",
                       EVENTLOG_STREAMS_MAX);
    }
    s = mem_new(1, sizeof(*s));
    s->base.ops = &OPS;
    s->base.content_type = "text/event-stream";
    s->log = l;
    s->filter = *filter;
    s->next_seq = filter->from_seq;
    vec_push(&l->open, s);
    *ret = &s->base;
    return 0;
}

void eventlog_wake_all(struct eventlog *l)
{
    l->woken_ms = daemon_now_ms(l->d);
    for (size_t i = 0; i < l->open.count; i++) {
        if (l->open.items[i]->base.wake != NULL) {
            l->open.items[i]->base.wake(l->open.items[i]->base.wake_arg);
        }
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct eventlog *l = arg;

    (void)fd;
    (void)what;
    l->due = false;
    eventlog_wake_all(l);
}

void eventlog_wake(struct eventlog *l)
{
    int64_t wait_ms = (int64_t)l->open.count / STREAMS_PER_MS;

    wait_ms -= daemon_now_ms(l->d) - l->woken_ms;
    if (l->open.count <= WAKE_AT_ONCE || (wait_ms <= 0 && !l->due)) {
        eventlog_wake_all(l);
        return;
    }
    if (l->due) {
        return;
    }
    struct timeval wait = {.tv_usec = (suseconds_t)(wait_ms < 999 ? wait_ms * 1000 : 999000)};

    if (l->timer == NULL) {
        l->timer = evtimer_new(l->d->base, on_timer, l);
        CHECK(l->timer != NULL);
    }
    CHECK(event_add(l->timer, &wait) == 0);
    l->due = true;
}

/* ---- export ---- */

struct exportstream {
    struct service_stream base;
    struct daemon *d;
    int64_t next_seq;
    int64_t last_seq; /* of the journal when it was asked */
    int64_t written;
    struct str out;
    size_t taken;
};

/* journal_export writes lines; each call here takes one piece of them and stops it. */
static bool export_line(void *ctx, const char *text, size_t len)
{
    struct exportstream *s = ctx;

    str_add_n(&s->out, text, len);
    for (size_t i = 0; i < len; i++) {
        s->written += text[i] == '\n';
    }
    return s->out.len < PIECE_BYTES && s->next_seq + s->written <= s->last_seq;
}

static int64_t export_pull(struct service_stream *base, char *buf, size_t room)
{
    struct exportstream *s = (struct exportstream *)base;

    if (s->out.len == 0 && s->next_seq <= s->last_seq) {
        int rc;

        s->written = 0;
        rc = journal_export(s->d->journal, s->next_seq, export_line, s, NULL);
        if (s->written == 0 && rc != 0) {
            return -1;
        }
        s->next_seq += s->written;
    }
    return s->out.len == 0 ? -1 : give(&s->out, &s->taken, buf, room);
}

static void export_close(struct service_stream *base)
{
    struct exportstream *s = (struct exportstream *)base;

    str_fini(&s->out);
    mem_free(s);
}

struct service_stream *eventlog_export(struct daemon *d, int64_t from_seq)
{
    static const struct service_stream_ops OPS = {export_pull, export_close};
    struct exportstream *s = mem_new(1, sizeof(*s));

    s->base.ops = &OPS;
    s->base.content_type = "application/x-ndjson";
    s->d = d;
    s->next_seq = from_seq < 1 ? 1 : from_seq;
    s->last_seq = d->durable_seq;
    return &s->base;
}
