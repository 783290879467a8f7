/* answer - one call of the API: its parameters, and the one answer it gets. */
#ifndef MUSTER_DAEMON_ANSWER_H
#define MUSTER_DAEMON_ANSWER_H

#include "base/err.h"
#include "http/service.h"

struct asked { /* a call and where its answer goes */
    const struct service_call *call;
    service_done *done;
    void *arg;
};

void answer_json(const struct asked *a, json_t *taken);
void answer_created(const struct asked *a, json_t *taken);
/* The same with the text of the JSON (mem_free). */
void answer_created_text(const struct asked *a, char *taken);
/* field "" = no field. */
void answer_error(const struct asked *a, int rc, const struct err *err, const char *field);
/* answer_error with a text of its own. */
void answer_refuse(const struct asked *a, enum err_code code, const char *field, const char *fmt,
                   ...) PRINTF_LIKE(4, 5);

/* Are all parameters of the query among the names (ends with NULL)?  Else answers and returns
 * false. */
bool answer_params(const struct asked *a, const char *const *names);
/* The value of a parameter, or usual. */
const char *answer_param(const struct service_call *call, const char *name, const char *usual);
/* A whole number from min to max; answers and returns false if it is none. */
bool answer_param_int(const struct asked *a, const char *name, int64_t min, int64_t max,
                      int64_t *ret);
/* true or false; not there = usual. */
bool answer_param_bool(const struct asked *a, const char *name, bool *ret);
/* The path parameter as an id; answers ERR_NOT_FOUND and returns 0 if it is none. */
int64_t answer_target_id(const struct asked *a, const char *what);

/* ---- lists: limit 1 … 1000 and cursor ---- */

struct answer_page {
    json_t *items;
    int64_t limit;
    int64_t after; /* from the cursor: go on after this key */
    int64_t last;  /* key of the last item added */
    bool more;
};

/* Reads limit and cursor; answers and returns false if one is wrong. */
bool answer_page_begin(const struct asked *a, struct answer_page *p);
/* Take an item with its key (ascending, > after); false = the page is full, and item is freed. */
bool answer_page_add(struct answer_page *p, int64_t key, json_t *taken);
void answer_page_end(const struct asked *a, struct answer_page *p);

#endif
