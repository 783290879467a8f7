/* #SBATCH lines of a script: the first byte says whether the reading is lenient, the rest is the
 * script. */
#include "cli/sbatch.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbatch_input in = {.file = "train.sh", .user = "ada", .dir = "/home/ada"};
    struct sbatch_result result = {0};
    struct jobspec spec;
    struct err err;
    int rc;

    if (size < 1) {
        return 0;
    }
    in.lenient = (data[0] & 1) != 0;
    in.text = (const char *)data + 1;
    in.len = size - 1;
    jobspec_init(&spec);
    rc = sbatch_read(&spec, &in, &result, &err);
    (void)rc;
    str_fini(&result.notes);
    jobspec_fini(&spec);
    return 0;
}
