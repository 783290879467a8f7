/* jobfile - a job file: the body of POST /v1/jobs written as YAML.
 *
 * libyaml's document tree is walked with the table of jobspec; each value is read from its text
 * (0.5 stays "0.5" and never becomes a float).  Aliases are followed, so the walk counts its nodes:
 * a small file cannot grow into a large job. */
#include "cli/jobfile.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/jobenv.h"

#include <string.h>
#include <yaml.h>

#define NODES_MAX 100000
#define BYTES_MAX ((size_t)4 << 20)

struct jobfile {
    struct jobspec *spec;
    const char *file;
    yaml_document_t *doc;
    int nodes;
};

static int fail(const struct jobfile *j, const yaml_node_t *node, struct err *err, const char *name,
                const char *what)
{
    return err_set(err, ERR_SYNTAX, "%s:%zu:%zu: %s%s%s", j->file, node->start_mark.line + 1,
                   node->start_mark.column + 1, name, name[0] != '\0' ? ": " : "", what);
}

static const char *scalar(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static yaml_node_t *node_at(struct jobfile *j, int index)
{
    j->nodes++;
    return yaml_document_get_node(j->doc, index);
}

static int need_scalar(const struct jobfile *j, const yaml_node_t *node, const char *name,
                       struct err *err)
{
    if (j->nodes > NODES_MAX) {
        return fail(j, node, err, name, "the file is too large");
    }
    if (node->type != YAML_SCALAR_NODE) {
        return fail(j, node, err, name, "one value is wanted here");
    }
    if (memchr(scalar(node), '\0', node->data.scalar.length) != NULL) {
        return fail(j, node, err, name, "the value holds a NUL");
    }
    return 0;
}

static int read_bool(const struct jobfile *j, const yaml_node_t *node, const char *name,
                     json_t **ret, struct err *err)
{
    bool yes = strcmp(scalar(node), "true") == 0;

    if (!yes && strcmp(scalar(node), "false") != 0) {
        return fail(j, node, err, name, "true or false is wanted");
    }
    *ret = json_boolean(yes);
    return 0;
}

/* A list of texts. */
static int read_texts(struct jobfile *j, const yaml_node_t *node, const char *name, json_t **ret,
                      struct err *err)
{
    json_t *list = json_array();
    int rc = 0;

    if (node->type != YAML_SEQUENCE_NODE) {
        json_decref(list);
        return fail(j, node, err, name, "a list is wanted, e.g. [a, b]");
    }
    for (yaml_node_item_t *i = node->data.sequence.items.start;
         i < node->data.sequence.items.top && rc == 0; i++) {
        const yaml_node_t *item = node_at(j, *i);

        rc = need_scalar(j, item, name, err);
        if (rc == 0) {
            json_array_append_new(list, json_string(scalar(item)));
        }
    }
    if (rc != 0) {
        json_decref(list);
        return rc;
    }
    *ret = list;
    return 0;
}

static int read_pair(struct jobfile *j, const struct jobspec_field *f, const yaml_node_pair_t *pair,
                     json_t *map, struct err *err)
{
    const yaml_node_t *key = node_at(j, pair->key);
    const yaml_node_t *value = node_at(j, pair->value);
    int rc = need_scalar(j, key, f->field, err);

    rc = rc != 0 ? rc : need_scalar(j, value, f->field, err);
    if (rc != 0) {
        return rc;
    }
    if (json_object_get(map, scalar(key)) != NULL) {
        return fail(j, key, err, scalar(key), "is there twice");
    }
    if (f->kind == JOBSPEC_TOPOLOGY && strcmp(scalar(key), "required") != 0 &&
        strcmp(scalar(key), "preferred") != 0) {
        return fail(j, key, err, scalar(key), "no such field: required or preferred");
    }
    if (f->kind == JOBSPEC_ENV && jobenv_secret(scalar(key))) {
        return fail(j, key, err, scalar(key),
                    "looks like a secret and what is submitted is kept: let the job read it from a "
                    "file of yours");
    }
    json_object_set_new(map, scalar(key), json_string(scalar(value)));
    return 0;
}

/* A map from text to text: labels, env, topology. */
static int read_pairs(struct jobfile *j, const struct jobspec_field *f, const yaml_node_t *node,
                      json_t **ret, struct err *err)
{
    json_t *map = json_object();
    int rc = 0;

    if (node->type != YAML_MAPPING_NODE) {
        json_decref(map);
        return fail(j, node, err, f->field, "NAME: VALUE lines are wanted");
    }
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
         p < node->data.mapping.pairs.top && rc == 0; p++) {
        rc = read_pair(j, f, p, map, err);
    }
    if (rc != 0) {
        json_decref(map);
        return rc;
    }
    *ret = map;
    return 0;
}

static int read_map(struct jobfile *j, const yaml_node_t *node, const char *prefix, json_t *into,
                    struct err *err);

static int read_groups(struct jobfile *j, const yaml_node_t *node, json_t **ret, struct err *err)
{
    json_t *list = json_array();
    int rc = 0;

    if (node->type != YAML_SEQUENCE_NODE) {
        json_decref(list);
        return fail(j, node, err, "groups", "a list of groups is wanted");
    }
    for (yaml_node_item_t *i = node->data.sequence.items.start;
         i < node->data.sequence.items.top && rc == 0; i++) {
        json_t *group = json_object();
        struct str prefix = {0};

        str_addf(&prefix, "groups[%zu].", json_array_size(list));
        json_array_append_new(list, group);
        rc = read_map(j, node_at(j, *i), str_text(&prefix), group, err);
        str_fini(&prefix);
    }
    if (rc != 0) {
        json_decref(list);
        return rc;
    }
    *ret = list;
    return 0;
}

static int read_value(struct jobfile *j, const struct jobspec_field *f, const yaml_node_t *node,
                      json_t **ret, struct err *err)
{
    struct err why;
    int rc;

    switch (f->kind) {
    case JOBSPEC_GROUPS:
        return read_groups(j, node, ret, err);
    case JOBSPEC_LIST:
    case JOBSPEC_ARGV:
        return read_texts(j, node, f->field, ret, err);
    case JOBSPEC_PAIRS:
    case JOBSPEC_ENV:
    case JOBSPEC_TOPOLOGY:
        return read_pairs(j, f, node, ret, err);
    case JOBSPEC_TEXT:
    case JOBSPEC_INT:
    case JOBSPEC_SPAN:
    case JOBSPEC_GPUS:
    case JOBSPEC_CPUS:
    case JOBSPEC_BYTES:
    case JOBSPEC_FLAG:
    case JOBSPEC_UNFLAG:
        break;
    }
    rc = need_scalar(j, node, f->field, err);
    if (rc != 0) {
        return rc;
    }
    if (f->kind == JOBSPEC_FLAG) {
        return read_bool(j, node, f->field, ret, err);
    }
    rc = jobspec_value(f, scalar(node), ret, &why);
    if (rc != 0) {
        (void)fail(j, node, err, f->field, why.text);
        if (err != NULL) {
            err->code = why.code; /* the place is the file's, the kind is the value's */
        }
    }
    return rc;
}

static int read_member(struct jobfile *j, const yaml_node_pair_t *pair, const char *prefix,
                       json_t *into, struct err *err)
{
    const yaml_node_t *key = node_at(j, pair->key);
    const struct jobspec_field *f;
    json_t *value = NULL;
    struct str at = {0}, path = {0};
    int rc = need_scalar(j, key, "", err);

    if (rc != 0) {
        return rc;
    }
    f = jobspec_member(scalar(key), prefix[0] != '\0');
    if (f == NULL) {
        return err_set(err, ERR_UNKNOWN_FIELD, "%s:%zu:%zu: no field '%s' in a %s", j->file,
                       key->start_mark.line + 1, key->start_mark.column + 1, scalar(key),
                       prefix[0] != '\0' ? "task group" : "job");
    }
    if (json_object_get(into, f->field) != NULL) {
        return fail(j, key, err, f->field, "is there twice");
    }
    rc = read_value(j, f, node_at(j, pair->value), &value, err);
    if (rc != 0) {
        return rc;
    }
    json_object_set_new(into, f->field, value);
    str_addf(&at, "%s:%zu:%zu", j->file, key->start_mark.line + 1, key->start_mark.column + 1);
    str_addf(&path, "%s%s", prefix, f->field);
    json_object_set_new(j->spec->origin, str_text(&path), json_string(str_text(&at)));
    str_fini(&at);
    str_fini(&path);
    return 0;
}

static int read_map(struct jobfile *j, const yaml_node_t *node, const char *prefix, json_t *into,
                    struct err *err)
{
    int rc = 0;

    if (node->type != YAML_MAPPING_NODE) {
        return fail(j, node, err, "", "FIELD: VALUE lines are wanted");
    }
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
         p < node->data.mapping.pairs.top && rc == 0; p++) {
        rc = read_member(j, p, prefix, into, err);
    }
    return rc;
}

static int syntax(const struct jobfile *j, const yaml_parser_t *parser, struct err *err)
{
    return err_set(err, ERR_SYNTAX, "%s:%zu:%zu: %s", j->file, parser->problem_mark.line + 1,
                   parser->problem_mark.column + 1,
                   parser->problem != NULL ? parser->problem : "this is no YAML");
}

/* The one document of the file. */
static int read_document(struct jobfile *j, yaml_parser_t *parser, struct err *err)
{
    yaml_document_t doc, more;
    yaml_node_t *root;
    int rc;

    if (yaml_parser_load(parser, &doc) != 1) {
        return syntax(j, parser, err);
    }
    root = yaml_document_get_root_node(&doc);
    if (root == NULL) {
        yaml_document_delete(&doc);
        return err_set(err, ERR_SYNTAX, "%s:1:1: the file is empty", j->file);
    }
    j->doc = &doc;
    rc = read_map(j, root, "", j->spec->body, err);
    j->doc = NULL;
    yaml_document_delete(&doc);
    if (rc != 0) {
        return rc;
    }
    if (yaml_parser_load(parser, &more) != 1) {
        return syntax(j, parser, err);
    }
    root = yaml_document_get_root_node(&more);
    rc = root == NULL ? 0 : fail(j, root, err, "", "a job file holds one job");
    yaml_document_delete(&more);
    return rc;
}

int jobfile_read(struct jobspec *s, const char *file, const char *text, size_t len, struct err *err)
{
    struct jobfile j = {.spec = s, .file = file};
    yaml_parser_t parser;
    int rc;

    if (len > BYTES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "%s is larger than 4Mi", file);
    }
    if (!str_is_utf8(text, len)) {
        return err_set(err, ERR_SYNTAX, "%s is not UTF-8", file);
    }
    CHECK(yaml_parser_initialize(&parser) == 1);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    rc = read_document(&j, &parser, err);
    yaml_parser_delete(&parser);
    return rc;
}
