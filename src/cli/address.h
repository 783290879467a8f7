/* address - where the server is and what proves who asks.
 *
 * MUSTER_SERVER (https, or http on loopback), else MUSTER_SOCKET, else the first of the usual
 * sockets that exists.  The token is MUSTER_TOKEN, or over TCP the token file.  A token is never
 * sent over plain HTTP to another machine, and a token file that others can read is refused.
 */
#ifndef MUSTER_CLI_ADDRESS_H
#define MUSTER_CLI_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>

struct address {
    char *base;    /* "http://muster": what paths are put behind */
    char *socket;  /* NULL over TCP */
    char *bearer;  /* "Authorization: Bearer ...", NULL = none */
    char *words;   /* for people */
    bool loopback; /* no proxy lies between */
};

/* socket and token_file go before the environment; NULL = from there.  a is zeroed before; end it
 * with address_fini, after a failure too. */
MUST_CHECK int address_find(struct address *a, const char *socket, const char *token_file,
                            struct err *err);
void address_fini(struct address *a);

#endif
