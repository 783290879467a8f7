#include "daemon/waiting.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/vec.h"

struct waiting_call {
    struct asked asked;
    service_handler *handler;
};

typedef VEC(struct waiting_call) waiting_calls;

struct waiting {
    waiting_calls calls;
};

struct ahead { /* a submission that was begun */
    struct asked asked;
    bool within; /* its handler has not returned */
    bool answered;
};

struct waiting *waiting_new(void)
{
    return mem_new(1, sizeof(struct waiting));
}

void waiting_free(struct waiting *w)
{
    if (w != NULL) {
        vec_fini(&w->calls);
        mem_free(w);
    }
}

void waiting_add(struct waiting *w, const struct asked *a, service_handler *handler)
{
    vec_push(&w->calls, (struct waiting_call){*a, handler});
}

static void on_done(void *arg, struct service_answer *answer)
{
    struct ahead *ahead = arg;
    struct asked asked = ahead->asked;

    if (ahead->within) { /* it may rest on what is not durable yet */
        CHECK(answer->stream == NULL);
        json_decref(answer->json);
        mem_free(answer->text);
        ahead->answered = true;
        return;
    }
    mem_free(ahead);
    asked.done(asked.arg, answer);
}

void waiting_ahead(struct waiting *w, struct daemon *d, const struct asked *a,
                   service_handler *handler)
{
    struct ahead *ahead = mem_new(1, sizeof(*ahead));
    struct asked asked = {.call = a->call, .done = on_done, .arg = ahead};

    ahead->asked = *a;
    ahead->within = true;
    handler(d, &asked);
    ahead->within = false;
    if (ahead->answered) {
        mem_free(ahead);
        waiting_add(w, a, handler);
    }
}

void waiting_run(struct waiting *w, struct daemon *d)
{
    waiting_calls calls = w->calls;

    w->calls = (waiting_calls){0};
    for (size_t i = 0; i < calls.count; i++) {
        calls.items[i].handler(d, &calls.items[i].asked);
    }
    vec_fini(&calls);
}
