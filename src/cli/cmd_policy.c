/* cmd_policy - check, plan and apply the policy file. */
#include "cli/verbs.h"

#include "base/mem.h"
#include "cli/display.h"
#include "cli/document.h"
#include "cli/textfile.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* {"yaml": text, "file": name} of the file that was named. */
static int read_body(const char *file, json_t **ret, struct err *err)
{
    struct str text = {0};
    int rc = textfile_read(file, &text, err);

    if (rc == 0 && !str_is_utf8(str_text(&text), text.len)) {
        rc = err_set(err, ERR_SYNTAX, "%s is not UTF-8", file);
    }
    if (rc == 0) {
        *ret = json_pack("{s:o, s:s}", "yaml", json_stringn(str_text(&text), text.len), "file",
                         strcmp(file, "-") == 0 ? "<stdin>" : file);
        rc = *ret != NULL ? 0 : err_set(err, ERR_SYNTAX, "%s holds a NUL", file);
    }
    str_fini(&text);
    return rc;
}

static int run_check(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = NULL;
    CLEANUP(answer_freep) json_t *answer = NULL;
    const char *file = args_word(args, 0);
    struct err err;

    if (read_body(file, &body, &err) != 0 ||
        cli_post(cli, "/v1/policy/check", body, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer)) {
        printf("%s: the policy is valid\n", file);
    }
    return 0;
}

static void print_value(const json_t *value, struct str *out)
{
    if (json_is_string(value)) {
        display_text(out, json_string_value(value));
    } else if (json_is_integer(value)) {
        str_add_int(out, json_integer_value(value));
    } else if (json_is_boolean(value)) {
        str_add(out, json_is_true(value) ? "true" : "false");
    } else {
        str_add_char(out, '-');
    }
}

static void print_change(const json_t *change)
{
    struct str line = {0};

    display_text(&line, member_text(change, "what"));
    str_add(&line, ": ");
    print_value(json_object_get(change, "from"), &line);
    str_add(&line, " -> ");
    print_value(json_object_get(change, "to"), &line);
    printf("  %s\n", str_text(&line));
    str_fini(&line);
}

/* What a change does; true when there is one. */
static bool print_plan(const json_t *plan)
{
    const json_t *changes = json_object_get(plan, "changes");
    const json_t *effects = json_object_get(plan, "effects");
    const json_t *item;
    size_t i;

    if (json_array_size(changes) == 0) {
        printf("nothing changes\n");
        return false;
    }
    printf("changes:\n");
    json_array_foreach(changes, i, item)
    {
        print_change(item);
    }
    printf(json_array_size(effects) > 0 ? "effects:\n" : "no job is touched\n");
    json_array_foreach(effects, i, item)
    {
        struct str text = {0};

        display_text(&text, member_text(item, "text"));
        if (member_text(item, "job")[0] != '\0') {
            printf("  job %s: %s\n", member_text(item, "job"), str_text(&text));
        } else {
            printf("  %s\n", str_text(&text));
        }
        str_fini(&text);
    }
    return true;
}

static int run_plan(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = NULL;
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    if (read_body(args_word(args, 0), &body, &err) != 0 ||
        cli_post(cli, "/v1/policy/plan", body, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer)) {
        (void)print_plan(answer);
    }
    return 0;
}

static bool confirmed(void)
{
    char line[32];

    fprintf(stderr, "apply? [y/N] ");
    return fgets(line, sizeof(line), stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

/* Show the plan and ask; -1 goes on, else the exit status. */
static int show_and_ask(struct cli *cli, const json_t *body)
{
    CLEANUP(answer_freep) json_t *plan = NULL;
    struct err err;

    if (cli_post(cli, "/v1/policy/plan", body, &plan, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!print_plan(plan)) {
        return 0;
    }
    fflush(stdout);
    if (isatty(STDIN_FILENO) != 1) {
        (void)err_set(&err, ERR_INVALID, "nobody can be asked here: say -y to apply");
        return cli_fail(cli, &err);
    }
    if (!confirmed()) {
        fprintf(stderr, "muster: not applied\n");
        return 1;
    }
    return -1;
}

static int run_apply(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = NULL;
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;
    int status = -1;

    if (read_body(args_word(args, 0), &body, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!args_has(args, "yes")) {
        status = show_and_ask(cli, body);
    }
    if (status >= 0) {
        return status;
    }
    if (cli_post(cli, "/v1/policy/apply", body, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, answer)) {
        printf("policy applied (journal %" PRId64 ")\n", member_int(answer, "seq"));
    }
    return 0;
}

static int run_show(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;
    const char *text;

    (void)args;
    if (cli_get(cli, "/v1/policy", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (view_raw(&cli->view, answer)) {
        return 0;
    }
    if (member_flag(answer, "file_differs")) {
        fprintf(stderr, "muster: the policy file differs from what is applied (policy plan shows "
                        "how)\n");
    }
    text = member_text(answer, "text");
    if (text[0] != '\0') {
        printf("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    } else {
        document_print(json_object_get(answer, "policy"), stdout);
    }
    return 0;
}

static const struct argp_option APPLY_OPTIONS[] = {{"yes", 'y', NULL, 0, "apply without asking", 1},
                                                   {0}};

const struct verb POLICY_VERBS[] = {
    {"policy check", "FILE", "check a policy file", NULL, NULL, 1, 1, VERB_MIXED, run_check},
    {"policy plan", "FILE", "show what a policy file would change", NULL, NULL, 1, 1, VERB_MIXED,
     run_plan},
    {"policy apply", "FILE", "apply a policy file, after showing what it changes", NULL,
     APPLY_OPTIONS, 1, 1, VERB_MIXED, run_apply},
    {"policy show", "", "show the policy that is applied", NULL, NULL, 0, 0, VERB_MIXED, run_show},
    {0}};
