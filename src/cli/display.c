#include "cli/display.h"

#include <inttypes.h>
#include <time.h>

void display_time(struct str *out, int64_t ms, bool local)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[40];
    char zone[8];

    if (ms <= 0) {
        str_add(out, "-");
        return;
    }
    if (!local) {
        gmtime_r(&seconds, &tm);
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
        str_add(out, text);
        return;
    }
    localtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    strftime(zone, sizeof(zone), "%z", &tm); /* +0130, written +01:30 in ISO 8601 */
    str_addf(out, "%s%.3s:%s", text, zone, zone + 3);
}

void display_span(struct str *out, int64_t ms)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 60) {
        str_addf(out, "%" PRId64 "s", s);
    } else if (s < 3600) {
        str_addf(out, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    } else if (s < 86400) {
        str_addf(out, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    } else {
        str_addf(out, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    }
}

void display_text(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char b = (unsigned char)*text;

        if (b == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0) {
            text++; /* the C1 controls in UTF-8 */
            str_add_char(out, '?');
        } else {
            str_add_char(out, b < 0x20 || b == 0x7f ? '?' : (char)b);
        }
    }
}

int64_t display_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

int64_t member_int(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    int64_t number = 0;

    if (json_is_integer(value)) {
        return json_integer_value(value);
    }
    if (json_is_string(value) && str_to_int(json_string_value(value), &number)) {
        return number;
    }
    return 0;
}

bool member_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

void member_join(struct str *out, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (i > 0) {
            str_add_char(out, ',');
        }
        if (json_is_string(item)) {
            str_add(out, json_string_value(item));
        } else if (json_is_integer(item)) {
            str_add_int(out, json_integer_value(item));
        }
    }
}
