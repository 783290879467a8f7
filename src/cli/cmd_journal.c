/* cmd_journal - the journal: look at it, prove it, carry it away. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"
#include "cli/document.h"
#include "cli/program.h"
#include "cli/sse.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define STEP_MS 250

static void fill_text(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    display_text(out, member_text(item, "text"));
}

static const struct column RECORD_COLUMNS[] = {
    {"SEQ", "seq", COLUMN_NUMBER, 0, NULL},           {"AT", "at_ms", COLUMN_TIME, 0, NULL},
    {"KIND", "kind", COLUMN_TEXT, 0, NULL},           {"WHAT", NULL, COLUMN_TEXT, 0, fill_text},
    {"HASH", "hash", COLUMN_TEXT, COLUMN_WIDE, NULL},
};

/* ---- tail ---- */

struct tail {
    struct cli *cli;
    int64_t last_seq;
    bool failed; /* the output is gone */
};

static void print_line(struct cli *cli, const json_t *record)
{
    struct str line = {0};

    if (cli->view.format == VIEW_JSON) {
        json_dumpf(record, stdout, JSON_COMPACT);
        printf("\n");
        return;
    }
    if (cli->view.format == VIEW_YAML) {
        printf("---\n");
        document_print(record, stdout);
        return;
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%" PRId64 "\n", member_int(record, "seq"));
        return;
    }
    str_addf(&line, "%" PRId64 " ", member_int(record, "seq"));
    display_time(&line, member_int(record, "at_ms"), cli->view.local);
    str_add_char(&line, ' ');
    display_text(&line, member_text(record, "kind"));
    str_add(&line, "  ");
    display_text(&line, member_text(record, "text"));
    printf("%s\n", str_text(&line));
    str_fini(&line);
}

static void on_record(void *arg, const char *id, const char *event, const char *data)
{
    struct tail *t = arg;
    json_t *record = json_loads(data, 0, NULL);
    int64_t seq = member_int(record, "seq");

    (void)id;
    (void)event;
    if (record != NULL && (seq == 0 || seq > t->last_seq)) {
        print_line(t->cli, record);
        t->last_seq = seq;
        t->failed = fflush(stdout) != 0;
    }
    json_decref(record);
}

static void add_filters(const struct args *args, struct str *path)
{
    const char *kind = args_text(args, "kind");
    const char *job = args_text(args, "job");

    if (kind != NULL) {
        path_add_query(path, "kind", kind);
    }
    if (job != NULL) {
        path_add_query(path, "job", job);
    }
}

static int follow_events(struct cli *cli, const struct args *args, int64_t from, struct err *err)
{
    struct tail tail = {.cli = cli, .last_seq = from - 1};
    struct sse_reader reader;
    struct str path = {0};
    char number[24];
    int rc = 0;

    str_add(&path, "/v1/events");
    snprintf(number, sizeof(number), "%" PRId64, from);
    path_add_query(&path, "from", number);
    add_filters(args, &path);
    sse_reader_init(&reader, cli->client, str_text(&path), on_record, &tail);
    str_fini(&path);
    while (rc == 0 && !tail.failed) {
        rc = sse_reader_step(&reader, display_now_ms(), err);
        client_poll(cli->client, -1, STEP_MS);
    }
    sse_reader_fini(&reader);
    return rc;
}

/* The last records: with a filter there may be fewer than asked for among the last `count`. */
static int last_records(struct cli *cli, const struct args *args, int64_t from, json_t **ret,
                        struct err *err)
{
    struct str path = {0};
    char number[24];
    int rc;

    str_add(&path, "/v1/journal");
    snprintf(number, sizeof(number), "%" PRId64, from);
    path_add_query(&path, "from", number);
    add_filters(args, &path);
    rc = cli_list(cli, str_text(&path), ret, err);
    str_fini(&path);
    return rc;
}

static int run_tail(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *version = NULL;
    CLEANUP(answer_freep) json_t *answer = NULL;
    bool filtered = args_has(args, "kind") || args_has(args, "job");
    int64_t count = 20, from;
    struct err err;

    if (args_int(args, "lines", 0, 1000000, &count, &err) != 0 ||
        cli_get(cli, "/v1/version", &version, &err) != 0) {
        return cli_fail(cli, &err);
    }
    from = member_int(version, "journal_seq") - count + 1;
    from = from < 1 || filtered ? 1 : from;
    if (args_has(args, "follow")) {
        return follow_events(cli, args, from, &err) != 0 ? cli_fail(cli, &err) : 0;
    }
    if (last_records(cli, args, from, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    while ((int64_t)json_array_size(json_object_get(answer, "items")) > count) {
        json_array_remove(json_object_get(answer, "items"), 0);
    }
    table_print(&cli->view, RECORD_COLUMNS, ARRAY_LEN(RECORD_COLUMNS), answer, NULL, "no records");
    return 0;
}

/* ---- the rest ---- */

static int run_show(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *record = NULL;
    struct str path = {0};
    struct err err;
    int rc;

    str_add(&path, "/v1/journal");
    path_add(&path, args_word(args, 0));
    rc = cli_get(cli, str_text(&path), &record, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, record)) {
        document_print(record, stdout);
    }
    return 0;
}

/* A state directory stands for the journal in it. */
static int verify_file(struct cli *cli, const char *path, const struct args *args)
{
    static const char *const OPTIONS[] = {"key", "witness"};
    char verb[] = "verify";
    struct str file = {0};
    struct str options[ARRAY_LEN(OPTIONS)] = {{0}};
    char *argv[4 + ARRAY_LEN(OPTIONS)] = {NULL, verb};
    size_t count = 2;
    struct stat st;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++) {
        if (args_has(args, OPTIONS[i])) {
            str_addf(&options[i], "--%s=%s", OPTIONS[i], args_text(args, OPTIONS[i]));
            argv[count++] = options[i].text;
        }
    }

    str_add(&file, path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        str_add(&file, "/journal.db");
    }
    argv[count] = file.text;
    if (program_exec("muster-journal", argv, &err) == 0) {
        return 0;
    }
    str_fini(&file);
    for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++) {
        str_fini(&options[i]);
    }
    return cli_fail(cli, &err);
}

static int run_verify(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    const char *path = args_word(args, 0);
    struct err err;

    if (path != NULL) {
        return verify_file(cli, path, args);
    }
    if (args_has(args, "key") || args_has(args, "witness")) {
        (void)err_set(&err, ERR_INVALID,
                      "--key and --witness need the PATH of a journal or of an export");
        return cli_fail(cli, &err);
    }
    if (cli_post(cli, "/v1/journal/verify", NULL, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer)) {
        printf("the journal is whole: %" PRId64 " records, hash %s\n",
               member_int(answer, "records"), member_text(answer, "hash"));
    }
    return json_is_false(json_object_get(answer, "ok")) ? 1 : 0;
}

static void write_out(void *arg, const char *data, size_t len)
{
    fwrite(data, 1, len, arg);
}

static int run_export(struct cli *cli, const struct args *args)
{
    const char *file = args_text(args, "to");
    FILE *out = stdout;
    struct err err;
    int rc = cli_client(cli, &err);

    if (rc == 0 && file != NULL) {
        out = fopen(file, "wxe");
        rc = out != NULL ? 0 : err_set(&err, ERR_IO, "cannot create %s: %s", file, strerror(errno));
    }
    rc = rc != 0 ? rc : client_read(cli->client, "/v1/journal/export", write_out, out, &err);
    if (out != NULL && out != stdout && fclose(out) != 0 && rc == 0) {
        rc = err_set(&err, ERR_IO, "cannot write %s: %s", file, strerror(errno));
    }
    return rc != 0 ? cli_fail(cli, &err) : 0;
}

/* ---- signatures ---- */

/* text to a new file, or to the standard output if none is named. */
static int write_text(const struct args *args, const char *text, struct err *err)
{
    const char *file = args_text(args, "to");
    FILE *out = file == NULL ? stdout : fopen(file, "wxe");
    int rc = 0;

    if (out == NULL) {
        return err_set(err, ERR_IO, "cannot create %s: %s", file, strerror(errno));
    }
    fputs(text, out);
    if ((out == stdout ? fflush(out) : fclose(out)) != 0) {
        rc = err_set(err, ERR_IO, "cannot write %s: %s", file == NULL ? "" : file, strerror(errno));
    }
    return rc;
}

static int run_key(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    if (cli_get(cli, "/v1/journal/key", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer) && write_text(args, member_text(answer, "pem"), &err) != 0) {
        return cli_fail(cli, &err);
    }
    return 0;
}

static int run_checkpoint(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    if (cli_post(cli, "/v1/journal/checkpoint", NULL, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer) &&
        write_text(args, member_text(answer, "document"), &err) != 0) {
        return cli_fail(cli, &err);
    }
    return 0;
}

static int run_rotate(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    (void)args;
    if (cli_post(cli, "/v1/journal/key/rotate", NULL, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer)) {
        printf("key %s takes over from key %s, which signed it (journal %" PRId64 ")\n"
               "Those who check the journal need not be told; muster journal key shows it.\n",
               member_text(answer, "key"), member_text(answer, "previous"),
               member_int(answer, "seq"));
    }
    return 0;
}

static int run_import(struct cli *cli, const struct args *args)
{
    char verb[] = "import";
    char *from = mem_text(args_word(args, 0));
    char *to = mem_text(args_text(args, "to") != NULL ? args_text(args, "to") : "");
    struct err err;

    if (to[0] == '\0') {
        err_set(&err, ERR_INVALID, "journal import: --to NEW is missing");
    } else if (program_exec("muster-journal", (char *[]){NULL, verb, from, to, NULL}, &err) == 0) {
        return 0;
    }
    mem_free(from);
    mem_free(to);
    return cli_fail(cli, &err);
}

static const struct argp_option TAIL_OPTIONS[] = {
    {"lines", 'n', "N", 0, "the last N records (default 20)", 1},
    {"follow", 'f', NULL, 0, "go on as records come", 1},
    {"kind", LONG, "KIND", 0, "only of this kind, e.g. job_started", 1},
    {"job", LONG, "JOB", 0, "only about this job", 1},
    {0}};

static const struct argp_option VERIFY_OPTIONS[] = {
    {"key", LONG, "FILE", 0, "check the signatures too: this public key is trusted", 1},
    {"witness", LONG, "FILE", 0, "a checkpoint that was kept elsewhere", 1},
    {0}};

static const struct argp_option FILE_OPTIONS[] = {
    {"to", LONG, "FILE", 0, "write to a new file instead of the standard output", 1}, {0}};

static const struct argp_option IMPORT_OPTIONS[] = {
    {"to", LONG, "NEW", 0, "the journal to make, or a state directory that has none", 1}, {0}};

const struct verb JOURNAL_VERBS[] = {
    {"journal tail", "", "show the last records", NULL, TAIL_OPTIONS, 0, 0, VERB_MIXED, run_tail},
    {"journal show", "SEQ", "show one record", NULL, NULL, 1, 1, VERB_MIXED, run_show},
    {"journal verify", "[PATH]", "prove that no record was changed",
     "With a PATH (a journal, a state directory or an export) it is checked here, without musterd "
     "(muster-journal(1)).",
     VERIFY_OPTIONS, 0, 1, VERB_MIXED, run_verify},
    {"journal checkpoint", "", "sign the journal as it is now, and print the signature",
     "What is printed is a witness: kept elsewhere, it shows later (muster-journal verify "
     "--witness) "
     "that nobody, musterd's own key included, wrote anew or cut off what was signed. A checkpoint "
     "of a job is another thing: muster checkpoint.",
     FILE_OPTIONS, 0, 0, VERB_MIXED, run_checkpoint},
    {"journal key", "", "print the public key that signs the journal",
     "Give it to those who check an export: muster-journal verify --key FILE EXPORT.", FILE_OPTIONS,
     0, 0, VERB_MIXED, run_key},
    {"journal rotate-key", "", "have a new key sign the journal, signed over by the one in force",
     NULL, NULL, 0, 0, VERB_MIXED, run_rotate},
    {"journal export", "", "write all records as JSON lines", NULL, FILE_OPTIONS, 0, 0, VERB_MIXED,
     run_export},
    {"journal import", "FILE|-", "make a new journal of the lines that export wrote",
     "All or nothing, and without musterd (muster-journal(1)): the chain is checked on the way.",
     IMPORT_OPTIONS, 1, 1, VERB_MIXED, run_import},
    {0}};
