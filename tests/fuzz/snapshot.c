/* fuzz/snapshot - a state from a text: it is refused in words, or it is a state like any other: its
 * own snapshot gives the same again, it can be checked, planned, and go on.
 *
 * A snapshot is bound to the journal by its hash, so nobody forges one; but a broken disk, another
 * release or a bug can make one that is odd.
 */
#include "core/codec.h"
#include "core/core.h"

#include "base/check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core *first = NULL;
    struct core *second = NULL;
    struct str a = {0}, b = {0};
    struct arena *arena = arena_make();
    struct err err = {0};
    int rc = core_restore((const char *)data, size, &first, &err);

    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0' && first == NULL));
    if (rc == 0) {
        core_snapshot(first, &a);
        CHECK(core_restore(a.text, a.len, &second, &err) == 0);
        core_snapshot(second, &b);
        CHECK(strcmp(a.text, b.text) == 0);
        (void)core_check(first, arena);
    }
    core_free(first);
    core_free(second);
    str_fini(&a);
    str_fini(&b);
    arena_free(arena);
    return 0;
}
