/* A configuration of any bytes is read, or refused with a place; never more. */
#include "config/config.h"
#include "config/policyids.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_make();
    struct policyids next = {1, 1, 1};
    struct complaints c;
    struct config config;
    struct err err;

    complaints_init(&c, arena, "fuzz.yaml");
    if (config_read((const char *)data, size, &c, &config, &err) == 0) {
        policyids_assign(&config.policy, NULL, &next);
    } else if (c.total == 0 || c.count == 0 || c.items[0].line < 0) {
        abort();
    }
    arena_free(arena);
    return 0;
}
