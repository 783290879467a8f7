/* scene_job - words into what is asked for. */
#include "sim/scene_job.h"

#include "base/str.h"

#include <signal.h>
#include <string.h>

static int64_t signal_of(struct words *w)
{
    static const struct {
        const char *name;
        int number;
    } SIGNALS[] = {
        {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"INT", SIGINT}, {"HUP", SIGHUP}};
    const char *name = words_value(w, "signal");
    size_t i;

    for (i = 0; name != NULL && i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        if (strcmp(SIGNALS[i].name, name) == 0) {
            return SIGNALS[i].number;
        }
    }
    if (name != NULL) {
        words_fail(w, ERR_INVALID, "signal=%s is not known", name);
    }
    return 0;
}

static void job_pools(struct site *s, struct words *w, struct fact_job_submitted *ret)
{
    size_t count = 0;
    const char **names = words_list(w, "pools", &count);
    size_t i;

    ret->pools = arena_new(w->arena, count + 1, sizeof(*ret->pools));
    for (i = 0; i < count; i++) {
        const struct policy_pool *pool = site_pool(s, names[i]);

        if (pool == NULL) {
            words_fail(w, ERR_NOT_FOUND, "there is no pool \"%s\"", names[i]);
            return;
        }
        ret->pools[ret->pool_count++] = pool->id;
    }
}

void scene_job_words(struct site *s, struct words *w, struct fact_job_submitted *ret)
{
    const char *queue = words_value(w, "queue");
    const struct policy_queue *q = queue != NULL ? site_queue(s, queue) : NULL;
    const char *user = words_value(w, "user");

    *ret = (struct fact_job_submitted){
        .name = words_next(w, "the name of the job"),
        .subject = user != NULL ? user : "someone",
        .spec = "",
    };
    if (q == NULL) {
        words_fail(w, ERR_NOT_FOUND, "there is no queue \"%s\"", queue != NULL ? queue : "");
        return;
    }
    ret->queue = q->id;
    ret->job_class = words_enum(w, "class", JOB_CLASS_NAMES, CLASS_TRAINING);
    ret->nonpreemptible = !words_bool(w, "preemptible", ret->job_class == CLASS_TRAINING);
    ret->independent = words_flag(w, "independent");
    ret->held = words_flag(w, "held");
    ret->priority = words_int(w, "priority", 0);
    ret->limit_ms = words_ms(w, "limit", 0);
    ret->predicted_ms = words_ms(w, "predicted", 0);
    ret->grace_ms = words_ms(w, "grace", 0);
    ret->retries = words_int(w, "retries", s->policy.retries);
    ret->backoff_ms = words_ms(w, "backoff", s->policy.backoff_ms);
    ret->signal = signal_of(w);
    job_pools(s, w, ret);
}

static const char *text_or_empty(struct words *w, const char *key)
{
    const char *text = words_value(w, key);

    return text != NULL ? text : "";
}

void scene_group_words(struct words *w, struct fact_group *ret)
{
    struct policy_label *labels = arena_new(w->arena, WORDS_MAX, sizeof(*labels));
    const char *key, *value;

    *ret = (struct fact_group){.labels = labels};
    ret->name = text_or_empty(w, "group");
    ret->name = *ret->name != '\0' ? ret->name : "main";
    ret->tasks = words_int(w, "tasks", 1);
    ret->min_tasks = words_int(w, "min", ret->tasks);
    ret->profile = text_or_empty(w, "mig");
    ret->slices = words_int(w, "slices", *ret->profile != '\0' ? 1 : 0);
    ret->share_gu = words_gpus(w, "share", 0);
    ret->share_memory_bytes = words_bytes(w, "share_memory", 0);
    ret->gpus = words_int(w, "gpus", ret->share_gu > 0 || *ret->profile != '\0' ? 0 : 1);
    ret->mps = words_flag(w, "mps");
    ret->cpu_milli = words_cpu(w, "cpu", 0);
    ret->memory_bytes = words_bytes(w, "memory", 0);
    ret->model = text_or_empty(w, "model");
    ret->required = text_or_empty(w, "required");
    ret->preferred = text_or_empty(w, "preferred");
    ret->nodes = words_list(w, "nodes", &ret->node_count);
    while ((key = words_prefix(w, "label.", &value)) != NULL) {
        labels[ret->label_count++] = (struct policy_label){key, value};
    }
}

void scene_behaviour_words(struct words *w, struct virtual_behaviour *how)
{
    const char *run = words_value(w, "run");
    struct err err = {0};

    if (run != NULL && strcmp(run, "forever") == 0) {
        how->run_ms = VIRTUAL_FOREVER;
    } else if (run != NULL && words_time(run, &how->run_ms, &err) != 0) {
        words_fail(w, err.code, "run: %.150s", err.text);
    }
    how->status = words_int(w, "status", how->status);
    how->start_ms = words_ms(w, "start", how->start_ms);
    how->stop_ms = words_ms(w, "stops", how->stop_ms);
    how->stop_status = words_int(w, "stop_status", how->stop_status);
    how->kill_ms = words_ms(w, "killed", how->kill_ms);
    how->checkpoint_every_ms = words_ms(w, "saves_every", how->checkpoint_every_ms);
    how->says_done = words_flag(w, "says-done") || how->says_done;
    how->saves_on_signal = words_flag(w, "saves-on-signal") || how->saves_on_signal;
    how->refuses = words_flag(w, "refuses") || how->refuses;
    how->node_fault = words_flag(w, "node-fault") || how->node_fault;
    if (words_flag(w, "starts")) {
        how->refuses = false;
    }
    if (words_flag(w, "ignores-signal")) {
        how->on_signal = VIRTUAL_IGNORES;
    }
    if (words_flag(w, "stuck")) {
        how->on_signal = VIRTUAL_STUCK;
    }
    if (words_flag(w, "obeys")) {
        how->on_signal = VIRTUAL_STOPS;
    }
}
