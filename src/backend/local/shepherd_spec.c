#include "backend/local/shepherd_spec.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static json_t *texts(char *const *rows)
{
    json_t *list = json_array();

    for (; rows != NULL && *rows != NULL; rows++) {
        if (json_array_append_new(list, json_string(*rows)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *account(const struct shepherd_spec *s)
{
    json_t *groups = json_array();

    for (size_t i = 0; i < s->group_count; i++) {
        json_array_append_new(groups, json_integer((json_int_t)s->groups[i]));
    }
    return json_pack("{s:b, s:I, s:I, s:o}", "switch", (int)s->switch_account, "uid",
                     (json_int_t)s->uid, "gid", (json_int_t)s->gid, "groups", groups);
}

int shepherd_spec_write(const struct shepherd_spec *s, char **ret, struct err *err)
{
    json_t *argv = texts(s->argv);
    json_t *env = texts(s->env);
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:I, s:I, "
                  "s:I, s:b, s:I}",
                  "key", s->key, "mark", s->mark, "boot", s->boot != NULL ? s->boot : "", "account",
                  account(s), "argv", argv, "env", env, "dir", s->dir, "log_dir", s->log_dir,
                  "log_stem", s->log_stem, "output", s->output, "log_file_bytes",
                  (json_int_t)s->log_file_bytes, "log_files", (json_int_t)s->log_files, "cgroup",
                  s->cgroup, "memory_bytes", (json_int_t)s->limits.memory_bytes, "pids_max",
                  (json_int_t)s->limits.pids_max, "cpu_milli", (json_int_t)s->limits.cpu_milli,
                  "cpu_hard", (int)s->limits.cpu_hard, "fence_args", (json_int_t)s->fence_args);
    char *text;

    if (root == NULL) {
        return err_set(err, ERR_INVALID,
                       "a command, argument, variable or directory of the job is not UTF-8");
    }
    text = json_dumps(root, JSON_COMPACT);
    *ret = mem_text(text);
    free(text);
    json_decref(root);
    return 0;
}

static char **read_texts(const json_t *list)
{
    char **rows = mem_new(json_array_size(list) + 1, sizeof(*rows));
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (text != NULL) {
            rows[count] = mem_text(text);
            count++;
        }
    }
    return rows;
}

static int64_t integer(const json_t *o, const char *name, int64_t fallback)
{
    const json_t *v = json_object_get(o, name);

    return json_is_integer(v) ? (int64_t)json_integer_value(v) : fallback;
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text == NULL ? "" : text;
}

static void read_account(const json_t *o, struct shepherd_spec *s)
{
    const json_t *groups = json_object_get(o, "groups");

    s->switch_account = json_is_true(json_object_get(o, "switch"));
    s->uid = (uid_t)integer(o, "uid", (int64_t)((uid_t)-1));
    s->gid = (gid_t)integer(o, "gid", (int64_t)((gid_t)-1));
    for (size_t i = 0; i < json_array_size(groups) && i < SHEPHERD_GROUPS_MAX; i++) {
        s->groups[i] = (gid_t)json_integer_value(json_array_get(groups, i));
        s->group_count = i + 1;
    }
}

int shepherd_spec_read(const char *text, struct shepherd_spec_file *ret, struct err *err)
{
    json_error_t where;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    struct shepherd_spec s = {0};

    if (root == NULL) {
        return err_set(err, ERR_SYNTAX, "spec, line %d: %s", where.line, where.text);
    }
    s.key = text_of(root, "key");
    s.mark = text_of(root, "mark");
    s.boot = text_of(root, "boot");
    s.dir = text_of(root, "dir");
    s.log_dir = text_of(root, "log_dir");
    s.log_stem = text_of(root, "log_stem");
    s.output = text_of(root, "output");
    s.cgroup = text_of(root, "cgroup");
    s.log_file_bytes = integer(root, "log_file_bytes", 16 * 1024 * 1024);
    s.log_files = integer(root, "log_files", 4);
    s.limits = (struct cgroup_limits){
        .memory_bytes = integer(root, "memory_bytes", 0),
        .pids_max = integer(root, "pids_max", 0),
        .cpu_milli = integer(root, "cpu_milli", 0),
        .cpu_hard = json_is_true(json_object_get(root, "cpu_hard")),
    };
    read_account(json_object_get(root, "account"), &s);
    s.argv = read_texts(json_object_get(root, "argv"));
    s.fence_args = integer(root, "fence_args", 0);
    s.env = read_texts(json_object_get(root, "env"));
    *ret = (struct shepherd_spec_file){.spec = s, .root = root};
    if (s.argv[0] == NULL || s.key[0] == '\0' || s.log_dir[0] == '\0') {
        shepherd_spec_fini(ret);
        return err_set(err, ERR_INVALID, "spec has no argv, key or log_dir");
    }
    return 0;
}

static void free_texts(char **rows)
{
    for (char **row = rows; row != NULL && *row != NULL; row++) {
        mem_free(*row);
    }
    mem_free(rows);
}

void shepherd_spec_fini(struct shepherd_spec_file *f)
{
    free_texts(f->spec.argv);
    free_texts(f->spec.env);
    json_decref(f->root);
    *f = (struct shepherd_spec_file){0};
}
