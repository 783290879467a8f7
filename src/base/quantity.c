/* Every text is read digit by digit into int64 with each product and sum checked, so a number is
 * either exact or refused.  strtod and friends were rejected: they round, and know locales. */
#include "base/quantity.h"

#include "base/check.h"
#include "base/int128.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MILLI_PER_ONE   ((int64_t)1000)
#define GU_PER_MILLIGPU (GU_PER_GPU / MILLI_PER_ONE)

struct kind { /* what is read, for the message */
    const char *what;
    const char *right; /* what would be right */
};

static const struct kind GPUS = {"an amount of GPUs", "8, 0.5 or 1/7"};
static const struct kind BYTES = {"an amount of memory", "512, 64Ki, 80Gi or 1Ti"};
static const struct kind DURATION = {"a duration", "90s, 15m, 12h, 2d or 1h30m"};
static const struct kind CPUS = {"an amount of CPUs", "2, 0.5 or 500m"};

static int not_a(const struct kind *k, const char *text, struct err *err)
{
    return err_set(err, ERR_INVALID, "\"%.60s\" is not %s: write it like %s", text, k->what,
                   k->right);
}

static int out_of_range(const struct kind *k, const char *text, const char *why, struct err *err)
{
    return err_set(err, ERR_RANGE, "\"%.60s\" as %s: %s", text, k->what, why);
}

static int too_large(const struct kind *k, const char *text, struct err *err)
{
    return out_of_range(k, text, "it is too large", err);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read the digits at *at and move *at past them.  ERR_INVALID: there are none, or a zero leads
 * others (some people read 010 as eight). */
static int read_digits(const struct kind *k, const char *text, const char **at, int64_t *ret,
                       struct err *err)
{
    const char *p = *at;
    int64_t value = 0;

    if (!is_digit(*p) || (p[0] == '0' && is_digit(p[1]))) {
        return not_a(k, text, err);
    }
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value)) {
            return too_large(k, text, err);
        }
    }
    *at = p;
    *ret = value;
    return 0;
}

static int refuse_sign(const struct kind *k, const char *text, struct err *err)
{
    if (text[0] == '-' && is_digit(text[1])) {
        return out_of_range(k, text, "it cannot be negative", err);
    }
    return 0;
}

/* "12" or "12.345" in thousandths; *at ends behind it. */
static int read_milli(const struct kind *k, const char *text, const char **at, int64_t *ret,
                      struct err *err)
{
    static const int64_t WORTH[] = {100, 10, 1};
    int64_t whole, milli = 0;
    size_t count = 0;
    int rc = read_digits(k, text, at, &whole, err);

    if (rc != 0) {
        return rc;
    }
    if (**at == '.') {
        (*at)++;
        for (; is_digit(**at); (*at)++, count++) {
            if (count == ARRAY_LEN(WORTH)) {
                return out_of_range(k, text, "it has more than three decimals", err);
            }
            milli += WORTH[count] * (**at - '0');
        }
        if (count == 0) {
            return not_a(k, text, err);
        }
    }
    if (__builtin_mul_overflow(whole, MILLI_PER_ONE, &whole) ||
        __builtin_add_overflow(whole, milli, &whole)) {
        return too_large(k, text, err);
    }
    *ret = whole;
    return 0;
}

/* "1/7": over is the position of the slash. */
static int read_fraction(const char *text, const char *over, int64_t *ret_gu, struct err *err)
{
    const char *at = text;
    int64_t above, below;
    int128 gu;
    int rc = read_digits(&GPUS, text, &at, &above, err);

    if (rc != 0) {
        return rc;
    }
    if (at != over) {
        return not_a(&GPUS, text, err);
    }
    at = over + 1;
    rc = read_digits(&GPUS, text, &at, &below, err);
    if (rc != 0) {
        return rc;
    }
    if (*at != '\0') {
        return not_a(&GPUS, text, err);
    }
    if (below == 0) {
        return out_of_range(&GPUS, text, "nothing can be divided by 0", err);
    }
    gu = (int128)above * GU_PER_GPU;
    if (gu % below != 0) {
        return out_of_range(&GPUS, text, "it is not a whole number of 1/126000 of a GPU", err);
    }
    if (gu / below > INT64_MAX) {
        return too_large(&GPUS, text, err);
    }
    *ret_gu = (int64_t)(gu / below);
    return 0;
}

int quantity_gpus(const char *text, int64_t *ret_gu, struct err *err)
{
    const char *over = strchr(text, '/');
    const char *at = text;
    int64_t milli = 0;
    int64_t gu;
    int rc = refuse_sign(&GPUS, text, err);

    if (rc != 0) {
        return rc;
    }
    if (over != NULL) {
        return read_fraction(text, over, ret_gu, err);
    }
    rc = read_milli(&GPUS, text, &at, &milli, err);
    if (rc != 0) {
        return rc;
    }
    if (*at != '\0') {
        return not_a(&GPUS, text, err);
    }
    if (__builtin_mul_overflow(milli, GU_PER_MILLIGPU, &gu)) {
        return too_large(&GPUS, text, err);
    }
    *ret_gu = gu;
    return 0;
}

/* The size of a number without its sign, INT64_MIN included. */
static uint64_t size_of(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Thousandths as the shortest decimal.  Written by hand, from the back: every decision says some,
 * and snprintf takes ten times as long. */
static void milli_text(bool negative, uint64_t milli, char *ret)
{
    char text[QUANTITY_TEXT_MAX];
    char *at = text + sizeof(text);
    uint64_t whole = milli / 1000;
    uint64_t rest = milli % 1000;
    int digits = 3;

    *--at = '\0';
    for (; rest != 0 && digits > 0; digits--) {
        if (rest % 10 != 0 || *at != '\0') {
            *--at = (char)('0' + rest % 10);
        }
        rest /= 10;
    }
    for (; *at != '\0' && digits > 0; digits--) {
        *--at = '0';
    }
    if (*at != '\0') {
        *--at = '.';
    }
    do {
        *--at = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole != 0);
    if (negative) {
        *--at = '-';
    }
    memcpy(ret, at, (size_t)(text + sizeof(text) - at));
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

void quantity_gpus_text(int64_t gu, char *ret)
{
    uint64_t size = size_of(gu);
    uint64_t divisor;

    if (size % (uint64_t)GU_PER_MILLIGPU == 0) {
        milli_text(gu < 0, size / (uint64_t)GU_PER_MILLIGPU, ret);
        return;
    }
    divisor = common_divisor(size, (uint64_t)GU_PER_GPU);
    snprintf(ret, QUANTITY_TEXT_MAX, "%s%" PRIu64 "/%" PRIu64, gu < 0 ? "-" : "", size / divisor,
             (uint64_t)GU_PER_GPU / divisor);
}

static const char *const BYTE_SUFFIXES[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

int quantity_bytes(const char *text, int64_t *ret_bytes, struct err *err)
{
    const char *at = text;
    int64_t bytes;
    int rc = refuse_sign(&BYTES, text, err);

    if (rc == 0) {
        rc = read_digits(&BYTES, text, &at, &bytes, err);
    }
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < ARRAY_LEN(BYTE_SUFFIXES); i++) {
        if (strcmp(at, BYTE_SUFFIXES[i]) != 0) {
            continue;
        }
        if (__builtin_mul_overflow(bytes, (int64_t)1 << (10 * i), &bytes)) {
            return too_large(&BYTES, text, err);
        }
        *ret_bytes = bytes;
        return 0;
    }
    return not_a(&BYTES, text, err);
}

void quantity_bytes_text(int64_t bytes, char *ret)
{
    uint64_t size = size_of(bytes);
    size_t i = 0;

    while (size != 0 && size % 1024 == 0 && i + 1 < ARRAY_LEN(BYTE_SUFFIXES)) {
        size /= 1024;
        i++;
    }
    snprintf(ret, QUANTITY_TEXT_MAX, "%s%" PRIu64 "%s", bytes < 0 ? "-" : "", size,
             BYTE_SUFFIXES[i]);
}

/* From the longest to the shortest, the order in which a text may name them. */
static const struct {
    const char *suffix;
    int64_t ms;
} DURATION_UNITS[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* The unit at *at that is at or behind from in the table, or the table's length. */
static size_t read_unit(const char **at, size_t from)
{
    size_t len = strcspn(*at, "0123456789");

    for (size_t i = from; i < ARRAY_LEN(DURATION_UNITS); i++) {
        const char *suffix = DURATION_UNITS[i].suffix;

        if (strlen(suffix) == len && memcmp(*at, suffix, len) == 0) {
            *at += len;
            return i;
        }
    }
    return ARRAY_LEN(DURATION_UNITS);
}

int quantity_duration(const char *text, int64_t *ret_ms, struct err *err)
{
    const char *at = text;
    int64_t total = 0;
    size_t from = 0;
    int rc = refuse_sign(&DURATION, text, err);

    if (rc != 0) {
        return rc;
    }
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return 0;
    }
    do {
        int64_t count, ms;
        size_t unit;

        rc = read_digits(&DURATION, text, &at, &count, err);
        if (rc != 0) {
            return rc;
        }
        unit = read_unit(&at, from);
        if (unit == ARRAY_LEN(DURATION_UNITS)) {
            return not_a(&DURATION, text, err);
        }
        if (__builtin_mul_overflow(count, DURATION_UNITS[unit].ms, &ms) ||
            __builtin_add_overflow(total, ms, &total)) {
            return too_large(&DURATION, text, err);
        }
        from = unit + 1;
    } while (*at != '\0');
    *ret_ms = total;
    return 0;
}

void quantity_duration_text(int64_t ms, char *ret)
{
    uint64_t rest = size_of(ms);
    size_t len = 0;

    if (ms == 0) {
        snprintf(ret, QUANTITY_TEXT_MAX, "0");
        return;
    }
    if (ms < 0) {
        ret[len++] = '-';
    }
    for (size_t i = 0; i < ARRAY_LEN(DURATION_UNITS); i++) {
        uint64_t unit = (uint64_t)DURATION_UNITS[i].ms;

        if (rest >= unit) {
            len += (size_t)snprintf(ret + len, QUANTITY_TEXT_MAX - len, "%" PRIu64 "%s",
                                    rest / unit, DURATION_UNITS[i].suffix);
            rest %= unit;
        }
    }
    CHECK(len < QUANTITY_TEXT_MAX);
}

int quantity_cpu(const char *text, int64_t *ret_mcpu, struct err *err)
{
    const char *at = text;
    int64_t mcpu;
    int rc = refuse_sign(&CPUS, text, err);

    if (rc != 0) {
        return rc;
    }
    if (text[strspn(text, "0123456789")] == 'm') {
        rc = read_digits(&CPUS, text, &at, &mcpu, err);
        at++;
    } else {
        rc = read_milli(&CPUS, text, &at, &mcpu, err);
    }
    if (rc != 0) {
        return rc;
    }
    if (*at != '\0') {
        return not_a(&CPUS, text, err);
    }
    *ret_mcpu = mcpu;
    return 0;
}

void quantity_cpu_text(int64_t mcpu, char *ret)
{
    milli_text(mcpu < 0, size_of(mcpu), ret);
}
