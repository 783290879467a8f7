/* seeded_faults - the names of what may go wrong. */
#include "sim/seeded.h"

#include <string.h>

static const char *const NAMES[] = {
#define NAME(symbol, name, text) name,
    SEEDED_FAULT_TABLE(NAME)
#undef NAME
};

void seeded_faults_print(unsigned faults, struct str *ret)
{
    size_t i;
    bool first = true;

    if (faults == 0 || faults == SEEDED_ALL_FAULTS) {
        str_add(ret, faults == 0 ? "none" : "all");
        return;
    }
    for (i = 0; i < SEEDED_FAULT_COUNT; i++) {
        if ((faults >> i & 1U) != 0) {
            str_addf(ret, "%s%s", first ? "" : ",", NAMES[i]);
            first = false;
        }
    }
}

static bool take(const char *word, size_t len, unsigned *ret)
{
    size_t i;

    for (i = 0; i < SEEDED_FAULT_COUNT; i++) {
        if (strlen(NAMES[i]) == len && strncmp(NAMES[i], word, len) == 0) {
            *ret |= 1U << i;
            return true;
        }
    }
    return false;
}

int seeded_faults_parse(const char *text, unsigned *ret, struct err *err)
{
    struct str names = {0};
    unsigned faults = 0;
    int rc = 0;

    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *ret = strcmp(text, "all") == 0 ? SEEDED_ALL_FAULTS : 0;
        return 0;
    }
    while (rc == 0) {
        size_t len = strcspn(text, ",");

        if (!take(text, len, &faults)) {
            size_t i;

            for (i = 0; i < SEEDED_FAULT_COUNT; i++) {
                str_addf(&names, ", %s", NAMES[i]);
            }
            rc = err_set(err, ERR_INVALID, "no fault \"%.*s\"; there is all, none%s", (int)len,
                         text, str_text(&names));
        }
        if (text[len] == '\0') {
            break;
        }
        text += len + 1;
    }
    str_fini(&names);
    if (rc == 0) {
        *ret = faults;
    }
    return rc;
}
