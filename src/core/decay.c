#include "core/decay.h"

#include "base/check.h"
#include "core/state.h"

#define ONE          ((int128)1 << 62)
#define HALVINGS_MAX 120 /* nothing is left of an int128 */

/* 2^(-1/2), 2^(-1/4), … 2^(-1/65536), times 2^62. */
static const uint64_t ROOTS[16] = {
    0x2d413cccfe779921U, 0x35d13f32b5a75abdU, 0x3ab031b9f7490e4bU, 0x3d495f454921b30bU,
    0x3ea0ecb6dc8a80ceU, 0x3f4f83033d21b05dU, 0x3fa784571ee3e212U, 0x3fd3b2d65447b229U,
    0x3fe9d59487236bb4U, 0x3ff4e9d4703df842U, 0x3ffa74acbdf6c9d5U, 0x3ffd3a46ffc6e30fU,
    0x3ffe9d1fa8010199U, 0x3fff4e8ede053ad4U, 0x3fffa747318376acU, 0x3fffd3a38961e6feU,
};

/* 1 / ln 2 = 1.4426950…, times 2^32: the integral of 2^(-t / h) from 0 on is h / ln 2. */
#define INVERSE_LN2 ((int128)6196328018)

/* 2^(-dt / half_life) times 2^62, for less than one half-life. */
static int128 root_of(int64_t rest_ms, int64_t half_life_ms)
{
    int64_t sixteenths = (int64_t)((int128)rest_ms * 65536 / half_life_ms);
    int128 factor = ONE;

    for (int k = 0; k < 16; k++) {
        if ((sixteenths >> (15 - k) & 1) != 0) {
            factor = factor * (int128)ROOTS[k] / ONE;
        }
    }
    return factor;
}

/* amount × factor / 2^62 where the product may pass 127 bits: by the amount's halves. */
static int128 scale(int128 amount, int128 factor)
{
    int128 high = amount / ONE;
    int128 low = amount % ONE;

    return high * factor + low * factor / ONE;
}

int128 decay_of(int128 amount, int64_t dt_ms, int64_t half_life_ms)
{
    int64_t halvings = dt_ms / half_life_ms;

    if (halvings > HALVINGS_MAX) {
        return 0;
    }
    return scale(amount >> halvings, root_of(dt_ms % half_life_ms, half_life_ms));
}

static const struct meter_queue *row_of(const struct core *c, int64_t queue_id)
{
    for (size_t i = 0; i < c->meter.queues.count; i++) {
        if (c->meter.queues.items[i].queue == queue_id) {
            return &c->meter.queues.items[i];
        }
    }
    return NULL;
}

static int64_t used_now(const struct queue_tree *t, int queue)
{
    int64_t gu = 0;

    for (int p = 0; p < t->pool_count; p++) {
        gu += t->items[queue].quotas[p].plain;
    }
    return gu;
}

/* The value at now, of a queue that has used the same since its row was written. */
static int128 advance(int128 value, int64_t used_gu, int64_t dt_ms, int64_t half_life_ms)
{
    int128 whole = (int128)used_gu * half_life_ms;

    /* ∫ used × 2^(-t/h) over dt = used × h / ln 2 × (1 - 2^(-dt/h)) */
    return decay_of(value, dt_ms, half_life_ms) +
           scale(whole, ONE - decay_of(ONE, dt_ms, half_life_ms)) / (1 << 16) * INVERSE_LN2 /
               ((int128)1 << 16);
}

int128 decay_used(const struct core *c, int queue, int64_t now_ms)
{
    const struct meter_queue *row = row_of(c, c->queues->items[queue].id);
    int64_t since = row != NULL ? row->decayed_ms : now_ms;

    if (c->policy->decay_half_life_ms <= 0) {
        return 0;
    }
    return advance(row != NULL ? row->decayed_gu_ms : 0, used_now(c->queues, queue),
                   now_ms > since ? now_ms - since : 0, c->policy->decay_half_life_ms);
}

void decay_touch(struct core *c, int leaf)
{
    if (c->policy->decay_half_life_ms <= 0) {
        return;
    }
    for (int q = leaf; q >= 0; q = c->queues->items[q].parent) {
        int128 value = decay_used(c, q, c->applying_ms);
        struct meter_queue *row = meter_queue_row(&c->meter, c->queues->items[q].id);

        row->decayed_gu_ms = value;
        row->decayed_ms = c->applying_ms;
    }
}
