/* problem - the body of an error answer, application/problem+json (RFC 9457).
 *
 * The code is the stable name of base/err.h; the status is the code's own unless said otherwise.
 */
#ifndef MUSTER_HTTP_PROBLEM_H
#define MUSTER_HTTP_PROBLEM_H

#include "base/err.h"

struct problem {
    int status; /* 0 = that of the code */
    struct err err;
    const char *field; /* "groups[0].gpus", "" = nowhere */
    const char *request_id;
};

int problem_status(const struct problem *p);
/* The caller owns the text (mem_free).  It is always UTF-8, whatever err.text holds. */
char *problem_text(const struct problem *p);

#endif
