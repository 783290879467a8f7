#include "cli/verb.h"

#include "base/argline.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "cli/display.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_HEADER = 100000, KEY_COLOUR, KEY_LOCAL, KEY_TIMEOUT };

const struct argp_option COMMON_OPTIONS[] = {
    {NULL, 0, NULL, 0, "Common options:", 90},
    {"format", 'o', "FORMAT", 0, "print as table (default), wide, json, yaml or name", 90},
    {"no-header", KEY_HEADER, NULL, 0, "leave out the titles of a table", 90},
    {"color", KEY_COLOUR, "WHEN", 0, "auto (default), always or never; NO_COLOR is honoured", 90},
    {"local", KEY_LOCAL, NULL, 0, "times in the zone of this machine instead of UTC", 90},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "wait so long for one answer (default 30s)", 90},
    {NULL, 'h', NULL, OPTION_HIDDEN, "give this help list", -1},
    {0}};

struct parse { /* the input of the argp parsers */
    struct cli *cli;
    struct args *args;
};

/* ---- what was given ---- */

const char *args_text(const struct args *args, const char *name)
{
    for (size_t i = args->given.count; i > 0; i--) {
        if (strcmp(args->given.items[i - 1].name, name) == 0) {
            return args->given.items[i - 1].value;
        }
    }
    return NULL;
}

bool args_has(const struct args *args, const char *name)
{
    return args_text(args, name) != NULL;
}

const char *args_next(const struct args *args, const char *name, size_t *at)
{
    while (*at < args->given.count) {
        const struct args_given *g = &args->given.items[(*at)++];

        if (strcmp(g->name, name) == 0) {
            return g->value;
        }
    }
    return NULL;
}

const char *args_word(const struct args *args, size_t i)
{
    return i < args->words.count ? args->words.items[i] : NULL;
}

int args_int(const struct args *args, const char *name, int64_t min, int64_t max, int64_t *ret,
             struct err *err)
{
    const char *text = args_text(args, name);
    int64_t value;

    if (text == NULL) {
        return 0;
    }
    if (!str_to_int(text, &value) || value < min || value > max) {
        return err_set(err, ERR_RANGE,
                       "--%s is '%s': a whole number from %" PRId64 " to %" PRId64 " is wanted",
                       name, text, min, max);
    }
    *ret = value;
    return 0;
}

/* ---- options ---- */

const struct argp_option *verb_next_option(const struct argp_option *o)
{
    while (o != NULL && (o->name != NULL || o->doc != NULL || o->key != 0)) {
        if (o->name != NULL && (o->flags & OPTION_HIDDEN) == 0) {
            return o;
        }
        o++;
    }
    return NULL;
}

const struct argp_option *verb_option(const struct verb *verb, const char *word)
{
    const struct argp_option *tables[] = {verb->options, COMMON_OPTIONS};
    size_t len = strcspn(word, "=");

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        const struct argp_option *o = verb_next_option(tables[i]);

        for (; o != NULL; o = verb_next_option(o + 1)) {
            if (strncmp(word, "--", 2) == 0
                    ? strlen(o->name) == len - 2 && strncmp(o->name, word + 2, len - 2) == 0
                    : word[0] == '-' && word[1] == o->key) {
                return o;
            }
        }
    }
    return NULL;
}

/* Does any option begin with the word?  getopt takes it as an abbreviation, or says that it is not
 * clear; else n gets the candidates. */
static bool begins_an_option(const struct verb *verb, const char *word, struct nearest *n)
{
    const struct argp_option *tables[] = {verb->options, COMMON_OPTIONS};
    size_t len = strcspn(word, "=") - 2;

    nearest_begin(n, word + 2, len);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        const struct argp_option *o = verb_next_option(tables[i]);

        for (; o != NULL; o = verb_next_option(o + 1)) {
            if (strncmp(o->name, word + 2, len) == 0) {
                return true;
            }
            nearest_try(n, o->name, strlen(o->name));
        }
    }
    return strncmp("help", word + 2, len) == 0 || strncmp("usage", word + 2, len) == 0;
}

/* A long option that does not exist but looks like one: say which, and end.  Everything else is
 * left to argp. */
static void check_options(const struct verb *verb, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct argp_option *o = argv[i][0] == '-' ? verb_option(verb, argv[i]) : NULL;
        struct nearest n;

        if (argv[i][0] != '-' && verb->mode == VERB_REST) {
            return; /* the user's own words */
        }
        if (o != NULL && o->arg != NULL && strchr(argv[i], '=') == NULL) {
            i += argv[i][1] == '-' || argv[i][2] == '\0' ? 1 : 0; /* its value */
        } else if (o == NULL && strncmp(argv[i], "--", 2) == 0 &&
                   !begins_an_option(verb, argv[i], &n) && n.best != NULL) {
            fprintf(stderr,
                    "muster: %s: %s has no option '%s'; did you mean --%s?  See `muster %s "
                    "--help`\n",
                    err_name(ERR_INVALID), verb->name, argv[i], n.best, verb->name);
            exit(err_exit(ERR_INVALID));
        }
    }
}

/* ---- parsing ---- */

static int index_of(const char *const *names, const char *text)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    static const char *const WHEN[] = {"auto", "always", "never", NULL};
    const struct parse *p = state->input;
    struct err err;
    int i;

    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case 'o':
        i = index_of(VIEW_FORMATS, arg);
        if (i < 0) {
            argp_error(state, "no format '%s': table, wide, json, yaml or name", arg);
        }
        p->cli->view.format = (enum view_format)i;
        return 0;
    case KEY_HEADER:
        p->cli->view.no_header = true;
        return 0;
    case KEY_COLOUR:
        i = index_of(WHEN, arg);
        if (i < 0) {
            argp_error(state, "--color is '%s': auto, always or never", arg);
        }
        p->cli->view.colour = i == 1 || (i == 0 && p->cli->view.colour);
        return 0;
    case KEY_LOCAL:
        p->cli->view.local = true;
        return 0;
    case KEY_TIMEOUT:
        if (quantity_duration(arg, &p->cli->timeout_ms, &err) != 0 || p->cli->timeout_ms < 1 ||
            p->cli->timeout_ms > INT32_MAX) {
            argp_error(state, "--timeout is '%s': a time as 10s or 2m is wanted", arg);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void take_word(const struct parse *p, char *arg, struct argp_state *state)
{
    const struct verb *c = p->cli->verb;

    if (p->args->words.count == 0 && state->quoted > 0 && state->next - 1 >= state->quoted) {
        p->args->quoted = true;
    }
    vec_push(&p->args->words, arg);
    if (c->mode == VERB_REST) {
        while (state->next < state->argc) {
            vec_push(&p->args->words, state->argv[state->next]);
            state->next++;
        }
    }
    if (c->words_max >= 0 && p->args->words.count > (size_t)c->words_max) {
        argp_error(state, "'%s' is a word too many", arg);
    }
}

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
    const struct parse *p = state->input;
    const struct argp_option *o = p->cli->verb->options;

    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->input;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        take_word(p, arg, state);
        return 0;
    }
    if (key == ARGP_KEY_END) {
        if (p->args->words.count < (size_t)p->cli->verb->words_min) {
            argp_error(state, "%s is missing", p->cli->verb->words);
        }
        return 0;
    }
    for (; o != NULL && (o->name != NULL || o->doc != NULL); o++) {
        if (o->name != NULL && o->key == key) {
            vec_push(&p->args->given, (struct args_given){o->name, arg != NULL ? arg : ""});
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp COMMON_ARGP = {.options = COMMON_OPTIONS, .parser = parse_common};
static const struct argp_child CHILDREN[] = {{&COMMON_ARGP, 0, NULL, 90}, {0}};

static char *help_text(const struct verb *verb)
{
    struct str text = {0};

    str_addf(&text, "%s.%s%s", verb->help, verb->more != NULL ? "\v" : "",
             verb->more != NULL ? verb->more : "");
    return str_take(&text);
}

void verb_help(const struct verb *verb, FILE *out)
{
    CLEANUP(mem_freep) char *doc = help_text(verb);
    struct argp argp = {verb->options, parse_own, verb->words, doc, CHILDREN, NULL, NULL};
    struct str name = {0};

    str_addf(&name, "muster %s", verb->name);
    argp_help(&argp, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name.text);
    str_fini(&name);
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return (no == NULL || no[0] == '\0') && (term == NULL || strcmp(term, "dumb") != 0) &&
           isatty(STDOUT_FILENO) == 1;
}

static int run_raw(struct cli *cli, struct args *args, int argc, char **argv)
{
    int status;

    for (int i = 1; i < argc; i++) {
        vec_push(&args->words, argv[i]);
    }
    status = cli->verb->run(cli, args);
    client_close(cli->client);
    vec_fini(&args->words);
    return status;
}

int verb_run(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(mem_freep) char *doc = help_text(verb);
    struct argp argp = {verb->options, parse_own, verb->words, doc, CHILDREN, NULL, NULL};
    struct args args = {0};
    struct cli cli = {.verb = verb, .view.out = stdout};
    struct parse parse = {&cli, &args};
    struct str name = {0};
    int status;

    cli.view.colour = wants_colour();
    cli.view.now_ms = display_now_ms();
    if (verb->mode == VERB_RAW) {
        return run_raw(&cli, &args, argc, argv);
    }
    str_addf(&name, "muster %s", verb->name);
    argv[0] = name.text;
    check_options(verb, argc, argv);
    argline_parse(&argp, argc, argv, verb->mode == VERB_REST ? ARGP_IN_ORDER : 0, &parse);
    status = verb->run(&cli, &args);
    client_close(cli.client);
    vec_fini(&args.given);
    vec_fini(&args.words);
    str_fini(&name);
    return status;
}

/* ---- the table ---- */

const struct verb *verb_find(int argc, char **argv, int *ret_used)
{
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            const char *space = strchr(c->name, ' ');
            size_t first = space != NULL ? (size_t)(space - c->name) : strlen(c->name);

            if (strncmp(argv[0], c->name, first) != 0 || argv[0][first] != '\0') {
                continue;
            }
            if (space == NULL || (argc > 1 && strcmp(argv[1], space + 1) == 0)) {
                *ret_used = space == NULL ? 1 : 2;
                return c;
            }
        }
    }
    return NULL;
}

bool verb_is_group(const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            if (strncmp(c->name, word, len) == 0 && c->name[len] == ' ') {
                return true;
            }
        }
    }
    return false;
}

void verb_list(FILE *out, const char *group)
{
    size_t len = group != NULL ? strlen(group) : 0;

    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            if (c->name[0] == '_') {
                continue; /* for scripts, not for people */
            }
            if (group == NULL || (strncmp(c->name, group, len) == 0 && c->name[len] == ' ')) {
                fprintf(out, "  %-18s %s\n", c->name, c->help);
            }
        }
    }
}

/* ---- what commands share ---- */

int cli_client(struct cli *cli, struct err *err)
{
    if (cli->client != NULL) {
        return 0;
    }
    return client_open(&(struct client_where){.timeout_ms = cli->timeout_ms}, &cli->client, err);
}

int cli_fail(const struct cli *cli, const struct err *err)
{
    struct str text = {0};
    const char *field = client_field(cli->client);

    display_text(&text, err->text);
    if (field[0] != '\0') {
        str_add(&text, " (field ");
        display_text(&text, field);
        str_add_char(&text, ')');
    }
    fflush(stdout);
    fprintf(stderr, "muster: %s: %s\n", err_name(err->code), str_text(&text));
    str_fini(&text);
    return err_exit(err->code);
}

int cli_get(struct cli *cli, const char *path, json_t **ret, struct err *err)
{
    int rc = cli_client(cli, err);

    return rc != 0 ? rc : client_call(cli->client, "GET", path, NULL, ret, err);
}

int cli_post(struct cli *cli, const char *path, const json_t *body, json_t **ret, struct err *err)
{
    int rc = cli_client(cli, err);

    return rc != 0 ? rc : client_call_once(cli->client, path, body, ret, err);
}

int cli_list(struct cli *cli, const char *path, json_t **ret, struct err *err)
{
    json_t *all = json_array();
    char *cursor = NULL;
    int rc;

    do {
        struct str page = {0};
        json_t *answer = NULL;

        str_add(&page, path);
        path_add_query(&page, "limit", "1000");
        if (cursor != NULL) {
            path_add_query(&page, "cursor", cursor);
        }
        rc = cli_get(cli, str_text(&page), &answer, err);
        str_fini(&page);
        mem_free(cursor);
        cursor = NULL;
        if (rc == 0) {
            const char *next = json_string_value(json_object_get(answer, "next"));

            json_array_extend(all, json_object_get(answer, "items"));
            cursor = next != NULL ? mem_text(next) : NULL;
        }
        json_decref(answer);
    } while (rc == 0 && cursor != NULL);
    if (rc != 0) {
        json_decref(all);
        return rc;
    }
    *ret = json_pack("{s:o}", "items", all);
    return 0;
}

void answer_freep(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}
