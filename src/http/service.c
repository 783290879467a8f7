/* service - the names of the operations, as SERVICE_TABLE spells them. */
#include "http/service.h"

#include "base/check.h"

const char *service_op_name(enum service_op op)
{
    static const char *const NAMES[] = {
#define SERVICE_NAME(op, method, path, role, body) #op,
        SERVICE_TABLE(SERVICE_NAME)
#undef SERVICE_NAME
    };

    CHECK((size_t)op < ARRAY_LEN(NAMES));
    return NAMES[op];
}
