#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOLS  "pools:\n- {name: a, nodes: [{name: \"n[1-2]\", gpus: 8}]}\n"
#define QUEUES "queues:\n- {name: q}\n"

struct reading {
    struct arena *arena;
    struct complaints c;
    struct config config;
    struct err err;
    int rc;
};

static void read_text(struct reading *r, const char *text, size_t len)
{
    memset(r, 0, sizeof(*r));
    r->arena = arena_make();
    complaints_init(&r->c, r->arena, "f.yaml");
    r->rc = config_read(text, len, &r->c, &r->config, &r->err);
}

static void refused(const char *text, const char *name, const char *wanted)
{
    struct reading r;

    read_text(&r, text, strlen(text));
    assert_int_not_equal(r.rc, 0);
    if (r.c.total != 1) {
        for (size_t i = 0; i < r.c.count; i++) {
            print_message("# %s\n", r.c.items[i].text);
        }
    }
    assert_int_equal(r.c.total, 1);
    assert_string_equal(r.err.text, wanted);
    assert_string_equal(err_name(r.rc), name);
    arena_free(r.arena);
}

static void yaml_itself_must_be_right(void **state)
{
    (void)state;
    refused("a: [1, 2\nb: 3\n", "request.syntax",
            "f.yaml:2:2: not YAML: while parsing a flow sequence, did not find expected ',' or "
            "']'");
    refused("cluster: &x {}\n", "policy.invalid",
            "f.yaml:1:10: anchors are not read (\"x\"), write the value out");
    refused("cluster: *x\n", "policy.invalid",
            "f.yaml:1:10: aliases are not read (\"x\"), write the value out");
    refused("cluster: !!map {}\n", "policy.invalid",
            "f.yaml:1:10: tags are not read (\"tag:yaml.org,2002:map\"), leave it out");
    refused("a: 1\n---\nb: 2\n", "request.syntax",
            "f.yaml:2:1: a second document begins, one file is one site");
    refused("? [a]\n: 1\n", "request.syntax",
            "f.yaml:1:3: a list or map stands where a key must be, write key: value");
    refused("a: 1\nb: \xc3\xa9\xff\n", "request.syntax",
            "f.yaml:2:5: this is not UTF-8 text, save the file as UTF-8");
}

static void a_bomb_of_aliases_does_not_go_off(void **state)
{
    (void)state;
    refused("a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n", "policy.invalid",
            "f.yaml:1:4: anchors are not read (\"a\"), write the value out");
}

static void nesting_ends_somewhere(void **state)
{
    char text[2000];

    (void)state;
    memset(text, '[', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refused(text, "request.too_large", "f.yaml:1:65: is nested more than 64 deep, flatten it");
}

static void a_typing_error_is_found(void **state)
{
    (void)state;
    refused("clutser: {}\n" POOLS QUEUES, "request.unknown_field",
            "f.yaml:1:1: clutser: is not a setting of a configuration (\"clutser\"), write "
            "cluster");
    refused("teams: {}\n" POOLS QUEUES, "request.unknown_field",
            "f.yaml:1:1: teams: is not a setting of a configuration (\"teams\"), these are: "
            "daemon, cluster, pools, queues, classes, users, unknown_users, charges");
    refused("cluster: {name: a, name: b}\n" POOLS QUEUES, "policy.double",
            "f.yaml:1:20: name: is given twice, it is on line 1 already; keep one");
    refused("cluster:\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:9: cluster: is empty, write a map: one key: value a line");
    refused("cluster: 5\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:10: cluster: is a single value (\"5\"), write a map: one key: value a line");
    refused(POOLS "queues:\n- {weight: 1}\n", "policy.invalid",
            "f.yaml:4:3: queues[0].name: is missing, use 1 to 63 of a-z, 0-9 and -, not "
            "beginning or ending with -");
}

static void numbers_are_what_they_look_like(void **state)
{
    (void)state;
    refused("cluster: {retries: 007}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: has a leading zero (\"007\"), write 7");
    refused("cluster: {ended_jobs: 0}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:23: cluster.ended_jobs: is out of range (\"0\"), write 1 to 1000000");
    refused("cluster: {retries: 1.5}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is not a whole number (\"1.5\"), write a whole number, "
            "e.g. 3");
    refused("cluster: {retries: 0x10}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is not a whole number (\"0x10\"), write a whole "
            "number, e.g. 3");
    refused("cluster: {retries: 1_0}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is not a whole number (\"1_0\"), write a whole number, "
            "e.g. 3");
    refused("cluster: {retries: 9223372036854775808}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is out of range (\"9223372036854775808\"), write 0 to "
            "1000");
    refused("cluster: {retries: -1}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is out of range (\"-1\"), write 0 to 1000");
    refused("cluster: {retries: \"3\"}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.retries: is not a whole number (\"3\"), write a whole number, "
            "e.g. 3");
    refused("cluster: {backoff: 60}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:20: cluster.backoff: is not a time (\"60\"), write a time with its unit: "
            "90s, 15m, 12h, 2d");
    refused(POOLS "queues:\n- {name: q, reserved: {a: 0.3333}}\n", "policy.invalid",
            "f.yaml:4:27: queues.q.reserved.a: is not an amount of GPUs (\"0.3333\"), write GPUs "
            "as 8, 0.5 or 1/7");
}

static void booleans_are_true_and_false_only(void **state)
{
    static const char *const WORDS[] = {"yes",  "no", "on",       "off", "True",
                                        "TRUE", "y",  "\'true\'", "1",   "0"};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        struct reading r;

        snprintf(text, sizeof(text), "cluster: {overcommit: %s}\n" POOLS QUEUES, WORDS[i]);
        read_text(&r, text, strlen(text));
        assert_int_equal(r.rc, ERR_POLICY);
        assert_non_null(strstr(r.err.text, "f.yaml:1:23: cluster.overcommit: is not a boolean"));
        arena_free(r.arena);
    }
}

static void words_are_of_the_list(void **state)
{
    (void)state;
    refused("cluster: {fair_share: fairest}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:23: cluster.fair_share: is not known (\"fairest\"), write one of weighted, "
            "take, none");
    refused("cluster: {name: Site_1}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:17: cluster.name: is not a name (\"Site_1\"), use 1 to 63 of a-z, 0-9 and "
            "-, not beginning or ending with -");
    refused("cluster: {timezone: ../etc}\n" POOLS QUEUES, "policy.invalid",
            "f.yaml:1:21: cluster.timezone: is not a time zone (\"../etc\"), write an IANA name, "
            "e.g. Europe/Berlin");
}

static void names_are_unique_and_known(void **state)
{
    (void)state;
    refused(POOLS "queues:\n- {name: q}\n- {name: p, queues: [{name: q}]}\n", "policy.double",
            "f.yaml:5:29: queues.p.queues.q.name: is taken by line 4 (\"q\"), choose another");
    refused("pools:\n- {name: a}\n- {name: a}\n" QUEUES, "policy.double",
            "f.yaml:3:10: pools.a.name: is taken by line 2 (\"a\"), choose another");
    refused("pools:\n- name: a\n  nodes:\n  - {name: n1}\n  - {name: \"n[1-2]\"}\n" QUEUES,
            "policy.double",
            "f.yaml:5:12: pools.a.nodes.n[1-2].name: is taken by line 4 (\"n1\"), choose another");
    refused(POOLS "queues:\n- {name: q, limit: {b: 1}}\n", "policy.invalid",
            "f.yaml:4:24: queues.q.limit: names a pool that is not there (\"b\"), name one of "
            "those under pools");
    refused(POOLS QUEUES "users:\n- {name: u, queues: [z]}\n", "policy.invalid",
            "f.yaml:6:22: users.u.queues: names a queue that is not there (\"z\"), name one of "
            "those under queues");
    refused(POOLS QUEUES "users:\n- {name: u, roles: [king]}\n", "policy.invalid",
            "f.yaml:6:21: users.u.roles: is not a role (\"king\"), write one of submit, operator, "
            "admin, auditor");
    refused(POOLS QUEUES "users:\n- {name: u}\n- {name: u}\n", "policy.double",
            "f.yaml:7:10: users.u.name: is a user already (\"u\"), merge the two entries");
    refused(POOLS QUEUES "unknown_users: [z]\n", "policy.invalid",
            "f.yaml:5:17: unknown_users: names a queue that is not there (\"z\"), name one of "
            "those under queues");
}

static void reserves_fit(void **state)
{
    (void)state;
    refused(POOLS "queues:\n- {name: q, reserved: {a: 17}}\n", "policy.overcommit",
            "f.yaml:2:10: pools.a.name: is reserved beyond its capacity (\"a\"), the top queues "
            "reserve 17 GPUs of 16: reserve less, add nodes or set cluster.overcommit: true");
    refused(POOLS "queues:\n- {name: q, reserved: {a: 4}, queues: [{name: c, reserved: {a: 3}}, "
                  "{name: d, reserved: {a: 2}}]}\n",
            "policy.overcommit",
            "f.yaml:4:23: queues.q.reserved: is less than its children reserve (\"4\"), they "
            "reserve 5 in pool a: write at least that");
    refused(POOLS "queues:\n- {name: q, reserved: {a: 4}, lend: {a: 5}}\n", "policy.invalid",
            "f.yaml:4:37: queues.q.lend: is more than the queue reserves (\"5\"), write at most "
            "4 for pool a");
    refused(POOLS "queues:\n- {name: q, grace: 1h}\n", "request.range",
            "f.yaml:4:20: queues.q.grace: is longer than grace_max, write a longer grace_max too");
}

static void cards_are_of_one_kind(void **state)
{
    (void)state;
    refused("pools:\n- name: a\n  nodes:\n  - {name: n1, gpus: 1, model: x}\n"
            "  - {name: n2, gpus: 1, model: y}\n" QUEUES,
            "policy.invalid",
            "f.yaml:5:32: pools.a.nodes.n2.model: is another model than x (\"y\"), use two pools "
            "or set mixed: true");
    refused("pools:\n- name: a\n  nodes:\n  - {name: n1, gpus: 1, model: x, mig: true}\n" QUEUES,
            "place.no_profile",
            "f.yaml:4:32: pools.a.nodes.n1.model: cannot be cut into MIG slices (\"x\"), set mig: "
            "false or name a model that can, e.g. h100-80gb");
    refused("pools:\n- {name: a, nodes: [{name: n1, domains: {rack: r1}}]}\n" QUEUES,
            "place.no_level",
            "f.yaml:2:41: pools.a.nodes.n1.domains: names a level that is not there (\"rack\"), "
            "name one of those in cluster.levels");
    refused(POOLS QUEUES "charges:\n- {model: h100-80gb, profile: 1g.10gb, gpus: 1/2}\n",
            "policy.invalid",
            "f.yaml:6:46: charges[0].gpus: makes a whole card cost more than one GPU (\"3.5\"), "
            "lower the charges of this model");
    refused(POOLS QUEUES "charges:\n- {model: h100-80gb, profile: 9g.1gb, gpus: 1/2}\n",
            "place.no_profile",
            "f.yaml:6:31: charges[0].profile: is not in the table of MIG profiles (\"9g.1gb\"), "
            "use a name that nvidia-smi mig -lgip prints");
}

static void all_errors_are_told_in_order_and_twenty_are_kept(void **state)
{
    struct reading r;
    const char *two = POOLS "queues:\n- {name: Q, weight: x}\n";

    (void)state;
    read_text(&r, two, strlen(two));
    assert_int_equal(r.c.total, 2);
    assert_non_null(strstr(r.err.text, "(and 1 more)"));
    assert_int_equal(r.c.items[0].column, 10);
    assert_int_equal(r.c.items[1].column, 21);
    arena_free(r.arena);

    read_text(&r, "[1, 2]", 6);
    assert_string_equal(r.c.items[0].text,
                        "f.yaml:1:1: is a list, write a map: one key: value a line");
    arena_free(r.arena);
}

static const struct policy_queue *queue(const struct reading *r, const char *name)
{
    for (size_t i = 0; i < r->config.policy.queue_count; i++) {
        if (strcmp(r->config.policy.queues[i].name, name) == 0) {
            return &r->config.policy.queues[i];
        }
    }
    print_error("there is no queue %s\n", name);
    abort();
}

static void settings_are_inherited_and_sums_are_made(void **state)
{
    const char *text = "pools:\n- {name: a, nodes: [{name: \"n[1-2]\", gpus: 8}]}\n"
                       "- {name: b, nodes: [{name: m, gpus: 1, model: other, simulated: auto}]}\n"
                       "queues:\n"
                       "- name: dep\n"
                       "  grace: 90s\n"
                       "  order: attained\n"
                       "  members: [u]\n"
                       "  queues:\n"
                       "  - {name: x, reserved: {a: 1/7}, grace: 5s}\n"
                       "  - {name: y, reserved: {a: 2}, lend: {a: 0}, order: fifo}\n"
                       "  - {name: z, pools: [b, a], limit: {a: 1}}\n"
                       "- {name: other}\n"
                       "users:\n- {name: u, queues: [other, dep]}\n- {name: s, account: self}\n"
                       "classes: {training: {preemptible: false}, workspace: {time_limit: 12h}}\n"
                       "unknown_users: [x]\n";
    struct reading r;

    (void)state;
    read_text(&r, text, strlen(text));
    assert_string_equal(r.err.text, "");
    assert_int_equal(r.rc, 0);
    assert_int_equal(queue(&r, "dep")->quotas[0].reserved_gu, 18000 + 252000);
    assert_int_equal(queue(&r, "x")->grace_ms, 5000);
    assert_int_equal(queue(&r, "y")->grace_ms, 90000);
    assert_int_equal(queue(&r, "other")->grace_ms, 60000);
    assert_int_equal(queue(&r, "x")->min_run_ms, 1800000);
    assert_int_equal(queue(&r, "y")->min_run_ms, 0);
    assert_int_equal(queue(&r, "y")->quotas[0].lend_gu, 0);
    assert_int_equal(queue(&r, "x")->quotas[0].lend_gu, POLICY_NONE);
    assert_int_equal(queue(&r, "x")->pool_count, 1);
    assert_int_equal(queue(&r, "z")->pools[0], 2);
    assert_int_equal(queue(&r, "z")->pools[1], 1);
    assert_int_equal(queue(&r, "other")->pool_count, 2);
    assert_int_equal(queue(&r, "z")->parent, 1);
    assert_int_equal(r.config.policy.node_count, 3);
    assert_true(r.config.node_auto[2]);
    assert_false(r.config.node_auto[0]);
    assert_int_equal(r.config.policy.users[0].queue_count, 2);
    assert_string_equal(r.config.users[0].account, "u");
    assert_string_equal(r.config.users[1].account, "");
    assert_false(r.config.classes[CLASS_TRAINING].preemptible);
    assert_false(r.config.classes[CLASS_SERVICE].preemptible);
    assert_int_equal(r.config.classes[CLASS_WORKSPACE].limit_ms, 12 * 3600000);
    assert_string_equal(r.config.unknown_queues[0], "x");
    assert_int_equal(strlen(r.config.policy.digest), 64);
    arena_free(r.arena);
}

static void every_example_is_read(void **state)
{
    static const char *const FILES[] = {"afternoon.yaml", "two-teams.yaml", "workstation.yaml"};

    (void)state;
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        struct arena *arena = arena_make();
        struct complaints c;
        struct config config;
        struct err err = {0};
        char path[4096];
        const char *text;

        snprintf(path, sizeof(path), "%s/%s", MUSTER_EXAMPLES, FILES[i]);
        complaints_init(&c, arena, FILES[i]);
        if (config_load(path, &c, &config, &text, &err) != 0) {
            fail_msg("%s", err.text);
        }
        assert_non_null(strstr(text, "queues:"));
        arena_free(arena);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct arena *arena = arena_make();
    struct complaints c;
    struct config config;
    struct err err;

    (void)state;
    complaints_init(&c, arena, "x");
    assert_int_equal(config_load("/nonexistent/x.yaml", &c, &config, NULL, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "/nonexistent/x.yaml: there is no such file; muster.yaml(5) "
                                  "tells how to write one");
    arena_free(arena);
}

static void the_manual_has_every_setting(void **state)
{
    struct str s = {0};

    (void)state;
    config_manual(&s);
    assert_non_null(strstr(str_text(&s), ".B nonpreemptible_may_borrow\n(true or false; default "
                                         "false, from the queue above)\n"));
    assert_non_null(strstr(str_text(&s), ".B usage_half_life\n"));
    assert_non_null(strstr(str_text(&s), ".SH class\n"));
    str_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_itself_must_be_right),
        cmocka_unit_test(a_bomb_of_aliases_does_not_go_off),
        cmocka_unit_test(nesting_ends_somewhere),
        cmocka_unit_test(a_typing_error_is_found),
        cmocka_unit_test(numbers_are_what_they_look_like),
        cmocka_unit_test(booleans_are_true_and_false_only),
        cmocka_unit_test(words_are_of_the_list),
        cmocka_unit_test(names_are_unique_and_known),
        cmocka_unit_test(reserves_fit),
        cmocka_unit_test(cards_are_of_one_kind),
        cmocka_unit_test(all_errors_are_told_in_order_and_twenty_are_kept),
        cmocka_unit_test(settings_are_inherited_and_sums_are_made),
        cmocka_unit_test(every_example_is_read),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(the_manual_has_every_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
