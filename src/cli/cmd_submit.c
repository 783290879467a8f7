/* cmd_submit - run and submit: from words, a script or a job file to one POST. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"
#include "cli/explain.h"
#include "cli/follow.h"
#include "cli/jobenv.h"
#include "cli/jobfile.h"
#include "cli/jobscript.h"
#include "cli/jobspec.h"
#include "cli/program.h"
#include "cli/sbatch.h"
#include "cli/textfile.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* The last part of a path without its ending, as a name; "" when it cannot be one. */
static void name_of(const char *path, struct str *ret)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t len = strcspn(base, ".");

    for (size_t i = 0; i < len && i < 63; i++) {
        char c = base[i];

        if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        }
        str_add_char(ret, (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-');
    }
    if (!str_is_name(str_text(ret))) {
        str_clear(ret);
    }
}

/* The words from `first` on, as a list. */
static int add_words(struct jobspec *s, const char *field, const struct args *args, size_t first,
                     struct err *err)
{
    json_t *list = json_array();

    for (size_t i = first; i < args->words.count; i++) {
        const char *word = args->words.items[i];

        if (!str_is_utf8(word, strlen(word))) {
            json_decref(list);
            return err_set(err, ERR_INVALID, "word %zu of the command is not UTF-8", i + 1);
        }
        json_array_append_new(list, json_string(word));
    }
    json_object_set_new(s->body, field, list);
    return 0;
}

static const char *user_name(void)
{
    const struct passwd *p = getpwuid(geteuid());

    return p != NULL ? p->pw_name : "unknown";
}

/* The words of --sbatch. */
static int sbatch_mode(const struct args *args, bool *ret_read, bool *ret_lenient, struct err *err)
{
    const char *mode = args_text(args, "sbatch");

    *ret_read = mode == NULL || strcmp(mode, "ignore") != 0;
    *ret_lenient = mode != NULL && strcmp(mode, "lenient") == 0;
    if (mode != NULL && *ret_read && !*ret_lenient && strcmp(mode, "strict") != 0) {
        return err_set(err, ERR_INVALID, "--sbatch is '%s': strict, lenient or ignore", mode);
    }
    return 0;
}

/* The folder of our srun goes before the others, so that the script finds it. */
static void add_srun(struct jobspec *s, bool bare)
{
    const char *old = bare ? NULL : getenv("PATH");
    const char *given = json_string_value(json_object_get(json_object_get(s->body, "env"), "PATH"));
    struct str path = {0};
    struct err err;

    if (program_find("slurm/srun", &path, &err) == 0) {
        path.len -= strlen("/srun");
        str_add(&path, "");
        path.text[path.len] = '\0';
        str_addf(&path, ":%s",
                 given != NULL ? given
                 : old != NULL ? old
                               : "/usr/local/bin:/usr/bin:/bin");
        json_object_set_new(json_object_get(s->body, "env"), "PATH", json_string(str_text(&path)));
    }
    str_fini(&path);
}

static int read_sbatch(struct jobspec *s, const char *file, const struct str *text,
                       const struct args *args, bool *ret_bare, struct err *err)
{
    CLEANUP(mem_freep) char *dir = getcwd(NULL, 0);
    struct sbatch_result result = {0};
    struct sbatch_input in = {.file = file,
                              .text = str_text(text),
                              .len = text->len,
                              .user = user_name(),
                              .dir = dir != NULL ? dir : "/"};
    bool wanted;
    int rc = sbatch_mode(args, &wanted, &in.lenient, err);

    if (rc != 0 || !wanted) {
        return rc;
    }
    rc = sbatch_read(s, &in, &result, err);
    if (rc == 0 && result.lines > 0) {
        *ret_bare = result.bare_env;
        add_srun(s, result.bare_env);
        if (result.nodes > 1) {
            str_addf(&result.notes,
                     "%s: the script runs on each of its %" PRId64
                     " nodes (Slurm runs it on the first only)\n",
                     file, result.nodes);
        }
    }
    for (const char *at = str_text(&result.notes); rc == 0 && *at != '\0';) {
        size_t len = strcspn(at, "\n");

        fprintf(stderr, "muster: %.*s\n", (int)len, at);
        at += len + 1;
    }
    str_fini(&result.notes);
    return rc;
}

static int read_script(struct jobspec *s, const char *file, const struct str *text,
                       const struct args *args, bool *ret_bare, struct err *err)
{
    struct jobspec own;
    int rc;

    jobspec_init(&own);
    rc = read_sbatch(s, file, text, args, ret_bare, err);
    rc = rc != 0 ? rc : jobscript_read(&own, file, str_text(text), text->len, err);
    rc = rc != 0 ? rc : jobspec_merge(s, &own, err);
    rc = rc != 0 ? rc : add_words(s, "args", args, 1, err);
    if (rc == 0) {
        json_object_set_new(s->body, "script", json_stringn(str_text(text), text->len));
    }
    jobspec_fini(&own);
    return rc;
}

/* A script or a job file; "-" is stdin, a job file if its first line does not begin with "#!". */
static int read_file(struct jobspec *s, const struct args *args, bool *ret_bare, struct err *err)
{
    const char *option = args_text(args, "file");
    const char *file = option != NULL ? option : args_word(args, 0);
    const char *name = strcmp(file, "-") == 0 ? "<stdin>" : file;
    struct str text = {0};
    bool yaml;
    int rc = textfile_read(file, &text, err);

    yaml = option != NULL || ends_with(file, ".yaml") || ends_with(file, ".yml") ||
           (strcmp(file, "-") == 0 && strncmp(str_text(&text), "#!", 2) != 0);
    if (rc == 0 && yaml && args->words.count > (option == NULL ? 1U : 0U)) {
        rc = err_set(err, ERR_INVALID, "a job file takes no words behind it: '%s'",
                     args_word(args, option == NULL ? 1 : 0));
    }
    if (rc == 0) {
        rc = yaml ? jobfile_read(s, name, str_text(&text), text.len, err)
                  : read_script(s, name, &text, args, ret_bare, err);
    }
    str_fini(&text);
    return rc;
}

static int read_options(struct jobspec *s, const struct args *args, struct err *err)
{
    for (size_t i = 0; i < args->given.count; i++) {
        const struct args_given *g = &args->given.items[i];
        struct str option = {0};
        const struct jobspec_field *f;
        int rc;

        str_addf(&option, "--%s", g->name);
        f = jobspec_option(str_text(&option), option.len);
        str_fini(&option);
        if (f == NULL) {
            continue; /* an option of the command, not of the job */
        }
        rc = jobspec_set(s, f, g->value, NULL, err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static void set_default(struct jobspec *s, const char *field, const char *value)
{
    if (value != NULL && value[0] != '\0' && json_object_get(s->body, field) == NULL) {
        json_object_set_new(s->body, field, json_string(value));
    }
}

static int fill(struct jobspec *s, const struct args *args, bool command, struct err *err)
{
    struct jobspec options;
    struct str name = {0};
    char *dir = getcwd(NULL, 0);
    const char *word = args_word(args, 0);
    bool bare = false; /* nothing of the environment is passed on */
    int rc;

    jobspec_init(&options);
    rc = command ? add_words(s, "command", args, 0, err) : read_file(s, args, &bare, err);
    rc = rc != 0 ? rc : read_options(&options, args, err);
    rc = rc != 0 ? rc : jobspec_merge(s, &options, err);
    if (rc == 0) {
        if (word != NULL && strcmp(word, "-") != 0) {
            name_of(word, &name);
        }
        set_default(s, "name", str_text(&name));
        set_default(s, "queue", getenv("MUSTER_QUEUE"));
        set_default(s, "dir", dir);
        if (!bare) {
            jobenv_add(s, environ);
        }
    }
    str_fini(&name);
    free(dir);
    jobspec_fini(&options);
    return rc;
}

/* ---- sending ---- */

/* Say where in a file the field that the server named was written; an option explains itself.  The
 * core names a field of a group in the text only: "groups[0].model: pool gpu has no v100". */
static int fail_with_origin(struct cli *cli, const struct jobspec *s, struct err *err)
{
    size_t len = strcspn(err->text, ": ");
    bool in_text = strncmp(err->text, "groups[", 7) == 0 && err->text[len] == ':';
    CLEANUP(mem_freep) char *named = mem_text_n(err->text, in_text ? len : 0);
    const char *field = client_field(cli->client);
    const char *at = jobspec_origin(s, field[0] != '\0' ? field : named);
    struct err full;

    if (at[0] == '\0' || strncmp(at, "--", 2) == 0) {
        return cli_fail(cli, err);
    }
    (void)err_set(&full, err->code, "%s: %s", at, err->text);
    return cli_fail(cli, &full);
}

static void print_would(const char *would, const json_t *passes)
{
    const json_t *id;
    size_t i;

    printf("would %s", would);
    json_array_foreach(passes, i, id)
    {
        printf("%s%s", i == 0 ? ", before job " : ", ", json_string_value(id));
    }
    printf("\n");
}

static int print_dry_run(struct cli *cli, const json_t *answer)
{
    const char *would = member_text(answer, "would");
    const json_t *why = json_object_get(answer, "why");

    if (!view_raw(&cli->view, answer)) {
        print_would(would, json_object_get(answer, "passes"));
    }
    if (cli->view.format <= VIEW_WIDE) {
        explain_print(&cli->view, NULL, why, stdout);
    }
    return explain_exit_status(why);
}

static void print_submitted(const struct cli *cli, const struct args *args, const json_t *answer,
                            const struct jobspec *s)
{
    const json_t *jobs = json_object_get(answer, "jobs");
    const char *queue = member_text(s->body, "queue");
    const json_t *id;
    size_t i;

    if (view_raw(&cli->view, answer)) {
        return;
    }
    if (args_has(args, "parsable") || cli->view.format == VIEW_NAME) {
        if (jobs == NULL) {
            printf("%s\n", member_text(answer, "job"));
        }
        json_array_foreach(jobs, i, id)
        {
            printf("%s\n", json_string_value(id));
        }
        return;
    }
    if (jobs != NULL) {
        printf("%zu jobs (array %s) submitted", json_array_size(jobs),
               member_text(answer, "array"));
    } else {
        printf("job %s submitted", member_text(answer, "job"));
    }
    printf("%s%s\n", queue[0] != '\0' ? " to " : "", queue);
}

static int64_t journal_seq(struct cli *cli, struct err *err)
{
    json_t *version = NULL;
    int rc = cli_get(cli, "/v1/version", &version, err);
    int64_t seq = rc != 0 ? rc : member_int(version, "journal_seq");

    json_decref(version);
    return seq;
}

/* Wait for all jobs of an answer; the first exit code that is not 0. */
static int wait_all(struct cli *cli, const json_t *answer, const struct follow_want *want,
                    int signals)
{
    const json_t *jobs = json_object_get(answer, "jobs");
    size_t count = jobs != NULL ? json_array_size(jobs) : 1;
    struct err err;
    int first = 0;

    for (size_t i = 0; i < count; i++) {
        const char *job =
            jobs != NULL ? json_string_value(json_array_get(jobs, i)) : member_text(answer, "job");
        int status = 0;

        if (follow_job(cli, job, want, signals, &status, &err) != 0) {
            return cli_fail(cli, &err);
        }
        first = first != 0 ? first : status;
    }
    return first;
}

static int run_submit(struct cli *cli, const struct args *args)
{
    struct jobspec s;
    json_t *answer = NULL;
    struct err err;
    bool dry = args_has(args, "dry-run");
    bool wait = args_has(args, "wait");
    struct follow_want want = {0};
    int rc, status = 0;

    if (args->words.count == 0 && !args_has(args, "file")) {
        (void)err_set(&err, ERR_INVALID, "give a script, a job file or -- and a command");
        return cli_fail(cli, &err);
    }
    jobspec_init(&s);
    rc = fill(&s, args, args->quoted && !args_has(args, "file"), &err);
    if (rc == 0 && wait) {
        want.from_seq = journal_seq(cli, &err);
        rc = want.from_seq < 0 ? (int)want.from_seq : 0;
    }
    if (rc == 0) {
        rc = cli_post(cli, dry ? "/v1/jobs?dry_run=true" : "/v1/jobs", s.body, &answer, &err);
    }
    if (rc != 0) {
        status = fail_with_origin(cli, &s, &err);
    } else if (dry) {
        status = print_dry_run(cli, answer);
    } else {
        print_submitted(cli, args, answer, &s);
        fflush(stdout);
        status = wait ? wait_all(cli, answer, &want, follow_signals()) : 0;
    }
    json_decref(answer);
    jobspec_fini(&s);
    return status;
}

static int run_run(struct cli *cli, const struct args *args)
{
    struct follow_want want = {.logs = true, .all = args_has(args, "all")};
    bool detach = args_has(args, "detach");
    struct jobspec s;
    json_t *answer = NULL;
    struct err err;
    int signals = -1;
    int status, rc;

    want.quiet = args_has(args, "quiet");
    jobspec_init(&s);
    rc = fill(&s, args, true, &err);
    if (rc == 0 && !detach && json_object_get(s.body, "retries") == NULL) {
        /* who waits for the exit code wants the first one */
        json_object_set_new(s.body, "retries", json_integer(0));
    }
    if (rc == 0 && json_object_get(s.body, "array") != NULL && !detach) {
        rc = err_set(&err, ERR_INVALID, "run stays with one job; use submit (or -d) for an array");
    }
    if (rc == 0 && !detach) {
        signals = follow_signals();
        want.from_seq = journal_seq(cli, &err);
        rc = want.from_seq < 0 ? (int)want.from_seq : 0;
    }
    rc = rc != 0 ? rc : cli_post(cli, "/v1/jobs", s.body, &answer, &err);
    if (rc != 0) {
        status = fail_with_origin(cli, &s, &err);
    } else if (detach) {
        print_submitted(cli, args, answer, &s);
        status = 0;
    } else {
        if (!want.quiet) {
            fprintf(stderr, "muster: job %s submitted\n", member_text(answer, "job"));
        }
        status = wait_all(cli, answer, &want, signals);
    }
    json_decref(answer);
    jobspec_fini(&s);
    return status;
}

static const struct argp_option SUBMIT_OPTIONS[] = {
    {"file", 'f', "FILE", 0, "a YAML job file; - is the standard input", 1},
    {"wait", 'w', NULL, 0, "wait for the end; the exit code is the job's", 1},
    {"dry-run", LONG, NULL, 0, "only say whether it would start, wait or be refused", 1},
    {"parsable", LONG, NULL, 0, "print nothing but the id", 1},
    {"sbatch", LONG, "MODE", 0,
     "#SBATCH lines: strict (default) refuses what has no equivalent, lenient leaves it out, "
     "ignore reads none",
     1},
    {NULL, 0, NULL, 0, "What the job asks for:", 2},
    JOBSPEC_OPTIONS(JOBSPEC_ARGP){0}};

static const struct argp_option RUN_OPTIONS[] = {
    {"detach", 'd', NULL, 0, "submit and return at once", 1},
    {"all", LONG, NULL, 0, "show the logs of all ranks, each line with its rank", 1},
    {"quiet", LONG, NULL, 0, "no messages about the job, only its own output", 1},
    {"parsable", LONG, NULL, 0, "with -d: print nothing but the id", 1},
    {NULL, 0, NULL, 0, "What the job asks for:", 2},
    JOBSPEC_OPTIONS(JOBSPEC_ARGP){0}};

const struct verb SUBMIT_VERBS[] = {
    {"run", "[--] COMMAND [ARG...]", "run a command as a job and stay with it",
     "Shows what rank 0 writes and what happens to the job.  Ctrl-C asks whether to cancel the "
     "job, "
     "to detach or to continue; a second Ctrl-C detaches.  Without a terminal Ctrl-C (SIGINT) and "
     "SIGTERM cancel.  The exit code is the job's own: 128 + N when signal N ended it.  Unless "
     "--retries is given the job is not tried again when it fails.",
     RUN_OPTIONS, 1, -1, VERB_REST, run_run},
    {"submit", "SCRIPT [ARG...]\n-f FILE\n-- COMMAND [ARG...]", "submit a job and return",
     "A script may hold options in #MUSTER lines before its first command; options of the command "
     "line come before them, and they before #SBATCH lines, which are read as Slurm means them.  "
     "A file that ends in .yaml or .yml is a job file (muster-job(5)).",
     SUBMIT_OPTIONS, 0, -1, VERB_REST, run_submit},
    {0}};
