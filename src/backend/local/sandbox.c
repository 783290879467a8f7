/* bwrap stays as two processes in the task's process group (one outside, one as the first process
 * inside), and a signal to the group reaches them as well as the task.  So they are started with
 * signals ignored (shepherd_child.c), and `env --default-signal` gives the task its own back.
 *
 * Rejected: bwrap's --new-session, as a signal to the group would not reach the task; and
 * --die-with-parent, as a task then dies with its supervisor, which musterd must be able to find
 * out in its own way (local_task.c).
 */
#include "backend/local/sandbox.h"

#include "backend/local/safedir.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFORMATION_MAX 8192

static const char *const PRIVATE_DIRS[] = {"/tmp", "/var/tmp"};
static const char *const CONTROL_DEVICES[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                              "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
                                              "/dev/nvidia-caps"};

void sandbox_texts_fini(sandbox_texts *t)
{
    for (size_t i = 0; i < t->count; i++) {
        mem_free(t->items[i]);
    }
    vec_fini(t);
}

/* ---- devices ---- */

/* "Device Minor: \t 3" of the driver's text about the card with this UUID, -1 = another card. */
static int minor_of(const char *text, const char *uuid)
{
    const char *id = strstr(text, "GPU UUID:");
    const char *minor = strstr(text, "Device Minor:");

    if (id == NULL || minor == NULL) {
        return -1;
    }
    id += strlen("GPU UUID:");
    id += strspn(id, " \t");
    if (strncmp(id, uuid, strlen(uuid)) != 0) {
        return -1;
    }
    return (int)strtol(minor + strlen("Device Minor:"), NULL, 10);
}

/* The cards of the driver that are wanted; uuid NULL = all. */
static void add_cards(const char *cards, const char *uuid, sandbox_texts *ret)
{
    DIR *dir = opendir(cards);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        CLEANUP(mem_freep) char *text = NULL;
        CLEANUP(str_fini) struct str path = {0};
        int minor;

        str_addf(&path, "%s/%s/information", cards, entry->d_name);
        if (entry->d_name[0] == '.' ||
            safedir_read(AT_FDCWD, path.text, INFORMATION_MAX, &text, NULL) != 0) {
            continue;
        }
        minor = minor_of(text, uuid != NULL ? uuid : "");
        if (minor >= 0) {
            str_clear(&path);
            str_addf(&path, "/dev/nvidia%d", minor);
            vec_push(ret, mem_text(path.text));
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

void sandbox_devices(const struct fact_grant *task, const struct backend_node *node,
                     const char *cards, sandbox_texts *ret)
{
    bool real = false;
    bool mig = false;

    for (size_t i = 0; node != NULL && !node->simulated && i < task->device_count; i++) {
        int64_t slot = task->devices[i].slot;
        const char *uuid = slot >= 0 && (size_t)slot < node->uuid_count ? node->uuids[slot] : "";

        real = true;
        if (strncmp(uuid, "MIG-", 4) == 0) {
            mig = true;
        } else {
            add_cards(cards, uuid, ret);
        }
    }
    if (mig) {
        add_cards(cards, NULL, ret);
    }
    for (size_t i = 0; real && i < ARRAY_LEN(CONTROL_DEVICES); i++) {
        vec_push(ret, mem_text(CONTROL_DEVICES[i]));
    }
}

/* ---- the command line ---- */

static void add(sandbox_texts *args, const char *text)
{
    vec_push(args, mem_text(text));
}

/* The same path inside as outside. */
static void add_path(sandbox_texts *args, const char *how, const char *path)
{
    if (path != NULL && path[0] == '/') {
        add(args, how);
        add(args, path);
        add(args, path);
    }
}

/* Its directory, as the socket itself is another one after a restart of musterd. */
static void add_socket(sandbox_texts *args, const char *socket)
{
    CLEANUP(mem_freep) char *dir = mem_text(socket);
    char *slash = strrchr(dir, '/');

    if (slash != NULL && slash != dir) {
        *slash = '\0';
        add_path(args, "--ro-bind-try", dir);
    }
}

static bool is_writable(const char *dir)
{
    bool ok = strcmp(dir, "/") != 0;

    for (size_t i = 0; i < ARRAY_LEN(PRIVATE_DIRS); i++) {
        ok = ok && strcmp(dir, PRIVATE_DIRS[i]) != 0;
    }
    return ok;
}

char **sandbox_wrap(const struct sandbox_ask *ask, char **argv, int64_t *ret_fence)
{
    static const char *const HOUSE[] = {"--unshare-user",
                                        "--unshare-pid",
                                        "--unshare-ipc",
                                        "--cap-drop",
                                        "ALL",
                                        "--ro-bind",
                                        "/",
                                        "/",
                                        "--dev",
                                        "/dev",
                                        "--proc",
                                        "/proc"};
    sandbox_texts args = {0};

    add(&args, ask->program);
    for (size_t i = 0; i < ARRAY_LEN(HOUSE); i++) {
        add(&args, HOUSE[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(PRIVATE_DIRS); i++) {
        add(&args, "--tmpfs");
        add(&args, PRIVATE_DIRS[i]);
    }
    /* what may lie in another comes after it, as a later one hides what it covers */
    add_socket(&args, ask->socket);
    if (is_writable(ask->dir)) {
        add_path(&args, "--bind-try", ask->dir);
    }
    for (size_t i = 0; i < ARRAY_LEN(ask->read); i++) {
        add_path(&args, "--ro-bind-try", ask->read[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(ask->write); i++) {
        add_path(&args, "--bind-try", ask->write[i]);
    }
    for (size_t i = 0; i < ask->device_count; i++) {
        add_path(&args, "--dev-bind-try", ask->devices[i]);
    }
    add(&args, "--chdir");
    add(&args, ask->dir);
    add(&args, "--");
    *ret_fence = (int64_t)args.count;
    add(&args, "/usr/bin/env");
    add(&args, "--default-signal");
    for (char **arg = argv; *arg != NULL; arg++) {
        vec_push(&args, *arg);
    }
    mem_free(argv);
    vec_push(&args, NULL);
    return args.items;
}
