/* engine_apply - what was taken becomes facts of the batch: time, ids and seq are given, the core
 * applies them, the codec writes them.
 *
 * A fact has its seq before it is appended, so that state never differs between the run and its
 * replay.  True time equal to the recorded time is written once and read back as 0, for the same
 * reason.
 */
#include "base/check.h"
#include "core/codec.h"
#include "core/view.h"
#include "engine/engine_impl.h"

void engine_batch_clear(struct engine *e)
{
    vec_clear(&e->batch.facts);
    vec_clear(&e->batch.records);
    vec_clear(&e->batch.offsets);
    vec_clear(&e->lost);
    str_clear(&e->batch.bytes);
    e->batch.base_seq = journal_last_seq(e->config.journal);
}

int64_t engine_batch_next_seq(const struct engine *e)
{
    return e->batch.base_seq + (int64_t)e->batch.facts.count + 1;
}

/* Write the fact behind the batch; it joins with batch_join, or is taken back. */
static size_t batch_write(struct engine *e, const struct fact *fact)
{
    size_t offset = e->batch.bytes.len;

    codec_encode_fact(fact, &e->batch.bytes);
    return offset;
}

static void batch_take_back(struct engine *e, size_t offset)
{
    e->batch.bytes.len = offset;
    e->batch.bytes.text[offset] = '\0';
}

static void batch_join(struct engine *e, const struct fact *fact, size_t offset)
{
    struct engine_batch *b = &e->batch;
    const struct journal_record record = {
        .epoch = e->config.epoch,
        .at_ms = fact->at_ms,
        .true_at_ms = fact->true_at_ms != 0 ? fact->true_at_ms : fact->at_ms,
        .kind = fact_kind_name(fact->kind),
        .version = ENGINE_RECORD_VERSION,
        .len = b->bytes.len - offset,
    };

    vec_push(&b->offsets, offset);
    vec_push(&b->records, record);
    vec_push(&b->facts, *fact);
}

void engine_batch_add(struct engine *e, const struct fact *fact)
{
    batch_join(e, fact, batch_write(e, fact));
}

int64_t engine_call_us(const struct engine *e)
{
    const struct engine_hooks *hooks = &e->config.hooks;

    return hooks->call_us != NULL ? hooks->call_us(hooks->ctx) : 0;
}

int engine_core_apply(struct engine *e, const struct fact *fact, struct err *err)
{
    int64_t from_us = engine_call_us(e);
    int rc = core_apply(e->core, fact, err);

    e->stats.call_us += engine_call_us(e) - from_us;
    return rc;
}

/* The id of a node that a backend tells of by name: the one it has, or the one the policy gave it,
 * or a new one. */
static int64_t node_id(const struct engine *e, const struct fact_node_seen *seen)
{
    const struct policy *policy = view_policy(e->core);
    const struct node *known = view_node_of_name(e->core, seen->cluster, seen->name);
    int64_t id = known != NULL ? known->id : 0;
    size_t i;

    for (i = 0; id == 0 && policy != NULL && i < policy->node_count; i++) {
        const struct policy_node *node = &policy->nodes[i];

        if (str_cmp(node->cluster, seen->cluster) == 0 && str_cmp(node->name, seen->name) == 0) {
            id = node->id;
        }
    }
    return id != 0 ? id : core_next_node(e->core);
}

/* What the engine may fill in; each only where it is 0. */
static void fill_ids(struct engine *e, struct engine_item *item)
{
    if (item->fact.kind == FACT_NODE_SEEN) {
        struct fact_node_seen *seen = item->body;

        seen->id = seen->id != 0 ? seen->id : node_id(e, seen);
    } else if (item->fact.kind == FACT_JOB_SUBMITTED) {
        struct fact_job_submitted *job = item->body;

        job->id = job->id != 0 ? job->id : core_next_job(e->core);
    } else if (item->fact.kind == FACT_TOKEN_CREATED) {
        struct fact_token_created *token = item->body;

        token->id = token->id != 0 ? token->id : core_next_token(e->core);
    }
}

/* The journal takes UTF-8 only: one bad text must not hold up the whole batch. */
static int check_text(struct engine *e, size_t offset, struct err *err)
{
    const struct str *bytes = &e->batch.bytes;

    return str_is_utf8(bytes->text + offset, bytes->len - offset)
               ? 0
               : err_set(err, ERR_SYNTAX, "a text in it is not UTF-8");
}

static void apply_item(struct engine *e, struct engine_item *item, int64_t at_ms)
{
    struct fact *fact = &item->fact;
    size_t offset;

    fill_ids(e, item);
    fact->at_ms = at_ms;
    fact->true_at_ms = fact->true_at_ms == at_ms ? 0 : fact->true_at_ms;
    fact->seq = engine_batch_next_seq(e);
    offset = batch_write(e, fact);
    item->rc = check_text(e, offset, &item->err);
    if (item->rc == 0) {
        item->rc = engine_core_apply(e, fact, &item->err);
    }
    if (item->rc == 0) {
        item->at = e->batch.facts.count;
        batch_join(e, fact, offset);
        return;
    }
    batch_take_back(e, offset);
    if (item->world) {
        e->stats.stale++; /* a report that came twice, late, or about what is over */
    } else {
        e->stats.refused++;
    }
}

void engine_apply(struct engine *e, int64_t now_ms)
{
    int64_t last_ms = core_now_ms(e->core);
    int64_t at_ms = now_ms > last_ms ? now_ms : last_ms;
    size_t i;

    for (i = 0; i < e->taken.items.count; i++) {
        if (e->taken.items.items[i].rc == 0) {
            apply_item(e, &e->taken.items.items[i], at_ms);
        }
    }
}
