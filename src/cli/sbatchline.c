#include "cli/sbatchline.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC "#SBATCH"

struct cutting {
    struct sbatchline *out;
    struct str *notes;
    const char *file;
    const char *at; /* rest of the line */
    const char *end;
    int line;
};

static int fail_line(const struct cutting *b, struct err *err, const char *what, const char *word)
{
    return err_set(err, ERR_SYNTAX, "%s:%d: %s%s%s", b->file, b->line, what,
                   word[0] != '\0' ? " " : "", word);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of the line; an empty one is skipped, as sbatch does. */
static int next_word(struct cutting *b, struct str *ret, bool *ret_any, struct err *err)
{
    char quote = '\0';

    str_clear(ret);
    while (b->at < b->end && is_blank(*b->at)) {
        b->at++;
    }
    for (; b->at < b->end; b->at++) {
        char c = *b->at;

        if (quote == '\0' && (is_blank(c) || c == '#')) {
            break;
        }
        if (c == '\\' && b->at + 1 < b->end) {
            str_add_char(ret, *++b->at);
        } else if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
        } else {
            str_add_char(ret, c);
        }
    }
    if (b->at < b->end && *b->at == '#') {
        b->at = b->end;
    }
    *ret_any = ret->len > 0;
    return quote == '\0' ? 0 : fail_line(b, err, "a quote is not closed", "");
}

static void give(struct cutting *b, int id, const char *value)
{
    if (id == SBATCHOPTION_TASKS_PER_NODE) {
        id = SBATCHOPTION_NTASKS_PER_NODE;
    }
    mem_free(b->out->given[id].value);
    b->out->given[id] = (struct sbatchline_given){mem_text(value), b->line};
}

/* The value of an option that needs one and has none behind "=" or the letter: the next word. */
static int give_next(struct cutting *b, int id, const char *word, struct err *err)
{
    struct str value = {0};
    bool any = false;
    int rc = next_word(b, &value, &any, err);

    if (rc == 0 && !any) {
        rc = fail_line(b, err, "a value is missing after", word);
    }
    if (rc == 0) {
        give(b, id, str_text(&value));
    }
    str_fini(&value);
    return rc;
}

static int read_long(struct cutting *b, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
    int id = sbatchoption_find(word + 2, len - 2);
    enum sbatchoption_value value = id >= 0 ? SBATCHOPTIONS[id].value : SBATCHOPTION_NO;

    if (id == -2) {
        return fail_line(b, err, "several options of sbatch begin with", word);
    }
    if (id < 0) {
        return fail_line(b, err, "sbatch has no option", word);
    }
    if (value == SBATCHOPTION_NO && equals != NULL) {
        return fail_line(b, err, "takes no value:", word);
    }
    if (value == SBATCHOPTION_NEEDED && equals == NULL) {
        return give_next(b, id, word, err);
    }
    give(b, id, equals != NULL ? equals + 1 : "");
    return 0;
}

/* "-N2", "-N 2", "-HQ". */
static int read_letters(struct cutting *b, const char *word, struct err *err)
{
    for (const char *at = word + 1; *at != '\0'; at++) {
        int id = sbatchoption_letter(*at);

        if (id < 0) {
            return fail_line(b, err, "sbatch has no option", word);
        }
        if (SBATCHOPTIONS[id].value == SBATCHOPTION_NO) {
            give(b, id, "");
            continue;
        }
        if (at[1] == '\0' && SBATCHOPTIONS[id].value == SBATCHOPTION_NEEDED) {
            return give_next(b, id, word, err);
        }
        give(b, id, at + 1);
        break;
    }
    return 0;
}

static int read_line(struct cutting *b, struct err *err)
{
    struct str word = {0};
    bool any = false;
    int rc = next_word(b, &word, &any, err);

    while (rc == 0 && any) {
        const char *text = str_text(&word);

        if (strcmp(text, "hetjob") == 0 || strcmp(text, "packjob") == 0) {
            rc = fail_line(b, err, "muster has task groups (a job file) instead of", text);
        } else if (strncmp(text, "--", 2) == 0 && text[2] != '\0') {
            rc = read_long(b, text, err);
        } else if (text[0] == '-' && text[1] != '-' && text[1] != '\0') {
            rc = read_letters(b, text, err);
        } else {
            rc = fail_line(b, err, "#SBATCH lines hold options only, not", text);
        }
        rc = rc != 0 ? rc : next_word(b, &word, &any, err);
    }
    str_fini(&word);
    return rc;
}

/* Is the line a command, behind which sbatch reads nothing? */
static bool is_command(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at < end && *at != '#';
}

static int read_lines(struct cutting *b, const char *text, size_t len, struct err *err)
{
    const char *all = text + len;
    bool head = true;
    int rc = 0;

    while (text < all && rc == 0) {
        const char *end = memchr(text, '\n', (size_t)(all - text));

        end = end != NULL ? end : all;
        b->line++;
        if ((size_t)(end - text) >= strlen(MAGIC) && strncmp(text, MAGIC, strlen(MAGIC)) == 0) {
            b->at = text + strlen(MAGIC);
            b->end = end;
            if (head) {
                b->out->count++;
                rc = read_line(b, err);
            } else {
                str_addf(b->notes,
                         "%s:%d: #SBATCH after the first command is not read, as in Slurm\n",
                         b->file, b->line);
            }
        }
        head = head && !is_command(text, end);
        text = end < all ? end + 1 : all;
    }
    return rc;
}

int sbatchline_read(struct sbatchline *l, const char *file, const char *text, size_t len,
                    struct str *notes, struct err *err)
{
    struct cutting b = {.out = l, .notes = notes, .file = file};

    if (memchr(text, '\0', len) != NULL) {
        return err_set(err, ERR_SYNTAX, "%s is not a script: it holds a NUL byte", file);
    }
    if (!str_is_utf8(text, len)) {
        return err_set(err, ERR_SYNTAX, "%s is not a script: it holds bytes that are not UTF-8",
                       file);
    }
    return read_lines(&b, text, len, err);
}

void sbatchline_fini(struct sbatchline *l)
{
    for (size_t i = 0; i < SBATCHOPTION_COUNT; i++) {
        mem_free(l->given[i].value);
    }
    *l = (struct sbatchline){0};
}
