/* settings - tables of what may be written in the configuration: one row a setting.
 *
 * From the rows come the reader with its messages, the defaults, the manual page and `config show`.
 * A row points into a struct that begins with struct settings_head; amounts are GPU units, times
 * ms, as everywhere.
 */
#ifndef MUSTER_CONFIG_SETTINGS_H
#define MUSTER_CONFIG_SETTINGS_H

#include "base/str.h"
#include "config/complaint.h"
#include "config/yamltree.h"

#include <stdbool.h>
#include <stdint.h>

enum setting_kind {
    SETTING_INT,          /* int64_t */
    SETTING_BOOL,         /* bool */
    SETTING_NAME,         /* const char *: [a-z0-9-]{1,63} */
    SETTING_WORD,         /* const char *: any text of one line, 1 to 255 bytes */
    SETTING_GPUS,         /* int64_t GPU units */
    SETTING_CPU,          /* int64_t thousandths */
    SETTING_BYTES,        /* int64_t */
    SETTING_DURATION,     /* int64_t ms */
    SETTING_DURATION_OFF, /* the same, or `off` = -1 */
    SETTING_ENUM,         /* int: index into names */
    SETTING_SECTION,      /* an embedded struct, sub */
    SETTING_LIST,         /* struct settings_list of sub */
    SETTING_NAMES,        /* struct settings_list of struct settings_pair: key only */
    SETTING_WORDS,        /* the same, any words */
    SETTING_AMOUNTS,      /* the same: name: GPUs */
    SETTING_LABELS,       /* the same: key: text */
};

enum setting_flag {
    SETTING_REQUIRED = 1,
    SETTING_INHERIT = 2, /* what is not written comes from the object above */
};

struct settings_table;

struct setting {
    const char *name;
    enum setting_kind kind;
    unsigned flags;
    size_t offset;
    const struct settings_table *sub;
    const char *const *names; /* of an enum, ends with NULL */
    int64_t min;              /* of numbers, amounts and times */
    int64_t max;
    const char *fallback; /* default as people would write it, NULL = none */
    const char *help;     /* one sentence for the manual */
};

struct settings_table {
    const char *title; /* "queue" */
    size_t size;       /* of the struct */
    const struct setting *rows;
    size_t row_count; /* at most 64 */
};

struct settings_head {
    uint64_t written;          /* bit i: row i is in the file */
    const struct yamltree *at; /* NULL: the whole object is not in the file */
    const char *path;          /* "queues.research" */
};

struct settings_list {
    void *items;
    size_t count;
};

struct settings_pair {
    const char *key;
    int64_t value;
    const char *text;
    const struct yamltree *at; /* of the value; of the key in lists */
};

/* Read the map at into the object (zeroed, of table->size): what is wrong is added to c, the rest
 * is read on.  Defaults are filled in except for SETTING_INHERIT rows. */
void settings_read(const struct settings_table *table, const struct yamltree *at, const char *path,
                   void *object, struct complaints *c);

/* Defaults of all rows that were not written, sections included. */
void settings_defaults(const struct settings_table *table, void *object, struct complaints *c);

/* The SETTING_INHERIT rows that were not written: from above, or with NULL their defaults. */
void settings_inherit(const struct settings_table *table, void *object, const void *above,
                      struct complaints *c);

/* Is the setting in the file? */
bool settings_written(const struct settings_table *table, const void *object, const char *name);

/* Complain about a setting of an object: at its value, or at the object where it is not written.
 * name "" = the object. */
void settings_complain(struct complaints *c, const void *object, enum err_code code,
                       const char *name, const char *text);

/* A scalar of one kind from text, for defaults and for lists: false when it is none. */
bool settings_scalar(const struct setting *row, const char *text, void *ret);

/* roff lines for the manual page, one entry a row and sub-tables after it. */
void settings_manual(const struct settings_table *table, struct str *ret);

#endif
