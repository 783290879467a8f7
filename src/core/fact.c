/* The tables of all facts: one row a field, in the order of the JSON text. */
#include "core/fact.h"

#include <string.h>

const char *const QUEUE_STATE_NAMES[] = {"open", "closed", "draining", NULL};
const char *const QUEUE_RECLAIM_NAMES[] = {"any", "lower_priority", "never", NULL};
const char *const QUEUE_PREEMPT_NAMES[] = {"lower_priority", "lower_or_newer_equal", "never", NULL};
const char *const QUEUE_SANDBOX_NAMES[] = {"optional", "required", NULL};
const char *const QUEUE_ORDER_NAMES[] = {"fair", "fifo", "attained", "shortest", NULL};
const char *const FAIR_SHARE_NAMES[] = {"weighted", "take", "none", NULL};
const char *const SHARE_WITHIN_NAMES[] = {"top", "user", "any", NULL};
const char *const JOB_CLASS_NAMES[] = {"training", "service", "workspace", NULL};
const char *const NODE_STATE_NAMES[] = {"up", "unknown", "gone", NULL};
const char *const TASK_CAUSE_NAMES[] = {"exited", "signalled", "lost", "timeout", NULL};
const char *const STOP_CAUSE_NAMES[] = {"cancelled", "requeued",      "limit",  "broken_gang",
                                        "drain",     "start_timeout", "failed", NULL};
const char *const ATTEMPT_OUTCOME_NAMES[] = {"succeeded", "failed", "cancelled", "requeued", NULL};

static const struct schema_field POLICY_POOL_SCHEMA_fields[] = {
    SCHEMA_INT(policy_pool, id),
    SCHEMA_TEXT(policy_pool, name),
    SCHEMA_ENUM(policy_pool, share_within, SHARE_WITHIN_NAMES),
    SCHEMA_BOOL(policy_pool, mixed),
    SCHEMA_INT(policy_pool, cpu_per_gpu_milli),
};
static SCHEMA_DEFINE(POLICY_POOL_SCHEMA, "pool", policy_pool);

static const struct schema_field POLICY_QUOTA_SCHEMA_fields[] = {
    SCHEMA_INT(policy_quota, pool),      SCHEMA_INT(policy_quota, reserved_gu),
    SCHEMA_INT(policy_quota, limit_gu),  SCHEMA_INT(policy_quota, lend_gu),
    SCHEMA_INT(policy_quota, borrow_gu),
};
static SCHEMA_DEFINE(POLICY_QUOTA_SCHEMA, "quota", policy_quota);

static const struct schema_field POLICY_QUEUE_SCHEMA_fields[] = {
    SCHEMA_INT(policy_queue, id),
    SCHEMA_TEXT(policy_queue, name),
    SCHEMA_INT(policy_queue, parent),
    SCHEMA_INT(policy_queue, weight),
    SCHEMA_ENUM(policy_queue, state, QUEUE_STATE_NAMES),
    SCHEMA_ENUM(policy_queue, reclaim, QUEUE_RECLAIM_NAMES),
    SCHEMA_ENUM(policy_queue, preempt_within, QUEUE_PREEMPT_NAMES),
    SCHEMA_ENUM(policy_queue, order, QUEUE_ORDER_NAMES),
    SCHEMA_BOOL(policy_queue, nonpreemptible_may_borrow),
    SCHEMA_BOOL(policy_queue, min_run_binds_all),
    SCHEMA_INT(policy_queue, priority_max),
    SCHEMA_INT(policy_queue, grace_ms),
    SCHEMA_INT(policy_queue, grace_max_ms),
    SCHEMA_INT(policy_queue, min_run_ms),
    SCHEMA_INT(policy_queue, drain_after_ms),
    SCHEMA_INT(policy_queue, gang_repair_ms),
    SCHEMA_INT(policy_queue, stop_stuck_ms),
    SCHEMA_INT(policy_queue, start_timeout_ms),
    SCHEMA_INTS(policy_queue, pools, pool_count),
    SCHEMA_LIST(policy_queue, quotas, quota_count, &POLICY_QUOTA_SCHEMA),
    SCHEMA_ENUM(policy_queue, sandbox, QUEUE_SANDBOX_NAMES),
};
static SCHEMA_DEFINE(POLICY_QUEUE_SCHEMA, "queue", policy_queue);

static const struct schema_field POLICY_LABEL_SCHEMA_fields[] = {
    SCHEMA_TEXT(policy_label, key),
    SCHEMA_TEXT(policy_label, value),
};
static SCHEMA_DEFINE(POLICY_LABEL_SCHEMA, "label", policy_label);

static const struct schema_field POLICY_NODE_SCHEMA_fields[] = {
    SCHEMA_INT(policy_node, id),
    SCHEMA_TEXT(policy_node, name),
    SCHEMA_TEXT(policy_node, cluster),
    SCHEMA_INT(policy_node, pool),
    SCHEMA_INT(policy_node, gpus),
    SCHEMA_TEXT(policy_node, model),
    SCHEMA_BOOL(policy_node, mig),
    SCHEMA_BOOL(policy_node, simulated),
    SCHEMA_INT(policy_node, cpu_milli),
    SCHEMA_INT(policy_node, memory_bytes),
    SCHEMA_LIST(policy_node, labels, label_count, &POLICY_LABEL_SCHEMA),
    SCHEMA_LIST(policy_node, domains, domain_count, &POLICY_LABEL_SCHEMA),
};
static SCHEMA_DEFINE(POLICY_NODE_SCHEMA, "node", policy_node);

static const struct schema_field POLICY_USER_SCHEMA_fields[] = {
    SCHEMA_TEXT(policy_user, subject),
    SCHEMA_TEXTS(policy_user, roles, role_count),
    SCHEMA_INTS(policy_user, queues, queue_count),
};
static SCHEMA_DEFINE(POLICY_USER_SCHEMA, "user", policy_user);

static const struct schema_field POLICY_CHARGE_SCHEMA_fields[] = {
    SCHEMA_TEXT(policy_charge, model),
    SCHEMA_TEXT(policy_charge, profile),
    SCHEMA_INT(policy_charge, charge_gu),
};
static SCHEMA_DEFINE(POLICY_CHARGE_SCHEMA, "charge", policy_charge);

static const struct schema_field POLICY_SCHEMA_fields[] = {
    SCHEMA_TEXT(policy, cluster),
    SCHEMA_TEXT(policy, timezone),
    SCHEMA_ENUM(policy, fair_share, FAIR_SHARE_NAMES),
    SCHEMA_BOOL(policy, consolidation),
    SCHEMA_BOOL(policy, overcommit),
    SCHEMA_INT(policy, node_lost_ms),
    SCHEMA_INT(policy, restart_cost_ms),
    SCHEMA_INT(policy, decay_half_life_ms),
    SCHEMA_INT(policy, retries),
    SCHEMA_INT(policy, backoff_ms),
    SCHEMA_TEXTS(policy, levels, level_count),
    SCHEMA_LIST(policy, pools, pool_count, &POLICY_POOL_SCHEMA),
    SCHEMA_LIST(policy, queues, queue_count, &POLICY_QUEUE_SCHEMA),
    SCHEMA_LIST(policy, nodes, node_count, &POLICY_NODE_SCHEMA),
    SCHEMA_LIST(policy, users, user_count, &POLICY_USER_SCHEMA),
    SCHEMA_LIST(policy, charges, charge_count, &POLICY_CHARGE_SCHEMA),
    SCHEMA_TEXT(policy, digest),
    SCHEMA_INT(policy, ended_jobs),
};
SCHEMA_DEFINE(POLICY_SCHEMA, "policy", policy);

static const struct schema_field BODY_policy_set_fields[] = {
    SCHEMA_SUB(fact_policy_set, policy, &POLICY_SCHEMA),
    SCHEMA_TEXT(fact_policy_set, subject),
};
static SCHEMA_DEFINE(BODY_policy_set, "set", fact_policy_set);

static const struct schema_field BODY_device_fields[] = {
    SCHEMA_INT(fact_device, slot),      SCHEMA_TEXT(fact_device, uuid),
    SCHEMA_TEXT(fact_device, model),    SCHEMA_INT(fact_device, memory_bytes),
    SCHEMA_BOOL(fact_device, mig),      SCHEMA_TEXT(fact_device, profile),
    SCHEMA_INT(fact_device, charge_gu),
};
static SCHEMA_DEFINE(BODY_device, "device", fact_device);

static const struct schema_field BODY_node_seen_fields[] = {
    SCHEMA_INT(fact_node_seen, id),
    SCHEMA_TEXT(fact_node_seen, name),
    SCHEMA_TEXT(fact_node_seen, cluster),
    SCHEMA_INT(fact_node_seen, pool),
    SCHEMA_BOOL(fact_node_seen, simulated),
    SCHEMA_INT(fact_node_seen, cpu_milli),
    SCHEMA_INT(fact_node_seen, memory_bytes),
    SCHEMA_LIST(fact_node_seen, labels, label_count, &POLICY_LABEL_SCHEMA),
    SCHEMA_LIST(fact_node_seen, domains, domain_count, &POLICY_LABEL_SCHEMA),
    SCHEMA_LIST(fact_node_seen, devices, device_count, &BODY_device),
};
SCHEMA_DEFINE(BODY_node_seen, "node_seen", fact_node_seen);

static const struct schema_field BODY_node_state_fields[] = {
    SCHEMA_INT(fact_node_state, node),
    SCHEMA_ENUM(fact_node_state, state, NODE_STATE_NAMES),
    SCHEMA_TEXT(fact_node_state, reason),
};
static SCHEMA_DEFINE(BODY_node_state, "node_state", fact_node_state);

static const struct schema_field BODY_node_drain_fields[] = {
    SCHEMA_INT(fact_node_drain, node),     SCHEMA_BOOL(fact_node_drain, drain),
    SCHEMA_INT(fact_node_drain, by_ms),    SCHEMA_TEXT(fact_node_drain, reason),
    SCHEMA_TEXT(fact_node_drain, subject),
};
static SCHEMA_DEFINE(BODY_node_drain, "node_drain", fact_node_drain);

static const struct schema_field BODY_device_state_fields[] = {
    SCHEMA_INT(fact_device_state, node),
    SCHEMA_INT(fact_device_state, slot),
    SCHEMA_BOOL(fact_device_state, out),
    SCHEMA_TEXT(fact_device_state, reason),
};
static SCHEMA_DEFINE(BODY_device_state, "device_state", fact_device_state);

static const struct schema_field BODY_group_fields[] = {
    SCHEMA_TEXT(fact_group, name),
    SCHEMA_INT(fact_group, tasks),
    SCHEMA_INT(fact_group, min_tasks),
    SCHEMA_INT(fact_group, gpus),
    SCHEMA_TEXT(fact_group, profile),
    SCHEMA_INT(fact_group, slices),
    SCHEMA_INT(fact_group, share_gu),
    SCHEMA_INT(fact_group, share_memory_bytes),
    SCHEMA_BOOL(fact_group, mps),
    SCHEMA_INT(fact_group, cpu_milli),
    SCHEMA_INT(fact_group, memory_bytes),
    SCHEMA_TEXT(fact_group, model),
    SCHEMA_TEXT(fact_group, required),
    SCHEMA_TEXT(fact_group, preferred),
    SCHEMA_LIST(fact_group, labels, label_count, &POLICY_LABEL_SCHEMA),
    SCHEMA_TEXTS(fact_group, nodes, node_count),
};
static SCHEMA_DEFINE(BODY_group, "group", fact_group);

static const struct schema_field BODY_job_submitted_fields[] = {
    SCHEMA_INT(fact_job_submitted, id),
    SCHEMA_INT(fact_job_submitted, array),
    SCHEMA_INT(fact_job_submitted, element),
    SCHEMA_TEXT(fact_job_submitted, name),
    SCHEMA_INT(fact_job_submitted, queue),
    SCHEMA_TEXT(fact_job_submitted, subject),
    SCHEMA_ENUM(fact_job_submitted, job_class, JOB_CLASS_NAMES),
    SCHEMA_BOOL(fact_job_submitted, nonpreemptible),
    SCHEMA_BOOL(fact_job_submitted, independent),
    SCHEMA_BOOL(fact_job_submitted, held),
    SCHEMA_INT(fact_job_submitted, priority),
    SCHEMA_INTS(fact_job_submitted, pools, pool_count),
    SCHEMA_INT(fact_job_submitted, limit_ms),
    SCHEMA_INT(fact_job_submitted, predicted_ms),
    SCHEMA_INT(fact_job_submitted, grace_ms),
    SCHEMA_INT(fact_job_submitted, signal),
    SCHEMA_INT(fact_job_submitted, retries),
    SCHEMA_INT(fact_job_submitted, backoff_ms),
    SCHEMA_LIST(fact_job_submitted, groups, group_count, &BODY_group),
    SCHEMA_TEXT(fact_job_submitted, spec),
    SCHEMA_BOOL(fact_job_submitted, sandbox),
};
SCHEMA_DEFINE(BODY_job_submitted, "job_submitted", fact_job_submitted);

static const struct schema_field BODY_job_asked_fields[] = {
    SCHEMA_INT(fact_job_asked, job),
    SCHEMA_INT(fact_job_asked, attempt),
    SCHEMA_TEXT(fact_job_asked, subject),
    SCHEMA_TEXT(fact_job_asked, reason),
};
static SCHEMA_DEFINE(BODY_job_asked, "job_asked", fact_job_asked);

static const struct schema_field BODY_job_checkpointed_fields[] = {
    SCHEMA_INT(fact_job_checkpointed, job),
    SCHEMA_INT(fact_job_checkpointed, attempt),
    SCHEMA_TEXT(fact_job_checkpointed, name),
};
static SCHEMA_DEFINE(BODY_job_checkpointed, "job_checkpointed", fact_job_checkpointed);

static const struct schema_field BODY_task_running_fields[] = {
    SCHEMA_INT(fact_task_running, job),
    SCHEMA_INT(fact_task_running, attempt),
    SCHEMA_INT(fact_task_running, task),
    SCHEMA_INT(fact_task_running, step),
};
static SCHEMA_DEFINE(BODY_task_running, "task_running", fact_task_running);

static const struct schema_field BODY_task_ended_fields[] = {
    SCHEMA_INT(fact_task_ended, job),    SCHEMA_INT(fact_task_ended, attempt),
    SCHEMA_INT(fact_task_ended, task),   SCHEMA_ENUM(fact_task_ended, cause, TASK_CAUSE_NAMES),
    SCHEMA_INT(fact_task_ended, status), SCHEMA_INT(fact_task_ended, step),
};
static SCHEMA_DEFINE(BODY_task_ended, "task_ended", fact_task_ended);

static const struct schema_field BODY_task_refused_fields[] = {
    SCHEMA_INT(fact_task_refused, job),         SCHEMA_INT(fact_task_refused, attempt),
    SCHEMA_INT(fact_task_refused, task),        SCHEMA_TEXT(fact_task_refused, reason),
    SCHEMA_BOOL(fact_task_refused, node_fault), SCHEMA_INT(fact_task_refused, step),
};
static SCHEMA_DEFINE(BODY_task_refused, "task_refused", fact_task_refused);

static const struct schema_field BODY_clock_stepped_fields[] = {
    SCHEMA_INT(fact_clock_stepped, by_ms),
};
static SCHEMA_DEFINE(BODY_clock_stepped, "clock_stepped", fact_clock_stepped);

static const struct schema_field BODY_daemon_state_fields[] = {
    SCHEMA_TEXT(fact_daemon_state, version),
    SCHEMA_BOOL(fact_daemon_state, frozen),
    SCHEMA_TEXT(fact_daemon_state, reason),
};
static SCHEMA_DEFINE(BODY_daemon_state, "daemon_state", fact_daemon_state);

static const struct schema_field BODY_policy_refused_fields[] = {
    SCHEMA_TEXT(fact_policy_refused, digest),
    SCHEMA_TEXT(fact_policy_refused, reason),
};
static SCHEMA_DEFINE(BODY_policy_refused, "refused", fact_policy_refused);

static const struct schema_field BODY_token_created_fields[] = {
    SCHEMA_INT(fact_token_created, id),
    SCHEMA_TEXT(fact_token_created, subject),
    SCHEMA_TEXT(fact_token_created, digest),
    SCHEMA_TEXT(fact_token_created, name),
    SCHEMA_TEXTS(fact_token_created, roles, role_count),
    SCHEMA_INT(fact_token_created, expires_ms),
};
static SCHEMA_DEFINE(BODY_token_created, "token_created", fact_token_created);

static const struct schema_field BODY_token_revoked_fields[] = {
    SCHEMA_INT(fact_token_revoked, id),
    SCHEMA_TEXT(fact_token_revoked, subject),
};
static SCHEMA_DEFINE(BODY_token_revoked, "token_revoked", fact_token_revoked);

static const struct schema_field BODY_journal_key_fields[] = {
    SCHEMA_TEXT(fact_journal_key, key),      SCHEMA_TEXT(fact_journal_key, public_key),
    SCHEMA_TEXT(fact_journal_key, previous), SCHEMA_TEXT(fact_journal_key, signature),
    SCHEMA_TEXT(fact_journal_key, subject),
};
static SCHEMA_DEFINE(BODY_journal_key, "journal_key", fact_journal_key);

static const struct schema_field BODY_journal_checkpoint_fields[] = {
    SCHEMA_INT(fact_journal_checkpoint, signed_seq),
    SCHEMA_TEXT(fact_journal_checkpoint, hash),
    SCHEMA_TEXT(fact_journal_checkpoint, state_hash),
    SCHEMA_INT(fact_journal_checkpoint, format),
    SCHEMA_TEXT(fact_journal_checkpoint, key),
    SCHEMA_TEXT(fact_journal_checkpoint, signature),
    SCHEMA_TEXT(fact_journal_checkpoint, subject),
};
static SCHEMA_DEFINE(BODY_journal_checkpoint, "journal_checkpoint", fact_journal_checkpoint);

static const struct schema_field BODY_grant_device_fields[] = {
    SCHEMA_INT(fact_grant_device, slot),     SCHEMA_INT(fact_grant_device, gu),
    SCHEMA_TEXT(fact_grant_device, profile), SCHEMA_INT(fact_grant_device, start),
    SCHEMA_BOOL(fact_grant_device, recut),   SCHEMA_INT(fact_grant_device, memory_bytes),
};
static SCHEMA_DEFINE(BODY_grant_device, "grant_device", fact_grant_device);

static const struct schema_field BODY_grant_fields[] = {
    SCHEMA_INT(fact_grant, task),
    SCHEMA_INT(fact_grant, group),
    SCHEMA_INT(fact_grant, node),
    SCHEMA_LIST(fact_grant, devices, device_count, &BODY_grant_device),
    SCHEMA_INT(fact_grant, cpu_milli),
    SCHEMA_INT(fact_grant, memory_bytes),
    SCHEMA_INT(fact_grant, step),
};
SCHEMA_DEFINE(BODY_grant, "grant", fact_grant);

static const struct schema_field BODY_number_fields[] = {
    SCHEMA_TEXT(fact_number, name),
    SCHEMA_INT(fact_number, value),
};
static SCHEMA_DEFINE(BODY_number, "number", fact_number);

static const struct schema_field BODY_reason_fields[] = {
    SCHEMA_TEXT(fact_reason, rule),
    SCHEMA_TEXT(fact_reason, text),
    SCHEMA_LIST(fact_reason, numbers, number_count, &BODY_number),
    SCHEMA_INTS(fact_reason, jobs, job_count),
};
SCHEMA_DEFINE(BODY_reason, "reason", fact_reason);

static const struct schema_field BODY_job_started_fields[] = {
    SCHEMA_INT(fact_job_started, job),
    SCHEMA_INT(fact_job_started, attempt),
    SCHEMA_INT(fact_job_started, step),
    SCHEMA_INT(fact_job_started, pool),
    SCHEMA_LIST(fact_job_started, tasks, task_count, &BODY_grant),
    SCHEMA_INT(fact_job_started, reserved_gu),
    SCHEMA_INT(fact_job_started, borrowed_gu),
    SCHEMA_INTS(fact_job_started, passes, pass_count),
    SCHEMA_SUB(fact_job_started, why, &BODY_reason),
};
static SCHEMA_DEFINE(BODY_job_started, "job_started", fact_job_started);

static const struct schema_field BODY_victim_fields[] = {
    SCHEMA_INT(fact_victim, job),
    SCHEMA_INT(fact_victim, attempt),
    SCHEMA_INTS(fact_victim, tasks, task_count),
    SCHEMA_INT(fact_victim, gu),
    SCHEMA_INT(fact_victim, lost_gu_ms),
    SCHEMA_INT(fact_victim, cost_gu_ms),
    SCHEMA_INT(fact_victim, deadline_ms),
    SCHEMA_BOOL(fact_victim, nominee),
    SCHEMA_INT(fact_victim, move_node),
    SCHEMA_LIST(fact_victim, moved, moved_count, &BODY_grant),
};
static SCHEMA_DEFINE(BODY_victim, "victim", fact_victim);

static const struct schema_field BODY_job_claimed_fields[] = {
    SCHEMA_INT(fact_job_claimed, job),
    SCHEMA_INT(fact_job_claimed, pool),
    SCHEMA_INT(fact_job_claimed, step),
    SCHEMA_LIST(fact_job_claimed, tasks, task_count, &BODY_grant),
    SCHEMA_LIST(fact_job_claimed, victims, victim_count, &BODY_victim),
    SCHEMA_BOOL(fact_job_claimed, exact),
    SCHEMA_INT(fact_job_claimed, candidates),
    SCHEMA_SUB(fact_job_claimed, why, &BODY_reason),
};
static SCHEMA_DEFINE(BODY_job_claimed, "job_claimed", fact_job_claimed);

static const struct schema_field BODY_job_stopped_fields[] = {
    SCHEMA_INT(fact_job_stopped, job),
    SCHEMA_INT(fact_job_stopped, attempt),
    SCHEMA_ENUM(fact_job_stopped, cause, STOP_CAUSE_NAMES),
    SCHEMA_INT(fact_job_stopped, deadline_ms),
    SCHEMA_INT(fact_job_stopped, lost_gu_ms),
    SCHEMA_SUB(fact_job_stopped, why, &BODY_reason),
};
static SCHEMA_DEFINE(BODY_job_stopped, "job_stopped", fact_job_stopped);

static const struct schema_field BODY_job_killed_fields[] = {
    SCHEMA_INT(fact_job_killed, job),
    SCHEMA_INT(fact_job_killed, attempt),
    SCHEMA_INTS(fact_job_killed, tasks, task_count),
    SCHEMA_INT(fact_job_killed, lost_gu_ms),
};
static SCHEMA_DEFINE(BODY_job_killed, "job_killed", fact_job_killed);

static const struct schema_field BODY_nomination_ended_fields[] = {
    SCHEMA_INT(fact_nomination_ended, job),
    SCHEMA_TEXT(fact_nomination_ended, reason),
    SCHEMA_INT(fact_nomination_ended, by),
    SCHEMA_INT(fact_nomination_ended, lost_gu_ms),
    SCHEMA_INTS(fact_nomination_ended, victims, victim_count),
};
static SCHEMA_DEFINE(BODY_nomination_ended, "nomination_ended", fact_nomination_ended);

static const struct schema_field BODY_attempt_ended_fields[] = {
    SCHEMA_INT(fact_attempt_ended, job),
    SCHEMA_INT(fact_attempt_ended, attempt),
    SCHEMA_ENUM(fact_attempt_ended, outcome, ATTEMPT_OUTCOME_NAMES),
    SCHEMA_INT(fact_attempt_ended, status),
    SCHEMA_INT(fact_attempt_ended, signal),
    SCHEMA_BOOL(fact_attempt_ended, retry),
    SCHEMA_INT(fact_attempt_ended, not_before_ms),
    SCHEMA_INT(fact_attempt_ended, avoid_node),
    SCHEMA_INT(fact_attempt_ended, lost_gu_ms),
    SCHEMA_SUB(fact_attempt_ended, why, &BODY_reason),
};
static SCHEMA_DEFINE(BODY_attempt_ended, "attempt_ended", fact_attempt_ended);

static const struct schema_field BODY_device_stuck_fields[] = {
    SCHEMA_INT(fact_device_stuck, job),
    SCHEMA_INT(fact_device_stuck, attempt),
    SCHEMA_INT(fact_device_stuck, task),
    SCHEMA_INT(fact_device_stuck, node),
    SCHEMA_INTS(fact_device_stuck, slots, slot_count),
};
static SCHEMA_DEFINE(BODY_device_stuck, "device_stuck", fact_device_stuck);

static const struct schema_field BODY_node_lost_fields[] = {
    SCHEMA_INT(fact_node_lost, node),
    SCHEMA_TEXT(fact_node_lost, reason),
};
static SCHEMA_DEFINE(BODY_node_lost, "node_lost", fact_node_lost);

struct kind_row {
    const char *name;
    const struct schema *schema;
    bool decision;
};

static const struct kind_row KINDS[FACT_KIND_COUNT] = {
#define KIND_ROW(kind, label, body, decision) [FACT_##kind] = {label, &BODY_##body, decision},
    FACT_TABLE(KIND_ROW)
#undef KIND_ROW
};

const char *fact_kind_name(enum fact_kind kind)
{
    return kind > FACT_NONE && kind < FACT_KIND_COUNT ? KINDS[kind].name : "none";
}

enum fact_kind fact_kind_of(const char *name)
{
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        if (strcmp(KINDS[k].name, name) == 0) {
            return (enum fact_kind)k;
        }
    }
    return FACT_NONE;
}

bool fact_kind_is_decision(enum fact_kind kind)
{
    return kind > FACT_NONE && kind < FACT_KIND_COUNT && KINDS[kind].decision;
}

const struct schema *fact_kind_schema(enum fact_kind kind)
{
    return kind > FACT_NONE && kind < FACT_KIND_COUNT ? KINDS[kind].schema : NULL;
}
