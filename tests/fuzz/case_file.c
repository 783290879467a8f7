/* fuzz/case_file - a scheduling case of any bytes through the reader, and through the engine if it
 * can be read: it is refused in words or played to its end. */
#include "sim/caserun.h"

#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH];
    int fd = memory_file(data, size, path);
    struct casefile c;
    struct str line = {0};
    struct err err = {0};
    int rc = casefile_read(path, &c, &err);

    if (rc == 0) {
        rc = caserun(&c, &line, NULL, &err);
        casefile_fini(&c);
    }
    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    str_fini(&line);
    (void)close(fd);
    return 0;
}
