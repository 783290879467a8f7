#include "config/policypeople.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const ROLES[] = {"submit", "operator", "admin", "auditor"};

int64_t policypeople_queue(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->queue_count; i++) {
        if (strcmp(policy->queues[i].name, name) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

static void complain_at(struct complaints *c, const struct settings_head *head, const char *field,
                        const struct yamltree *at, const char *text)
{
    complaint_add(c, ERR_POLICY, at->line, at->column,
                  head->path[0] == '\0' ? field
                                        : arena_printf(c->arena, "%s.%s", head->path, field),
                  text);
}

static void add_queue(struct policy_user *user, int64_t queue)
{
    for (size_t i = 0; i < user->queue_count; i++) {
        if (user->queues[i] == queue) {
            return;
        }
    }
    user->queues[user->queue_count++] = queue;
}

static void read_roles(const struct site_user *from, struct complaints *c, struct policy_user *user)
{
    const struct settings_pair *pairs = from->roles.items;

    user->roles = arena_new(c->arena, from->roles.count, sizeof(*user->roles));
    for (size_t i = 0; i < from->roles.count; i++) {
        size_t k = 0;

        while (k < ARRAY_LEN(ROLES) && strcmp(ROLES[k], pairs[i].key) != 0) {
            k++;
        }
        if (k == ARRAY_LEN(ROLES)) {
            complain_at(c, &from->head, "roles", pairs[i].at,
                        complaint_text(c, "is not a role", pairs[i].key,
                                       "write one of submit, operator, admin, auditor"));
            continue;
        }
        user->roles[user->role_count++] = ROLES[k];
    }
}

static void read_queues(const struct site_user *from, const struct policy *p, struct complaints *c,
                        struct policy_user *user)
{
    const struct settings_pair *pairs = from->queues.items;

    for (size_t i = 0; i < from->queues.count; i++) {
        int64_t queue = policypeople_queue(p, pairs[i].key);

        if (queue < 0) {
            complain_at(c, &from->head, "queues", pairs[i].at,
                        complaint_text(c, "names a queue that is not there", pairs[i].key,
                                       "name one of those under queues"));
            continue;
        }
        add_queue(user, p->queues[queue].id);
    }
}

static int64_t user_of(const struct policyfile *f, const char *name)
{
    for (size_t i = 0; i < f->policy.user_count; i++) {
        if (f->users[i]->name != NULL && strcmp(f->users[i]->name, name) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

static size_t count_members(const struct policyfile *f, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < f->policy.queue_count; i++) {
        const struct settings_pair *pairs = f->queues[i]->members.items;

        for (size_t k = 0; k < f->queues[i]->members.count; k++) {
            count += strcmp(pairs[k].key, name) == 0;
        }
    }
    return count;
}

static void read_members(struct complaints *c, struct policyfile *f)
{
    for (size_t i = 0; i < f->policy.queue_count; i++) {
        const struct site_queue *from = f->queues[i];
        const struct settings_pair *pairs = from->members.items;

        for (size_t k = 0; k < from->members.count; k++) {
            int64_t user = user_of(f, pairs[k].key);

            if (user < 0) {
                complain_at(c, &from->head, "members", pairs[k].at,
                            complaint_text(c, "names a user who is not there", pairs[k].key,
                                           "name one of those under users"));
                continue;
            }
            add_queue(&f->policy.users[user], f->policy.queues[i].id);
        }
    }
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(((const struct site_user *const *)x)[0]->name,
                  ((const struct site_user *const *)y)[0]->name);
}

static void check_doubles(struct complaints *c, const struct policyfile *f)
{
    size_t count = 0;
    const struct site_user **sorted = mem_new(f->policy.user_count, sizeof(*sorted));

    for (size_t i = 0; i < f->policy.user_count; i++) {
        if (f->users[i]->name != NULL) {
            sorted[count++] = f->users[i];
        }
    }
    qsort(sorted, count, sizeof(*sorted), compare_texts);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            settings_complain(c, sorted[i], ERR_POLICY_DOUBLE, "name",
                              complaint_text(c, "is a user already", sorted[i]->name,
                                             "merge the two entries"));
        }
    }
    mem_free(sorted);
}

static void check_unknown_users(const struct site *site, const struct policy *p,
                                struct complaints *c)
{
    const struct settings_pair *pairs = site->unknown_users.items;

    for (size_t i = 0; i < site->unknown_users.count; i++) {
        if (policypeople_queue(p, pairs[i].key) < 0) {
            complain_at(c, &site->head, "unknown_users", pairs[i].at,
                        complaint_text(c, "names a queue that is not there", pairs[i].key,
                                       "name one of those under queues"));
        }
    }
}

void policypeople_build(const struct site *site, struct complaints *c, struct policyfile *ret)
{
    const struct site_user *from = site->users.items;
    struct policy *p = &ret->policy;
    size_t count = site->users.count;

    if (count > POLICYFILE_USERS_MAX) {
        complaint_add(c, ERR_TOO_LARGE, site->head.at->line, site->head.at->column, "users",
                      "are more than 100000, use unknown_users");
        return;
    }
    p->users = arena_new(c->arena, count, sizeof(*p->users));
    p->user_count = count;
    ret->users = arena_new(c->arena, count, sizeof(struct site_user *));
    for (size_t i = 0; i < count; i++) {
        struct policy_user *user = &p->users[i];
        const char *name = from[i].name == NULL ? "" : from[i].name;

        ret->users[i] = &from[i];
        user->subject = from[i].subject == NULL ? "" : from[i].subject;
        user->queues = arena_new(c->arena, from[i].queues.count + count_members(ret, name),
                                 sizeof(*user->queues));
        read_roles(&from[i], c, user);
        read_queues(&from[i], p, c, user);
    }
    check_doubles(c, ret);
    read_members(c, ret);
    check_unknown_users(site, p, c);
}
