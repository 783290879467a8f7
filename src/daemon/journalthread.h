/* journalthread - the one thread besides the loop: it syncs the content store, appends a batch to
 * the journal and writes snapshots, so that the loop goes on while the disk works.
 *
 * All functions are for the loop's thread.  The journal's writing half belongs to this thread from
 * the start of something until `done` was called (an append) or journalthread_wait has returned.
 */
#ifndef MUSTER_DAEMON_JOURNALTHREAD_H
#define MUSTER_DAEMON_JOURNALTHREAD_H

#include "base/err.h"
#include "journal/journal.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct journalthread;

struct journalthread_result {
    int rc; /* of journal_append, or of syncing the content store */
    struct err err;
    bool content_failed; /* the records were not even tried */
};

/* done is called from the loop after each append. */
MUST_CHECK int journalthread_new(struct journal *journal, struct event_base *base,
                                 void (*done)(void *ctx, const struct journalthread_result *result),
                                 void *ctx, struct journalthread **ret, struct err *err);
/* Waits for what is being written; done is not called any more. */
void journalthread_free(struct journalthread *t);

/* Begin to make content_fd (-1 = nothing new there) and then the records durable; they are lent
 * until done.  One at a time. */
void journalthread_append(struct journalthread *t, int content_fd, struct journal_record *records,
                          size_t count);
/* In place of an append: the content store could not even be written.  done is called for it as for
 * one that failed. */
void journalthread_refuse(struct journalthread *t, int rc, const struct err *why);
/* Begin to write a snapshot; its bytes are taken. */
void journalthread_snapshot(struct journalthread *t, const struct journal_snapshot *taken);

/* Until nothing is being written. */
void journalthread_wait(struct journalthread *t);
/* The result of an append that has ended and whose done was not called yet: it will not be. */
bool journalthread_collect(struct journalthread *t, struct journalthread_result *ret);

#endif
