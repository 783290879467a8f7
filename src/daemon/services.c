#include "daemon/services.h"

#include "base/check.h"
#include "daemon/account.h"
#include "daemon/daemonmetrics.h"
#include "daemon/waiting.h"

static service_handler *const HANDLERS[SERVICE_OP_COUNT] = {
    [SERVICE_JOB_LIST] = service_job_list,
    [SERVICE_JOB_SUBMIT] = service_job_submit,
    [SERVICE_JOB_SHOW] = service_job_show,
    [SERVICE_JOB_WHY] = service_job_why,
    [SERVICE_JOB_LOGS] = service_job_logs,
    [SERVICE_JOB_CANCEL] = service_job_cancel,
    [SERVICE_JOB_HOLD] = service_job_hold,
    [SERVICE_JOB_RELEASE] = service_job_release,
    [SERVICE_JOB_REQUEUE] = service_job_requeue,
    [SERVICE_JOB_DONE] = service_job_done,
    [SERVICE_JOB_CHECKPOINT] = service_job_checkpoint,
    [SERVICE_QUEUE_LIST] = service_queue_list,
    [SERVICE_QUEUE_SHOW] = service_queue_show,
    [SERVICE_POOL_LIST] = service_pool_list,
    [SERVICE_NODE_LIST] = service_node_list,
    [SERVICE_NODE_SHOW] = service_node_show,
    [SERVICE_NODE_DRAIN] = service_node_drain,
    [SERVICE_NODE_RESUME] = service_node_resume,
    [SERVICE_GPU_LIST] = service_gpu_list,
    [SERVICE_POLICY_SHOW] = service_policy_show,
    [SERVICE_POLICY_CHECK] = service_policy_check,
    [SERVICE_POLICY_PLAN] = service_policy_plan,
    [SERVICE_POLICY_APPLY] = service_policy_apply,
    [SERVICE_JOURNAL_LIST] = service_journal_list,
    [SERVICE_JOURNAL_SHOW] = service_journal_show,
    [SERVICE_JOURNAL_VERIFY] = service_journal_verify,
    [SERVICE_JOURNAL_EXPORT] = service_journal_export,
    [SERVICE_JOURNAL_CHECKPOINT] = service_journal_checkpoint,
    [SERVICE_JOURNAL_KEY] = service_journal_key,
    [SERVICE_JOURNAL_ROTATE] = service_journal_rotate,
    [SERVICE_EVENTS] = service_events,
    [SERVICE_TOKEN_LIST] = service_token_list,
    [SERVICE_TOKEN_CREATE] = service_token_create,
    [SERVICE_TOKEN_REVOKE] = service_token_revoke,
    [SERVICE_WHOAMI] = service_whoami,
    [SERVICE_VERSION] = service_version,
};

static void call(void *ctx, const struct service_call *service_call, service_done *done, void *arg)
{
    struct daemon *d = ctx;
    struct asked asked = {.call = service_call, .done = done, .arg = arg};
    service_handler *handler = NULL;

    if ((size_t)service_call->op < ARRAY_LEN(HANDLERS)) {
        handler = HANDLERS[service_call->op];
    }
    if (handler == NULL) {
        answer_refuse(&asked, ERR_UNSUPPORTED, "", "this musterd does not know the operation");
        return;
    }
    if (!engine_in_flight(d->engine)) {
        handler(d, &asked);
    } else if (service_call->op == SERVICE_JOB_SUBMIT && service_call->param_count == 0) {
        waiting_ahead(d->waiting, d, &asked, handler);
    } else {
        waiting_add(d->waiting, &asked, handler);
    }
}

static int health(void *ctx, struct err *err)
{
    const struct daemon *d = ctx;

    if (d->full.code != 0) {
        return err_set(err, ERR_DISK_FULL, "%s", d->full.text);
    }
    if (engine_frozen(d->engine)) {
        return err_set(err, ERR_FROZEN, "frozen: %s",
                       d->frozen_why == NULL ? "nothing is planned" : d->frozen_why);
    }
    if (d->stopping) {
        return err_set(err, ERR_BUSY, "musterd is stopping");
    }
    return 0;
}

void services_fill(struct daemon *d, struct service *ret)
{
    *ret = (struct service){
        .ctx = d,
        .call = call,
        .who_uid = account_of_uid,
        .who_token = account_of_token,
        .metrics = daemonmetrics_text,
        .health = health,
    };
}
