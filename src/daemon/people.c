#include "daemon/people.h"

#include "base/check.h"
#include "base/str.h"
#include "base/vec.h"
#include "daemon/statefile.h"

#include <jansson.h>
#include <string.h>
#include <sys/random.h>

#define SUBJECT_BYTES 10

struct people {
    char *path;
    VEC(struct person *) rows;
    size_t saved; /* rows that are in the file */
};

static void person_free(struct person *row)
{
    mem_free(row->subject);
    mem_free(row->name);
    mem_free(row);
}

static struct person *add(struct people *p, const char *subject, const char *name)
{
    struct person *row = mem_new(1, sizeof(*row));

    row->subject = mem_text(subject);
    row->name = mem_text(name);
    vec_push(&p->rows, row);
    return row;
}

static int read_rows(struct people *p, const char *text, size_t len, struct err *err)
{
    json_error_t error;
    json_t *list = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    size_t i;
    json_t *item;
    int rc = 0;

    if (!json_is_array(list)) {
        json_decref(list);
        return err_set(err, ERR_SYNTAX, "%s:%d:%d: %s", p->path, error.line, error.column,
                       error.text);
    }
    json_array_foreach(list, i, item)
    {
        const char *subject = json_string_value(json_object_get(item, "subject"));
        const char *name = json_string_value(json_object_get(item, "name"));

        if (subject == NULL || name == NULL) {
            rc = err_set(err, ERR_SYNTAX, "%s: row %zu has no subject or no name", p->path, i);
            break;
        }
        add(p, subject, name);
    }
    json_decref(list);
    return rc;
}

int people_open(const char *path, struct people **ret, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    struct people *p = mem_new(1, sizeof(*p));
    int rc;

    p->path = mem_text(path);
    rc = statefile_read(path, &text, err);
    if (rc == 0) {
        rc = read_rows(p, str_text(&text), text.len, err);
    } else if (rc == ERR_NOT_FOUND) {
        rc = 0;
    }
    if (rc != 0) {
        people_close(p);
        return rc;
    }
    p->saved = p->rows.count;
    *ret = p;
    return 0;
}

void people_close(struct people *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->rows.count; i++) {
        person_free(p->rows.items[i]);
    }
    vec_fini(&p->rows);
    mem_free(p->path);
    mem_free(p);
}

const struct person *people_of_subject(const struct people *p, const char *subject)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        if (strcmp(p->rows.items[i]->subject, subject) == 0) {
            return p->rows.items[i];
        }
    }
    return NULL;
}

const struct person *people_of_name(const struct people *p, const char *name)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        if (strcmp(p->rows.items[i]->name, name) == 0) {
            return p->rows.items[i];
        }
    }
    return NULL;
}

const char *people_name(const struct people *p, const char *subject)
{
    const struct person *row = subject == NULL ? NULL : people_of_subject(p, subject);

    return row != NULL ? row->name : subject == NULL ? "" : subject;
}

static int write_rows(const struct people *p, struct err *err)
{
    json_t *list = json_array();
    char *text;
    int rc;

    for (size_t i = 0; i < p->rows.count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "subject", p->rows.items[i]->subject,
                                              "name", p->rows.items[i]->name));
    }
    text = json_dumps(list, JSON_INDENT(1));
    json_decref(list);
    CHECK(text != NULL);
    rc = statefile_write(p->path, text, strlen(text), err);
    mem_free(text);
    return rc;
}

/* Random, so that a subject says nothing about its person; 50 bits do not meet by chance. */
static void make_subject(char ret[SUBJECT_BYTES + 3])
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char bytes[SUBJECT_BYTES];

    CHECK(getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes));
    ret[0] = 'p';
    ret[1] = '-';
    for (size_t i = 0; i < SUBJECT_BYTES; i++) {
        ret[i + 2] = LETTERS[bytes[i] & 31U];
    }
    ret[SUBJECT_BYTES + 2] = '\0';
}

int people_take(struct people *p, const char *name, const char *subject, const struct person **ret,
                struct err *err)
{
    const struct person *row = people_of_name(p, name);
    char made[SUBJECT_BYTES + 3];

    if (row != NULL && (subject[0] == '\0' || strcmp(row->subject, subject) == 0)) {
        *ret = row;
        return 0;
    }
    if (row != NULL) {
        return err_set(err, ERR_CONFLICT, "user %s has the subject %s already, not %s", name,
                       row->subject, subject);
    }
    if (subject[0] != '\0' && people_of_subject(p, subject) != NULL) {
        return err_set(err, ERR_CONFLICT, "the subject %s belongs to user %s already", subject,
                       people_name(p, subject));
    }
    if (subject[0] == '\0') {
        make_subject(made);
        subject = made;
    }
    *ret = add(p, subject, name);
    return 0;
}

int people_save(struct people *p, struct err *err)
{
    int rc;

    if (p->saved == p->rows.count) {
        return 0;
    }
    rc = write_rows(p, err);
    while (rc != 0 && p->rows.count > p->saved) {
        person_free(vec_pop(&p->rows));
    }
    p->saved = p->rows.count;
    return rc;
}
