/* muster-journal - look at and check a journal without musterd, or beside it: the file is opened
 * for reading only and never locked.  import makes a new one. */
#include "base/argline.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/import.h"
#include "journal/journal.h"
#include "journal/verify_run.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TAIL_DEFAULT 20

struct request {
    const struct command *command;
    const char *path;
    const char *to;   /* copy, import */
    int64_t seq;      /* show */
    int64_t from_seq; /* export, 0 = not given */
    int64_t count;    /* tail, -1 = not given */
    struct verify_run verify;
    size_t key_count;
    size_t witness_count;
};

struct command {
    const char *name;
    int (*run)(struct journal *j, const struct request *r, struct err *err);
    bool needs_seq;
    bool needs_to;
    bool opens; /* path is a journal, not an export */
};

/* ---- output ---- */

static bool print(void *ctx, const char *text, size_t len)
{
    (void)ctx;
    return fwrite(text, 1, len, stdout) == len;
}

static void format_time(int64_t at_ms, char *ret, size_t room)
{
    time_t seconds = (time_t)(at_ms / 1000 - (at_ms % 1000 < 0));
    struct tm tm;
    char text[40];

    if (gmtime_r(&seconds, &tm) == NULL || strftime(text, sizeof(text), "%FT%T", &tm) == 0) {
        snprintf(ret, room, "%" PRId64 " ms", at_ms);
        return;
    }
    snprintf(ret, room, "%s.%03dZ", text, (int)((at_ms % 1000 + 1000) % 1000));
}

static bool print_line(void *ctx, const struct journal_record *r)
{
    char at[64];

    (void)ctx;
    format_time(r->at_ms, at, sizeof(at));
    return printf("%" PRId64 "  %s  %s  %.*s\n", r->seq, at, r->kind, (int)r->len, r->bytes) > 0;
}

struct shown {
    unsigned char prev[JOURNAL_HASH_BYTES];
    int64_t seq;
    bool found;
};

static bool print_whole(void *ctx, const struct journal_record *r)
{
    struct shown *shown = ctx;
    char hash[HASH_TEXT_MAX];
    char prev[HASH_TEXT_MAX];
    char at[64];
    char true_at[64];

    if (r->seq < shown->seq) {
        memcpy(shown->prev, r->hash, sizeof(shown->prev));
        return true;
    }
    format_time(r->at_ms, at, sizeof(at));
    format_time(r->true_at_ms, true_at, sizeof(true_at));
    hash_hex(shown->prev, HASH_BYTES, prev);
    hash_hex(r->hash, HASH_BYTES, hash);
    shown->found = true;
    printf("seq       %" PRId64 "\nkind      %s, version %" PRId64 "\nrecorded  %s\n"
           "happened  %s, to %" PRId64 " ms\nepoch     %" PRId64 "\nprevious  %s\nhash      %s\n"
           "body      %.*s\n",
           r->seq, r->kind, r->version, at, true_at, r->precision_ms, r->epoch, prev, hash,
           (int)r->len, r->bytes);
    return false;
}

/* ---- commands ---- */

static int run_verify(struct journal *j, const struct request *r, struct err *err)
{
    return j == NULL ? verify_run_export(&r->verify, err) : verify_run_journal(j, &r->verify, err);
}

static int run_export(struct journal *j, const struct request *r, struct err *err)
{
    return journal_export(j, r->from_seq > 0 ? r->from_seq : 1, print, NULL, err);
}

static int run_show(struct journal *j, const struct request *r, struct err *err)
{
    struct shown shown = {.seq = r->seq};
    int rc = journal_read(j, r->seq > 1 ? r->seq - 1 : 1, 2, print_whole, &shown, err);

    if (rc == 0 && !shown.found) {
        return err_set(err, ERR_NOT_FOUND, "%s has no record %" PRId64 ", the last is %" PRId64,
                       j->path, r->seq, journal_last_seq(j));
    }
    return rc;
}

static int run_tail(struct journal *j, const struct request *r, struct err *err)
{
    int64_t count = r->count >= 0 ? r->count : TAIL_DEFAULT;
    int64_t last = journal_last_seq(j);

    return journal_read(j, count < last ? last - count + 1 : 1, count, print_line, NULL, err);
}

/* A state directory stands for the journal in it. */
static char *journal_path(const char *given)
{
    struct str path = {0};
    struct stat st;

    str_add(&path, given);
    if (stat(given, &st) == 0 && S_ISDIR(st.st_mode)) {
        str_add(&path, "/journal.db");
    }
    return str_take(&path);
}

/* The copy is checked before it is called one. */
static int run_copy(struct journal *j, const struct request *r, struct err *err)
{
    struct journal *copy = NULL;
    struct journal_verdict verdict;
    char hash[HASH_TEXT_MAX];
    CLEANUP(mem_freep) char *from = journal_path(r->path);
    int rc = journal_copy_sqlite(from, r->to, err);

    (void)j;
    rc = rc != 0 ? rc : journal_open_sqlite(r->to, true, &copy, err);
    rc = rc != 0 ? rc : journal_verify(copy, &verdict, err);
    journal_close(copy);
    if (rc == 0) {
        hash_hex(verdict.hash, HASH_BYTES, hash);
        printf("copied: %" PRId64 " records, last hash %s\n", verdict.records, hash);
    }
    return rc;
}

static int run_import(struct journal *j, const struct request *r, struct err *err)
{
    CLEANUP(mem_freep) char *to = journal_path(r->to);
    struct journal_verdict verdict;
    char hash[HASH_TEXT_MAX];
    int rc = import_export(r->path, to, &verdict, err);

    (void)j;
    if (rc == 0) {
        hash_hex(verdict.hash, HASH_BYTES, hash);
        printf("imported: %" PRId64 " records, last hash %s\n", verdict.records, hash);
    }
    return rc;
}

static const struct command COMMANDS[] = {
    {.name = "verify", .run = run_verify, .opens = true},
    {.name = "export", .run = run_export, .opens = true},
    {.name = "show", .run = run_show, .needs_seq = true, .opens = true},
    {.name = "tail", .run = run_tail, .opens = true},
    {.name = "copy", .run = run_copy, .needs_to = true},
    {.name = "import", .run = run_import, .needs_to = true},
    {.name = "verify-export", .run = run_verify},
};

/* ---- arguments ---- */

enum { OPTION_FROM = 256, OPTION_EXPECT, OPTION_KEY, OPTION_WITNESS };

static const struct argp_option OPTIONS[] = {
    {"from", OPTION_FROM, "SEQ", 0, "export: begin with this record", 0},
    {"lines", 'n', "N", 0, "tail: how many records (20)", 0},
    {"expect", OPTION_EXPECT, "SEQ:HASH", 0, "verify: this record must have this hash", 0},
    {"key", OPTION_KEY, "PUBLIC.pem", 0,
     "verify: check signatures; trust this key (may be repeated)", 0},
    {"witness", OPTION_WITNESS, "FILE", 0,
     "verify: a checkpoint kept elsewhere, as muster journal checkpoint prints it", 0},
    {0},
};

static int64_t parse_number(struct argp_state *state, const char *text, const char *what,
                            int64_t least)
{
    int64_t value;

    if (!str_to_int(text, &value) || value < least) {
        argp_failure(state, 2, 0, "%s is \"%s\": it must be a number from %" PRId64 " on", what,
                     text, least);
        exit(2);
    }
    return value;
}

static void parse_expect(struct argp_state *state, const char *text, struct request *r)
{
    const char *colon = strchr(text, ':');

    if (colon == NULL || !hash_of_hex(colon + 1, r->verify.expect_hash, HASH_BYTES)) {
        argp_failure(state, 2, 0, "--expect is \"%s\": it must be SEQ:HASH, 64 hexadecimal digits",
                     text);
        exit(2);
    }
    CLEANUP(mem_freep) char *seq = mem_text_n(text, (size_t)(colon - text));

    r->verify.expect_seq = parse_number(state, seq, "the record of --expect", 1);
    r->verify.expects = true;
}

static void add_file(struct argp_state *state, const char *path, const char **files, size_t *count)
{
    if (*count == VERIFY_FILES_MAX) {
        argp_failure(state, 2, 0, "\"%s\" is one too many: %d are the most", path,
                     VERIFY_FILES_MAX);
        exit(2);
    }
    files[(*count)++] = path;
}

static const struct command *find_command(struct argp_state *state, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
    }
    argp_failure(state, 2, 0,
                 "there is no command \"%s\": it is verify, export, show, tail, copy, import or "
                 "verify-export",
                 name);
    exit(2);
}

static int parse_argument(struct argp_state *state, const char *arg, struct request *r)
{
    if (state->arg_num == 0) {
        r->command = find_command(state, arg);
    } else if (state->arg_num == 1) {
        r->path = arg;
    } else if (state->arg_num == 2 && r->command->needs_to) {
        r->to = arg;
    } else if (state->arg_num == 2 && r->command->needs_seq) {
        r->seq = parse_number(state, arg, "SEQ", 1);
    } else {
        argp_failure(state, 2, 0, "\"%s\" is one argument too many", arg);
        exit(2);
    }
    return 0;
}

/* An export is read as lines, whatever it is called. */
static bool opens_journal(const struct request *r)
{
    return r->command->opens && !(r->command->run == run_verify && verify_run_is_export(r->path));
}

static void check_request(struct argp_state *state, const struct request *r)
{
    const char *wrong = NULL;

    if (r->command == NULL || r->path == NULL) {
        wrong = r->command == NULL ? "a command is missing, --help lists them"
                                   : "the path of the file is missing";
    } else if (r->command->needs_seq && r->seq == 0) {
        wrong = "the number of the record is missing";
    } else if (r->command->needs_to && r->to == NULL) {
        wrong = "the path of the new journal is missing";
    } else if (r->from_seq > 0 && r->command->run != run_export) {
        wrong = "--from belongs to export";
    } else if (r->count >= 0 && r->command->run != run_tail) {
        wrong = "-n belongs to tail";
    } else if (r->verify.expects && r->command->run != run_verify) {
        wrong = "--expect belongs to verify";
    } else if (r->key_count + r->witness_count > 0 && r->command->run != run_verify) {
        wrong = "--key and --witness belong to verify";
    } else if (r->witness_count > 0 && r->key_count == 0) {
        wrong = "--witness needs the key that signed it: --key";
    } else if (r->verify.expects && !opens_journal(r)) {
        wrong = "--expect is for a journal; an export takes --witness";
    }
    if (wrong != NULL) {
        argp_failure(state, 2, 0, "%s", wrong);
        exit(2);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case OPTION_FROM:
        r->from_seq = parse_number(state, arg, "--from", 1);
        return 0;
    case OPTION_EXPECT:
        parse_expect(state, arg, r);
        return 0;
    case OPTION_KEY:
        add_file(state, arg, r->verify.keys, &r->key_count);
        return 0;
    case OPTION_WITNESS:
        add_file(state, arg, r->verify.witnesses, &r->witness_count);
        return 0;
    case 'n':
        r->count = parse_number(state, arg, "-n", 0);
        return 0;
    case ARGP_KEY_ARG:
        return parse_argument(state, arg, r);
    case ARGP_KEY_END:
        check_request(state, r);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp ARGP = {
    OPTIONS,
    parse,
    "verify PATH\nexport PATH\nshow PATH SEQ\ntail PATH\ncopy PATH NEW\nimport FILE "
    "NEW\nverify-export FILE",
    "Look at the journal of muster and check its chain, with or without musterd.\v"
    "verify walks the whole chain of a journal, a state directory, or the lines that export wrote "
    "(- reads them from standard input; verify-export takes nothing else), so that others can "
    "check "
    "what they were given.  With --key it says which records are signed, and which not yet.",
    NULL,
    NULL,
    NULL};

int main(int argc, char **argv)
{
    struct request r = {.count = -1};
    CLEANUP(mem_freep) char *path = NULL;
    struct journal *j = NULL;
    struct err err = {0};
    int rc = 0;

    argp_program_version = "muster-journal " MUSTER_VERSION;
    argline_parse(&ARGP, argc, argv, 0, &r);
    r.verify.path = r.path;
    if (opens_journal(&r)) {
        path = journal_path(r.path);
        rc = journal_open_sqlite(path, true, &j, &err);
    }
    rc = rc != 0 ? rc : r.command->run(j, &r, &err);
    journal_close(j);
    if (fflush(stdout) != 0 && rc == 0) {
        rc = err_set(&err, ERR_IO, "cannot write: %s", strerror(errno));
    }
    if (rc != 0) {
        fprintf(stderr, "muster-journal: %s: %s\n", err_name(rc), err.text);
        return err_exit(rc);
    }
    return 0;
}
