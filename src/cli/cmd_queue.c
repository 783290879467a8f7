/* cmd_queue - the tree of queues and the pools that their quotas count. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"

#include <inttypes.h>
#include <string.h>

#define DEPTH_MAX 64

static const struct column QUEUE_COLUMNS[] = {
    {"QUEUE", "queue", COLUMN_TEXT, 0, NULL},
    {"ST", "state", COLUMN_TEXT, 0, NULL},
    {"POOL", "pool", COLUMN_TEXT, 0, NULL},
    {"RESERVED", "reserved_gpus", COLUMN_NUMBER, 0, NULL},
    {"USED", "used_gpus", COLUMN_NUMBER, 0, NULL},
    {"BORROWED", "borrowed_gpus", COLUMN_NUMBER, 0, NULL},
    {"LENT", "lent_gpus", COLUMN_NUMBER, 0, NULL},
    {"AVAILABLE", "available_gpus", COLUMN_NUMBER, 0, NULL},
    {"WAITING", "waiting_gpus", COLUMN_NUMBER, 0, NULL},
    {"LIMIT", "limit_gpus", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"LEND", "lend_gpus", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"BORROW LIMIT", "borrow_limit_gpus", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"WEIGHT", "weight", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"RUN", "running", COLUMN_NUMBER, 0, NULL},
    {"WAIT", "waiting", COLUMN_NUMBER, 0, NULL},
};

static const json_t *find_queue(const json_t *items, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        if (strcmp(member_text(item, "queue"), name) == 0) {
            return item;
        }
    }
    return NULL;
}

/* One row for each pool of a queue; the queue's own members stand in the first only. */
static void add_rows(json_t *rows, const json_t *queue, int depth)
{
    const json_t *pools = json_object_get(queue, "pools");
    size_t count = json_array_size(pools);

    for (size_t i = 0; i < (count > 0 ? count : 1); i++) {
        json_t *row = json_object();
        struct str name = {0};

        if (i == 0) {
            json_object_update(row, (json_t *)(uintptr_t)queue);
            str_addf(&name, "%*s%s", depth * 2, "", member_text(queue, "queue"));
            json_object_set_new(row, "queue", json_string(str_text(&name)));
        } else {
            json_object_set_new(row, "queue", json_string(" "));
        }
        json_object_update(row, json_array_get(pools, i));
        json_array_append_new(rows, row);
        str_fini(&name);
    }
}

static void add_below(json_t *rows, const json_t *items, const char *parent, int depth)
{
    const json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        if (depth < DEPTH_MAX && strcmp(member_text(item, "parent"), parent) == 0) {
            add_rows(rows, item, depth);
            add_below(rows, items, member_text(item, "queue"), depth + 1);
        }
    }
}

/* The tree in order; a queue whose parent is not in the list stands at the top. */
static json_t *tree_rows(const json_t *items)
{
    json_t *rows = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        const char *parent = member_text(item, "parent");

        if (parent[0] == '\0' || find_queue(items, parent) == NULL) {
            add_rows(rows, item, 0);
            add_below(rows, items, member_text(item, "queue"), 1);
        }
    }
    return rows;
}

static int run_queue_list(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    CLEANUP(answer_freep) json_t *rows = NULL;
    struct err err;

    (void)args;
    if (cli_list(cli, "/v1/queues", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (cli->view.format != VIEW_NAME) {
        rows = tree_rows(json_object_get(answer, "items"));
    }
    table_print(&cli->view, QUEUE_COLUMNS, ARRAY_LEN(QUEUE_COLUMNS), answer, rows, "no queues");
    return 0;
}

static void print_setting(const json_t *queue, const char *label, const char *key)
{
    const json_t *value = json_object_get(queue, key);
    struct str text = {0};

    if (json_is_string(value)) {
        display_text(&text, json_string_value(value));
    } else if (json_is_integer(value)) {
        str_add_int(&text, json_integer_value(value));
    } else if (json_is_array(value)) {
        member_join(&text, value);
    }
    if (text.len > 0) {
        printf("%-16s %s\n", label, str_text(&text));
    }
    str_fini(&text);
}

static int run_queue_show(struct cli *cli, const struct args *args)
{
    static const char *const SETTINGS[][2] = {
        {"queue", "queue"},
        {"parent", "parent"},
        {"children", "children"},
        {"state", "state"},
        {"weight", "weight"},
        {"order", "order"},
        {"reclaim", "reclaim"},
        {"preempt within", "preempt_within"},
        {"highest priority", "priority_max"},
    };
    CLEANUP(answer_freep) json_t *queue = NULL;
    CLEANUP(answer_freep) json_t *rows = json_array();
    struct view view = cli->view;
    struct str path = {0};
    struct err err;
    int rc;

    str_add(&path, "/v1/queues");
    path_add(&path, args_word(args, 0));
    rc = cli_get(cli, str_text(&path), &queue, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    if (view_raw(&cli->view, queue)) {
        return 0;
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%s\n", member_text(queue, "queue"));
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++) {
        print_setting(queue, SETTINGS[i][0], SETTINGS[i][1]);
    }
    if (member_int(queue, "grace_ms") > 0) {
        struct str grace = {0};

        display_span(&grace, member_int(queue, "grace_ms"));
        printf("%-16s %s\n", "grace", str_text(&grace));
        str_fini(&grace);
    }
    printf("\n");
    add_rows(rows, queue, 0);
    view.format = VIEW_WIDE;
    table_print(&view, QUEUE_COLUMNS, ARRAY_LEN(QUEUE_COLUMNS), queue, rows, NULL);
    return 0;
}

static void fill_simulated(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    str_add(out, member_flag(item, "simulated") ? "simulated" : "");
}

static const struct column POOL_COLUMNS[] = {
    {"POOL", "pool", COLUMN_TEXT, 0, NULL},
    {"NODES", "nodes", COLUMN_NUMBER, 0, NULL},
    {"GPUS", "gpus", COLUMN_NUMBER, 0, NULL},
    {"USED", "used_gpus", COLUMN_NUMBER, 0, NULL},
    {"PROMISED", "nominated_gpus", COLUMN_NUMBER, 0, NULL},
    {"FREE", "free_gpus", COLUMN_NUMBER, 0, NULL},
    {"DOWN", "down_gpus", COLUMN_NUMBER, 0, NULL},
    {"RESERVED", "reserved_gpus", COLUMN_NUMBER, 0, NULL},
    {"NOTE", NULL, COLUMN_TEXT, 0, fill_simulated},
};

static int run_pool_list(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct err err;

    (void)args;
    if (cli_list(cli, "/v1/pools", &answer, &err) != 0) {
        return cli_fail(cli, &err);
    }
    table_print(&cli->view, POOL_COLUMNS, ARRAY_LEN(POOL_COLUMNS), answer, NULL, "no pools");
    return 0;
}

const struct verb QUEUE_VERBS[] = {{"queue list", "", "list the queues as a tree with their quotas",
                                    NULL, NULL, 0, 0, VERB_MIXED, run_queue_list},
                                   {"queue show", "QUEUE", "show a queue's settings and quotas",
                                    NULL, NULL, 1, 1, VERB_MIXED, run_queue_show},
                                   {"pool list", "", "list the pools", NULL, NULL, 0, 0, VERB_MIXED,
                                    run_pool_list},
                                   {0}};
