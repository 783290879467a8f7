#include "journal/logmove.h"

#include <stddef.h>

/* The commit stands, however the move ends. */
static int after_commit(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct logmove *m = ctx;
    int in_log = 0;
    int moved = 0;
    int rc;

    if (m->ended || pages < LOGMOVE_PAGES) {
        return SQLITE_OK;
    }
    rc = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
    if (rc == SQLITE_OK) {
        m->held_up = moved < in_log;
    } else if (m->held_up && (rc & 0xff) == SQLITE_IOERR) {
        m->ended = true;
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    return SQLITE_OK;
}

void logmove_init(struct logmove *m, sqlite3 *writer)
{
    *m = (struct logmove){0};
    sqlite3_wal_hook(writer, after_commit, m);
}
