/* fuzz/case_file - a scheduling case of any bytes through the reader, and through the engine if it
 * can be read: it is refused in words or played to its end. */
#include "sim/caserun.h"

#include "memory_file.h"

#define PODS_MAX 1000
#define GPUS_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Large ones are slow, not wrong. */
static bool is_small(const struct casefile *c)
{
    int64_t pods = 0, gpus = 0;

    for (size_t i = 0; i < c->jobs.count; i++) {
        pods += c->jobs.items[i].pods;
    }
    for (size_t i = 0; i < c->nodes.count; i++) {
        gpus += c->nodes.items[i].gpus;
    }
    return pods <= PODS_MAX && gpus <= GPUS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH];
    int fd = memory_file(data, size, path);
    struct casefile c;
    struct str line = {0};
    struct err err = {0};
    int rc = casefile_read(path, &c, &err);

    if (rc == 0) {
        rc = is_small(&c) ? caserun(&c, &line, NULL, &err) : 0;
        casefile_fini(&c);
    }
    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    str_fini(&line);
    (void)close(fd);
    return 0;
}
