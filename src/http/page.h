/* page - what HTTP answers itself: health, metrics, the API document. */
#ifndef MUSTER_HTTP_PAGE_H
#define MUSTER_HTTP_PAGE_H

#include "base/err.h"
#include "http/service.h"
#include "http/tally.h"

struct page {
    const char *type;
    char *text; /* the caller's (mem_free); NULL: the document, OPENAPI_JSON */
};

/* row is one of enum route_page.  The error is the service's own: it is not healthy. */
MUST_CHECK int page_make(int row, const struct service *service, const struct tally *tally,
                         struct page *ret, struct err *err);

#endif
