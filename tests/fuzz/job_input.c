/* What people and servers hand to the command line: the first byte chooses a job file, a script
 * with #MUSTER lines or an event stream; the rest is its text. */
#include "cli/jobfile.h"
#include "cli/jobscript.h"
#include "cli/sse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(void *arg, const char *id, const char *event, const char *data)
{
    size_t *sum = arg;

    *sum += strlen(id) + strlen(event) + strlen(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct jobspec spec;
    struct sse sse;
    struct err err;
    size_t sum = 0;
    int rc = 0;

    if (size < 1) {
        return 0;
    }
    jobspec_init(&spec);
    switch (data[0] % 3) {
    case 0:
        rc = jobfile_read(&spec, "job.yaml", text, size - 1, &err);
        break;
    case 1:
        rc = jobscript_read(&spec, "job.sh", text, size - 1, &err);
        break;
    default:
        sse_init(&sse, on_event, &sum);
        sse_feed(&sse, text, size - 1);
        sse_fini(&sse);
        break;
    }
    (void)rc;
    jobspec_fini(&spec);
    return 0;
}
