#include "config/settingscalar.h"

#include "base/check.h"
#include "base/quantity.h"

#include <string.h>

bool settingscalar_is_null(const char *text)
{
    return text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

static const char *names_text(const char *const *names, struct arena *arena)
{
    const char *text = "write one of";

    for (size_t i = 0; names[i] != NULL; i++) {
        text = arena_printf(arena, "%s%s %s", text, i == 0 ? "" : ",", names[i]);
    }
    return text;
}

const char *settingscalar_right(const struct setting *row, struct arena *arena)
{
    switch (row->kind) {
    case SETTING_INT:
        return "write a whole number, e.g. 3";
    case SETTING_BOOL:
        return "write true or false";
    case SETTING_NAME:
        return SETTINGSCALAR_NAME_RIGHT;
    case SETTING_WORD:
        return "write one line of text, 1 to 255 bytes";
    case SETTING_GPUS:
        return "write GPUs as 8, 0.5 or 1/7";
    case SETTING_CPU:
        return "write CPUs as 2, 0.5 or 500m";
    case SETTING_BYTES:
        return "write bytes as 512Mi, 64Gi or 1Ti";
    case SETTING_DURATION:
        return "write a time with its unit: 90s, 15m, 12h, 2d";
    case SETTING_DURATION_OFF:
        return "write a time with its unit (90s, 15m, 12h, 2d) or off";
    case SETTING_ENUM:
        return names_text(row->names, arena);
    case SETTING_LIST:
        return "write a list: one item a line after a -";
    case SETTING_NAMES:
    case SETTING_WORDS:
        return "write a list: [a, b]";
    case SETTING_SECTION:
    case SETTING_AMOUNTS:
    case SETTING_LABELS:
    default:
        return "write a map: {key: value}";
    }
}

/* 024 was octal once, and 1_000, 0x10, +5, 1e3 are numbers to some readers of YAML. */
static const char *leading_zero(const struct yamltree *at, const struct complaints *c)
{
    const char *digits = at->text;

    if (digits[0] != '0' || digits[1] < '0' || digits[1] > '9') {
        return NULL;
    }
    while (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
        digits++;
    }
    return complaint_text(c, "has a leading zero", at->text,
                          arena_printf(c->arena, "write %s", digits));
}

static bool is_digits(const char *text)
{
    const char *p = text[0] == '-' ? text + 1 : text;

    return p[0] != '\0' && strspn(p, "0123456789") == strlen(p);
}

static const char *range(const struct setting *row, const struct yamltree *at,
                         const struct complaints *c)
{
    char least[QUANTITY_TEXT_MAX];
    char most[QUANTITY_TEXT_MAX];

    switch (row->kind) {
    case SETTING_GPUS:
        quantity_gpus_text(row->min, least);
        quantity_gpus_text(row->max, most);
        break;
    case SETTING_CPU:
        quantity_cpu_text(row->min, least);
        quantity_cpu_text(row->max, most);
        break;
    case SETTING_BYTES:
        quantity_bytes_text(row->min, least);
        quantity_bytes_text(row->max, most);
        break;
    case SETTING_DURATION:
    case SETTING_DURATION_OFF:
        quantity_duration_text(row->min, least);
        quantity_duration_text(row->max, most);
        break;
    case SETTING_INT:
    case SETTING_BOOL:
    case SETTING_NAME:
    case SETTING_WORD:
    case SETTING_ENUM:
    case SETTING_SECTION:
    case SETTING_LIST:
    case SETTING_NAMES:
    case SETTING_WORDS:
    case SETTING_AMOUNTS:
    case SETTING_LABELS:
    default:
        return complaint_text(c, "is out of range", at->text,
                              arena_printf(c->arena, "write %lld to %lld", (long long)row->min,
                                           (long long)row->max));
    }
    return complaint_text(c, "is out of range", at->text,
                          arena_printf(c->arena, "write %s to %s", least, most));
}

static const char *read_int(const struct setting *row, const struct yamltree *at, int64_t *to,
                            const struct complaints *c)
{
    int64_t value;

    if (!at->plain || !is_digits(at->text)) {
        return complaint_text(c, "is not a whole number", at->text,
                              settingscalar_right(row, c->arena));
    }
    if (!str_to_int(at->text, &value) || value < row->min || value > row->max) {
        return range(row, at, c);
    }
    *to = value;
    return NULL;
}

struct quantity_kind {
    enum setting_kind kind;
    int (*read)(const char *text, int64_t *ret, struct err *err);
    const char *wrong;
};

static const struct quantity_kind QUANTITIES[] = {
    {SETTING_GPUS, quantity_gpus, "is not an amount of GPUs"},
    {SETTING_CPU, quantity_cpu, "is not an amount of CPUs"},
    {SETTING_BYTES, quantity_bytes, "is not an amount of memory"},
    {SETTING_DURATION, quantity_duration, "is not a time"},
    {SETTING_DURATION_OFF, quantity_duration, "is not a time"},
};

static const struct quantity_kind *quantity_of(enum setting_kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(QUANTITIES); i++) {
        if (QUANTITIES[i].kind == kind) {
            return &QUANTITIES[i];
        }
    }
    return NULL;
}

static const char *read_quantity(const struct setting *row, const struct yamltree *at, int64_t *to,
                                 const struct complaints *c)
{
    const struct quantity_kind *kind = quantity_of(row->kind);
    const char *zero = leading_zero(at, c);
    int64_t value = 0;

    CHECK(kind != NULL);
    if (zero != NULL) {
        return zero;
    }
    if (kind->read(at->text, &value, NULL) != 0) {
        return complaint_text(c, kind->wrong, at->text, settingscalar_right(row, c->arena));
    }
    if (value < row->min || value > row->max) {
        return range(row, at, c);
    }
    *to = value;
    return NULL;
}

static const char *read_enum(const struct setting *row, const struct yamltree *at, int *to,
                             const struct complaints *c)
{
    for (int i = 0; row->names[i] != NULL; i++) {
        if (strcmp(at->text, row->names[i]) == 0) {
            *to = i;
            return NULL;
        }
    }
    return complaint_text(c, "is not known", at->text, settingscalar_right(row, c->arena));
}

static const char *read_bool(const struct setting *row, const struct yamltree *at, bool *to,
                             const struct complaints *c)
{
    bool yes = at->plain && strcmp(at->text, "true") == 0;

    if (!yes && !(at->plain && strcmp(at->text, "false") == 0)) {
        return complaint_text(c, "is not a boolean", at->text, settingscalar_right(row, c->arena));
    }
    *to = yes;
    return NULL;
}

static const char *read_text(const struct setting *row, const struct yamltree *at, const char **to,
                             const struct complaints *c)
{
    size_t len = strlen(at->text);

    if (row->kind == SETTING_NAME && !str_is_name(at->text)) {
        return complaint_text(c, "is not a name", at->text, settingscalar_right(row, c->arena));
    }
    if (len == 0 || len > 255 || strcspn(at->text, "\n\r\t\v\f\b\x1b\x7f") != len) {
        return complaint_text(c, "is not a line of text", at->text,
                              settingscalar_right(row, c->arena));
    }
    *to = at->text;
    return NULL;
}

const char *settingscalar_read(const struct setting *row, const struct yamltree *at, void *to,
                               const struct complaints *c)
{
    if (at->plain && settingscalar_is_null(at->text)) {
        return complaint_text(c, "is empty", NULL, settingscalar_right(row, c->arena));
    }
    switch (row->kind) {
    case SETTING_INT: {
        const char *zero = at->plain ? leading_zero(at, c) : NULL;

        return zero != NULL ? zero : read_int(row, at, to, c);
    }
    case SETTING_BOOL:
        return read_bool(row, at, to, c);
    case SETTING_NAME:
    case SETTING_WORD:
        return read_text(row, at, to, c);
    case SETTING_ENUM:
        return read_enum(row, at, to, c);
    case SETTING_DURATION_OFF:
        if (strcmp(at->text, "off") == 0) {
            *(int64_t *)to = -1;
            return NULL;
        }
        return read_quantity(row, at, to, c);
    case SETTING_GPUS:
    case SETTING_CPU:
    case SETTING_BYTES:
    case SETTING_DURATION:
    case SETTING_SECTION:
    case SETTING_LIST:
    case SETTING_NAMES:
    case SETTING_WORDS:
    case SETTING_AMOUNTS:
    case SETTING_LABELS:
    default:
        return read_quantity(row, at, to, c);
    }
}

const char *settingscalar_kind_text(const struct setting *row, struct arena *arena)
{
    switch (row->kind) {
    case SETTING_INT:
        return arena_printf(arena, "whole number, %lld to %lld", (long long)row->min,
                            (long long)row->max);
    case SETTING_BOOL:
        return "true or false";
    case SETTING_NAME:
        return "name";
    case SETTING_WORD:
        return "text";
    case SETTING_GPUS:
        return "GPUs";
    case SETTING_CPU:
        return "CPUs";
    case SETTING_BYTES:
        return "bytes";
    case SETTING_DURATION:
        return "time";
    case SETTING_DURATION_OFF:
        return "time, or off";
    case SETTING_ENUM:
        return names_text(row->names, arena) + strlen("write ");
    case SETTING_SECTION:
        return "section";
    case SETTING_LIST:
        return "list";
    case SETTING_NAMES:
        return "list of names";
    case SETTING_WORDS:
        return "list of texts";
    case SETTING_AMOUNTS:
        return "map of pool: GPUs";
    case SETTING_LABELS:
    default:
        return "map of key: text";
    }
}
