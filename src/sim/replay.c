#include "sim/replay.h"

#include "base/arena.h"
#include "base/mem.h"
#include "sim/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_MAX 100000000 /* of one life */
#define LINE_MAX_  400

void replay_cut_init(struct seeded_cut *cut, int64_t events)
{
    *cut = (struct seeded_cut){
        .events = mem_new((size_t)events + 1, sizeof(bool)),
        .quiets = mem_new((size_t)events + 1, sizeof(bool)),
        .count = events,
    };
}

void replay_cut_fini(struct seeded_cut *cut)
{
    mem_free(cut->events);
    mem_free(cut->quiets);
    *cut = (struct seeded_cut){0};
}

/* ---- reading ---- */

struct reader {
    struct seeded_options *options;
    struct seeded_cut *cut;
    struct words words;
    bool begun;
};

static int64_t take_number(struct words *w, const char *what, int64_t from, int64_t to)
{
    const char *text = words_next(w, what);
    int64_t n = from;

    if (*text != '\0' && (!str_to_int(text, &n) || n < from || n > to)) {
        words_fail(w, ERR_INVALID, "%s: \"%s\" is no number from %lld to %lld", what, text,
                   (long long)from, (long long)to);
        n = from;
    }
    return n;
}

static void take_events(struct reader *r)
{
    int64_t count = take_number(&r->words, "events", 1, EVENTS_MAX);
    int64_t i;

    replay_cut_fini(r->cut);
    replay_cut_init(r->cut, count);
    for (i = 0; i < count; i++) {
        r->cut->events[i] = true;
        r->cut->quiets[i] = true;
    }
    r->options->events = count;
}

static void take_event(struct reader *r, bool quiet)
{
    int64_t n = take_number(&r->words, quiet ? "quiet" : "event", 1, r->cut->count);
    const char *kind = quiet ? "" : words_next(&r->words, "its kind");

    if (r->cut->count == 0) {
        words_fail(&r->words, ERR_INVALID, "the line of events comes first");
        return;
    }
    if (quiet) {
        r->cut->quiets[n - 1] = false;
        return;
    }
    if (strcmp(kind, seeded_event_name(r->options->seed, n - 1)) != 0) {
        words_fail(&r->words, ERR_INVALID,
                   "event %lld of seed %llu is \"%s\" in this release, not \"%s\"", (long long)n,
                   (unsigned long long)r->options->seed, seeded_event_name(r->options->seed, n - 1),
                   kind);
        return;
    }
    r->cut->events[n - 1] = false;
}

static void take_drop(struct reader *r)
{
    const char *what = words_next(&r->words, "node or queue");
    int64_t id = take_number(&r->words, "its id", 1, 63);

    if (strcmp(what, "node") == 0) {
        r->cut->nodes |= (uint64_t)1 << id;
    } else if (strcmp(what, "queue") == 0) {
        r->cut->queues |= (uint64_t)1 << id;
    } else {
        words_fail(&r->words, ERR_SYNTAX, "\"%s\" cannot be dropped; node or queue can", what);
    }
}

static void take_faults(struct reader *r)
{
    struct err err = {0};

    if (seeded_faults_parse(words_next(&r->words, "faults"), &r->options->faults, &err) != 0) {
        words_fail(&r->words, ERR_INVALID, "%s", err.text);
    }
}

static void take_line(struct reader *r)
{
    const char *verb = words_maybe(&r->words);

    if (verb == NULL) {
        return;
    }
    if (!r->begun) {
        r->begun = strcmp(verb, "muster-sim") == 0 && words_flag(&r->words, "replay") &&
                   words_flag(&r->words, "1");
        if (!r->begun) {
            words_fail(&r->words, ERR_SYNTAX, "a replay begins with \"muster-sim replay 1\"");
        }
    } else if (strcmp(verb, "seed") == 0) {
        r->options->seed = (uint64_t)take_number(&r->words, "seed", 0, INT64_MAX);
    } else if (strcmp(verb, "events") == 0) {
        take_events(r);
    } else if (strcmp(verb, "faults") == 0) {
        take_faults(r);
    } else if (strcmp(verb, "drop") == 0) {
        take_drop(r);
    } else if (strcmp(verb, "event") == 0 || strcmp(verb, "quiet") == 0) {
        take_event(r, *verb == 'q');
    } else {
        words_fail(&r->words, ERR_SYNTAX,
                   "\"%s\": a line is seed, events, faults, drop, event or quiet", verb);
    }
}

int replay_read(const char *path, struct seeded_options *ret, struct seeded_cut *ret_cut,
                struct err *err)
{
    FILE *file = fopen(path, "re");
    struct arena *arena;
    struct reader r = {.options = ret, .cut = ret_cut};
    char text[LINE_MAX_];
    int line;
    int rc = 0;

    if (file == NULL) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s", path,
                       strerror(errno));
    }
    *ret = (struct seeded_options){.seed = 1, .faults = SEEDED_ALL_FAULTS};
    *ret_cut = (struct seeded_cut){0};
    arena = arena_make();
    for (line = 1; rc == 0 && fgets(text, sizeof(text), file) != NULL; line++) {
        words_cut(&r.words, arena, path, line, text);
        take_line(&r);
        rc = words_end(&r.words, err);
    }
    if (rc == 0 && (!r.begun || ret->events == 0)) {
        rc = err_set(err, ERR_SYNTAX, "%s: no line of events", path);
    }
    arena_free(arena);
    (void)fclose(file);
    if (rc != 0) {
        replay_cut_fini(ret_cut);
        return rc;
    }
    ret->cut = ret_cut;
    return 0;
}

/* ---- writing ---- */

static void put_note(FILE *file, const char *note)
{
    while (*note != '\0') {
        size_t len = strcspn(note, "\n");

        (void)fprintf(file, "# %.*s\n", (int)len, note);
        note += len + (note[len] == '\n' ? 1 : 0);
    }
}

static void put_drops(FILE *file, const char *what, uint64_t bits)
{
    int id;

    for (id = 1; id < 64; id++) {
        if ((bits >> id & 1U) != 0) {
            (void)fprintf(file, "drop %s %d\n", what, id);
        }
    }
}

int replay_write(const char *path, const struct seeded_options *o, const char *note,
                 struct err *err)
{
    FILE *file = fopen(path, "we");
    struct str faults = {0};
    int64_t i;

    if (file == NULL) {
        return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    }
    seeded_faults_print(o->faults, &faults);
    (void)fprintf(file, "muster-sim replay 1\n");
    put_note(file, note);
    (void)fprintf(file, "seed %llu\nevents %lld\nfaults %s\n", (unsigned long long)o->seed,
                  (long long)o->events, faults.text);
    put_drops(file, "node", o->cut != NULL ? o->cut->nodes : 0);
    put_drops(file, "queue", o->cut != NULL ? o->cut->queues : 0);
    for (i = 0; i < o->events; i++) {
        if (o->cut == NULL || !o->cut->events[i]) {
            (void)fprintf(file, "event %lld %s\n", (long long)i + 1, seeded_event_name(o->seed, i));
        }
        if ((i + 1) % SEEDED_QUIET_EVERY == 0 && (o->cut == NULL || !o->cut->quiets[i])) {
            (void)fprintf(file, "quiet %lld\n", (long long)i + 1);
        }
    }
    str_fini(&faults);
    return fclose(file) == 0 ? 0
                             : err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
}
