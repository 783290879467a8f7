#include "daemon/command.h"

#include "base/check.h"
#include "daemon/jsonout.h"
#include "daemon/loop.h"

static void command_free(struct command *c)
{
    if (c->forget != NULL) {
        c->forget(c->own);
    }
    mem_free(c);
}

static void answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct command *c = arg;

    if (rc == 0) {
        c->seq = seq;
        vec_push(&c->d->durable, c);
        return;
    }
    if (c->failed != NULL) {
        c->failed(c->d, c->own, rc, err);
    }
    if (c->done != NULL) {
        struct asked asked = {.done = c->done, .arg = c->arg};

        answer_error(&asked, rc, err, "");
    }
    command_free(c);
}

void command_put(const struct command *command, const struct fact *fact)
{
    struct command *c = mem_new(1, sizeof(*c));

    *c = *command;
    engine_put(c->d->engine, fact, answered, c);
    loop_step_soon(c->d->loop);
}

void command_durable(struct daemon *d, const struct fact *fact)
{
    struct command *c;
    json_t *json;

    if (d->durable_at == d->durable.count || d->durable.items[d->durable_at]->seq != fact->seq) {
        return;
    }
    c = d->durable.items[d->durable_at++];
    if (d->durable_at == d->durable.count) {
        vec_clear(&d->durable);
        d->durable_at = 0;
    }
    json = c->answer == NULL ? json_object() : c->answer(d, fact, c->own);
    if (c->done != NULL && json != NULL) {
        struct service_answer answer = {.field = "", .json = json, .created = c->created};

        c->done(c->arg, &answer);
    } else {
        json_decref(json);
    }
    command_free(c);
}

json_t *command_answer_seq(struct daemon *d, const struct fact *fact, void *own)
{
    json_t *o = json_object();

    (void)own;
    if (fact->kind == FACT_JOB_HELD || fact->kind == FACT_JOB_RELEASED ||
        fact->kind == FACT_JOB_CANCEL || fact->kind == FACT_JOB_REQUEUE ||
        fact->kind == FACT_JOB_DONE) {
        jsonout_id(o, "job", fact_of(fact, JOB_CANCEL)->job);
    } else if (fact->kind == FACT_JOB_CHECKPOINTED) {
        jsonout_id(o, "job", fact_of(fact, JOB_CHECKPOINTED)->job);
    } else if (fact->kind == FACT_TOKEN_REVOKED) {
        jsonout_id(o, "id", fact_of(fact, TOKEN_REVOKED)->id);
    } else if (fact->kind == FACT_NODE_DRAIN) {
        const struct node *n =
            view_node_of_id(engine_core(d->engine), fact_of(fact, NODE_DRAIN)->node);

        json_object_set_new(o, "node",
                            n == NULL ? json_null() : json_sprintf("%s/%s", n->cluster, n->name));
    }
    jsonout_big(o, "seq", fact->seq);
    return o;
}
