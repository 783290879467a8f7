/* fuzz/scenario - a scenario of any bytes is refused in words, or played; what it says of itself
 * (expectations, decisions) may fail, the core's invariants may not. */
#include "sim/scenario.h"

#include "memory_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH];
    int fd = memory_file(data, size, path);
    struct scenario_result r;
    struct err err = {0};
    int rc = scenario_play(path, &r, &err);
    const char *broken = rc == 0 ? strstr(str_text(&r.failures), ": broken: ") : NULL;

    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    if (broken != NULL) {
        (void)fprintf(stderr, "%s\n", broken);
        abort();
    }
    scenario_result_fini(&r);
    (void)close(fd);
    return 0;
}
