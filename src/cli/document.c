/* document - a string that a YAML reader would take for something else
 * is quoted; the rest is left to libyaml. */
#include "cli/document.h"

#include "base/check.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

static bool needs_quotes(const char *text)
{
    static const char *const WORDS[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n",   "~"};

    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
        if (strcasecmp(WORDS[i], text) == 0) {
            return true;
        }
    }
    return text[0] == '\0' || strchr("0123456789.+-=<", text[0]) != NULL;
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    CHECK(yaml_emitter_emit(emitter, event) == 1);
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    struct str copy = {0};

    str_add(&copy, text);
    CHECK(yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)copy.text, (int)copy.len,
                                       1, 1, style) == 1);
    emit(emitter, &event);
    str_fini(&copy);
}

static void emit_text(yaml_emitter_t *emitter, const char *text)
{
    yaml_scalar_style_t style = YAML_ANY_SCALAR_STYLE;

    if (strchr(text, '\n') != NULL) {
        style = YAML_LITERAL_SCALAR_STYLE;
    } else if (needs_quotes(text)) {
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    }
    emit_scalar(emitter, text, style);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value);

static void emit_list(yaml_emitter_t *emitter, const json_t *list)
{
    yaml_event_t event;
    const json_t *item;
    size_t i;

    CHECK(yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_ANY_SEQUENCE_STYLE));
    emit(emitter, &event);
    json_array_foreach(list, i, item)
    {
        emit_value(emitter, item);
    }
    CHECK(yaml_sequence_end_event_initialize(&event));
    emit(emitter, &event);
}

static void emit_object(yaml_emitter_t *emitter, const json_t *object)
{
    yaml_event_t event;
    void *at;

    CHECK(yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_ANY_MAPPING_STYLE));
    emit(emitter, &event);
    /* jansson iterates in the order of insertion and does not change what it iterates over */
    for (at = json_object_iter((json_t *)(uintptr_t)object); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        emit_text(emitter, json_object_iter_key(at));
        emit_value(emitter, json_object_iter_value(at));
    }
    CHECK(yaml_mapping_end_event_initialize(&event));
    emit(emitter, &event);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value)
{
    char number[32];

    if (json_is_object(value)) {
        emit_object(emitter, value);
    } else if (json_is_array(value)) {
        emit_list(emitter, value);
    } else if (json_is_string(value)) {
        emit_text(emitter, json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        emit_scalar(emitter, number, YAML_PLAIN_SCALAR_STYLE);
    } else if (json_is_boolean(value)) {
        emit_scalar(emitter, json_is_true(value) ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
    } else {
        emit_scalar(emitter, "null", YAML_PLAIN_SCALAR_STYLE);
    }
}

void document_print(const json_t *json, FILE *out)
{
    yaml_emitter_t emitter;
    yaml_event_t event;

    CHECK(yaml_emitter_initialize(&emitter) == 1);
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    CHECK(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(&emitter, &event);
    CHECK(yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
    emit(&emitter, &event);
    emit_value(&emitter, json);
    CHECK(yaml_document_end_event_initialize(&event, 1));
    emit(&emitter, &event);
    CHECK(yaml_stream_end_event_initialize(&event));
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
}
