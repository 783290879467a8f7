#include "cli/sbatchoption.h"

#include <string.h>

const struct sbatchoption SBATCHOPTIONS[SBATCHOPTION_COUNT] = {
#define SBATCHOPTION_ROW(id, letter, name, value, fate, phrase)                                    \
    {letter, name, SBATCHOPTION_##value, SBATCHOPTION_##fate, phrase},
    SBATCHOPTION_TABLE(SBATCHOPTION_ROW)
#undef SBATCHOPTION_ROW
};

int sbatchoption_find(const char *name, size_t len)
{
    int found = -1;

    for (int i = 0; i < SBATCHOPTION_COUNT; i++) {
        if (len == 0 || strncmp(SBATCHOPTIONS[i].name, name, len) != 0) {
            continue;
        }
        if (SBATCHOPTIONS[i].name[len] == '\0') {
            return i;
        }
        found = found == -1 ? i : -2;
    }
    return found;
}

int sbatchoption_letter(char letter)
{
    for (int i = 0; i < SBATCHOPTION_COUNT; i++) {
        if (SBATCHOPTIONS[i].letter != 0 && SBATCHOPTIONS[i].letter == letter) {
            return i;
        }
    }
    return -1;
}
