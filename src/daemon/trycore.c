#include "daemon/trycore.h"

#include "base/check.h"

int trycore_init(struct trycore *t, struct daemon *d, struct fact *fact, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    int64_t now_ms = daemon_now_ms(d);
    int rc;

    *t = (struct trycore){0};
    core_snapshot(engine_core(d->engine), &text);
    rc = core_restore(str_text(&text), text.len, &t->core, err);
    if (rc == 0 && fact != NULL) {
        fact->at_ms = now_ms;
        fact->seq = d->durable_seq + 1;
        rc = core_apply(t->core, fact, err);
    }
    if (rc == 0) {
        core_plan(t->core, now_ms, &t->decisions);
    }
    return rc;
}

void trycore_fini(struct trycore *t)
{
    core_free(t->core);
    *t = (struct trycore){0};
}

bool trycore_starts(const struct trycore *t, int64_t job)
{
    for (size_t i = 0; i < t->decisions.count; i++) {
        const struct fact *f = &t->decisions.items[i];

        if (f->kind == FACT_JOB_STARTED && fact_of(f, JOB_STARTED)->job == job) {
            return true;
        }
    }
    return false;
}

void trycore_carry_out(struct trycore *t, int64_t seq)
{
    for (size_t i = 0; i < t->decisions.count; i++) {
        struct fact fact = t->decisions.items[i];
        int rc;

        fact.seq = ++seq;
        rc = core_apply(t->core, &fact, NULL);
        CHECK(rc == 0); /* a plan decides only what the state allows */
    }
    t->decisions = (struct decisions){0};
}
