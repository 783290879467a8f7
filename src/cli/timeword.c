#include "cli/timeword.h"

#include "base/quantity.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* "Z", "", "+01:00" as minutes east of UTC. */
static bool read_zone(const char *text, int *ret_minutes)
{
    int hours, minutes, used = 0;

    if (text[0] == '\0' || strcmp(text, "Z") == 0) {
        *ret_minutes = 0;
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') ||
        sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 ||
        text[6] != '\0' || hours > 14 || minutes > 59) {
        return false;
    }
    *ret_minutes = (text[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

int timeword_read(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err)
{
    struct tm tm = {0};
    struct tm asked;
    const char *rest;
    int64_t span_ms, seconds;
    int zone;

    if (quantity_duration(text, &span_ms, NULL) == 0) {
        *ret_ms = now_ms + span_ms;
        return 0;
    }
    rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (rest == NULL) {
        tm = (struct tm){0};
        rest = strptime(text, "%Y-%m-%dT%H:%M", &tm);
    }
    if (rest == NULL || !read_zone(rest, &zone)) {
        return err_set(err, ERR_INVALID,
                       "'%s' is no time: 2h (from now) or 2026-12-01T18:00:00Z is wanted", text);
    }
    asked = tm;
    seconds = timegm(&tm);
    if (tm.tm_mday != asked.tm_mday || tm.tm_mon != asked.tm_mon || seconds <= 0) {
        return err_set(err, ERR_INVALID, "'%s': there is no such day", text);
    }
    *ret_ms = (seconds - (int64_t)zone * 60) * 1000;
    return 0;
}
