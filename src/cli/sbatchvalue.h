/* sbatchvalue - the forms in which sbatch takes times, memory, GPUs, node lists and file patterns.
 *
 * Each function reads one value and says in the error what would be right, without where it stands.
 * They follow sbatch 22.05 where it accepts more than its manual page says ("4GB", "5:90").
 */
#ifndef MUSTER_CLI_SBATCHVALUE_H
#define MUSTER_CLI_SBATCHVALUE_H

#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SBATCHVALUE_COUNT_MAX ((int64_t)1000000)

/* A whole number from min to SBATCHVALUE_COUNT_MAX. */
MUST_CHECK int sbatchvalue_count(const char *text, int64_t min, int64_t *ret, struct err *err);

/* M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; 0, UNLIMITED and INFINITE are 0: no limit. */
MUST_CHECK int sbatchvalue_time(const char *text, int64_t *ret_s, struct err *err);

/* A whole number with K, M (also without a unit), G or T, in steps of 1024; a B may follow. */
MUST_CHECK int sbatchvalue_memory(const char *text, int64_t *ret_bytes, struct err *err);

struct sbatchvalue_gpus {
    int64_t count;
    char type[64]; /* "" = any */
};

/* "[TYPE:]N" or "TYPE"; with gres "gpu[:TYPE][:N]".  ERR_UNSUPPORTED: several types, or a resource
 * that is no GPU. */
MUST_CHECK int sbatchvalue_gpus(const char *text, bool gres, struct sbatchvalue_gpus *ret,
                                struct err *err);
/* Is a GPU type the name of a MIG profile ("1g.10gb")? */
bool sbatchvalue_is_profile(const char *type);

/* "n[1-3,07],m2" → ["n1","n2","n3","n07","m2"]. */
MUST_CHECK int sbatchvalue_nodes(const char *text, json_t **ret, struct err *err);

struct sbatchvalue_array {
    struct str list; /* as muster takes it: "0-9", "0,4,8" */
    int64_t count;
    int64_t first;
    int64_t last;
    int64_t step;
    int64_t at_once; /* "%N", 0 = no bound */
};

/* "0-9", "1,3,5-7", "0-15:4", each with "%N" behind.  ret->list is owned by the caller. */
MUST_CHECK int sbatchvalue_array(const char *text, struct sbatchvalue_array *ret, struct err *err);

struct sbatchvalue_signal {
    char name[8]; /* "USR1" */
    int64_t grace_s;
    bool early; /* "R:" */
};

/* "[R|B:]SIGNAL[@SECONDS]", a name or a number; 60 s without SECONDS. */
MUST_CHECK int sbatchvalue_signal(const char *text, struct sbatchvalue_signal *ret,
                                  struct err *err);

struct sbatchvalue_names { /* what a pattern is filled with before the job is sent */
    const char *job;       /* %x */
    const char *user;      /* %u */
};

/* A file name pattern of sbatch as one of muster: %j %A %a %t stay, %n (the node's number) becomes
 * %t, %x and %u are filled in, "\\" before the pattern switches the signs off. */
MUST_CHECK int sbatchvalue_pattern(const char *text, const struct sbatchvalue_names *names,
                                   struct str *ret, struct err *err);

/* A job's name as muster takes it: lower case, '-' for the rest; "" when nothing is left. */
void sbatchvalue_name(const char *text, struct str *ret);

#endif
