#include "daemon/submitspec.h"

#include "base/mem.h"
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static char *read_text(struct bodyread *r, struct arena *arena, const char *text)
{
    const struct jsonin *body = NULL;
    struct str spec = {0};

    assert_int_equal(request_body(text, strlen(text), arena, &body, NULL), 0);
    bodyread_init(r, arena);
    submitspec_read(r, body, "alice", &spec);
    return str_take(&spec);
}

static void a_command_comes_back(void **state)
{
    struct arena *arena = arena_make();
    struct backend_spec out;
    struct bodyread r;
    struct err err;
    char *text = read_text(&r, arena,
                           "{\"command\": [\"echo\", \"a b\"], \"env\": {\"X\": "
                           "\"1=2\"}, \"dir\": \"/w\", \"output\": \"o-%j\"}");

    (void)state;
    assert_int_equal(r.rc, 0);
    assert_int_equal(submitspec_parse(text, strlen(text), arena, &out, &err), 0);
    assert_int_equal(out.arg_count, 2);
    assert_string_equal(out.argv[1], "a b");
    assert_string_equal(out.env[0], "X=1=2");
    assert_string_equal(out.dir, "/w");
    assert_string_equal(out.output, "o-%j");
    assert_string_equal(out.account, "alice");
    assert_string_equal(out.script, "");
    mem_free(text);
    arena_free(arena);
}

static void a_script_has_arguments(void **state)
{
    struct arena *arena = arena_make();
    struct backend_spec out;
    struct bodyread r;
    char *text = read_text(&r, arena, "{\"script\": \"#!/bin/sh\\n:\", \"args\": [\"x\"]}");

    (void)state;
    assert_int_equal(r.rc, 0);
    assert_int_equal(submitspec_parse(text, strlen(text), arena, &out, NULL), 0);
    assert_string_equal(out.script, "#!/bin/sh\n:");
    assert_string_equal(out.argv[0], "x");
    mem_free(text);
    arena_free(arena);
}

static void refused(const char *text, const char *field)
{
    struct arena *arena = arena_make();
    struct bodyread r;

    mem_free(read_text(&r, arena, text));
    assert_int_not_equal(r.rc, 0);
    assert_string_equal(r.field, field);
    arena_free(arena);
}

static void what_makes_no_process_is_refused(void **state)
{
    (void)state;
    refused("{}", "command");
    refused("{\"command\": []}", "command");
    refused("{\"command\": [\"\"]}", "command[0]");
    refused("{\"command\": [\"x\"], \"script\": \"y\"}", "command");
    refused("{\"command\": [\"x\"], \"args\": [\"y\"]}", "args");
    refused("{\"command\": [\"x\"], \"dir\": \"relative\"}", "dir");
    refused("{\"command\": [\"x\"], \"env\": {\"1X\": \"\"}}", "env.1X");
    refused("{\"command\": [\"x\"], \"env\": {\"MUSTER_JOB\": \"\"}}", "env.MUSTER_JOB");
    refused("{\"command\": [\"x\"], \"env\": {\"A\": 1}}", "env.A");
}

static void a_damaged_spec_is_told(void **state)
{
    struct arena *arena = arena_make();
    struct backend_spec out;
    struct err err;

    (void)state;
    assert_int_equal(submitspec_parse("[]", 2, arena, &out, &err), ERR_INTERNAL);
    assert_int_equal(submitspec_parse("{", 1, arena, &out, &err), ERR_INTERNAL);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_comes_back),
        cmocka_unit_test(a_script_has_arguments),
        cmocka_unit_test(what_makes_no_process_is_refused),
        cmocka_unit_test(a_damaged_spec_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
