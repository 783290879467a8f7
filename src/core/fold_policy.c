/* Policies and tokens. */
#include "core/codec.h"
#include "core/fold.h"

#include "base/check.h"
#include "base/minmax.h"

int fold_policy(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_policy_set *set = fact_of(f, POLICY_SET);
    struct arena *arena;
    int rc = core_policy_check(c, &set->policy, err);

    if (rc != 0) {
        return rc;
    }
    arena = arena_make();
    c->policy = codec_copy(&POLICY_SCHEMA, &set->policy, arena);
    c->policy_seq = f->seq;
    for (size_t i = 0; i < c->policy->pool_count; i++) {
        c->next_pool = max64(c->next_pool, c->policy->pools[i].id + 1);
    }
    for (size_t i = 0; i < c->policy->queue_count; i++) {
        c->next_queue = max64(c->next_queue, c->policy->queues[i].id + 1);
    }
    for (size_t i = 0; i < c->policy->node_count; i++) {
        c->next_node = max64(c->next_node, c->policy->nodes[i].id + 1);
    }
    fold_rebuild(c);
    arena_free(c->policy_arena);
    c->policy_arena = arena;
    return 0;
}

static int token_created(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_token_created *made = fact_of(f, TOKEN_CREATED);
    struct token *t;
    const char **roles;
    struct arena *arena;

    if (made->id < c->next_token || made->id > CORE_ID_MAX) {
        return err_set(err, ERR_INVALID, "token id %lld is not new", (long long)made->id);
    }
    arena = arena_make_sized(256);
    t = arena_new(arena, 1, sizeof(*t));
    roles = arena_new(arena, made->role_count + 1, sizeof(*roles));
    for (size_t i = 0; i < made->role_count; i++) {
        roles[i] = arena_text(arena, made->roles[i]);
    }
    t->arena = arena;
    t->shown = (struct view_token){.id = made->id,
                                   .subject = arena_text(arena, made->subject),
                                   .name = arena_text(arena, made->name),
                                   .digest = arena_text(arena, made->digest),
                                   .roles = roles,
                                   .role_count = made->role_count,
                                   .created_ms = f->at_ms,
                                   .expires_ms = made->expires_ms};
    omap_put(&c->tokens, (struct omap_key){made->id, 0, 0}, t);
    c->next_token = made->id + 1;
    return 0;
}

int fold_token(struct core *c, const struct fact *f, struct err *err)
{
    struct token *t;

    if (f->kind == FACT_TOKEN_CREATED) {
        return token_created(c, f, err);
    }
    t = omap_remove(&c->tokens, (struct omap_key){fact_of(f, TOKEN_REVOKED)->id, 0, 0});
    if (t == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no token %lld",
                       (long long)fact_of(f, TOKEN_REVOKED)->id);
    }
    arena_free(t->arena);
    return 0;
}
