/* cmd_node - nodes and their GPUs. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "cli/display.h"
#include "cli/timeword.h"

#include <inttypes.h>
#include <string.h>

static void fill_state(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    str_add(out, member_text(item, "state"));
    if (member_flag(item, "drain")) {
        str_add(out, ",drain");
    }
}

static void fill_gpus(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    str_addf(out, "%" PRId64 "/%" PRId64, member_int(item, "gpus_free"), member_int(item, "gpus"));
}

static void fill_simulated(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    str_add(out, member_flag(item, "simulated") ? "simulated" : "");
}

static const struct column NODE_COLUMNS[] = {
    {"NODE", "node", COLUMN_TEXT, 0, NULL},
    {"POOL", "pool", COLUMN_TEXT, 0, NULL},
    {"ST", NULL, COLUMN_STATE, 0, fill_state},
    {"FREE/GPUS", NULL, COLUMN_NUMBER, 0, fill_gpus},
    {"CPUS", "cpus", COLUMN_NUMBER, 0, NULL},
    {"MEMORY", "memory_bytes", COLUMN_BYTES, 0, NULL},
    {"JOBS", "jobs", COLUMN_LIST, COLUMN_CUT, NULL},
    {"DRAIN BY", "drain_by_ms", COLUMN_TIME, COLUMN_WIDE, NULL},
    {"REASON", "reason", COLUMN_TEXT, COLUMN_CUT, NULL},
    {"NOTE", NULL, COLUMN_TEXT, 0, fill_simulated},
};

static void fill_holders(const struct view *view, const json_t *item, struct str *out)
{
    const json_t *holder;
    size_t i;

    (void)view;
    json_array_foreach(json_object_get(item, "holders"), i, holder)
    {
        const char *profile = member_text(holder, "profile");

        str_addf(out, "%s%s%s%s", i > 0 ? "," : "", member_text(holder, "job"),
                 profile[0] != '\0' ? ":" : "", profile);
    }
}

static void fill_model(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    str_addf(out, "%s%s%s", member_text(item, "model"), member_flag(item, "mig") ? " MIG" : "",
             member_flag(item, "simulated") ? " (simulated)" : "");
}

/* "1g.10gb@0*", held ones with a star. */
static void fill_slices(const struct view *view, const json_t *item, struct str *out)
{
    const json_t *slice;
    size_t i;

    (void)view;
    json_array_foreach(json_object_get(item, "slices"), i, slice)
    {
        str_addf(out, "%s%s@%" PRId64 "%s", i > 0 ? "," : "", member_text(slice, "profile"),
                 member_int(slice, "start"), member_flag(slice, "held") ? "*" : "");
    }
}

static const struct column GPU_COLUMNS[] = {
    {"NODE", "node", COLUMN_TEXT, 0, NULL},
    {"SLOT", "slot", COLUMN_NUMBER, 0, NULL},
    {"ST", "state", COLUMN_STATE, 0, NULL},
    {"JOBS", NULL, COLUMN_TEXT, COLUMN_CUT, fill_holders},
    {"MODEL", NULL, COLUMN_TEXT, 0, fill_model},
    {"MEMORY", "memory_bytes", COLUMN_BYTES, 0, NULL},
    {"SLICES", NULL, COLUMN_TEXT, COLUMN_CUT, fill_slices},
    {"UUID", "uuid", COLUMN_TEXT, COLUMN_WIDE, NULL},
};

static int run_list(struct cli *cli, const char *path, const struct column *columns, size_t count)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    if (cli_list(cli, path, &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    table_print(&cli->view, columns, count, answer, NULL, "nothing is known of nodes yet");
    return 0;
}

static int run_node_list(struct cli *cli, const struct args *args)
{
    (void)args;
    return run_list(cli, "/v1/nodes", NODE_COLUMNS, ARRAY_LEN(NODE_COLUMNS));
}

static int run_gpu_list(struct cli *cli, const struct args *args)
{
    (void)args;
    return run_list(cli, "/v1/gpus", GPU_COLUMNS, ARRAY_LEN(GPU_COLUMNS));
}

static void node_path(struct str *path, const char *node, const char *verb)
{
    str_add(path, "/v1/nodes");
    path_add(path, node);
    if (verb != NULL) {
        path_add(path, verb);
    }
}

static void print_map(const char *label, const json_t *map)
{
    struct str line = {0};
    const json_t *value;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        str_add(&line, line.len > 0 ? ", " : "");
        display_text(&line, name);
        str_add_char(&line, '=');
        display_text(&line, json_is_string(value) ? json_string_value(value) : "");
    }
    if (line.len > 0) {
        printf("%-10s %s\n", label, str_text(&line));
    }
    str_fini(&line);
}

static int run_node_show(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *node = NULL;
    CLEANUP(answer_freep) json_t *row = NULL;
    struct view view = cli->view;
    struct str path = {0};
    struct err err;
    int rc;

    node_path(&path, args_word(args, 0), NULL);
    rc = cli_get(cli, str_text(&path), &node, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    if (view_raw(&cli->view, node)) {
        return 0;
    }
    row = json_pack("[O]", node);
    view.format = view.format == VIEW_NAME ? VIEW_NAME : VIEW_WIDE;
    table_print(&view, NODE_COLUMNS, ARRAY_LEN(NODE_COLUMNS), node, row, NULL);
    if (view.format == VIEW_NAME) {
        return 0;
    }
    print_map("labels", json_object_get(node, "labels"));
    print_map("domains", json_object_get(node, "domains"));
    printf("\n");
    table_print(&view, GPU_COLUMNS, ARRAY_LEN(GPU_COLUMNS), node, json_object_get(node, "devices"),
                NULL);
    return 0;
}

static int tell_node(struct cli *cli, const char *node, const char *verb, const json_t *body)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct str path = {0};
    struct err err;
    int rc;

    node_path(&path, node, verb);
    rc = cli_post(cli, str_text(&path), body, &answer, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%s\n", node);
    } else if (!view_raw(&cli->view, answer)) {
        printf("node %s: %s noted (journal %" PRId64 ")\n", node, verb, member_int(answer, "seq"));
    }
    return 0;
}

static int run_node_drain(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = json_object();
    const char *by = args_text(args, "by");
    const char *reason = args_text(args, "reason");
    int64_t by_ms = 0;
    struct err err;
    int first = 0;

    if (by != NULL) {
        if (timeword_read(by, cli->view.now_ms, &by_ms, &err) != 0) {
            return cli_fail(cli, &err);
        }
        json_object_set_new(body, "by_ms", json_integer(by_ms));
    }
    if (reason != NULL) {
        json_object_set_new(body, "reason", json_string(reason));
    }
    for (size_t i = 0; i < args->words.count; i++) {
        int status = tell_node(cli, args->words.items[i], "drain", body);

        first = first != 0 ? first : status;
    }
    return first;
}

static int run_node_resume(struct cli *cli, const struct args *args)
{
    int first = 0;

    for (size_t i = 0; i < args->words.count; i++) {
        int status = tell_node(cli, args->words.items[i], "resume", NULL);

        first = first != 0 ? first : status;
    }
    return first;
}

static const struct argp_option DRAIN_OPTIONS[] = {
    {"by", LONG, "TIME", 0, "stop what still runs then: 2h from now, or 2026-12-01T18:00:00Z", 1},
    {"reason", 'r', "TEXT", 0, "why, for the journal and for those who wait", 1},
    {0}};

const struct verb NODE_VERBS[] = {
    {"node list", "", "list the nodes", NULL, NULL, 0, 0, VERB_MIXED, run_node_list},
    {"node show", "NODE", "show a node and its GPUs", NULL, NULL, 1, 1, VERB_MIXED, run_node_show},
    {"node drain", "NODE...", "start nothing more on nodes", NULL, DRAIN_OPTIONS, 1, -1, VERB_MIXED,
     run_node_drain},
    {"node resume", "NODE...", "use drained nodes again", NULL, NULL, 1, -1, VERB_MIXED,
     run_node_resume},
    {"gpu list", "", "list the GPUs and who holds them",
     "SLICES shows what a MIG card is cut into: PROFILE@START, with a star where it is held.", NULL,
     0, 0, VERB_MIXED, run_gpu_list},
    {0}};
