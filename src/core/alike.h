/* alike - do two submissions ask the same?  Whose they are and what they are called (id, array,
 * element, name, spec, held) makes no difference, nor does the subject, unless they ask for a share
 * of a device: who sits there looks at whose shares they are. */
#ifndef MUSTER_CORE_ALIKE_H
#define MUSTER_CORE_ALIKE_H

#include "core/fact.h"

/* Equal for all that ask the same, on every machine; >= 0. */
int64_t alike_hash(const struct fact_job_submitted *ask);

bool alike_same(const struct fact_job_submitted *a, const struct fact_job_submitted *b);

/* *ask without what makes no difference; its parts are lent. */
struct fact_job_submitted alike_plain(const struct fact_job_submitted *ask);

#endif
