#include "backend/local/nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static int read_fake(const char *mode, struct nvml_devices *ret, struct err *err)
{
    setenv("NVML_FAKE", mode, 1);
    return nvml_read(MUSTER_NVML_FAKE, ret, err);
}

static void whole_cards_are_read(void **state)
{
    struct nvml_devices d;

    (void)state;
    assert_int_equal(read_fake("whole", &d, NULL), 0);
    assert_int_equal(d.count, 2);
    assert_int_equal(d.cards, 2);
    assert_string_equal(d.items[0].uuid, "GPU-00000000-1111-2222-3333-444444444444");
    assert_string_equal(d.items[0].name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(d.items[0].profile, "");
    assert_int_equal(d.items[0].memory_bytes, (int64_t)81559 << 20);
    assert_false(d.items[0].mig);
    assert_int_equal(d.items[1].card, 1);
    nvml_fini(&d);
}

static void a_card_in_mig_mode_is_its_instances(void **state)
{
    struct nvml_devices d;

    (void)state;
    assert_int_equal(read_fake("mig", &d, NULL), 0);
    assert_int_equal(d.count, 3);
    assert_string_equal(d.items[0].profile, "1g.10gb");
    assert_string_equal(d.items[0].uuid, "MIG-00000000-5555-6666-7777-888888888888");
    assert_string_equal(d.items[0].name, "NVIDIA H100 80GB HBM3");
    assert_true(d.items[0].mig);
    assert_string_equal(d.items[1].profile, "3g.40gb");
    assert_int_equal(d.items[1].memory_bytes, (int64_t)40448 << 20);
    assert_string_equal(d.items[2].profile, "");
    assert_int_equal(d.items[2].card, 1);
    nvml_fini(&d);
}

static void a_profile_that_the_name_does_not_say_is_put_together(void **state)
{
    struct nvml_devices d;

    (void)state;
    assert_int_equal(read_fake("unnamed", &d, NULL), 0);
    assert_string_equal(d.items[0].profile, "1g.10gb");
    assert_string_equal(d.items[1].profile, "3g.40gb");
    nvml_fini(&d);
}

static void what_is_missing_is_said(void **state)
{
    struct nvml_devices d = {0};
    struct err err;

    (void)state;
    assert_int_equal(nvml_read("libno-such-nvml.so.1", &d, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "libno-such-nvml.so.1"));
    assert_int_equal(nvml_read("libc.so.6", &d, &err), ERR_IO);
    assert_int_equal(read_fake("driver", &d, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "driver"));
    assert_int_equal(read_fake("lost", &d, &err), ERR_IO);
    assert_non_null(strstr(err.text, "GPU 1"));
    assert_int_equal(d.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_cards_are_read),
        cmocka_unit_test(a_card_in_mig_mode_is_its_instances),
        cmocka_unit_test(a_profile_that_the_name_does_not_say_is_put_together),
        cmocka_unit_test(what_is_missing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
