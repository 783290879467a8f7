#include "daemon/jsonout.h"

#include "base/check.h"
#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

#define KEY_MAX 64

static json_t *decimal(int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return json_string(text);
}

void jsonout_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_string(text == NULL ? "" : text));
}

void jsonout_id(json_t *o, const char *key, int64_t id)
{
    json_object_set_new(o, key, id == 0 ? json_null() : decimal(id));
}

void jsonout_big(json_t *o, const char *key, int64_t value)
{
    json_object_set_new(o, key, decimal(value));
}

void jsonout_int(json_t *o, const char *key, int64_t value)
{
    json_object_set_new(o, key, json_integer(value));
}

void jsonout_bool(json_t *o, const char *key, bool value)
{
    json_object_set_new(o, key, json_boolean(value));
}

void jsonout_gu(json_t *o, const char *key, int64_t gu)
{
    char name[KEY_MAX];
    char text[QUANTITY_TEXT_MAX];
    bool none = gu < 0 || gu == INT64_MAX;

    snprintf(name, sizeof(name), "%s_gu", key);
    json_object_set_new(o, name, none ? json_null() : decimal(gu));
    snprintf(name, sizeof(name), "%s_gpus", key);
    if (!none) {
        quantity_gpus_text(gu, text);
    }
    json_object_set_new(o, name, none ? json_null() : json_string(text));
}

void jsonout_ms(json_t *o, const char *key, int64_t ms)
{
    json_object_set_new(o, key, ms == 0 ? json_null() : json_integer(ms));
}

json_t *jsonout_ids(const int64_t *ids, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, decimal(ids[i]));
    }
    return list;
}
