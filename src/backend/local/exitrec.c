#include "backend/local/exitrec.h"

#include "backend/local/safedir.h"
#include "base/check.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX (16 * 1024)

static const char *const CAUSE_NAMES[] = {"exited", "signalled", "lost", "refused"};

static int write_json(int dir, const char *name, json_t *o, bool durable, struct err *err)
{
    struct safedir_owner owner = {geteuid(), getegid(), 0600, durable};
    char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT);
    int rc;

    json_decref(o);
    if (text == NULL) {
        return err_set(err, ERR_INTERNAL, "%s cannot be written as JSON", name);
    }
    rc = safedir_write(dir, name, text, strlen(text), &owner, err);
    free(text);
    return rc;
}

static int read_json(int dir, const char *name, json_t **ret, struct err *err)
{
    CLEANUP(mem_freep) char *text = NULL;
    json_error_t where;
    int rc = safedir_read(dir, name, RECORD_MAX, &text, err);

    if (rc != 0) {
        return rc;
    }
    *ret = json_loads(text, 0, &where);
    if (*ret == NULL) {
        return err_set(err, ERR_SYNTAX, "%s: %s", name, where.text);
    }
    return 0;
}

static int64_t integer(const json_t *o, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(o, name));
}

static void copy_text(char *to, size_t room, const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    snprintf(to, room, "%s", text == NULL ? "" : text);
}

int exitrec_write(int dir, const struct exitrec *r, struct err *err)
{
    json_t *o = json_pack("{s:s, s:I, s:I, s:b}", "cause", CAUSE_NAMES[r->cause], "status",
                          (json_int_t)r->status, "ended_ms", (json_int_t)r->ended_ms, "node_fault",
                          (int)r->node_fault);

    /* A text that is no UTF-8 (a file name in a message) must not cost us the record. */
    (void)json_object_set_new(o, "text", json_string(r->text));
    return write_json(dir, EXITREC_EXIT_FILE, o, true, err);
}

int exitrec_read(int dir, struct exitrec *ret, struct err *err)
{
    struct exitrec r = {0};
    char cause[16];
    json_t *o;
    int rc = read_json(dir, EXITREC_EXIT_FILE, &o, err);

    if (rc != 0) {
        return rc;
    }
    copy_text(cause, sizeof(cause), o, "cause");
    r.cause = EXITREC_LOST; /* of a later release: gone in any case */
    for (size_t i = 0; i < ARRAY_LEN(CAUSE_NAMES); i++) {
        if (strcmp(cause, CAUSE_NAMES[i]) == 0) {
            r.cause = (enum exitrec_cause)i;
        }
    }
    r.status = integer(o, "status");
    r.ended_ms = integer(o, "ended_ms");
    r.node_fault = json_is_true(json_object_get(o, "node_fault"));
    copy_text(r.text, sizeof(r.text), o, "text");
    json_decref(o);
    *ret = r;
    return 0;
}

int exitrec_write_shepherd(int dir, const struct exitrec_shepherd *r, struct err *err)
{
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "boot", r->boot, "pid",
                          (json_int_t)r->shepherd.pid, "start", (json_int_t)r->shepherd.start,
                          "child", (json_int_t)r->child.pid, "child_start",
                          (json_int_t)r->child.start, "mark", r->mark, "cgroup", r->cgroup);

    return write_json(dir, EXITREC_SHEPHERD_FILE, o, false, err);
}

int exitrec_read_shepherd(int dir, struct exitrec_shepherd *ret, struct err *err)
{
    json_t *o;
    int rc = read_json(dir, EXITREC_SHEPHERD_FILE, &o, err);

    if (rc != 0) {
        return rc;
    }
    memset(ret, 0, sizeof(*ret));
    copy_text(ret->boot, sizeof(ret->boot), o, "boot");
    copy_text(ret->mark, sizeof(ret->mark), o, "mark");
    copy_text(ret->cgroup, sizeof(ret->cgroup), o, "cgroup");
    ret->shepherd.pid = (pid_t)integer(o, "pid");
    ret->shepherd.start = (uint64_t)integer(o, "start");
    ret->child.pid = (pid_t)integer(o, "child");
    ret->child.start = (uint64_t)integer(o, "child_start");
    json_decref(o);
    return 0;
}
