/* submitspec - what the processes of a job are: command or script, environment, directory.  It goes
 * to the content store, never to the journal. */
#ifndef MUSTER_DAEMON_SUBMITSPEC_H
#define MUSTER_DAEMON_SUBMITSPEC_H

#include "backend/backend.h"
#include "base/str.h"
#include "daemon/bodyread.h"

#define SUBMITSPEC_FIELDS "command", "script", "args", "env", "dir", "output"

/* From the body of a submission; the text, an object, is added to ret (to be thrown away where r
 * failed). */
void submitspec_read(struct bodyread *r, const struct jsonin *body, const char *account,
                     struct str *ret);

/* From the text in the content store to what a backend starts; all of ret lives in the arena. */
MUST_CHECK int submitspec_parse(const char *text, size_t len, struct arena *arena,
                                struct backend_spec *ret, struct err *err);

#endif
