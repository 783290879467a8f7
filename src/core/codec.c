/* codec - one encoder, one decoder and one deep copy, driven by the tables of core/schema.h.
 *
 * The decoder is a strict reader of its own and not jansson with a walk over its tree: a restart
 * reads a million records, and the tree cost several times what the record itself costs (doc of
 * tests/fuzz/codec.c; the two are compared there byte for byte).  It never skips a value, so its
 * depth is that of the tables, and all memory is the arena's.
 *
 * Rejected: code generated for each struct.  It is faster still, but then the tables and the code
 * can differ.
 */
#include "core/codec.h"

#include "base/check.h"

#include <string.h>

#define STEP_MAX  16 /* nesting of tables; the deepest in use is 6 */
#define FIELD_MAX 64 /* fields of a table, for the set of those already seen */
#define NO_INDEX  SIZE_MAX
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
    if (s->text[s->len - 1] != '{') {
        str_add_char(s, ',');
    }
    str_add_char(s, '"');
    str_add(s, f->name);
    str_add_n(s, "\":", 2);
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

struct step {
    const char *name;
    size_t index; /* in a list, else NO_INDEX */
};

struct reader {
    const char *start;
    const char *at;
    const char *end;
    struct arena *arena;
    struct step steps[STEP_MAX]; /* the path to the value being read */
    size_t depth;
    struct err *err;
};

struct span { /* a text: lent from the input, or in the arena where it had escapes */
    const char *text;
    size_t len;
    bool unescaped;
};

static int read_object(struct reader *r, const struct schema *schema, void *ret);

/* The text is not JSON here. */
static int fail_syntax(struct reader *r, const char *what)
{
    size_t line = 1, column = 1;

    for (const char *p = r->start; p < r->at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    return err_set(r->err, ERR_SYNTAX, "%zu:%zu: %s", line, column, what);
}

/* The text is JSON, but the field that the path leads to cannot be this. */
static int fail_field(struct reader *r, int code, const char *what)
{
    struct str path = {0};

    for (size_t i = 0; i < r->depth; i++) {
        str_add(&path, i > 0 ? "." : "");
        str_add(&path, r->steps[i].name);
        if (r->steps[i].index != NO_INDEX) {
            str_addf(&path, "[%zu]", r->steps[i].index);
        }
    }
    if (path.len > 0) {
        code = err_set(r->err, (enum err_code)code, "%s: %s", str_text(&path), what);
    } else {
        code = err_set(r->err, (enum err_code)code, "%s", what);
    }
    str_fini(&path);
    return code;
}

static char peek(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
    return r->at < r->end ? *r->at : '\0';
}

/* What is there is not what the field holds. */
static int fail_type(struct reader *r, const char *wanted)
{
    char c = peek(r);
    const char *is;
    struct str what = {0};
    int code;

    switch (c) {
    case '{':
        is = "an object";
        break;
    case '[':
        is = "a list";
        break;
    case '"':
        is = "a text";
        break;
    case 't':
    case 'f':
        is = "a truth value";
        break;
    case 'n':
        is = "null";
        break;
    default:
        is = c == '-' || (c >= '0' && c <= '9') ? "a number" : NULL;
    }
    if (is == NULL) {
        return fail_syntax(r, r->at < r->end ? "a value should begin here" : "the text ends early");
    }
    str_add(&what, wanted);
    str_add(&what, " is expected, not ");
    str_add(&what, is);
    code = fail_field(r, ERR_INVALID, str_text(&what));
    str_fini(&what);
    return code;
}

static int hex4(const char *p, uint32_t *ret)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        char low = (char)(c | 0x20);

        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint32_t)(c - '0');
        } else if (low >= 'a' && low <= 'f') {
            value = value << 4 | (uint32_t)(low - 'a' + 10);
        } else {
            return -1;
        }
    }
    *ret = value;
    return 0;
}

static size_t utf8_put(uint32_t point, char *ret)
{
    if (point < 0x80) {
        ret[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        ret[0] = (char)(0xc0 | point >> 6);
        ret[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        ret[0] = (char)(0xe0 | point >> 12);
        ret[1] = (char)(0x80 | (point >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | point >> 18);
    ret[1] = (char)(0x80 | (point >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (point >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* At the u of an escape, inside a text that ends at close.  A character outside the basic plane is
 * a pair of surrogates; half a pair is no character. */
static int read_unicode(struct reader *r, const char *close, uint32_t *ret_point)
{
    uint32_t high, low;

    if (close - r->at < 5 || hex4(r->at + 1, &high) < 0) {
        return fail_syntax(r, "\\u needs four hexadecimal digits");
    }
    r->at += 5;
    if (high == 0) {
        return fail_syntax(r, "a text cannot hold the character 0");
    }
    if (high >= 0xd800 && high <= 0xdfff) {
        if (high >= 0xdc00 || close - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u' ||
            hex4(r->at + 2, &low) < 0 || low < 0xdc00 || low > 0xdfff) {
            return fail_syntax(r, "half a surrogate pair");
        }
        r->at += 6;
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    *ret_point = high;
    return 0;
}

/* at stands behind the opening quote, close at the closing one. */
static int read_escaped(struct reader *r, const char *close, struct span *ret)
{
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    char *text = arena_new(r->arena, (size_t)(close - r->at) + 1, 1);
    size_t len = 0;

    while (r->at < close) {
        const char *known;
        uint32_t point = 0;

        if (*r->at != '\\') {
            text[len++] = *r->at++;
            continue;
        }
        r->at++;
        known = *r->at != '\0' ? strchr(FROM, *r->at) : NULL;
        if (known != NULL) {
            text[len++] = TO[known - FROM];
            r->at++;
        } else if (*r->at == 'u') {
            int code = read_unicode(r, close, &point);

            if (code < 0) {
                return code;
            }
            len += utf8_put(point, text + len);
        } else {
            return fail_syntax(r, "no such escape in a text");
        }
    }
    *ret = (struct span){text, len, true};
    return 0;
}

static int read_span(struct reader *r, struct span *ret)
{
    const char *from = r->at + 1;
    const char *p = from;
    bool escapes = false;
    unsigned char all = 0;
    int code = 0;

    for (; p < r->end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) {
            r->at = p;
            return fail_syntax(r, "a control character in a text must be escaped");
        }
        all |= (unsigned char)*p;
        if (*p == '\\') {
            escapes = true;
            p++;
            if (p >= r->end || (unsigned char)*p < 0x20) {
                break;
            }
        }
    }
    if (p >= r->end || *p != '"') {
        return fail_syntax(r, "a text that is not ended");
    }
    if (all >= 0x80 && !str_is_utf8(from, (size_t)(p - from))) {
        return fail_syntax(r, "a text that is not UTF-8");
    }
    *ret = (struct span){from, (size_t)(p - from), false};
    if (escapes) {
        r->at = from;
        code = read_escaped(r, p, ret);
    }
    if (code == 0) {
        r->at = p + 1;
    }
    return code;
}

static int read_text(struct reader *r, const char **ret)
{
    struct span span;
    int code;

    if (peek(r) != '"') {
        return fail_type(r, "a text");
    }
    code = read_span(r, &span);
    if (code == 0) {
        *ret = span.unescaped ? span.text : arena_text_n(r->arena, span.text, span.len);
    }
    return code;
}

static int read_int(struct reader *r, int64_t *ret)
{
    bool negative = peek(r) == '-';
    uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    const char *p = r->at + (negative ? 1 : 0);
    const char *digits = p;
    uint64_t value = 0;

    if (!negative && (p >= r->end || *p < '0' || *p > '9')) {
        return fail_type(r, "a whole number");
    }
    for (; p < r->end && *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (value > (most - digit) / 10) {
            return fail_field(r, ERR_RANGE, "the number does not fit in 64 bits");
        }
        value = value * 10 + digit;
    }
    if (p == digits || (*digits == '0' && p - digits > 1)) {
        return fail_syntax(r, "not a number");
    }
    if (p < r->end && (*p == '.' || *p == 'e' || *p == 'E')) {
        return fail_field(r, ERR_INVALID, "a whole number is expected, without point or exponent");
    }
    r->at = p;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

static int read_bool(struct reader *r, bool *ret)
{
    char c = peek(r);
    size_t left = (size_t)(r->end - r->at);

    if (c == 't' && left >= 4 && memcmp(r->at, "true", 4) == 0) {
        r->at += 4;
        *ret = true;
        return 0;
    }
    if (c == 'f' && left >= 5 && memcmp(r->at, "false", 5) == 0) {
        r->at += 5;
        *ret = false;
        return 0;
    }
    return c == 't' || c == 'f' ? fail_syntax(r, "not true and not false")
                                : fail_type(r, "true or false");
}

static int read_enum(struct reader *r, const struct schema_field *f, int *ret)
{
    struct span span;
    int code;

    if (peek(r) != '"') {
        return fail_type(r, "a name");
    }
    code = read_span(r, &span);
    if (code < 0) {
        return code;
    }
    for (int i = 0; f->names[i] != NULL; i++) {
        if (strlen(f->names[i]) == span.len && memcmp(f->names[i], span.text, span.len) == 0) {
            *ret = i;
            return 0;
        }
    }
    return fail_field(r, ERR_INVALID, "no such name");
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

static int read_item(struct reader *r, const struct schema_field *f, void *item)
{
    if (f->kind == FIELD_LIST) {
        fill_texts(f->sub, item);
        return read_object(r, f->sub, item);
    }
    return f->kind == FIELD_INTS ? read_int(r, item) : read_text(r, item);
}

/* The array doubles in the arena; what it leaves behind goes with the arena. */
static void *more_room(struct reader *r, const void *items, size_t count, size_t size)
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

static int read_items(struct reader *r, const struct schema_field *f, void *base)
{
    size_t size = item_size(f);
    size_t count = 0;
    char *items = NULL;

    if (peek(r) != '[') {
        return fail_type(r, "a list");
    }
    r->at++;
    while (count > 0 || peek(r) != ']') {
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
        if (peek(r) == ']') {
            break;
        }
        if (peek(r) != ',') {
            return fail_syntax(r, "',' or ']' is expected");
        }
        r->at++;
    }
    r->at++;
    *(void **)part_in(base, f->offset) = items;
    *(size_t *)part_in(base, f->count_offset) = count;
    return 0;
}

static int read_value(struct reader *r, const struct schema_field *f, void *base)
{
    void *part = part_in(base, f->offset);

    switch (f->kind) {
    case FIELD_INT:
        return read_int(r, part);
    case FIELD_BOOL:
        return read_bool(r, part);
    case FIELD_TEXT:
        return read_text(r, part);
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

/* Canonical text is in table order, so the search begins where the last one ended. */
static const struct schema_field *find_field(const struct schema *schema, size_t from,
                                             const struct span *key)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        size_t k = from + i < schema->field_count ? from + i : from + i - schema->field_count;
        const char *name = schema->fields[k].name;

        if (strncmp(name, key->text, key->len) == 0 && name[key->len] == '\0') {
            return &schema->fields[k];
        }
    }
    return NULL;
}

static int fail_unknown(struct reader *r, const struct span *key)
{
    char shown[KEY_SHOWN + 1] = {0};
    size_t len = key->len < KEY_SHOWN ? key->len : KEY_SHOWN;

    while (len > 0 && len < key->len && ((unsigned char)key->text[len] & 0xc0) == 0x80) {
        len--;
    }
    memcpy(shown, key->text, len);
    r->steps[r->depth++] = (struct step){shown, NO_INDEX};
    return fail_field(r, ERR_UNKNOWN_FIELD, "no such field");
}

static int read_member(struct reader *r, const struct schema *schema, void *base, uint64_t *seen,
                       size_t *next)
{
    const struct schema_field *f;
    struct span key;
    uint64_t bit;
    int code;

    if (peek(r) != '"') {
        return fail_syntax(r, "the name of a field is expected");
    }
    code = read_span(r, &key);
    if (code < 0) {
        return code;
    }
    if (peek(r) != ':') {
        return fail_syntax(r, "':' is expected");
    }
    r->at++;
    f = find_field(schema, *next, &key);
    CHECK(r->depth < STEP_MAX);
    if (f == NULL) {
        return fail_unknown(r, &key);
    }
    *next = (size_t)(f - schema->fields) + 1;
    bit = (uint64_t)1 << (*next - 1);
    r->steps[r->depth++] = (struct step){f->name, NO_INDEX};
    if (*seen & bit) {
        return fail_field(r, ERR_INVALID, "the field is given twice");
    }
    *seen |= bit;
    code = read_value(r, f, base);
    r->depth -= code == 0;
    return code;
}

static int read_object(struct reader *r, const struct schema *schema, void *ret)
{
    uint64_t seen = 0;
    size_t next = 0;

    CHECK(schema->field_count <= FIELD_MAX);
    if (peek(r) != '{') {
        return fail_type(r, "an object");
    }
    r->at++;
    while (seen != 0 || peek(r) != '}') {
        int code = read_member(r, schema, ret, &seen, &next);

        if (code < 0) {
            return code;
        }
        if (peek(r) == '}') {
            break;
        }
        if (peek(r) != ',') {
            return fail_syntax(r, "',' or '}' is expected");
        }
        r->at++;
    }
    r->at++;
    return 0;
}

int codec_decode(const struct schema *schema, const char *text, size_t len, struct arena *arena,
                 void **ret, struct err *err)
{
    struct reader r = {.start = text, .at = text, .end = text + len, .arena = arena, .err = err};
    void *value = arena_new(arena, 1, schema->size);
    int code;

    fill_texts(schema, value);
    code = read_object(&r, schema, value);
    if (code < 0) {
        return code;
    }
    peek(&r);
    if (r.at < r.end) {
        return fail_syntax(&r, "nothing may follow the object");
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
