/* cmd_token - tokens, and who and what is at the other end. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct column TOKEN_COLUMNS[] = {
    {"ID", "id", COLUMN_TEXT, 0, NULL},
    {"NAME", "name", COLUMN_TEXT, COLUMN_CUT, NULL},
    {"SUBJECT", "subject", COLUMN_TEXT, 0, NULL},
    {"ROLES", "roles", COLUMN_LIST, 0, NULL},
    {"CREATED", "created_ms", COLUMN_TIME, COLUMN_WIDE, NULL},
    {"EXPIRES", "expires_ms", COLUMN_TIME, 0, NULL},
    {"LAST USED", "last_used_ms", COLUMN_TIME, 0, NULL},
};

static int run_list(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    (void)args;
    if (cli_list(cli, "/v1/tokens", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    table_print(&cli->view, TOKEN_COLUMNS, ARRAY_LEN(TOKEN_COLUMNS), answer, NULL, "no tokens");
    return 0;
}

static json_t *create_body(const struct args *args)
{
    json_t *roles = json_array();
    json_t *body = json_object();
    const char *value;
    size_t at = 0;

    json_object_set_new(body, "name", json_string(args_word(args, 0)));
    while ((value = args_next(args, "role", &at)) != NULL) {
        json_array_append_new(roles, json_string(value));
    }
    if (json_array_size(roles) > 0) {
        json_object_set(body, "roles", roles);
    }
    json_decref(roles);
    value = args_text(args, "ttl");
    if (value != NULL) {
        json_object_set_new(body, "ttl", json_string(value));
    }
    value = args_text(args, "user");
    if (value != NULL) {
        json_object_set_new(body, "user", json_string(value));
    }
    return body;
}

static void token_file(struct str *path, bool make)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    if (config != NULL && config[0] == '/') {
        str_add(path, config);
    } else {
        str_addf(path, "%s/.config", home != NULL ? home : "");
    }
    if (make) {
        (void)mkdir(str_text(path), 0700); /* one that exists is as good */
    }
    str_add(path, "/muster");
    if (make) {
        (void)mkdir(str_text(path), 0700);
    }
    str_add(path, "/token");
}

/* Keep the token where this program looks for it, readable by its owner only. */
static int save_token(const char *token, struct err *err)
{
    struct str path = {0}, next = {0};
    int rc = 0;
    int fd;

    token_file(&path, true);
    str_addf(&next, "%s.new", str_text(&path));
    (void)unlink(str_text(&next));
    fd = open(str_text(&next), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%s\n", token) < 0 || fsync(fd) != 0 ||
        rename(str_text(&next), str_text(&path)) != 0) {
        rc = err_set(err, ERR_IO, "cannot save the token in %s: %s", str_text(&path),
                     strerror(errno));
    } else {
        fprintf(stderr, "muster: saved in %s\n", str_text(&path));
    }
    if (fd >= 0) {
        close(fd);
    }
    str_fini(&path);
    str_fini(&next);
    return rc;
}

static int run_create(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = create_body(args);
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    if (cli_post(cli, "/v1/tokens", body, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (args_has(args, "save")) {
        return save_token(member_text(answer, "token"), &err) != 0 ? cli_fail(cli, &err) : 0;
    }
    if (!view_raw(&cli->view, answer)) {
        struct str until = {0};

        str_add(&until, member_int(answer, "expires_ms") > 0 ? "until " : "without an end");
        if (member_int(answer, "expires_ms") > 0) {
            display_time(&until, member_int(answer, "expires_ms"), cli->view.local);
        }
        printf("%s\n", member_text(answer, "token"));
        fflush(stdout);
        fprintf(stderr, "muster: token %s, %s; it is shown only now\n", member_text(answer, "id"),
                str_text(&until));
        str_fini(&until);
    }
    return 0;
}

static int run_revoke(struct cli *cli, const struct args *args)
{
    int first = 0;

    for (size_t i = 0; i < args->words.count; i++) {
        struct str path = {0};
        struct err err;
        int rc = cli_client(cli, &err);

        str_add(&path, "/v1/tokens");
        path_add(&path, args->words.items[i]);
        rc = rc != 0 ? rc : client_call(cli->client, "DELETE", str_text(&path), NULL, NULL, &err);
        str_fini(&path);
        if (rc != 0) {
            rc = cli_fail(cli, &err);
            first = first != 0 ? first : rc;
        } else if (cli->view.format == VIEW_TABLE) {
            printf("token %s revoked\n", args->words.items[i]);
        }
    }
    return first;
}

static void print_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    struct str raw = {0}, text = {0};

    if (json_is_array(value)) {
        member_join(&raw, value);
    } else {
        str_add(&raw, member_text(object, key));
    }
    display_text(&text, str_text(&raw));
    printf("%-9s %s\n", key, text.len > 0 ? str_text(&text) : "-");
    str_fini(&raw);
    str_fini(&text);
}

static int run_whoami(struct cli *cli, const struct args *args)
{
    static const char *const MEMBERS[] = {"subject", "name", "account", "roles", "queues"};
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    (void)args;
    if (cli_get(cli, "/v1/whoami", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%s\n", member_text(answer, "name"));
    } else if (!view_raw(&cli->view, answer)) {
        for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
            print_member(answer, MEMBERS[i]);
        }
    }
    return 0;
}

/* This program's version always; the server's when one answers, else the status says so. */
static int run_version(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *server = NULL;
    CLEANUP(answer_freep) json_t *both = NULL;
    struct err err;
    bool any = cli_get(cli, "/v1/version", &server, &err) == 0;

    if (args_has(args, "json")) {
        cli->view.format = VIEW_JSON;
    }
    both = json_pack("{s:s, s:O?}", "client", MUSTER_VERSION, "server", any ? server : NULL);
    if (view_raw(&cli->view, both)) {
        return any ? 0 : err_exit(err.code);
    }
    printf("muster %s\n", MUSTER_VERSION);
    if (any) {
        printf("musterd %s, API %s, at %s%s%s\n", member_text(server, "version"),
               member_text(server, "api"), client_address(cli->client),
               member_flag(server, "simulate") ? ", with simulated GPUs" : "",
               member_flag(server, "frozen") ? ", FROZEN: it plans nothing" : "");
        return 0;
    }
    fflush(stdout);
    return cli_fail(cli, &err);
}

static const struct argp_option CREATE_OPTIONS[] = {
    {"role", 'r', "ROLE", 0, "read, submit, operator, admin or auditor; several times", 1},
    {"ttl", LONG, "TIME", 0, "valid so long, e.g. 30d", 1},
    {"user", 'u', "NAME", 0, "for another user (admin)", 1},
    {"save", LONG, NULL, 0, "keep it in the token file instead of printing it", 1},
    {0}};

static const struct argp_option VERSION_OPTIONS[] = {{"json", LONG, NULL, 0, "as -o json", 1}, {0}};

const struct verb TOKEN_VERBS[] = {
    {"token create", "NAME", "make a token for use over TCP", NULL, CREATE_OPTIONS, 1, 1,
     VERB_MIXED, run_create},
    {"token list", "", "list tokens", NULL, NULL, 0, 0, VERB_MIXED, run_list},
    {"token revoke", "ID...", "end tokens", NULL, NULL, 1, -1, VERB_MIXED, run_revoke},
    {"whoami", "", "say who the server takes you for and what you may do", NULL, NULL, 0, 0,
     VERB_MIXED, run_whoami},
    {"version", "", "print the versions of muster and musterd", NULL, VERSION_OPTIONS, 0, 0,
     VERB_MIXED, run_version},
    {0}};
