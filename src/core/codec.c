/* codec - one encoder, one decoder and one deep copy, driven by the tables of core/schema.h.
 *
 * The decoder walks the tables over core/scan.h, in the order of the text; canonical text has the
 * fields in table order, so a name is compared where it stands and seldom searched for.
 *
 * Rejected: code generated for each struct.  It is faster still, but then the tables and the code
 * can differ.
 */
#include "core/codec.h"

#include "base/check.h"
#include "core/scan.h"

#include <string.h>

#define FIELD_MAX 64           /* fields of a table, for the set of those already seen */
#define KEY_SHOWN ((size_t)64) /* bytes of an unknown field's name in a message */

static const void *part_of(const void *base, size_t offset)
{
    return (const char *)base + offset;
}

static void *part_in(void *base, size_t offset)
{
    return (char *)base + offset;
}

static size_t item_size(const struct schema_field *f)
{
    if (f->kind == FIELD_LIST) {
        return f->sub->size;
    }
    if (f->kind == FIELD_INTS) {
        return sizeof(int64_t);
    }
    return sizeof(const char *);
}

/* ---- writing ---- */

static void put_object(const struct schema *schema, const void *value, struct str *s);

static void put_key(const struct schema_field *f, struct str *s)
{
    size_t comma = s->text[s->len - 1] == '{';

    str_add_n(s, f->key + comma, f->key_len - comma);
}

static void put_text(const char *text, struct str *s)
{
    str_add_json(s, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

static void put_items(const struct schema_field *f, const void *base, struct str *s)
{
    size_t count = *(const size_t *)part_of(base, f->count_offset);
    const void *items = *(const void *const *)part_of(base, f->offset);

    if (count == 0) {
        return;
    }
    put_key(f, s);
    for (size_t i = 0; i < count; i++) {
        const void *item = part_of(items, i * item_size(f));

        str_add_char(s, i == 0 ? '[' : ',');
        if (f->kind == FIELD_LIST) {
            put_object(f->sub, item, s);
        } else if (f->kind == FIELD_INTS) {
            str_add_int(s, *(const int64_t *)item);
        } else {
            put_text(*(const char *const *)item, s);
        }
    }
    str_add_char(s, ']');
}

/* The key goes again when nothing of the struct was worth writing. */
static void put_sub(const struct schema_field *f, const void *sub, struct str *s)
{
    size_t before = s->len;
    size_t start;

    put_key(f, s);
    start = s->len;
    put_object(f->sub, sub, s);
    if (s->len - start == 2) {
        s->len = before;
        s->text[before] = '\0';
    }
}

static void put_enum(const struct schema_field *f, int value, struct str *s)
{
    if (value == 0) {
        return;
    }
    CHECK(value > 0);
    for (int i = 0; i <= value; i++) {
        CHECK(f->names[i] != NULL);
    }
    put_key(f, s);
    put_text(f->names[value], s);
}

static void put_field(const struct schema_field *f, const void *base, struct str *s)
{
    const void *part = part_of(base, f->offset);

    switch (f->kind) {
    case FIELD_INT:
        if (*(const int64_t *)part != 0) {
            put_key(f, s);
            str_add_int(s, *(const int64_t *)part);
        }
        break;
    case FIELD_BOOL:
        if (*(const bool *)part) {
            put_key(f, s);
            str_add_n(s, "true", 4);
        }
        break;
    case FIELD_TEXT:
        if (*(const char *const *)part != NULL && **(const char *const *)part != '\0') {
            put_key(f, s);
            put_text(*(const char *const *)part, s);
        }
        break;
    case FIELD_ENUM:
        put_enum(f, *(const int *)part, s);
        break;
    case FIELD_STRUCT:
        put_sub(f, part, s);
        break;
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        put_items(f, base, s);
        break;
    }
}

static void put_object(const struct schema *schema, const void *value, struct str *s)
{
    str_add_char(s, '{');
    for (size_t i = 0; i < schema->field_count; i++) {
        put_field(&schema->fields[i], value, s);
    }
    str_add_char(s, '}');
}

void codec_encode(const struct schema *schema, const void *value, struct str *ret)
{
    put_object(schema, value, ret);
}

void codec_encode_fact(const struct fact *fact, struct str *ret)
{
    const struct schema *schema = fact_kind_schema(fact->kind);

    CHECK(schema != NULL);
    codec_encode(schema, fact->body.any, ret);
}

/* ---- reading ---- */

static int read_object(struct scan *r, const struct schema *schema, void *ret);

static int read_enum(struct scan *r, const struct schema_field *f, int *ret)
{
    struct scan_string span;
    int code;

    if (scan_peek(r) != '"') {
        return scan_fail_type(r, "a name");
    }
    code = scan_string(r, &span);
    if (code < 0) {
        return code;
    }
    for (int i = 0; f->names[i] != NULL; i++) {
        if (strlen(f->names[i]) == span.len && memcmp(f->names[i], span.text, span.len) == 0) {
            *ret = i;
            return 0;
        }
    }
    return scan_fail_field(r, ERR_INVALID, "no such name");
}

/* A field that is left out is zero; a text is then "", so that readers need no NULL case. */
static void fill_texts(const struct schema *schema, void *base)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *f = &schema->fields[i];

        if (f->kind == FIELD_TEXT) {
            *(const char **)part_in(base, f->offset) = "";
        } else if (f->kind == FIELD_STRUCT) {
            fill_texts(f->sub, part_in(base, f->offset));
        }
    }
}

static int read_item(struct scan *r, const struct schema_field *f, void *item)
{
    if (f->kind == FIELD_LIST) {
        fill_texts(f->sub, item);
        return read_object(r, f->sub, item);
    }
    return f->kind == FIELD_INTS ? scan_int(r, item) : scan_text(r, item);
}

/* The array doubles in the arena; what it leaves behind goes with the arena. */
static void *more_room(struct scan *r, const void *items, size_t count, size_t size)
{
    size_t room = count == 0 ? 4 : 2 * count;
    void *bigger = arena_new(r->arena, room, size);

    if (count > 0) {
        memcpy(bigger, items, count * size);
    }
    return bigger;
}

/* count is 4, 8, 16, …: the array is full. */
static bool is_full(size_t count)
{
    return count == 0 || (count >= 4 && (count & (count - 1)) == 0);
}

static int read_items(struct scan *r, const struct schema_field *f, void *base)
{
    size_t size = item_size(f);
    size_t count = 0;
    char *items = NULL;

    if (scan_peek(r) != '[') {
        return scan_fail_type(r, "a list");
    }
    r->at++;
    while (count > 0 || scan_peek(r) != ']') {
        int code;

        if (is_full(count)) {
            items = more_room(r, items, count, size);
        }
        r->steps[r->depth - 1].index = count;
        code = read_item(r, f, items + count * size);
        if (code < 0) {
            return code;
        }
        count++;
        if (scan_peek(r) == ']') {
            break;
        }
        if (scan_peek(r) != ',') {
            return scan_fail_syntax(r, "',' or ']' is expected");
        }
        r->at++;
    }
    r->at++;
    *(void **)part_in(base, f->offset) = items;
    *(size_t *)part_in(base, f->count_offset) = count;
    return 0;
}

static int read_value(struct scan *r, const struct schema_field *f, void *base)
{
    void *part = part_in(base, f->offset);

    switch (f->kind) {
    case FIELD_INT:
        return scan_int(r, part);
    case FIELD_BOOL:
        return scan_bool(r, part);
    case FIELD_TEXT:
        return scan_text(r, part);
    case FIELD_ENUM:
        return read_enum(r, f, part);
    case FIELD_STRUCT:
        return read_object(r, f->sub, part);
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        break;
    }
    return read_items(r, f, base);
}

static const struct schema_field *find_field(const struct schema *schema,
                                             const struct scan_string *key)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const char *name = schema->fields[i].name;

        if (strncmp(name, key->text, key->len) == 0 && name[key->len] == '\0') {
            return &schema->fields[i];
        }
    }
    return NULL;
}

static int fail_unknown(struct scan *r, const struct scan_string *key)
{
    char shown[KEY_SHOWN + 1] = {0};
    size_t len = key->len < KEY_SHOWN ? key->len : KEY_SHOWN;

    while (len > 0 && len < key->len && ((unsigned char)key->text[len] & 0xc0) == 0x80) {
        len--;
    }
    memcpy(shown, key->text, len);
    r->steps[r->depth++] = (struct scan_step){shown, SCAN_NO_INDEX};
    return scan_fail_field(r, ERR_UNKNOWN_FIELD, "no such field");
}

/* Canonical text has the fields in table order, without spaces: `"name":` of one of the fields that
 * are left, compared where it stands.  NULL: read it the long way. */
static const struct schema_field *field_ahead(struct scan *r, const struct schema *schema,
                                              size_t from)
{
    size_t left = (size_t)(r->end - r->at);

    for (size_t i = from; i < schema->field_count; i++) {
        const struct schema_field *f = &schema->fields[i];
        size_t len = f->key_len - 1; /* the comma is read */

        if (left >= len && r->at[1] == f->name[0] && memcmp(r->at, f->key + 1, len) == 0) {
            r->at += len;
            return f;
        }
    }
    return NULL;
}

/* The field whose name and colon stand there; NULL and a code if there is none. */
static const struct schema_field *read_key(struct scan *r, const struct schema *schema, size_t next,
                                           int *ret_code)
{
    const struct schema_field *f;
    struct scan_string key;

    if (scan_peek(r) != '"') {
        *ret_code = scan_fail_syntax(r, "the name of a field is expected");
        return NULL;
    }
    f = field_ahead(r, schema, next);
    if (f != NULL) {
        return f;
    }
    *ret_code = scan_string(r, &key);
    if (*ret_code < 0) {
        return NULL;
    }
    if (scan_peek(r) != ':') {
        *ret_code = scan_fail_syntax(r, "':' is expected");
        return NULL;
    }
    r->at++;
    f = find_field(schema, &key);
    if (f == NULL) {
        *ret_code = fail_unknown(r, &key);
    }
    return f;
}

static int read_member(struct scan *r, const struct schema *schema, void *base, uint64_t *seen,
                       size_t *next)
{
    const struct schema_field *f;
    uint64_t bit;
    int code = 0;

    CHECK(r->depth < SCAN_STEP_MAX);
    f = read_key(r, schema, *next, &code);
    if (f == NULL) {
        return code;
    }
    *next = (size_t)(f - schema->fields) + 1;
    bit = (uint64_t)1 << (*next - 1);
    r->steps[r->depth++] = (struct scan_step){f->name, SCAN_NO_INDEX};
    if (*seen & bit) {
        return scan_fail_field(r, ERR_INVALID, "the field is given twice");
    }
    *seen |= bit;
    code = read_value(r, f, base);
    r->depth -= code == 0;
    return code;
}

static int read_object(struct scan *r, const struct schema *schema, void *ret)
{
    uint64_t seen = 0;
    size_t next = 0;

    CHECK(schema->field_count <= FIELD_MAX);
    if (scan_peek(r) != '{') {
        return scan_fail_type(r, "an object");
    }
    r->at++;
    while (seen != 0 || scan_peek(r) != '}') {
        int code = read_member(r, schema, ret, &seen, &next);

        if (code < 0) {
            return code;
        }
        if (scan_peek(r) == '}') {
            break;
        }
        if (scan_peek(r) != ',') {
            return scan_fail_syntax(r, "',' or '}' is expected");
        }
        r->at++;
    }
    r->at++;
    return 0;
}

int codec_decode(const struct schema *schema, const char *text, size_t len, struct arena *arena,
                 void **ret, struct err *err)
{
    struct scan r = {.start = text, .at = text, .end = text + len, .arena = arena, .err = err};
    void *value = arena_new(arena, 1, schema->size);
    int code;

    fill_texts(schema, value);
    code = read_object(&r, schema, value);
    if (code < 0) {
        return code;
    }
    scan_peek(&r);
    if (r.at < r.end) {
        return scan_fail_syntax(&r, "nothing may follow the object");
    }
    *ret = value;
    return 0;
}

int codec_decode_fact(enum fact_kind kind, const char *text, size_t len, struct arena *arena,
                      struct fact *ret, struct err *err)
{
    const struct schema *schema = fact_kind_schema(kind);
    void *body;
    int code;

    if (schema == NULL) {
        return err_set(err, ERR_INVALID, "no kind of fact has the number %d", (int)kind);
    }
    code = codec_decode(schema, text, len, arena, &body, err);
    if (code == 0) {
        *ret = (struct fact){.kind = kind, .body = {.any = body}};
    }
    return code;
}

/* ---- copying ---- */

/* base is a shallow copy: give it its own parts. */
static void own_parts(const struct schema *schema, void *base, struct arena *arena);

static void own_items(const struct schema_field *f, void *base, struct arena *arena)
{
    size_t count = *(size_t *)part_in(base, f->count_offset);
    void **items = part_in(base, f->offset);

    if (count == 0) {
        *items = NULL;
        return;
    }
    *items = arena_copy(arena, *items, count * item_size(f));
    for (size_t i = 0; i < count && f->kind != FIELD_INTS; i++) {
        void *item = part_in(*items, i * item_size(f));

        if (f->kind == FIELD_LIST) {
            own_parts(f->sub, item, arena);
        } else {
            const char **text = item;

            *text = arena_text(arena, *text != NULL ? *text : "");
        }
    }
}

static void own_parts(const struct schema *schema, void *base, struct arena *arena)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *f = &schema->fields[i];
        void *part = part_in(base, f->offset);

        switch (f->kind) {
        case FIELD_TEXT: {
            const char **text = part;

            *text = *text != NULL && **text != '\0' ? arena_text(arena, *text) : "";
            break;
        }
        case FIELD_STRUCT:
            own_parts(f->sub, part, arena);
            break;
        case FIELD_LIST:
        case FIELD_INTS:
        case FIELD_TEXTS:
            own_items(f, base, arena);
            break;
        case FIELD_INT:
        case FIELD_BOOL:
        case FIELD_ENUM:
            break;
        }
    }
}

void *codec_copy(const struct schema *schema, const void *value, struct arena *arena)
{
    void *copy = arena_copy(arena, value, schema->size);

    own_parts(schema, copy, arena);
    return copy;
}
