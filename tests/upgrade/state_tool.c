/* state_tool - what tests of upgrades ask of a journal, by the real engine and core:
 *
 *     state-tool fold JOURNAL             the state after its last record, as JSON, and its hash
 *     state-tool lose JOURNAL CLUSTER/NODE   the node is lost, a snapshot is made, the node is back
 */
#include "base/check.h"
#include "base/hash.h"
#include "core/view.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEP_MS 1000

static int fail(const struct err *err)
{
    fprintf(stderr, "state-tool: %s: %s\n", err_name(err->code), err->text);
    return 1;
}

static void print_state(const struct core *c, int64_t last_seq)
{
    struct str state = {0};
    char hash[HASH_TEXT_MAX];

    core_snapshot(c, &state);
    hash_sha256_text(state.text, state.len, hash);
    printf("{\"seq\":%" PRId64 ",\"format\":%d,\"state_hash\":\"%s\",\"state\":%s}\n", last_seq,
           CORE_SNAPSHOT_FORMAT, hash, state.text);
    str_fini(&state);
}

static void put_state(struct engine *e, const char *name, int state)
{
    const char *slash = strchr(name, '/');
    struct str cluster = {0};
    const struct node *node;
    struct fact_node_state body = {.state = state, .reason = "of a test"};
    struct fact fact = {.kind = FACT_NODE_STATE, .body.as_NODE_STATE = &body};

    CHECK(slash != NULL);
    str_add_n(&cluster, name, (size_t)(slash - name));
    node = view_node_of_name(engine_core(e), cluster.text, slash + 1);
    CHECK(node != NULL);
    body.node = node->id;
    engine_put(e, &fact, NULL, NULL);
    str_fini(&cluster);
}

/* No backend is there: the decisions stand in the journal, and nothing is carried out. */
static void lose(struct engine *e, const char *name)
{
    int64_t now_ms = core_now_ms(engine_core(e)) + STEP_MS;

    put_state(e, name, NODE_UNKNOWN);
    (void)engine_step(e, now_ms);
    put_state(e, name, NODE_GONE);
    (void)engine_step(e, now_ms + STEP_MS);
    put_state(e, name, NODE_UP);
    (void)engine_step(e, now_ms + 2 * STEP_MS);
}

int main(int argc, char **argv)
{
    struct engine_config config = {0};
    struct engine *e = NULL;
    struct err err = {0};
    bool loses = argc == 4 && strcmp(argv[1], "lose") == 0;
    int rc;

    if (!loses && (argc != 3 || strcmp(argv[1], "fold") != 0)) {
        fprintf(stderr, "usage: state-tool fold JOURNAL | lose JOURNAL CLUSTER/NODE\n");
        return 2;
    }
    rc = journal_open_sqlite(argv[2], !loses, &config.journal, &err);
    if (rc == 0) {
        config.snapshot_every = loses ? 1 : 0;
        rc = engine_open(&config, &e, &err);
    }
    if (rc != 0) {
        journal_close(config.journal);
        return fail(&err);
    }
    if (loses) {
        lose(e, argv[3]);
    }
    print_state(engine_core(e), journal_last_seq(config.journal));
    engine_close(e);
    journal_close(config.journal);
    return 0;
}
