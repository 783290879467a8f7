/* The lines are caught by giving stderr another stream, which glibc allows.  argp ends the process
 * by exit(), so what was caught is told by an on_exit handler; no state is kept outside it. */
#include "base/argline.h"

#include "base/check.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct caught {
    FILE *real; /* NULL: it is over */
    FILE *memory;
    char *text;
    size_t len;
};

static void stop_catching(struct caught *c)
{
    stderr = c->real;
    c->real = NULL;
    fclose(c->memory);
}

/* "muster ps: unrecognized option '--frob'", then argp's hint, in lines of their own. */
static void tell(const char *text)
{
    const char *colon = strstr(text, ": ");
    size_t name_len = colon != NULL ? (size_t)(colon - text) : 0;
    const char *slash = colon != NULL ? memrchr(text, '/', name_len) : NULL;
    const char *name = slash != NULL ? slash + 1 : text;
    const char *what = colon != NULL ? colon + 2 : text;

    name_len -= (size_t)(name - text);
    if (strncmp(text, "Usage: ", 7) == 0) { /* of argp_usage: nothing else was said */
        name = what;
        slash = memrchr(what, '/', strcspn(what, " \n"));
        name = slash != NULL ? slash + 1 : name;
        name_len = strcspn(name, " \n");
        what = "a word is missing or too many";
    }
    fprintf(stderr, "%.*s: %s: %.*s; see `%.*s --help`\n", (int)strcspn(name, " :"), name,
            err_name(ERR_INVALID), (int)strcspn(what, "\n"), what, (int)name_len, name);
}

static void at_exit(int status, void *arg)
{
    struct caught *c = arg;

    (void)status;
    if (c->real != NULL) {
        stop_catching(c);
        if (c->text != NULL && c->len > 0) {
            tell(c->text);
        }
        free(c->text); /* open_memstream's own */
    }
    mem_free(c);
}

void argline_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    struct caught *c = mem_new(1, sizeof(*c));

    c->real = stderr;
    c->memory = open_memstream(&c->text, &c->len);
    CHECK(c->memory != NULL && on_exit(at_exit, c) == 0);
    stderr = c->memory;
    argp_err_exit_status = err_exit(ERR_INVALID);
    if (argp_parse(argp, argc, argv, flags, NULL, input) != 0) {
        exit(err_exit(ERR_INVALID));
    }
    stop_catching(c);
    free(c->text);
}
