#include "config/config.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/policycheck.h"
#include "config/policyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static void take_users(const struct policyfile *f, struct arena *arena, struct config *ret)
{
    ret->users = arena_new(arena, f->policy.user_count, sizeof(*ret->users));
    for (size_t i = 0; i < f->policy.user_count; i++) {
        const struct site_user *from = f->users[i];

        ret->users[i].name = or_empty(from->name);
        ret->users[i].account = from->account == NULL ? ret->users[i].name : from->account;
        if (strcmp(ret->users[i].account, "self") == 0) {
            ret->users[i].account = "";
        }
    }
}

static struct config_class take_class(const struct site_class *from, bool preemptible)
{
    struct config_class out = {.preemptible = preemptible};

    if (from->head.at != NULL && settings_written(&SITE_CLASS_ROWS, from, "preemptible")) {
        out.preemptible = from->preemptible;
    }
    out.grace_ms = from->grace;
    out.limit_ms = from->time_limit;
    return out;
}

static void take(const struct site *site, const struct policyfile *f, struct arena *arena,
                 struct config *ret)
{
    const struct settings_pair *unknown = site->unknown_users.items;

    memset(ret, 0, sizeof(*ret));
    ret->socket = or_empty(site->daemon.socket);
    ret->listen = or_empty(site->daemon.listen);
    ret->state = or_empty(site->daemon.state);
    ret->policy = f->policy;
    take_users(f, arena, ret);
    ret->node_auto = arena_new(arena, f->policy.node_count, sizeof(bool));
    for (size_t i = 0; i < f->policy.node_count; i++) {
        ret->node_auto[i] = f->nodes[i]->simulated == SIMULATED_AUTO;
    }
    ret->classes[CLASS_TRAINING] = take_class(&site->classes.training, true);
    ret->classes[CLASS_SERVICE] = take_class(&site->classes.service, false);
    ret->classes[CLASS_WORKSPACE] = take_class(&site->classes.workspace, false);
    ret->unknown_queue_count = site->unknown_users.count;
    ret->unknown_queues = arena_new(arena, site->unknown_users.count, sizeof(char *));
    for (size_t i = 0; i < site->unknown_users.count; i++) {
        ret->unknown_queues[i] = unknown[i].key;
    }
}

int config_read(const char *text, size_t len, struct complaints *c, struct config *ret,
                struct err *err)
{
    struct site *site = arena_new(c->arena, 1, sizeof(*site));
    struct policyfile *f = arena_new(c->arena, 1, sizeof(*f));
    const struct yamltree *root = yamltree_parse(text, len, c);
    char *digest;
    int rc;

    if (root != NULL) {
        settings_read(&SITE_ROWS, root, "", site, c);
        policyfile_build(site, c, f);
    }
    if (c->total == 0) { /* sums and models of half-read objects would only mislead */
        policycheck_run(site, f, c);
    }
    complaints_sort(c);
    rc = complaints_result(c, err);
    if (rc != 0) {
        return rc;
    }
    digest = arena_new(c->arena, HASH_TEXT_MAX, 1);
    hash_sha256_text(text, len, digest);
    f->policy.digest = digest;
    take(site, f, c->arena, ret);
    return 0;
}

static int read_all(int fd, const char *path, struct str *ret, struct err *err)
{
    char chunk[16384];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno != EINTR) {
            return err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
        }
        if (n > 0) {
            str_add_n(ret, chunk, (size_t)n);
        }
        if (ret->len > YAMLTREE_BYTES_MAX) {
            return err_set(err, ERR_TOO_LARGE, "%s: the file is larger than 8 MiB", path);
        }
    }
    return 0;
}

int config_load(const char *path, struct complaints *c, struct config *ret, const char **ret_text,
                struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int rc;

    if (fd < 0 && errno == ENOENT) {
        return err_set(err, ERR_NOT_FOUND,
                       "%s: there is no such file; muster.yaml(5) tells how to write one", path);
    }
    if (fd < 0) {
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    rc = read_all(fd, path, &text, err);
    close(fd);
    if (rc != 0) {
        return rc;
    }
    rc = config_read(str_text(&text), text.len, c, ret, err);
    if (rc == 0 && ret_text != NULL) {
        *ret_text = arena_text_n(c->arena, str_text(&text), text.len);
    }
    return rc;
}

void config_manual(struct str *ret)
{
    settings_manual(&SITE_ROWS, ret);
}
