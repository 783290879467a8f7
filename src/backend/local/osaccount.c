/* getpwnam may ask a network directory and wait for it; nscd or sssd on the machine make that
 * short. The answer is not kept: a removed account must not get another task. */
#include "backend/local/osaccount.h"

#include "base/mem.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOKUP_ROOM 65536

static void fill(struct osaccount *a, const struct passwd *pw)
{
    int count = OSACCOUNT_GROUPS_MAX;

    snprintf(a->name, sizeof(a->name), "%s", pw->pw_name);
    snprintf(a->home, sizeof(a->home), "%s", pw->pw_dir);
    snprintf(a->shell, sizeof(a->shell), "%s", pw->pw_shell);
    a->uid = pw->pw_uid;
    a->gid = pw->pw_gid;
    if (getgrouplist(pw->pw_name, pw->pw_gid, a->groups, &count) < 0) {
        count = OSACCOUNT_GROUPS_MAX; /* it is in more: the first ones must do */
    }
    a->group_count = (size_t)count;
}

int osaccount_find(const char *name, struct osaccount *ret, struct err *err)
{
    CLEANUP(mem_freep) char *room = mem_new(LOOKUP_ROOM, 1);
    bool own = name == NULL || name[0] == '\0';
    struct osaccount a = {0};
    struct passwd pw;
    struct passwd *found = NULL;

    if (own) {
        (void)getpwuid_r(geteuid(), &pw, room, LOOKUP_ROOM, &found);
    } else {
        (void)getpwnam_r(name, &pw, room, LOOKUP_ROOM, &found);
    }
    if (found == NULL && !own) {
        return err_set(err, ERR_JOB_ACCOUNT, "this machine has no account %s", name);
    }
    if (found != NULL) {
        fill(&a, found);
    } else { /* a uid without a name, as in containers */
        a.uid = geteuid();
        a.gid = getegid();
        snprintf(a.name, sizeof(a.name), "%u", (unsigned)a.uid);
        snprintf(a.home, sizeof(a.home), "/");
    }
    if (a.uid != geteuid() && geteuid() != 0) {
        return err_set(err, ERR_JOB_ACCOUNT,
                       "musterd runs as uid %u, not as root: it cannot run a job of account %s",
                       (unsigned)geteuid(), name);
    }
    a.change = a.uid != geteuid();
    *ret = a;
    return 0;
}
