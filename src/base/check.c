/* write(2) and abort only: a broken CHECK must be reported even when memory is gone. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void check_failed(const char *file, int line, const char *what)
{
    char text[512];
    int len = snprintf(text, sizeof(text), "muster: %s:%d: broken check: %s\n", file, line, what);
    size_t count = len < 0 ? 0 : (size_t)len;

    if (count >= sizeof(text)) {
        count = sizeof(text) - 1;
    }
    if (write(STDERR_FILENO, text, count) < 0) {
        abort();
    }
    abort();
}
