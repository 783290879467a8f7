/* HTTP's own pages. */
#include "http/page.h"

#include "base/mem.h"
#include "http/openapi.h"
#include "http/route.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int sick(void *ctx, struct err *err)
{
    (void)ctx;
    return err_set(err, ERR_FROZEN, "two crashes at the same event");
}

static void metrics(void *ctx, json_t *unused, char **ret_text)
{
    (void)ctx;
    (void)unused;
    *ret_text = mem_text("muster_x 1\n");
}

static void health_is_the_services_word(void **state)
{
    struct service service = {0};
    struct page page;
    struct err err;

    (void)state;
    assert_int_equal(page_make(ROUTE_HEALTHZ, &service, NULL, &page, &err), 0);
    assert_string_equal(page.text, "{\"status\":\"ok\"}\n");
    mem_free(page.text);
    service.health = sick;
    assert_int_equal(page_make(ROUTE_HEALTHZ, &service, NULL, &page, &err), ERR_FROZEN);
    assert_string_equal(err.text, "two crashes at the same event");
}

static void metrics_are_the_services_and_ours(void **state)
{
    struct service service = {.metrics = metrics};
    struct tally *tally = tally_new();
    struct page page;
    struct err err;

    (void)state;
    assert_int_equal(page_make(ROUTE_METRICS, &service, tally, &page, &err), 0);
    assert_ptr_equal(strstr(page.text, "muster_x 1\n"), page.text);
    assert_non_null(strstr(page.text, "\nmuster_http_connections 0\n"));
    mem_free(page.text);
    tally_free(tally);
}

static void the_document_is_json(void **state)
{
    struct service service = {0};
    struct page page;
    struct err err;
    json_t *json;

    (void)state;
    assert_int_equal(page_make(ROUTE_OPENAPI, &service, NULL, &page, &err), 0);
    assert_null(page.text);
    json = json_loadb((const char *)OPENAPI_JSON, OPENAPI_JSON_BYTES, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    assert_non_null(json_object_get(json_object_get(json, "paths"), "/v1/jobs"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_is_the_services_word),
        cmocka_unit_test(metrics_are_the_services_and_ours),
        cmocka_unit_test(the_document_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
