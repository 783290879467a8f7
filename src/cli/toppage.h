/* toppage - the page of muster top: pools, queues and jobs as lines of a given width and height.
 *
 * It draws nothing and asks nothing, so that what is on the screen can be tested as text. */
#ifndef MUSTER_CLI_TOPPAGE_H
#define MUSTER_CLI_TOPPAGE_H

#include "base/vec.h"
#include "cli/textline.h"
#include "cli/topdata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPPAGE_SORTS(X)                                                                           \
    X(STATE, "state") X(AGE, "age") X(GPUS, "gpus") X(QUEUE, "queue") X(USER, "user")

enum toppage_sort {
#define TOPPAGE_ENUM(id, name) TOPPAGE_BY_##id,
    TOPPAGE_SORTS(TOPPAGE_ENUM)
#undef TOPPAGE_ENUM
        TOPPAGE_SORT_COUNT
};
extern const char *const TOPPAGE_SORT_NAMES[]; /* ends with NULL */

enum toppage_show { TOPPAGE_ALL, TOPPAGE_RUNNING, TOPPAGE_WAITING, TOPPAGE_SHOW_COUNT };

struct toppage_view {
    int width;  /* columns */
    int height; /* lines, 0 = as many as there are */
    enum toppage_sort sort;
    bool reverse;
    enum toppage_show show;
    bool no_pools;
    bool no_queues;
    bool help;     /* the keys instead of the page */
    size_t scroll; /* jobs above the first that is shown; brought into its range */
    struct topdata_filter filter;
    const char *prompt;  /* what is being typed, NULL = the keys */
    const char *message; /* what is wrong, NULL = nothing */
    int64_t now_ms;
    bool local;
};

struct toppage {
    VEC(struct textline) lines;
    size_t jobs_shown;
    size_t jobs_max; /* the lines there are for jobs */
};

/* Make the page anew. */
void toppage_make(struct toppage *p, struct toppage_view *view, const struct topdata *data);
void toppage_fini(struct toppage *p);

#endif
