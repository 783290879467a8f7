#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef int reader(const char *text, int64_t *ret, struct err *err);

struct good {
    const char *text;
    int64_t value;
};

static void all_are_read(reader *read, const struct good *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = -7;
        struct err err = {0};

        if (read(rows[i].text, &value, &err) != 0 || value != rows[i].value) {
            fail_msg("\"%s\": %" PRId64 ", not %" PRId64 " (%s)", rows[i].text, value,
                     rows[i].value, err.text);
        }
    }
}

/* Each is refused with the code, the text in the message, and nothing written. */
static void all_are_refused(reader *read, int code, const char *const *texts)
{
    for (size_t i = 0; texts[i] != NULL; i++) {
        int64_t value = -7;
        struct err err = {0};
        int rc = read(texts[i], &value, &err);

        if (rc != code || (int)err.code != code || value != -7) {
            fail_msg("\"%s\": %d (%s), not %d", texts[i], rc, err.text, code);
        }
        assert_non_null(strstr(err.text, texts[i]));
        assert_int_equal(read(texts[i], &value, NULL), code);
    }
}

static void gpus_are_exact(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"1", GU_PER_GPU},
        {"8", 8 * GU_PER_GPU},
        {"0.5", GU_PER_GPU / 2},
        {"0.001", 126},
        {"0.50", GU_PER_GPU / 2},
        {"2.125", 267750},
        {"1/7", 18000},
        {"1/3", 42000},
        {"1/48", 2625},
        {"1/126000", 1},
        {"3/7", 54000},
        {"57/7", 1026000},
        {"0/7", 0},
        {"9223372036854775807/126000", INT64_MAX},
        {"73201365371863.3", 73201365371863300 * 126},
    };

    (void)state;
    all_are_read(quantity_gpus, ROWS, sizeof(ROWS) / sizeof(ROWS[0]));
}

static void what_is_no_gpu_amount_is_refused(void **state)
{
    static const char *const TEXTS[] = {
        "",      " 1", "1 ",  "x",    "1x",  "+1",   ".5",       "1.",    "0x8",
        "1e3",   "08", "1,5", "1/",   "/7",  "1//7", "1/7/2",    "1/-7",  "a/7",
        "1.5/7", "-",  "-x",  "1/07", "inf", "nan",  "\xc3\xa4", "1.2.3", NULL,
    };

    (void)state;
    all_are_refused(quantity_gpus, ERR_INVALID, TEXTS);
}

static void gpus_out_of_range_are_refused(void **state)
{
    static const char *const TEXTS[] = {
        "-1",
        "-0.5",
        "0.0001",
        "0.5000",
        "1/0",
        "1/11",
        "1/13",
        "1/1000000",
        "73201365371863.301",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999999999",
        "9223372036854775807/1",
        "1/9223372036854775808",
        NULL,
    };

    (void)state;
    all_are_refused(quantity_gpus, ERR_RANGE, TEXTS);
}

static void gpus_are_written_in_the_shortest_exact_way(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"24", 24 * GU_PER_GPU},
        {"0.5", GU_PER_GPU / 2},
        {"0.001", 126},
        {"1/7", 18000},
        {"57/7", 1026000},
        {"1/126000", 1},
        {"1/48", 2625},
        {"-0.5", -GU_PER_GPU / 2},
        {"-1/7", -18000},
        {"1317624576693539401/18000", INT64_MAX},
        {"-576460752303423488/7875", INT64_MIN},
    };
    char text[QUANTITY_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        quantity_gpus_text(ROWS[i].value, text);
        assert_string_equal(text, ROWS[i].text);
    }
}

static void what_is_written_reads_as_the_same(void **state)
{
    char text[QUANTITY_TEXT_MAX];
    int64_t value, ms;

    (void)state;
    for (int64_t n = 1; n < INT64_MAX / 7; n = n * 7 - n / 3) {
        quantity_gpus_text(n, text);
        assert_int_equal(quantity_gpus(text, &value, NULL), 0);
        assert_int_equal(value, n);
        quantity_bytes_text(n, text);
        assert_int_equal(quantity_bytes(text, &value, NULL), 0);
        assert_int_equal(value, n);
        quantity_cpu_text(n, text);
        assert_int_equal(quantity_cpu(text, &value, NULL), 0);
        assert_int_equal(value, n);
        quantity_duration_text(n, text);
        assert_int_equal(quantity_duration(text, &ms, NULL), 0);
        assert_int_equal(ms, n);
    }
}

static void bytes_have_binary_suffixes(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"512", 512},
        {"64Ki", 65536},
        {"80Gi", 85899345920},
        {"1Ti", 1099511627776},
        {"7Ei", 8070450532247928832},
        {"9223372036854775807", INT64_MAX},
    };
    static const char *const INVALID[] = {"",     "Gi",   "80G",  "80GB", "80gi", "1.5Gi",
                                          "8 Gi", "8GiB", "08Gi", "+8Gi", "8Gi ", NULL};
    static const char *const RANGE[] = {"-1Gi", "8Ei", "9223372036854775808", "9007199254740992Ki",
                                        NULL};

    (void)state;
    all_are_read(quantity_bytes, ROWS, sizeof(ROWS) / sizeof(ROWS[0]));
    all_are_refused(quantity_bytes, ERR_INVALID, INVALID);
    all_are_refused(quantity_bytes, ERR_RANGE, RANGE);
}

static void bytes_are_written_with_the_largest_suffix(void **state)
{
    char text[QUANTITY_TEXT_MAX];

    (void)state;
    quantity_bytes_text(0, text);
    assert_string_equal(text, "0");
    quantity_bytes_text(1536, text);
    assert_string_equal(text, "1536");
    quantity_bytes_text(65536, text);
    assert_string_equal(text, "64Ki");
    quantity_bytes_text(INT64_MIN, text);
    assert_string_equal(text, "-8Ei");
    quantity_bytes_text(INT64_MAX, text);
    assert_string_equal(text, "9223372036854775807");
}

static void durations_name_their_units(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"0s", 0},
        {"90s", 90000},
        {"15m", 900000},
        {"12h", 43200000},
        {"2d", 172800000},
        {"1h30m", 5400000},
        {"250ms", 250},
        {"1d2h3m4s5ms", 93784005},
        {"1d5ms", 86400005},
        {"9223372036854775807ms", INT64_MAX},
    };
    static const char *const INVALID[] = {"",     "90",  "s",    "1.5h", "1h 30m", "30m1h",
                                          "1h1h", "1w",  "1H",   "1hx",  "h1",     "00s",
                                          "1h30", "+1s", "1min", NULL};
    static const char *const RANGE[] = {
        "-5s", "-1", "9223372036854775808ms", "106751991168d", "106751991167d8h", NULL};

    (void)state;
    all_are_read(quantity_duration, ROWS, sizeof(ROWS) / sizeof(ROWS[0]));
    all_are_refused(quantity_duration, ERR_INVALID, INVALID);
    all_are_refused(quantity_duration, ERR_RANGE, RANGE);
}

static void durations_are_written_as_they_are_read(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"1m30s", 90000},
        {"12h", 43200000},
        {"1d2h3m4s5ms", 93784005},
        {"-250ms", -250},
        {"106751991167d7h12m55s807ms", INT64_MAX},
        {"-106751991167d7h12m55s808ms", INT64_MIN},
    };
    char text[QUANTITY_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        quantity_duration_text(ROWS[i].value, text);
        assert_string_equal(text, ROWS[i].text);
    }
}

static void cpus_are_thousandths(void **state)
{
    static const struct good ROWS[] = {
        {"0", 0},
        {"2", 2000},
        {"0.5", 500},
        {"500m", 500},
        {"1.25", 1250},
        {"0m", 0},
        {"9223372036854775807m", INT64_MAX},
    };
    static const char *const INVALID[] = {"", "m", "1.5m", "2c", "2 ", "500mm", "05", "+2", NULL};
    static const char *const RANGE[] = {
        "-1", "-500m", "0.0005", "9223372036854775808m", "9223372036854776", NULL};
    char text[QUANTITY_TEXT_MAX];

    (void)state;
    all_are_read(quantity_cpu, ROWS, sizeof(ROWS) / sizeof(ROWS[0]));
    all_are_refused(quantity_cpu, ERR_INVALID, INVALID);
    all_are_refused(quantity_cpu, ERR_RANGE, RANGE);
    quantity_cpu_text(1250, text);
    assert_string_equal(text, "1.25");
    quantity_cpu_text(2000, text);
    assert_string_equal(text, "2");
    quantity_cpu_text(-500, text);
    assert_string_equal(text, "-0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_exact),
        cmocka_unit_test(what_is_no_gpu_amount_is_refused),
        cmocka_unit_test(gpus_out_of_range_are_refused),
        cmocka_unit_test(gpus_are_written_in_the_shortest_exact_way),
        cmocka_unit_test(what_is_written_reads_as_the_same),
        cmocka_unit_test(bytes_have_binary_suffixes),
        cmocka_unit_test(bytes_are_written_with_the_largest_suffix),
        cmocka_unit_test(durations_name_their_units),
        cmocka_unit_test(durations_are_written_as_they_are_read),
        cmocka_unit_test(cpus_are_thousandths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
