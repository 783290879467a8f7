/* submitjson - the body of a submission to the fact and the spec of its processes.
 *
 * Every error has the path of its field; unknown fields are refused.  Defaults come from the class
 * and the policy; names become ids; the caller's right to queue, priority and account is checked.
 * Whether it can ever run is the core's to say (core_submit_check).
 */
#ifndef MUSTER_DAEMON_SUBMITJSON_H
#define MUSTER_DAEMON_SUBMITJSON_H

#include "base/str.h"
#include "daemon/bodyread.h"
#include "daemon/daemon.h"

#define SUBMITJSON_GROUPS_MAX 64
#define SUBMITJSON_TASKS_MAX  100000
#define SUBMITJSON_ARRAY_MAX  10000
#define SUBMITJSON_ARGS_MAX   4096
#define SUBMITJSON_ENV_MAX    1024
#define SUBMITJSON_SCRIPT_MAX (1024 * 1024)

struct submitjson {
    struct fact_job_submitted fact; /* id, array, element, spec are not set */
    struct str spec;                /* an object: argv, script, env, dir, output … */
    int64_t *elements;              /* of an array; none = one job */
    size_t element_count;
};

/* All of ret lives in r's arena and the body, but spec, which is the caller's to free.  False: r
 * says why, and there is no spec. */
bool submitjson_read(struct daemon *d, const struct service_caller *caller,
                     const struct jsonin *body, struct bodyread *r, struct submitjson *ret);

#endif
