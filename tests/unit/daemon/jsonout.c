#include "daemon/jsonout.h"

#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void amounts_come_in_both_forms(void **state)
{
    json_t *o = json_object();
    char *text;

    (void)state;
    jsonout_gu(o, "held", GU_PER_GPU / 7);
    jsonout_gu(o, "limit", -1);
    jsonout_id(o, "job", 9007199254740993);
    jsonout_id(o, "array", 0);
    jsonout_ms(o, "ended_ms", 0);
    jsonout_text(o, "name", NULL);
    text = json_dumps(o, JSON_COMPACT);
    assert_string_equal(text, "{\"held_gu\":\"18000\",\"held_gpus\":\"1/7\",\"limit_gu\":null,"
                              "\"limit_gpus\":null,\"job\":\"9007199254740993\",\"array\":null,"
                              "\"ended_ms\":null,\"name\":\"\"}");
    free(text);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_come_in_both_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
