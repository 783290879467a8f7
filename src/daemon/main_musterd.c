/* musterd - the daemon: its command line. */
#include "base/argline.h"
#include "base/check.h"
#include "config/config.h"
#include "daemon/crashmark.h"
#include "daemon/daemon.h"
#include "daemon/note.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CONFIG_USUAL "/etc/muster/muster.yaml"
#define DESCRIPTORS  4096

enum {
    KEY_STATE = 256,
    KEY_SOCKET,
    KEY_LISTEN,
    KEY_SIMULATE,
    KEY_VIRTUAL,
    KEY_CHECK,
    KEY_SHEPHERD,
    KEY_THAW,
    KEY_SETTINGS
};

struct arguments {
    struct daemon_options options;
    const char *check; /* only look at this file */
    bool settings;
};

static const struct argp_option OPTIONS[] = {
    {"config", 'c', "FILE", 0, "Configuration (" CONFIG_USUAL ")", 0},
    {"state", KEY_STATE, "DIR", 0, "Directory of the journal and all other state", 0},
    {"socket", KEY_SOCKET, "PATH", 0, "Unix socket for local callers", 0},
    {"listen", KEY_LISTEN, "ADDRESS:PORT", 0, "Plain HTTP on a loopback address", 0},
    {"simulate", KEY_SIMULATE, NULL, 0, "Allow nodes with simulated GPUs", 0},
    {"virtual", KEY_VIRTUAL, NULL, 0, "Play the nodes: start no process, only pretend", 0},
    {"check", KEY_CHECK, "FILE", 0, "Only check a configuration, and say all that is wrong", 0},
    {"foreground", 'f', NULL, 0, "Stay in the foreground (always so; for unit files)", 0},
    {"shepherd", KEY_SHEPHERD, "PATH", 0, "Program that supervises tasks", 0},
    {"thaw", KEY_THAW, NULL, 0, "Plan again after crashes that froze musterd", 0},
    {"settings", KEY_SETTINGS, NULL, OPTION_HIDDEN, "Print all settings as roff", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 'c':
        a->options.config = arg;
        return 0;
    case KEY_STATE:
        a->options.state = arg;
        return 0;
    case KEY_SOCKET:
        a->options.socket = arg;
        return 0;
    case KEY_LISTEN:
        a->options.listen = arg;
        return 0;
    case KEY_SIMULATE:
        a->options.simulate = true;
        return 0;
    case KEY_VIRTUAL:
        a->options.simulate = a->options.play = true;
        return 0;
    case KEY_CHECK:
        a->check = arg;
        return 0;
    case KEY_SHEPHERD:
        a->options.shepherd = arg;
        return 0;
    case KEY_THAW:
        a->options.thaw = true;
        return 0;
    case KEY_SETTINGS:
        a->settings = true;
        return 0;
    case 'f':
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "there are no arguments but options: \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "musterd %s\n", MUSTER_VERSION);
}

static int check_file(const char *path)
{
    struct arena *arena = arena_make();
    struct complaints c;
    struct config config;
    struct err err;
    int rc;

    complaints_init(&c, arena, path);
    rc = config_load(path, &c, &config, NULL, &err);
    if (rc == 0) {
        printf("%s: good: %zu pools, %zu queues, %zu nodes, %zu users\n", path,
               config.policy.pool_count, config.policy.queue_count, config.policy.node_count,
               config.policy.user_count);
    } else if (c.count == 0) {
        fprintf(stderr, "musterd: %s: %s\n", err_name(rc), err.text);
    }
    for (size_t i = 0; i < c.count; i++) {
        fprintf(stderr, "%s [%s]\n", c.items[i].text, err_name((int)c.items[i].code));
    }
    if (c.total > c.count) {
        fprintf(stderr, "%s: and %zu more\n", path, c.total - c.count);
    }
    arena_free(arena);
    return rc == 0 ? 0 : err_exit(rc);
}

static int print_settings(void)
{
    CLEANUP(str_fini) struct str text = {0};

    config_manual(&text);
    fputs(str_text(&text), stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int run(const struct daemon_options *options)
{
    struct daemon *d = NULL;
    struct err err;
    int rc = daemon_open(options, &d, &err);

    if (rc == 0) {
        rc = daemon_run(d, &err);
        daemon_close(d);
    }
    if (rc != 0) {
        fprintf(stderr, "musterd: %s: %s\n", err_name(rc), err.text);
        return err_exit(rc);
    }
    return 0;
}

/* glibc tidies all small free blocks up at each request for a kibibyte or more, and each call of
 * the API makes some: a sixth of the loop's time.  And what was grown to is kept: it is needed
 * again. */
static void tune_malloc(void)
{
    mallopt(M_MXFAST, 0);
    mallopt(M_TOP_PAD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

/* A descriptor for each connection that the server takes, and as many again for files and tasks. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    rlim_t want = DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want) {
        return;
    }
    if (want > limit.rlim_max) {
        note(NOTE_WARN,
             "only %llu descriptors may be open (limit -n): with more connections than "
             "that clients wait, %d are enough",
             (unsigned long long)limit.rlim_max, DESCRIPTORS);
        want = limit.rlim_max;
    }
    limit.rlim_cur = want;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        note(NOTE_WARN, "the limit of descriptors cannot be raised: %s", strerror(errno));
    }
}

int main(int argc, char **argv)
{
    static const struct argp ARGP = {OPTIONS, parse,
                                     NULL,    "musterd - the scheduler of a private GPU cluster",
                                     NULL,    NULL,
                                     NULL};
    struct arguments a = {.options = {.config = CONFIG_USUAL}};

    tune_malloc();
    setlocale(LC_ALL, "C.UTF-8");
    argp_program_version_hook = print_version;
    argline_parse(&ARGP, argc, argv, 0, &a);
    if (a.settings) {
        return print_settings();
    }
    if (a.check != NULL) {
        return check_file(a.check);
    }
    raise_descriptors();
    return run(&a.options);
}
