/* standin - a service whose answers a test decides, a server around it, and raw sockets to it; all
 * in one thread. */
#ifndef MUSTER_HTTP_STANDIN_H
#define MUSTER_HTTP_STANDIN_H

#include "base/str.h"
#include "http/server.h"
#include "http/service.h"

#include <event2/event.h>
#include <stdbool.h>

struct standin_stream {
    struct service_stream stream;
    struct str text; /* not pulled yet */
    size_t pulled_bytes;
    bool endless; /* gives 'x' for ever */
    bool ended;
    bool closed;
};

/* Answers: JOB_LIST and others at once (an echo of the call); JOB_SHOW only by standin_answer;
 * JOB_LOGS, EVENTS with the stream; POLICY_APPLY with an error. */
struct standin {
    struct service service;
    struct server_config config;
    struct event_base *base;
    struct server *server;
    char dir[64];
    char path[96];
    unsigned roles; /* of the uid and of the token "good" */
    bool sick;
    service_done *done; /* of JOB_SHOW */
    void *done_arg;
    size_t calls;
    char key[160];
    char event_id[64];
    char subject[64];
    uint32_t uid;
    struct standin_stream stream;
    bool stopped;
};

/* A server on a unix socket and a free TCP port, unless the test made it otherwise before. */
void standin_init(struct standin *s);
void standin_start(struct standin *s);
void standin_fini(struct standin *s);
/* Answer the waiting JOB_SHOW. */
void standin_answer(struct standin *s);
void standin_turn(struct standin *s, int ms);
/* More text for the stream. */
void standin_say(struct standin *s, const char *text);

int standin_local(struct standin *s);
int standin_tcp(struct standin *s);
void standin_write(int fd, const char *text);
/* Run the loop until what fd sent contains `until` (NULL: until it is closed), for three seconds at
 * most.  The caller owns the text. */
char *standin_read(struct standin *s, int fd, const char *until);
/* One request on a new local connection, to its end. */
char *standin_ask(struct standin *s, const char *request);
/* The same over TCP. */
char *standin_ask_tcp(struct standin *s, const char *request);

#endif
