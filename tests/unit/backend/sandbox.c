#include "backend/local/sandbox.h"

#include "backend/local/safedir.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the command line ---- */

static char **an_argv(void)
{
    char **argv = mem_new(3, sizeof(*argv));

    argv[0] = mem_text("train");
    argv[1] = mem_text("--fast");
    return argv;
}

static struct sandbox_ask an_ask(void)
{
    return (struct sandbox_ask){.program = "/usr/bin/bwrap",
                                .dir = "/home/ann/work",
                                .socket = "/run/muster/muster.sock",
                                .read = {"/state/job", NULL},
                                .write = {"/state/task", "/state/checkpoints"}};
}

/* The whole as one line. */
static char *line_of(const struct sandbox_ask *ask, int64_t *ret_fence)
{
    char **argv = sandbox_wrap(ask, an_argv(), ret_fence);
    struct str s = {0};

    for (char **arg = argv; *arg != NULL; arg++) {
        str_add(&s, *arg);
        str_add_char(&s, ' ');
        mem_free(*arg);
    }
    mem_free(argv);
    return str_take(&s);
}

static void the_command_comes_last_with_its_own_signals(void **state)
{
    const struct sandbox_ask ask = an_ask();
    int64_t fence = 0;
    CLEANUP(mem_freep) char *line = line_of(&ask, &fence);
    const char *end = strstr(line, " -- ");
    int64_t words = 1;

    (void)state;
    assert_non_null(end);
    assert_string_equal(end, " -- /usr/bin/env --default-signal train --fast ");
    for (const char *at = line; at < end; at++) {
        words += *at == ' ';
    }
    assert_int_equal(fence, words + 1);
}

static void a_later_path_is_not_hidden_by_an_earlier_one(void **state)
{
    const struct sandbox_ask ask = an_ask();
    int64_t fence;
    CLEANUP(mem_freep) char *line = line_of(&ask, &fence);
    const char *const order[] = {"--ro-bind / / ",
                                 "--tmpfs /tmp ",
                                 "--ro-bind-try /run/muster /run/muster ",
                                 "--bind-try /home/ann/work /home/ann/work ",
                                 "--ro-bind-try /state/job /state/job ",
                                 "--bind-try /state/task /state/task ",
                                 "--bind-try /state/checkpoints /state/checkpoints ",
                                 "--chdir /home/ann/work "};
    const char *at = line;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        at = strstr(at, order[i]);
        if (at == NULL) {
            fail_msg("'%s' is not in its place in '%s'", order[i], line);
        }
    }
}

static void the_root_and_private_places_are_not_opened(void **state)
{
    static const char *const DIRS[] = {"/", "/tmp", "/var/tmp"};
    struct sandbox_ask ask = an_ask();
    int64_t fence;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
        CLEANUP(mem_freep) char *line = NULL;
        char opened[64];

        ask.dir = DIRS[i];
        line = line_of(&ask, &fence);
        snprintf(opened, sizeof(opened), "--bind-try %s %s ", DIRS[i], DIRS[i]);
        assert_null(strstr(line, opened));
    }
}

/* ---- devices ---- */

struct cards {
    char dir[64];
    const char *uuids[3];
    struct backend_node node;
    struct fact_grant_device held[3];
    struct fact_grant grant;
};

static void put_card(const struct cards *c, const char *name, const char *uuid, int minor)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", c->dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/information", c->dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f, "Model: \t\t NVIDIA H100\nGPU UUID: \t %s\nDevice Minor: \t %d\n", uuid, minor);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    struct cards *c = mem_new(1, sizeof(*c));

    snprintf(c->dir, sizeof(c->dir), "/tmp/muster-cards-XXXXXX");
    if (mkdtemp(c->dir) == NULL) {
        return -1;
    }
    put_card(c, "0000:18:00.0", "GPU-aaaa", 3);
    put_card(c, "0000:2a:00.0", "GPU-bbbb", 1);
    c->uuids[0] = "GPU-aaaa";
    c->uuids[1] = "GPU-bbbb";
    c->uuids[2] = "MIG-cccc";
    c->node = (struct backend_node){.id = 1, .name = "n1", .uuids = c->uuids, .uuid_count = 3};
    c->grant = (struct fact_grant){.devices = c->held, .device_count = 1};
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    struct cards *c = *state;
    int rc = safedir_remove(AT_FDCWD, c->dir, NULL);

    mem_free(c);
    return rc;
}

static bool has(const sandbox_texts *t, const char *path)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->items[i], path) == 0) {
            return true;
        }
    }
    return false;
}

static void only_the_cards_that_are_held_are_there(void **state)
{
    struct cards *c = *state;
    CLEANUP(sandbox_texts_fini) sandbox_texts found = {0};

    sandbox_devices(&c->grant, &c->node, c->dir, &found);
    assert_true(has(&found, "/dev/nvidia3"));
    assert_false(has(&found, "/dev/nvidia1"));
    assert_true(has(&found, "/dev/nvidiactl"));
}

static void slices_open_all_cards(void **state)
{
    struct cards *c = *state;
    CLEANUP(sandbox_texts_fini) sandbox_texts found = {0};

    c->held[0].slot = 2;
    sandbox_devices(&c->grant, &c->node, c->dir, &found);
    assert_true(has(&found, "/dev/nvidia3") && has(&found, "/dev/nvidia1"));
}

static void who_holds_none_sees_none(void **state)
{
    struct cards *c = *state;
    CLEANUP(sandbox_texts_fini) sandbox_texts found = {0};

    c->grant.device_count = 0;
    sandbox_devices(&c->grant, &c->node, c->dir, &found);
    c->grant.device_count = 1;
    c->node.simulated = true;
    sandbox_devices(&c->grant, &c->node, c->dir, &found);
    assert_int_equal(found.count, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_comes_last_with_its_own_signals),
        cmocka_unit_test(a_later_path_is_not_hidden_by_an_earlier_one),
        cmocka_unit_test(the_root_and_private_places_are_not_opened),
        T(only_the_cards_that_are_held_are_there),
        T(slices_open_all_cards),
        T(who_holds_none_sees_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
