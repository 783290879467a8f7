/* textfile - a whole file (or the standard input) as text. */
#ifndef MUSTER_CLI_TEXTFILE_H
#define MUSTER_CLI_TEXTFILE_H

#include "base/err.h"
#include "base/str.h"

/* Add the file to ret; "-" is the standard input.  ERR_NOT_FOUND, ERR_IO, ERR_TOO_LARGE (16Mi). */
MUST_CHECK int textfile_read(const char *path, struct str *ret, struct err *err);

#endif
