/* faulty_journal - a journal in memory whose appends fail as a test asks. */
#ifndef MUSTER_TESTS_UNIT_ENGINE_FAULTY_JOURNAL_H
#define MUSTER_TESTS_UNIT_ENGINE_FAULTY_JOURNAL_H

#include "journal/journal.h"

struct faulty_journal {
    struct journal base;
    struct journal *under;
    int64_t appends; /* tried */
    int64_t fail_at; /* this append fails, 0 = none */
    bool for_ever;   /* and all after it */
    bool lands;      /* it fails, but is on disk */
    int rc;
    bool full;   /* ERR_DISK_FULL but for urgent appends */
    bool urgent; /* those are taken */
    int64_t reads;
};

/* Ends with journal_close. */
struct faulty_journal *faulty_journal_open(void);

#endif
