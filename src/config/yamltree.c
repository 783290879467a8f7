/* Built from libyaml's events, not from its document: documents resolve aliases silently, and with
 * them a file of a few lines becomes a tree of billions.  The open containers lie on a stack of
 * fixed depth, so that no input decides how deep we recurse. */
#include "config/yamltree.h"

#include "base/check.h"
#include "base/str.h"
#include "base/vec.h"

#include <string.h>
#include <yaml.h>

struct open_node { /* a container whose end has not come yet */
    enum yamltree_kind kind;
    int line;
    int column;
    VEC(struct yamltree) keys;
    VEC(struct yamltree) items;
};

struct builder {
    struct complaints *c;
    yaml_parser_t parser;
    struct open_node stack[YAMLTREE_DEPTH_MAX];
    size_t depth;
    size_t nodes;
    size_t documents;
    struct yamltree root;
    bool has_root;
    bool failed;
};

static void fail(struct builder *b, const yaml_mark_t *mark, enum err_code code, const char *text)
{
    complaint_add(b->c, code, (int)mark->line + 1, (int)mark->column + 1, "", text);
    b->failed = true;
}

static bool next_is_key(const struct open_node *o)
{
    return o->kind == YAMLTREE_MAP && o->keys.count == o->items.count;
}

/* A key may come twice: that is told, and the first one counts, so that the rest is checked too. */
static void check_double(struct builder *b, const struct open_node *o, const struct yamltree *key)
{
    for (size_t i = 0; i < o->keys.count; i++) {
        if (strcmp(o->keys.items[i].text, key->text) == 0) {
            complaint_add(b->c, ERR_POLICY_DOUBLE, key->line, key->column, key->text,
                          arena_printf(b->c->arena,
                                       "is given twice, it is on line %d already; keep one",
                                       o->keys.items[i].line));
            return;
        }
    }
}

static void place(struct builder *b, const struct yamltree *node, const yaml_mark_t *mark)
{
    struct open_node *o;

    if (++b->nodes > YAMLTREE_NODES_MAX) {
        fail(b, mark, ERR_TOO_LARGE, "the file has more than 1000000 values, split the site");
        return;
    }
    if (b->depth == 0) {
        b->root = *node;
        b->has_root = true;
        return;
    }
    o = &b->stack[b->depth - 1];
    if (!next_is_key(o)) {
        vec_push(&o->items, *node);
        return;
    }
    if (node->kind != YAMLTREE_SCALAR) {
        fail(b, mark, ERR_SYNTAX, "a list or map stands where a key must be, write key: value");
        return;
    }
    if (o->keys.count == YAMLTREE_KEYS_MAX) {
        fail(b, mark, ERR_TOO_LARGE, "a map has more than 1024 keys, write a list");
        return;
    }
    check_double(b, o, node);
    vec_push(&o->keys, *node);
}

static void put_scalar(struct builder *b, const yaml_event_t *e)
{
    struct yamltree node = {.kind = YAMLTREE_SCALAR};
    const char *text = (const char *)e->data.scalar.value;

    node.plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node.line = (int)e->start_mark.line + 1;
    node.column = (int)e->start_mark.column + 1;
    if (memchr(text, '\0', e->data.scalar.length) != NULL) {
        fail(b, &e->start_mark, ERR_SYNTAX, "a NUL character is in the text, leave it out");
        return;
    }
    node.text = arena_text_n(b->c->arena, text, e->data.scalar.length);
    place(b, &node, &e->start_mark);
}

static void open_container(struct builder *b, const yaml_event_t *e, enum yamltree_kind kind)
{
    struct open_node *o;

    if (b->depth == YAMLTREE_DEPTH_MAX) {
        fail(b, &e->start_mark, ERR_TOO_LARGE, "is nested more than 64 deep, flatten it");
        return;
    }
    if (b->depth > 0 && next_is_key(&b->stack[b->depth - 1])) {
        fail(b, &e->start_mark, ERR_SYNTAX,
             "a list or map stands where a key must be, write key: value");
        return;
    }
    o = &b->stack[b->depth++];
    memset(o, 0, sizeof(*o));
    o->kind = kind;
    o->line = (int)e->start_mark.line + 1;
    o->column = (int)e->start_mark.column + 1;
}

static void close_container(struct builder *b, const yaml_event_t *e)
{
    struct yamltree node = {0};
    struct open_node *o;

    CHECK(b->depth > 0);
    o = &b->stack[--b->depth];
    node.kind = o->kind;
    node.text = "";
    node.line = o->line;
    node.column = o->column;
    node.count = o->items.count;
    node.items = arena_copy(b->c->arena, o->items.items, o->items.count * sizeof(node));
    node.keys = arena_copy(b->c->arena, o->keys.items, o->keys.count * sizeof(node));
    vec_fini(&o->items);
    vec_fini(&o->keys);
    place(b, &node, &e->start_mark);
}

static bool has_extras(struct builder *b, const yaml_event_t *e, const yaml_char_t *anchor,
                       const yaml_char_t *tag)
{
    if (anchor != NULL) {
        fail(b, &e->start_mark, ERR_POLICY,
             complaint_text(b->c, "anchors are not read", (const char *)anchor,
                            "write the value out"));
    } else if (tag != NULL) {
        fail(b, &e->start_mark, ERR_POLICY,
             complaint_text(b->c, "tags are not read", (const char *)tag, "leave it out"));
    }
    return b->failed;
}

static void take_event(struct builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++b->documents > 1) {
            fail(b, &e->start_mark, ERR_SYNTAX, "a second document begins, one file is one site");
        }
        break;
    case YAML_ALIAS_EVENT:
        fail(b, &e->start_mark, ERR_POLICY,
             complaint_text(b->c, "aliases are not read", (const char *)e->data.alias.anchor,
                            "write the value out"));
        break;
    case YAML_SCALAR_EVENT:
        if (!has_extras(b, e, e->data.scalar.anchor, e->data.scalar.tag)) {
            put_scalar(b, e);
        }
        break;
    case YAML_SEQUENCE_START_EVENT:
        if (!has_extras(b, e, e->data.sequence_start.anchor, e->data.sequence_start.tag)) {
            open_container(b, e, YAMLTREE_LIST);
        }
        break;
    case YAML_MAPPING_START_EVENT:
        if (!has_extras(b, e, e->data.mapping_start.anchor, e->data.mapping_start.tag)) {
            open_container(b, e, YAMLTREE_MAP);
        }
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_container(b, e);
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    default:
        break;
    }
}

static void parse_failed(struct builder *b)
{
    const char *problem = b->parser.problem != NULL ? b->parser.problem : "cannot be read";
    const char *context = b->parser.context != NULL ? b->parser.context : "";

    fail(b, &b->parser.problem_mark, ERR_SYNTAX,
         arena_printf(b->c->arena, "not YAML: %s%s%s", context, context[0] == '\0' ? "" : ", ",
                      problem));
}

static void run(struct builder *b)
{
    bool ended = false;

    while (!ended && !b->failed) {
        yaml_event_t e;

        if (!yaml_parser_parse(&b->parser, &e)) {
            parse_failed(b);
            return;
        }
        take_event(b, &e);
        ended = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
}

/* The column, in characters from 1, of the first that is not UTF-8. */
static int bad_column(const char *line, size_t size)
{
    int column = 1;

    for (size_t at = 0; at < size; column++) {
        size_t n = 1;

        while (n <= 4 && at + n <= size && !str_is_utf8(line + at, n)) {
            n++;
        }
        if (n > 4 || at + n > size) {
            break;
        }
        at += n;
    }
    return column;
}

/* libyaml names no line for a wrong byte, so the place is found here. */
static bool check_utf8(const char *text, size_t len, struct complaints *c)
{
    int line = 1;
    size_t begin = 0;

    while (begin < len) {
        const char *end = memchr(text + begin, '\n', len - begin);
        size_t size = end == NULL ? len - begin : (size_t)(end - (text + begin));

        if (!str_is_utf8(text + begin, size)) {
            complaint_add(c, ERR_SYNTAX, line, bad_column(text + begin, size), "",
                          "this is not UTF-8 text, save the file as UTF-8");
            return false;
        }
        begin += size + 1;
        line++;
    }
    return true;
}

const struct yamltree *yamltree_parse(const char *text, size_t len, struct complaints *c)
{
    struct builder *b;
    struct yamltree *root = NULL;

    if (len > YAMLTREE_BYTES_MAX) {
        complaint_add(c, ERR_TOO_LARGE, 0, 0, "", "the file is larger than 8 MiB, split the site");
        return NULL;
    }
    if (!check_utf8(text, len, c)) {
        return NULL;
    }
    b = mem_new(1, sizeof(*b));
    b->c = c;
    CHECK(yaml_parser_initialize(&b->parser));
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, len);
    run(b);
    yaml_parser_delete(&b->parser);
    while (b->depth > 0) {
        b->depth--;
        vec_fini(&b->stack[b->depth].items);
        vec_fini(&b->stack[b->depth].keys);
    }
    if (!b->failed) {
        root = arena_new(c->arena, 1, sizeof(*root));
        *root = b->root;
        if (!b->has_root) {
            *root = (struct yamltree){.kind = YAMLTREE_MAP, .text = "", .line = 1, .column = 1};
        }
    }
    mem_free(b);
    return root;
}

const struct yamltree *yamltree_get(const struct yamltree *map, const char *key)
{
    if (map == NULL || map->kind != YAMLTREE_MAP) {
        return NULL;
    }
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i].text, key) == 0) {
            return &map->items[i];
        }
    }
    return NULL;
}

const char *yamltree_kind_text(const struct yamltree *t)
{
    switch (t->kind) {
    case YAMLTREE_LIST:
        return "a list";
    case YAMLTREE_MAP:
        return "a map";
    case YAMLTREE_SCALAR:
    default:
        return "a single value";
    }
}
