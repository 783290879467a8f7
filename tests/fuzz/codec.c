/* fuzz/codec - the decoder of core/codec.c against jansson and a walk over its tree: both must take
 * the same texts, and make the same canonical text of them.
 *
 * Input: a line with the kind of fact, then the text.  The two share the tables of
 * core/schema.h and nothing else; jansson costs nine times the decoder's time (bench/codec.c), so
 * it is the reference and not the product.
 */
#include "core/codec.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool refer_object(const struct schema *schema, const json_t *root, struct str *ret);

static const char *const *name_of(const struct schema_field *f, const char *text)
{
    for (const char *const *name = f->names; *name != NULL; name++) {
        if (strcmp(*name, text) == 0) {
            return name;
        }
    }
    return NULL;
}

static bool refer_item(const struct schema_field *f, const json_t *item, struct str *ret)
{
    if (f->kind == FIELD_LIST) {
        return refer_object(f->sub, item, ret);
    }
    if (f->kind == FIELD_INTS) {
        str_add_int(ret, json_integer_value(item));
        return json_is_integer(item);
    }
    if (json_is_string(item)) {
        str_add_json(ret, json_string_value(item), json_string_length(item));
    }
    return json_is_string(item);
}

static bool refer_items(const struct schema_field *f, const json_t *list, struct str *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        str_add_char(ret, i == 0 ? '[' : ',');
        if (!refer_item(f, json_array_get(list, i), ret)) {
            return false;
        }
    }
    if (json_array_size(list) > 0) {
        str_add_char(ret, ']');
    }
    return json_is_array(list);
}

/* The canonical text of one field, "" where it is to be left out. */
static bool refer_field(const struct schema_field *f, const json_t *value, struct str *ret)
{
    switch (f->kind) {
    case FIELD_INT:
        if (json_integer_value(value) != 0) {
            str_add_int(ret, json_integer_value(value));
        }
        return json_is_integer(value);
    case FIELD_BOOL:
        str_add(ret, json_is_true(value) ? "true" : "");
        return json_is_boolean(value);
    case FIELD_TEXT:
        if (json_string_length(value) > 0) {
            str_add_json(ret, json_string_value(value), json_string_length(value));
        }
        return json_is_string(value);
    case FIELD_ENUM: {
        const char *const *name =
            json_is_string(value) ? name_of(f, json_string_value(value)) : NULL;

        if (name != NULL && name != f->names) {
            str_add_json(ret, *name, strlen(*name));
        }
        return name != NULL;
    }
    case FIELD_STRUCT: {
        bool fine = refer_object(f->sub, value, ret);

        if (ret->len == 2) {
            str_clear(ret);
        }
        return fine;
    }
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        break;
    }
    return refer_items(f, value, ret);
}

static bool refer_object(const struct schema *schema, const json_t *root, struct str *ret)
{
    size_t known = 0;
    bool fine = true;
    bool first = true;

    if (!json_is_object(root)) {
        return false;
    }
    str_add_char(ret, '{');
    for (size_t i = 0; fine && i < schema->field_count; i++) {
        const json_t *value = json_object_get(root, schema->fields[i].name);
        struct str text = {0};

        if (value == NULL) {
            continue;
        }
        known++;
        fine = refer_field(&schema->fields[i], value, &text);
        if (fine && text.len > 0) {
            str_addf(ret, "%s\"%s\":", first ? "" : ",", schema->fields[i].name);
            str_add_n(ret, text.text, text.len);
            first = false;
        }
        str_fini(&text);
    }
    str_add_char(ret, '}');
    return fine && known == json_object_size(root);
}

static void check_one(enum fact_kind kind, const char *text, size_t len, struct arena *arena)
{
    /* A byte 0 behind a number is swallowed by jansson 2.14; no JSON text has one anywhere. */
    bool zero = memchr(text, '\0', len) != NULL;
    json_t *root = zero ? NULL : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    struct str expected = {0}, got = {0};
    bool fine = root != NULL && refer_object(fact_kind_schema(kind), root, &expected);
    struct err err = {0};
    struct fact fact;
    int code = codec_decode_fact(kind, text, len, arena, &fact, &err);

    CHECK((code == 0) == fine);
    if (code == 0) {
        codec_encode_fact(&fact, &got);
        CHECK(strcmp(str_text(&expected), str_text(&got)) == 0);
    } else {
        CHECK(err.code == code && err.text[0] != '\0');
    }
    str_fini(&expected);
    str_fini(&got);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line_end = size > 0 ? memchr(data, '\n', size) : NULL;
    struct arena *arena = arena_make();
    enum fact_kind kind = FACT_NONE;

    if (line_end != NULL) {
        kind = fact_kind_of(arena_text_n(arena, (const char *)data, (size_t)(line_end - data)));
    }
    if (kind != FACT_NONE) {
        size_t len = size - (size_t)(line_end - data) - 1;
        /* Exactly as large as the text, so that a read past its end is seen. */
        char *text = mem_resize(NULL, len > 0 ? len : 1, 1);

        memcpy(text, line_end + 1, len);
        check_one(kind, text, len, arena);
        mem_free(text);
    }
    arena_free(arena);
    return 0;
}
