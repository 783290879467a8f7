/* services - the rows of http/service.h, one function an operation, filed by noun.
 *
 * Each answers exactly once, through the answer_ functions or a command. */
#ifndef MUSTER_DAEMON_SERVICES_H
#define MUSTER_DAEMON_SERVICES_H

#include "daemon/daemon.h"

typedef void service_handler(struct daemon *d, const struct asked *a);

/* service_job.c, service_submit.c, service_log.c */
service_handler service_job_list, service_job_submit, service_job_show, service_job_why,
    service_job_logs, service_job_cancel, service_job_hold, service_job_release,
    service_job_requeue, service_job_done, service_job_checkpoint;
/* service_queue.c */
service_handler service_queue_list, service_queue_show, service_pool_list;
/* service_node.c */
service_handler service_node_list, service_node_show, service_node_drain, service_node_resume,
    service_gpu_list;
/* service_policy.c */
service_handler service_policy_show, service_policy_check, service_policy_plan,
    service_policy_apply;
/* service_journal.c */
service_handler service_journal_list, service_journal_show, service_journal_verify,
    service_journal_export, service_events;
/* service_signing.c */
service_handler service_journal_checkpoint, service_journal_key, service_journal_rotate;
/* service_token.c */
service_handler service_token_list, service_token_create, service_token_revoke, service_whoami,
    service_version;

/* services.c: the table for HTTP; ctx is the daemon. */
void services_fill(struct daemon *d, struct service *ret);

#endif
