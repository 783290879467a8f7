/* people - the erasable table from opaque subject ids to persons: name, account, uid.
 *
 * The journal knows subjects only; a person is erased by taking the row away.  STATE/people.json,
 * 0600, written whole and renamed.  A subject is made at first sight and never reused.
 */
#ifndef MUSTER_DAEMON_PEOPLE_H
#define MUSTER_DAEMON_PEOPLE_H

#include "base/err.h"

#include <stddef.h>

struct person {
    char *subject; /* "p-" and 16 letters and digits, or what the policy says */
    char *name;
};

struct people;

/* ERR_IO; ERR_SYNTAX: the file is not what people_open wrote. */
MUST_CHECK int people_open(const char *path, struct people **ret, struct err *err);
void people_close(struct people *p);

/* Lent until the next call that adds; NULL = nobody. */
const struct person *people_of_subject(const struct people *p, const char *subject);
const struct person *people_of_name(const struct people *p, const char *name);
/* The name of a subject, or the subject itself where it was erased. */
const char *people_name(const struct people *p, const char *subject);

/* The person of a name, made if need be; subject "" = whatever it is.  What was made is kept once
 * people_save has written it.  ERR_CONFLICT: name or subject belongs to another. */
MUST_CHECK int people_take(struct people *p, const char *name, const char *subject,
                           const struct person **ret, struct err *err);
/* Write what was made since; nothing to write is fine.  ERR_IO, ERR_DISK_FULL: those made since are
 * forgotten. */
MUST_CHECK int people_save(struct people *p, struct err *err);

#endif
