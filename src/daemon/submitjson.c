#include "daemon/submitjson.h"

#include "base/check.h"
#include "base/quantity.h"
#include "base/str.h"
#include "daemon/account.h"
#include "daemon/submitgroup.h"
#include "daemon/submitspec.h"

#include <string.h>

static const char *const FIELDS[] = {"name",        "queue",           "class",
                                     "preemptible", "independent",     "sandbox",
                                     "hold",        "priority",        "pools",
                                     "time_limit",  "predicted",       "grace",
                                     "signal",      "retries",         "array",
                                     "groups",      SUBMITSPEC_FIELDS, SUBMITGROUP_FIELDS,
                                     NULL};

static const struct {
    const char *name;
    int number;
} SIGNALS[] = {{"HUP", 1},   {"INT", 2},   {"QUIT", 3}, {"USR1", 10},
               {"USR2", 12}, {"TERM", 15}, {"CONT", 18}};

struct input {
    struct daemon *d;
    const struct service_caller *caller;
    const struct jsonin *body;
    struct bodyread *r;
    struct submitjson *out;
};

static int word_of(struct bodyread *r, const char *name, const char *text, const char *const *names)
{
    CLEANUP(str_fini) struct str all = {0};
    int i = 0;

    for (i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
        str_addf(&all, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    bodyread_fail(r, ERR_INVALID, name, "is \"%.60s\", write one of %s", text, str_text(&all));
    return 0;
}

static void read_queue(const struct input *in)
{
    const struct queue_tree *tree = view_queues(engine_core(in->d->engine));
    const char *name = bodyread_text(in->r, in->body, "queue", "");
    const struct queue *q;
    int at;

    if (name[0] == '\0') {
        bodyread_fail(in->r, ERR_INVALID, "queue", "is missing, name the queue to submit to");
        return;
    }
    at = tree == NULL ? -1 : queue_index_of_name(tree, name);
    if (at < 0) {
        bodyread_fail(in->r, ERR_NOT_FOUND, "queue", "there is no queue \"%.63s\"", name);
        return;
    }
    q = &tree->items[at];
    in->out->fact.queue = q->id;
    if (!queue_is_leaf(q)) {
        bodyread_fail(in->r, ERR_QUEUE_NOT_LEAF, "queue",
                      "%s has queues below it, submit to one of those", name);
    } else if (!account_may_submit(in->d, in->caller->subject, at)) {
        bodyread_fail(in->r, ERR_QUEUE_DENIED, "queue", "you are not a member of %s", name);
    } else if (q->row->state != QUEUE_OPEN) {
        bodyread_fail(in->r, ERR_QUEUE_CLOSED, "queue", "%s is %s and takes no work", name,
                      QUEUE_STATE_NAMES[q->row->state]);
    }
}

static void read_priority(const struct input *in)
{
    const struct queue_tree *tree = view_queues(engine_core(in->d->engine));
    int at = tree == NULL ? -1 : queue_index(tree, in->out->fact.queue);
    int64_t most = at < 0 ? 0 : tree->items[at].row->priority_max;
    int64_t priority = bodyread_int(in->r, in->body, "priority", -1000000, 1000000, 0);

    in->out->fact.priority = priority;
    if (priority > most && (in->caller->roles & (ROLE_OPERATOR | ROLE_ADMIN)) == 0) {
        bodyread_fail(in->r, ERR_PRIORITY_DENIED, "priority",
                      "is %lld, members of this queue may ask for at most %lld",
                      (long long)priority, (long long)most);
    }
}

static void read_pools(const struct input *in)
{
    const struct policy *policy = view_policy(engine_core(in->d->engine));
    struct fact_job_submitted *fact = &in->out->fact;
    size_t count = 0;
    const char **names = bodyread_texts(in->r, in->body, "pools", 256, &count);

    fact->pools = arena_new(in->r->arena, count, sizeof(*fact->pools));
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (policy != NULL && k < policy->pool_count &&
               strcmp(policy->pools[k].name, names[i]) != 0) {
            k++;
        }
        if (policy == NULL || k == policy->pool_count) {
            bodyread_fail(in->r, ERR_NOT_FOUND, arena_printf(in->r->arena, "pools[%zu]", i),
                          "there is no pool \"%.63s\"", names[i]);
            return;
        }
        fact->pools[fact->pool_count++] = policy->pools[k].id;
    }
}

static int64_t read_signal(const struct input *in)
{
    const char *text = bodyread_text(in->r, in->body, "signal", "");
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;

    if (text[0] == '\0') {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        if (strcmp(SIGNALS[i].name, name) == 0) {
            return SIGNALS[i].number;
        }
    }
    bodyread_fail(in->r, ERR_INVALID, "signal",
                  "is \"%.20s\", write one of TERM, INT, USR1, USR2, HUP, QUIT, CONT", text);
    return 0;
}

static void read_settings(const struct input *in)
{
    const struct policy *policy = view_policy(engine_core(in->d->engine));
    const struct config *config = &in->d->site->config;
    struct fact_job_submitted *fact = &in->out->fact;
    const struct config_class *usual;

    fact->job_class = word_of(in->r, "class", bodyread_text(in->r, in->body, "class", "training"),
                              JOB_CLASS_NAMES);
    usual = &config->classes[fact->job_class];
    fact->name = bodyread_text(in->r, in->body, "name", "job");
    if (!str_is_name(fact->name)) {
        bodyread_fail(in->r, ERR_INVALID, "name",
                      "is \"%.60s\", use 1 to 63 of a-z, 0-9 and -, not beginning or ending with -",
                      fact->name);
    }
    fact->nonpreemptible = !bodyread_bool(in->r, in->body, "preemptible", usual->preemptible);
    fact->independent = bodyread_bool(in->r, in->body, "independent", false);
    fact->sandbox = bodyread_bool(in->r, in->body, "sandbox", false);
    fact->held = bodyread_bool(in->r, in->body, "hold", false);
    fact->limit_ms = bodyread_time(in->r, in->body, "time_limit", usual->limit_ms);
    fact->predicted_ms = bodyread_time(in->r, in->body, "predicted", 0);
    fact->grace_ms = bodyread_time(in->r, in->body, "grace", usual->grace_ms);
    fact->signal = read_signal(in);
    fact->retries = bodyread_int(in->r, in->body, "retries", 0, 1000, policy->retries);
    fact->backoff_ms = policy->backoff_ms;
}

static void check_grace(const struct input *in)
{
    const struct queue_tree *tree = view_queues(engine_core(in->d->engine));
    int at = queue_index(tree, in->out->fact.queue);
    char text[QUANTITY_TEXT_MAX];

    if (at >= 0 && in->out->fact.grace_ms > tree->items[at].row->grace_max_ms) {
        quantity_duration_text(tree->items[at].row->grace_max_ms, text);
        bodyread_fail(in->r, ERR_RANGE, "grace", "is longer than %s allows: at most %s",
                      tree->items[at].name, text);
    }
}

static void read_account(const struct input *in)
{
    const char *account = account_os(in->d, in->caller->subject);
    struct err err;

    if (account_runs_here(in->d, account, &err) != 0) {
        bodyread_fail(in->r, err.code, "", "%s", err.text);
    }
}

/* ---- arrays: "0-9", "1,3,5-7" ---- */

static bool add_element(const struct input *in, int64_t element)
{
    struct submitjson *out = in->out;

    if (out->element_count == SUBMITJSON_ARRAY_MAX) {
        bodyread_fail(in->r, ERR_TOO_LARGE, "array", "has more than %d elements",
                      SUBMITJSON_ARRAY_MAX);
        return false;
    }
    if (out->element_count > 0 && out->elements[out->element_count - 1] >= element) {
        bodyread_fail(in->r, ERR_INVALID, "array", "write the elements once, in rising order");
        return false;
    }
    out->elements[out->element_count++] = element;
    return true;
}

static int64_t array_number(const char **text)
{
    int64_t value = 0;
    size_t len = strspn(*text, "0123456789");

    if (len == 0 || len > 9) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + ((*text)[i] - '0');
    }
    *text += len;
    return value;
}

static void read_array(const struct input *in)
{
    const char *text = bodyread_text(in->r, in->body, "array", NULL);

    if (text == NULL) {
        return;
    }
    in->out->elements = arena_new(in->r->arena, SUBMITJSON_ARRAY_MAX, sizeof(int64_t));
    for (const char *at = text;; at++) {
        int64_t from = array_number(&at);
        int64_t to = from;

        if (from >= 0 && *at == '-') {
            at++;
            to = array_number(&at);
        }
        if (from < 0 || to < from || (*at != '\0' && *at != ',')) {
            bodyread_fail(in->r, ERR_INVALID, "array", "is \"%.60s\", write 0-9 or 1,3,5-7", text);
            return;
        }
        for (int64_t i = from; i <= to; i++) {
            if (!add_element(in, i)) {
                return;
            }
        }
        if (*at == '\0') {
            return;
        }
    }
}

bool submitjson_read(struct daemon *d, const struct service_caller *caller,
                     const struct jsonin *body, struct bodyread *r, struct submitjson *ret)
{
    struct input in = {.d = d, .caller = caller, .body = body, .r = r, .out = ret};

    memset(ret, 0, sizeof(*ret));
    if (!jsonin_is(body, JSONIN_OBJECT)) {
        bodyread_fail(r, ERR_INVALID, "", "write an object: {\"queue\": …}");
        return false;
    }
    if (d->site == NULL || view_policy(engine_core(d->engine)) == NULL) {
        bodyread_fail(r, ERR_BUSY, "", "no policy is in force yet");
        return false;
    }
    ret->fact.subject = arena_text(r->arena, caller->subject);
    ret->fact.spec = "";
    bodyread_known(r, body, FIELDS);
    read_queue(&in);
    read_settings(&in);
    check_grace(&in);
    read_priority(&in);
    read_pools(&in);
    submitgroup_read(r, body, &ret->fact);
    read_array(&in);
    read_account(&in);
    submitspec_read(r, body, account_os(d, caller->subject), &ret->spec);
    if (r->rc != 0) {
        str_fini(&ret->spec);
        return false;
    }
    return true;
}
