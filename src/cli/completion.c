#include "cli/completion.h"

#include "base/check.h"
#include "base/str.h"
#include "cli/toppage.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const struct completion_value {
    const char *name; /* of an option, or of a word of a command */
    enum completion_kind kind;
    const char *const *texts; /* ends with NULL */
} VALUES[] = {
    {"queue", COMPLETION_QUEUES, NULL},
    {"pool", COMPLETION_POOLS, NULL},
    {"node", COMPLETION_NODES, NULL},
    {"job", COMPLETION_JOBS, NULL},
    {"file", COMPLETION_FILES, NULL},
    {"to", COMPLETION_FILES, NULL},
    {"dir", COMPLETION_FILES, NULL},
    {"output", COMPLETION_FILES, NULL},
    {"format", COMPLETION_NONE, VIEW_FORMATS},
    {"color", COMPLETION_NONE, (const char *const[]){"auto", "always", "never", NULL}},
    {"sbatch", COMPLETION_NONE, (const char *const[]){"strict", "lenient", "ignore", NULL}},
    {"class", COMPLETION_NONE, (const char *const[]){"training", "service", "workspace", NULL}},
    {"signal", COMPLETION_NONE,
     (const char *const[]){"TERM", "INT", "USR1", "USR2", "HUP", "QUIT", "CONT", NULL}},
    {"state", COMPLETION_NONE,
     (const char *const[]){"held", "queued", "starting", "running", "stopping", "succeeded",
                           "failed", "cancelled", NULL}},
    {"role", COMPLETION_NONE,
     (const char *const[]){"read", "submit", "operator", "admin", "auditor", NULL}},
    {"sort", COMPLETION_NONE, TOPPAGE_SORT_NAMES},
    {"topology", COMPLETION_NONE, (const char *const[]){"required=", "preferred=", NULL}},
    {"SHELL", COMPLETION_NONE, (const char *const[]){"bash", "zsh", "fish", NULL}},
    {"JOB", COMPLETION_JOBS, NULL},
    {"QUEUE", COMPLETION_QUEUES, NULL},
    {"NODE", COMPLETION_NODES, NULL},
    {"FILE", COMPLETION_FILES, NULL},
    {"PATH", COMPLETION_FILES, NULL},
    {"SCRIPT", COMPLETION_FILES, NULL},
    {"ARG", COMPLETION_FILES, NULL},
    {"WORD", COMPLETION_FILES, NULL},
};

static void add(struct completion *c, const char *text, size_t len, const char *help)
{
    size_t typed = strlen(c->typed);

    if (len >= typed && strncmp(text, c->typed, typed) == 0) {
        vec_push(&c->rows, (struct completion_row){text, len, help != NULL ? help : ""});
    }
}

static void set_typed(struct completion *c, const char *typed, const char *prefix, size_t len)
{
    char *new_typed = mem_text(typed); /* it may lie in the old one */
    char *new_prefix = mem_text_n(prefix, len);

    mem_free(c->typed);
    mem_free(c->prefix);
    c->typed = new_typed;
    c->prefix = new_prefix;
}

static void take_value(struct completion *c, const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(VALUES); i++) {
        if (strlen(VALUES[i].name) != len || strncmp(VALUES[i].name, name, len) != 0) {
            continue;
        }
        c->kind = VALUES[i].kind;
        for (size_t k = 0; VALUES[i].texts != NULL && VALUES[i].texts[k] != NULL; k++) {
            add(c, VALUES[i].texts[k], strlen(VALUES[i].texts[k]), NULL);
        }
        return;
    }
}

/* ---- commands ---- */

/* The words at place 0 or 1 of the commands' names; a group stands once. */
static void add_commands(struct completion *c, const char *group)
{
    size_t skip = group != NULL ? strlen(group) + 1 : 0;

    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *v = VERBS[i]; v->name != NULL; v++) {
            const char *name = v->name + skip;
            size_t len;

            if (v->name[0] == '_' || (group != NULL && (strncmp(v->name, group, skip - 1) != 0 ||
                                                        v->name[skip - 1] != ' '))) {
                continue;
            }
            len = strcspn(name, " ");
            if (c->rows.count > 0 && c->rows.items[c->rows.count - 1].len == len &&
                strncmp(c->rows.items[c->rows.count - 1].text, name, len) == 0) {
                c->rows.items[c->rows.count - 1].help = "several commands";
                continue;
            }
            add(c, name, len, v->help);
        }
    }
}

/* ---- options ---- */

static void add_options(struct completion *c, const struct verb *v)
{
    const struct argp_option *tables[] = {v->options, COMMON_OPTIONS};
    const char *typed = c->typed[0] == '-' && c->typed[1] == '-' ? c->typed + 2 : "";

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        const struct argp_option *o = verb_next_option(tables[i]);

        for (; o != NULL; o = verb_next_option(o + 1)) {
            if (strncmp(o->name, typed, strlen(typed)) == 0) {
                vec_push(&c->rows, (struct completion_row){o->name, strlen(o->name), o->doc});
            }
        }
    }
    set_typed(c, typed, "--", 2);
}

/* ---- the line ---- */

struct line {
    size_t words;                      /* that are no options */
    const struct argp_option *pending; /* the word at the cursor is its value */
    bool rest;                         /* the user's own command has begun */
    bool quoted;                       /* a -- stood there */
};

static void read_line(const struct verb *v, char *const *words, size_t from, size_t at,
                      struct line *ret)
{
    struct line l = {0};

    for (size_t i = from; i < at; i++) {
        const char *word = words[i];
        const struct argp_option *o = NULL;

        l.pending = NULL;
        if (l.quoted || l.rest || word[0] != '-' || word[1] == '\0') {
            l.words++;
            l.rest = l.rest || v->mode == VERB_REST;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            l.quoted = true;
            continue;
        }
        o = verb_option(v, word);
        if (o == NULL || o->arg == NULL || strchr(word, '=') != NULL ||
            (word[1] != '-' && word[2] != '\0')) {
            continue;
        }
        if (i + 1 < at && strcmp(words[i + 1], "=") == 0) {
            i++; /* as bash cuts it */
        }
        if (i + 1 < at) {
            i++;
        } else {
            l.pending = o;
        }
    }
    *ret = l;
}

/* The name of the n-th word in "NODE...", "[--] COMMAND [ARG...]". */
static const char *word_name(const struct verb *v, size_t n, size_t *ret_len)
{
    const char *at = v->words;
    const char *name = "";

    *ret_len = 0;
    while (*at != '\0' && *at != '\n') {
        size_t len = strcspn(at, " \n");
        const char *letters = at + strspn(at, "[");
        size_t count = 0;

        while (isalpha((unsigned char)letters[count])) {
            count++;
        }
        if (count > 0) {
            name = letters;
            *ret_len = count;
            if (n-- == 0 || strncmp(letters + count, "...", 3) == 0) {
                return name;
            }
        }
        at += len;
        at += *at == ' ' ? 1 : 0;
    }
    *ret_len = 0; /* there is no such word */
    return "";
}

static void take_word(struct completion *c, const struct verb *v, const struct line *l)
{
    size_t len;
    const char *name = word_name(v, l->words, &len);
    bool own = strcmp(v->name, "run") == 0 || (l->quoted && v->mode == VERB_REST);

    if (own) {
        c->kind = l->words == 0 ? COMPLETION_PROGRAMS : COMPLETION_FILES;
    } else if (len == 7 && strncmp(name, "COMMAND", len) == 0) {
        add_commands(c, NULL);
    } else {
        take_value(c, name, len);
    }
    if (c->kind == COMPLETION_JOBS && strstr("logs show why", v->name) != NULL) {
        c->kind = COMPLETION_ENDED_JOBS;
    }
}

/* The word at the cursor as a value with its option before it: "--queue=x", or bash's three. */
static const struct argp_option *split_value(const struct verb *v, char *const *words, size_t at,
                                             struct completion *c)
{
    const char *equals = strncmp(c->typed, "--", 2) == 0 ? strchr(c->typed, '=') : NULL;
    const struct argp_option *o;

    if (strcmp(c->typed, "=") == 0 && at > 0) {
        set_typed(c, "", "", 0);
        return verb_option(v, words[at - 1]);
    }
    if (at > 1 && strcmp(words[at - 1], "=") == 0) {
        return verb_option(v, words[at - 2]);
    }
    if (equals != NULL) {
        CLEANUP(mem_freep) char *word = mem_text(c->typed);

        o = verb_option(v, word);
        set_typed(c, word + (equals - c->typed) + 1, word, (size_t)(equals - c->typed) + 1);
        return o;
    }
    return NULL;
}

void completion_find(size_t count, char *const *words, size_t at, struct completion *ret)
{
    struct completion *c = ret;
    const struct argp_option *o;
    const struct verb *v;
    struct line l;
    int used = 0;

    *c =
        (struct completion){.prefix = mem_text(""), .typed = mem_text(at < count ? words[at] : "")};
    if (at == 0) {
        add_commands(c, NULL);
        return;
    }
    v = verb_find((int)at, (char **)(uintptr_t)words, &used);
    if (v == NULL) {
        if (at == 1 && verb_is_group(words[0])) {
            add_commands(c, words[0]);
        }
        return;
    }
    read_line(v, words, (size_t)used, at, &l);
    o = split_value(v, words, at, c);
    o = o != NULL ? o : l.pending;
    if (o != NULL && !l.rest && !l.quoted) {
        take_value(c, o->name, strlen(o->name));
    } else if (c->typed[0] == '-' && !l.rest && !l.quoted) {
        add_options(c, v);
    } else {
        take_word(c, v, &l);
    }
}

void completion_fini(struct completion *c)
{
    vec_fini(&c->rows);
    mem_free(c->typed);
    mem_free(c->prefix);
    *c = (struct completion){0};
}
