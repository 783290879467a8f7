/* virtual_report - what happened, as facts for the sink. */
#include "backend/virtual/virtual_impl.h"
#include "base/check.h"

void virtual_tell(struct virtual_backend *v, struct fact fact, int64_t at_ms)
{
    CHECK(v->base.sink != NULL);
    fact.true_at_ms = at_ms;
    v->base.sink(v->base.sink_ctx, &fact);
}

static void tell_running(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct fact_task_running body = {ev->job, ev->attempt, ev->task, ev->step};

    virtual_tell(v, (struct fact){.kind = FACT_TASK_RUNNING, .body.as_TASK_RUNNING = &body},
                 ev->at_ms);
}

static void tell_ended(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct fact_task_ended body = {ev->job,   ev->attempt, ev->task,
                                         ev->cause, ev->status,  ev->step};

    virtual_tell(v, (struct fact){.kind = FACT_TASK_ENDED, .body.as_TASK_ENDED = &body}, ev->at_ms);
}

static void tell_refused(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct fact_task_refused body = {.job = ev->job,
                                           .attempt = ev->attempt,
                                           .task = ev->task,
                                           .reason = "start refused",
                                           .node_fault = ev->node_fault,
                                           .step = ev->step};

    virtual_tell(v, (struct fact){.kind = FACT_TASK_REFUSED, .body.as_TASK_REFUSED = &body},
                 ev->at_ms);
}

static void tell_checkpoint(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct fact_job_checkpointed body = {ev->job, ev->attempt, "virtual"};

    virtual_tell(v, (struct fact){.kind = FACT_JOB_CHECKPOINTED, .body.as_JOB_CHECKPOINTED = &body},
                 ev->at_ms);
}

static void tell_done(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct fact_job_asked body = {ev->job, ev->attempt, "task", "said done"};

    virtual_tell(v, (struct fact){.kind = FACT_JOB_DONE, .body.as_JOB_DONE = &body}, ev->at_ms);
}

void virtual_tell_event(struct virtual_backend *v, const struct virtual_event *ev)
{
    switch (ev->what) {
    case WHAT_RUNNING:
        tell_running(v, ev);
        break;
    case WHAT_ENDED:
        tell_ended(v, ev);
        break;
    case WHAT_REFUSED:
        tell_refused(v, ev);
        break;
    case WHAT_CHECKPOINT:
        tell_checkpoint(v, ev);
        break;
    case WHAT_DONE:
        tell_done(v, ev);
        break;
    }
}
