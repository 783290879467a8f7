/* fuzz/scenario - a scenario of any bytes is refused in words, or played; what it says of itself
 * (expectations, decisions) may fail, the core's invariants may not. */
#include "sim/scenario.h"

#include "memory_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line "PATH:LINE: broken: …"; the rest may be anybody's words. */
static const char *find_broken(const char *failures, const char *path)
{
    for (const char *at = failures; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t len = strlen(path);
        size_t digits =
            strncmp(at, path, len) == 0 && at[len] == ':' ? strspn(at + len + 1, "0123456789") : 0;

        if (digits > 0 && strncmp(at + len + 1 + digits, ": broken: ", 10) == 0) {
            return at;
        }
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH];
    int fd = memory_file(data, size, path);
    struct scenario_result r;
    struct err err = {0};
    int rc = scenario_play(path, &r, &err);
    const char *broken = rc == 0 ? find_broken(str_text(&r.failures), path) : NULL;

    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    if (broken != NULL) {
        (void)fprintf(stderr, "%s\n", broken);
        abort();
    }
    scenario_result_fini(&r);
    (void)close(fd);
    return 0;
}
