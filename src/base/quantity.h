/* quantity - GPU units and the decimal texts that people write.
 *
 * 126,000 units are one GPU: thousandths, MIG sevenths, eighths and twelfths and the usual shares
 * are exact.  Amounts are int64 with the suffix _gu.  Nothing here is a float.
 */
#ifndef MUSTER_BASE_QUANTITY_H
#define MUSTER_BASE_QUANTITY_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define GU_PER_GPU        ((int64_t)126000)
#define QUANTITY_TEXT_MAX 32

/* "8", "0.5", "1/7": GPUs as units.  ERR_RANGE: negative, past int64, or not a whole number of
 * units (more than three decimals; 1/n where n does not divide 126,000).  ERR_INVALID: not a
 * number. */
MUST_CHECK int quantity_gpus(const char *text, int64_t *ret_gu, struct err *err);
/* "24", "0.5", "1/7": the shortest exact text; at least QUANTITY_TEXT_MAX bytes of room. */
void quantity_gpus_text(int64_t gu, char *ret);

/* "512", "64Ki", "80Gi", "1Ti": bytes (binary suffixes only). */
MUST_CHECK int quantity_bytes(const char *text, int64_t *ret_bytes, struct err *err);
void quantity_bytes_text(int64_t bytes, char *ret);

/* "90s", "15m", "12h", "2d", "1h30m", "250ms", "0": milliseconds.  A bare number is refused unless
 * 0. */
MUST_CHECK int quantity_duration(const char *text, int64_t *ret_ms, struct err *err);
void quantity_duration_text(int64_t ms, char *ret);

/* "2", "0.5", "500m": thousandths of a CPU. */
MUST_CHECK int quantity_cpu(const char *text, int64_t *ret_mcpu, struct err *err);
void quantity_cpu_text(int64_t mcpu, char *ret);

#endif
