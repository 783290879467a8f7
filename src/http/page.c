/* page - short enough to be made anew for each request; the document is the build's. */
#include "http/page.h"

#include "base/check.h"
#include "base/mem.h"
#include "http/route.h"

static char *metrics_text(const struct service *service, const struct tally *tally)
{
    CLEANUP(mem_freep) char *own = NULL;
    struct str text = {0};

    if (service->metrics != NULL) {
        service->metrics(service->ctx, NULL, &own);
    }
    str_add(&text, own != NULL ? own : "");
    tally_text(tally, &text);
    return str_take(&text);
}

int page_make(int row, const struct service *service, const struct tally *tally, struct page *ret,
              struct err *err)
{
    if (row == ROUTE_METRICS) {
        *ret =
            (struct page){"text/plain; version=0.0.4; charset=utf-8", metrics_text(service, tally)};
        return 0;
    }
    if (row == ROUTE_OPENAPI) {
        *ret = (struct page){"application/json", NULL};
        return 0;
    }
    CHECK(row == ROUTE_HEALTHZ);
    if (service->health != NULL) {
        int rc = service->health(service->ctx, err);

        if (rc != 0) {
            return rc;
        }
    }
    *ret = (struct page){"application/json", mem_text("{\"status\":\"ok\"}\n")};
    return 0;
}
