#include "config/settings.h"

#include "base/check.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "config/settingscalar.h"

#include <string.h>

#define KNOWN_CHARS_MAX 120

static char *member(const struct setting *row, void *object)
{
    return (char *)object + row->offset;
}

static const char *joined(const struct complaints *c, const char *path, const char *name)
{
    return path[0] == '\0' ? arena_text(c->arena, name)
                           : arena_printf(c->arena, "%s.%s", path, name);
}

static void wrong(struct complaints *c, const struct yamltree *at, const char *path,
                  const char *text)
{
    complaint_add(c, ERR_POLICY, at->line, at->column, path, text);
}

/* Is it of the shape?  Says so if not. */
static bool expect(struct complaints *c, const struct yamltree *at, const char *path,
                   enum yamltree_kind kind, const char *right)
{
    if (at->kind == kind) {
        return true;
    }
    if (at->kind == YAMLTREE_SCALAR && at->plain && settingscalar_is_null(at->text)) {
        wrong(c, at, path, complaint_text(c, "is empty", NULL, right));
        return false;
    }
    wrong(c, at, path,
          complaint_text(c, arena_printf(c->arena, "is %s", yamltree_kind_text(at)),
                         at->kind == YAMLTREE_SCALAR ? at->text : NULL, right));
    return false;
}

static bool read_scalar(const struct setting *row, const struct yamltree *at, const char *path,
                        void *to, struct complaints *c)
{
    const char *text;

    if (!expect(c, at, path, YAMLTREE_SCALAR, settingscalar_right(row, c->arena))) {
        return false;
    }
    text = settingscalar_read(row, at, to, c);
    if (text != NULL) {
        wrong(c, at, path, text);
        return false;
    }
    return true;
}

/* "queues.research" where the item has a good name, else "queues[2]". */
static const char *item_path(const struct complaints *c, const char *path, size_t i,
                             const struct yamltree *item)
{
    const struct yamltree *name = yamltree_get(item, "name");

    if (name != NULL && name->kind == YAMLTREE_SCALAR && name->text[0] != '\0' &&
        strlen(name->text) <= COMPLAINT_VALUE_MAX) {
        return arena_printf(c->arena, "%s.%s", path, name->text);
    }
    return arena_printf(c->arena, "%s[%zu]", path, i);
}

static void read_list(const struct setting *row, const struct yamltree *at, const char *path,
                      struct settings_list *ret, struct complaints *c)
{
    if (!expect(c, at, path, YAMLTREE_LIST, "write a list: one item a line after a -")) {
        return;
    }
    ret->items = arena_new(c->arena, at->count, row->sub->size);
    for (size_t i = 0; i < at->count; i++) {
        settings_read(row->sub, &at->items[i], item_path(c, path, i, &at->items[i]),
                      (char *)ret->items + i * row->sub->size, c);
    }
    ret->count = at->count;
}

static bool pair_is_double(const struct settings_pair *pairs, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pairs[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static void read_names(const struct setting *row, const struct yamltree *at, const char *path,
                       struct settings_list *ret, struct complaints *c)
{
    struct setting one = {.name = "", .min = row->min, .max = row->max};
    struct settings_pair *pairs;
    size_t n = 0;

    one.kind = row->kind == SETTING_NAMES ? SETTING_NAME : SETTING_WORD;
    if (!expect(c, at, path, YAMLTREE_LIST, "write a list: [a, b]")) {
        return;
    }
    pairs = arena_new(c->arena, at->count, sizeof(*pairs));
    for (size_t i = 0; i < at->count; i++) {
        const struct yamltree *item = &at->items[i];
        const char *where = arena_printf(c->arena, "%s[%zu]", path, i);

        if (!read_scalar(&one, item, where, &pairs[n].key, c)) {
            continue;
        }
        if (i < YAMLTREE_KEYS_MAX && pair_is_double(pairs, n, pairs[n].key)) {
            wrong(c, item, where, complaint_text(c, "is listed twice", item->text, "keep one"));
            continue;
        }
        pairs[n].at = item;
        n++;
    }
    ret->items = pairs;
    ret->count = n;
}

static void read_pairs(const struct setting *row, const struct yamltree *at, const char *path,
                       struct settings_list *ret, struct complaints *c)
{
    bool amounts = row->kind == SETTING_AMOUNTS;
    struct setting one = {.name = "", .kind = amounts ? SETTING_GPUS : SETTING_WORD};
    struct settings_pair *pairs;
    size_t n = 0;

    one.max = row->max;
    if (!expect(c, at, path, YAMLTREE_MAP,
                amounts ? "write a map of pools: {h100: 8}" : "write a map: {key: value}")) {
        return;
    }
    pairs = arena_new(c->arena, at->count, sizeof(*pairs));
    for (size_t i = 0; i < at->count; i++) {
        const struct yamltree *key = &at->keys[i];
        const char *where = joined(c, path, key->text);

        if (amounts && !str_is_name(key->text)) {
            wrong(c, key, where,
                  complaint_text(c, "is not a name", key->text, SETTINGSCALAR_NAME_RIGHT));
            continue;
        }
        pairs[n].key = key->text;
        pairs[n].at = &at->items[i];
        if (read_scalar(&one, &at->items[i], where,
                        amounts ? (void *)&pairs[n].value : (void *)&pairs[n].text, c)) {
            n++;
        }
    }
    ret->items = pairs;
    ret->count = n;
}

static void read_row(const struct setting *row, const struct yamltree *at, const char *path,
                     void *object, struct complaints *c)
{
    void *to = member(row, object);

    switch (row->kind) {
    case SETTING_SECTION:
        settings_read(row->sub, at, path, to, c);
        break;
    case SETTING_LIST:
        read_list(row, at, path, to, c);
        break;
    case SETTING_NAMES:
    case SETTING_WORDS:
        read_names(row, at, path, to, c);
        break;
    case SETTING_AMOUNTS:
    case SETTING_LABELS:
        read_pairs(row, at, path, to, c);
        break;
    case SETTING_INT:
    case SETTING_BOOL:
    case SETTING_NAME:
    case SETTING_WORD:
    case SETTING_GPUS:
    case SETTING_CPU:
    case SETTING_BYTES:
    case SETTING_DURATION:
    case SETTING_DURATION_OFF:
    case SETTING_ENUM:
    default:
        (void)read_scalar(row, at, path, to, c);
        break;
    }
}

static size_t row_of(const struct settings_table *table, const char *name)
{
    size_t i = 0;

    while (i < table->row_count && strcmp(table->rows[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Either the name that was meant or, where none is near, so many names as one line holds. */
static void unknown_key(const struct settings_table *table, const struct yamltree *key,
                        const char *path, struct complaints *c)
{
    CLEANUP(str_fini) struct str known = {0};
    struct nearest near;

    nearest_begin(&near, key->text, strlen(key->text));
    for (size_t i = 0; i < table->row_count; i++) {
        const char *name = table->rows[i].name;

        nearest_try(&near, name, strlen(name));
        if (known.len < KNOWN_CHARS_MAX) {
            str_addf(&known, "%s%s", i == 0 ? "" : ", ", name);
        } else if (i + 1 == table->row_count) {
            str_add(&known, ", ... (muster.yaml(5) lists all)");
        }
    }
    complaint_add(c, ERR_UNKNOWN_FIELD, key->line, key->column, joined(c, path, key->text),
                  complaint_text(c,
                                 arena_printf(c->arena, "is not a setting of a %s", table->title),
                                 key->text,
                                 near.best != NULL
                                     ? arena_printf(c->arena, "write %s", near.best)
                                     : arena_printf(c->arena, "these are: %s", str_text(&known))));
}

static void check_required(const struct settings_table *table, const struct settings_head *head,
                           struct complaints *c)
{
    for (size_t i = 0; i < table->row_count; i++) {
        const struct setting *row = &table->rows[i];

        if ((row->flags & SETTING_REQUIRED) != 0 && (head->written & (UINT64_C(1) << i)) == 0) {
            wrong(c, head->at, joined(c, head->path, row->name),
                  arena_printf(c->arena, "is missing, %s", settingscalar_right(row, c->arena)));
        }
    }
}

void settings_read(const struct settings_table *table, const struct yamltree *at, const char *path,
                   void *object, struct complaints *c)
{
    struct settings_head *head = object;

    CHECK(table->row_count <= 64);
    head->at = at;
    head->path = path;
    if (expect(c, at, path, YAMLTREE_MAP, "write a map: one key: value a line")) {
        for (size_t k = 0; k < at->count; k++) {
            size_t i = row_of(table, at->keys[k].text);

            if (i == table->row_count) {
                unknown_key(table, &at->keys[k], path, c);
            } else if ((head->written & (UINT64_C(1) << i)) == 0) {
                head->written |= UINT64_C(1) << i;
                read_row(&table->rows[i], &at->items[k], joined(c, path, at->keys[k].text), object,
                         c);
            }
        }
        check_required(table, head, c);
    }
    settings_defaults(table, object, c);
}

static void fill_default(const struct setting *row, void *object)
{
    if (row->fallback != NULL) {
        CHECK(settings_scalar(row, row->fallback, member(row, object)));
    }
}

void settings_defaults(const struct settings_table *table, void *object, struct complaints *c)
{
    struct settings_head *head = object;

    if (head->path == NULL) {
        head->path = "";
    }
    for (size_t i = 0; i < table->row_count; i++) {
        const struct setting *row = &table->rows[i];

        if ((head->written & (UINT64_C(1) << i)) != 0 || (row->flags & SETTING_INHERIT) != 0) {
            continue;
        }
        if (row->kind == SETTING_SECTION) {
            settings_defaults(row->sub, member(row, object), c);
        } else {
            fill_default(row, object);
        }
    }
}

static size_t kind_size(enum setting_kind kind)
{
    switch (kind) {
    case SETTING_BOOL:
        return sizeof(bool);
    case SETTING_ENUM:
        return sizeof(int);
    case SETTING_NAME:
    case SETTING_WORD:
        return sizeof(char *);
    case SETTING_NAMES:
    case SETTING_WORDS:
    case SETTING_AMOUNTS:
    case SETTING_LABELS:
    case SETTING_LIST:
        return sizeof(struct settings_list);
    case SETTING_SECTION:
        return 0;
    case SETTING_INT:
    case SETTING_GPUS:
    case SETTING_CPU:
    case SETTING_BYTES:
    case SETTING_DURATION:
    case SETTING_DURATION_OFF:
    default:
        return sizeof(int64_t);
    }
}

void settings_inherit(const struct settings_table *table, void *object, const void *above,
                      struct complaints *c)
{
    const struct settings_head *head = object;

    (void)c;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct setting *row = &table->rows[i];

        if ((row->flags & SETTING_INHERIT) == 0 || (head->written & (UINT64_C(1) << i)) != 0) {
            continue;
        }
        if (above != NULL) {
            memcpy(member(row, object), (const char *)above + row->offset, kind_size(row->kind));
        } else {
            fill_default(row, object);
        }
    }
}

bool settings_written(const struct settings_table *table, const void *object, const char *name)
{
    const struct settings_head *head = object;
    size_t i = row_of(table, name);

    CHECK(i < table->row_count);
    return (head->written & (UINT64_C(1) << i)) != 0;
}

void settings_complain(struct complaints *c, const void *object, enum err_code code,
                       const char *name, const char *text)
{
    const struct settings_head *head = object;
    const struct yamltree *at = name[0] == '\0' ? NULL : yamltree_get(head->at, name);
    const char *path = name[0] == '\0' ? head->path : joined(c, head->path, name);

    if (at == NULL) {
        at = head->at;
    }
    complaint_add(c, code, at == NULL ? 0 : at->line, at == NULL ? 0 : at->column, path, text);
}

bool settings_scalar(const struct setting *row, const char *text, void *ret)
{
    struct yamltree at = {.kind = YAMLTREE_SCALAR, .plain = true, .text = text};
    struct arena *arena = arena_make();
    struct complaints c;
    bool good;

    complaints_init(&c, arena, "");
    good = settingscalar_read(row, &at, ret, &c) == NULL;
    arena_free(arena);
    if (good && (row->kind == SETTING_NAME || row->kind == SETTING_WORD)) {
        *(const char **)ret = text;
    }
    return good;
}

static void manual_row(const struct setting *row, struct arena *arena, struct str *ret)
{
    str_addf(ret, ".TP\n.B %s\n(%s", row->name, settingscalar_kind_text(row, arena));
    if ((row->flags & SETTING_REQUIRED) != 0) {
        str_add(ret, "; required");
    } else if (row->fallback != NULL) {
        str_addf(ret, "; default %s", row->fallback);
    }
    str_addf(ret, "%s)\n%s\n", (row->flags & SETTING_INHERIT) != 0 ? ", from the queue above" : "",
             row->help);
}

static void manual_tables(const struct settings_table *table, struct arena *arena, struct str *ret)
{
    str_addf(ret, ".SH %s\n", table->title);
    for (size_t i = 0; i < table->row_count; i++) {
        manual_row(&table->rows[i], arena, ret);
    }
    for (size_t i = 0; i < table->row_count; i++) {
        const struct settings_table *sub = table->rows[i].sub;
        bool told = sub == NULL || sub == table;

        for (size_t k = 0; k < i && !told; k++) {
            told = table->rows[k].sub == sub;
        }
        if (!told) {
            manual_tables(sub, arena, ret);
        }
    }
}

void settings_manual(const struct settings_table *table, struct str *ret)
{
    struct arena *arena = arena_make();

    manual_tables(table, arena, ret);
    arena_free(arena);
}
