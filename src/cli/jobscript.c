/* jobscript - the #MUSTER lines of a script: options as on the command line, with shell quotes.
 *
 * They are read up to the first line that is neither empty nor a comment.  One that stands later
 * would be ignored by sbatch's rule; here it is an error, as is every word that is not understood.
 */
#include "cli/jobscript.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

struct script { /* where the reading is */
    struct jobspec *spec;
    const char *file;
    int line;
    const char *at; /* rest of the line */
    const char *end;
};

static int fail(const struct script *s, struct err *err, const char *what, const char *word)
{
    return err_set(err, ERR_SYNTAX, "%s:%d: %s%s%s", s->file, s->line, what,
                   word[0] != '\0' ? " " : "", word);
}

/* The next word in shell quoting into ret; *ret_any is false at the end of the line. */
static int next_word(struct script *s, struct str *ret, bool *ret_any, struct err *err)
{
    char quote = '\0';

    str_clear(ret);
    *ret_any = false;
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')) {
        s->at++;
    }
    if (s->at < s->end && *s->at == '#') {
        s->at = s->end; /* a comment behind the options */
    }
    for (; s->at < s->end; s->at++) {
        char c = *s->at;

        if (quote == '\0' && (c == ' ' || c == '\t' || c == '\r')) {
            break;
        }
        *ret_any = true;
        if (c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && s->at + 1 < s->end) {
            str_add_char(ret, *++s->at);
        } else {
            str_add_char(ret, c);
        }
    }
    return quote == '\0' ? 0 : fail(s, err, "a quote is not closed", "");
}

/* "--gpus 4", "--gpus=4", "-g 4"; the option's word is in `word`. */
static int read_option(struct script *s, struct str *word, struct err *err)
{
    const char *text = str_text(word);
    const char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t len = equals != NULL ? (size_t)(equals - text) : word->len;
    const struct jobspec_field *f = jobspec_option(text, len);
    struct str value = {0}, at = {0};
    bool any = true;
    bool takes;
    int rc = 0;

    if (text[0] != '-') {
        return fail(s, err, "#MUSTER lines hold options only, not", text);
    }
    if (f == NULL) {
        return fail(s, err, "no option", text);
    }
    takes = f->kind != JOBSPEC_FLAG && f->kind != JOBSPEC_UNFLAG;
    if (!takes && equals != NULL) {
        return fail(s, err, "takes no value:", text);
    }
    if (equals != NULL) {
        str_add(&value, equals + 1);
    } else if (takes) {
        rc = next_word(s, &value, &any, err);
    }
    if (rc == 0 && !any) {
        rc = fail(s, err, "a value is missing after", text);
    }
    str_addf(&at, "%s:%d", s->file, s->line);
    rc = rc != 0 ? rc : jobspec_set(s->spec, f, str_text(&value), str_text(&at), err);
    str_fini(&value);
    str_fini(&at);
    return rc;
}

static int read_line(struct script *s, struct err *err)
{
    struct str word = {0};
    bool any;
    int rc = next_word(s, &word, &any, err);

    while (rc == 0 && any) {
        rc = read_option(s, &word, err);
        rc = rc != 0 ? rc : next_word(s, &word, &any, err);
    }
    str_fini(&word);
    return rc;
}

static bool begins(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(end - at) >= len && strncmp(at, word, len) == 0 &&
           (at + len == end || strchr(" \t\r", at[len]) != NULL);
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r", *at) != NULL) {
        at++;
    }
    return at == end;
}

/* The kernel takes the \r of "#!/bin/sh\r" for a part of the name, so such a script never runs. */
static int check_text(const char *file, const char *text, size_t len, struct err *err)
{
    const char *line_end = memchr(text, '\n', len);

    if (len == 0) {
        return err_set(err, ERR_SYNTAX, "%s is empty: write a script into it", file);
    }
    if (memchr(text, '\0', len) != NULL) {
        return err_set(err, ERR_SYNTAX, "%s is not a script: it holds a NUL byte", file);
    }
    if (!str_is_utf8(text, len)) {
        return err_set(err, ERR_SYNTAX, "%s is not a script: it holds bytes that are not UTF-8",
                       file);
    }
    if (len > 2 && strncmp(text, "#!", 2) == 0 && line_end != NULL && line_end[-1] == '\r') {
        return err_set(err, ERR_SYNTAX,
                       "%s:1: the line ends in CR LF, so its program is not found: let lines end "
                       "in LF (sed -i 's/\\r$//' FILE)",
                       file);
    }
    return 0;
}

int jobscript_read(struct jobspec *spec, const char *file, const char *text, size_t len,
                   struct err *err)
{
    struct script s = {.spec = spec, .file = file};
    const char *all = text + len;
    bool head = true;
    int rc = 0;

    rc = check_text(file, text, len, err);
    while (text < all && rc == 0) {
        const char *end = memchr(text, '\n', (size_t)(all - text));

        end = end != NULL ? end : all;
        s.line++;
        head = head && (*text == '#' || is_blank(text, end));
        if (begins(text, end, "#MUSTER")) {
            s.at = text + strlen("#MUSTER");
            s.end = end;
            rc = head
                     ? read_line(&s, err)
                     : fail(&s, err, "#MUSTER after the first command is not read: move it up", "");
        }
        text = end < all ? end + 1 : all;
    }
    return rc;
}
