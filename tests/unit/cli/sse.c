/* The event stream in pieces of every size. */
#include "cli/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct str seen;

static void on_event(void *arg, const char *id, const char *event, const char *data)
{
    (void)arg;
    str_addf(&seen, "[%s|%s|%s]", id, event, data);
}

static const char *feed(const char *text, size_t split)
{
    struct sse s;
    size_t len = strlen(text);

    str_clear(&seen);
    sse_init(&s, on_event, NULL);
    sse_feed(&s, text, split);
    sse_feed(&s, text + split, len - split);
    sse_fini(&s);
    return str_text(&seen);
}

static int end(void **state)
{
    (void)state;
    str_fini(&seen);
    return 0;
}

static void every_split_gives_the_same_events(void **state)
{
    static const char STREAM[] = ": heartbeat\n\nid: 7\nevent: job_started\ndata: {\"a\":1}\n\n"
                                 "id:8\r\nevent:x\r\ndata: one\r\ndata:two\r\n\r\n"
                                 "retry: 5\rdata:  y\r\rid: 9\n\n: end\n\ndata\n\n";
    static const char WANT[] = "[7|job_started|{\"a\":1}][8|x|one\ntwo][8|message| y][9|message|]";

    (void)state;
    for (size_t i = 0; i <= strlen(STREAM); i++) {
        assert_string_equal(feed(STREAM, i), WANT);
    }
}

static void one_byte_at_a_time(void **state)
{
    static const char STREAM[] = "\xef\xbb\xbfid: 1\r\ndata: a\r\n\r\n";
    struct sse s;

    (void)state;
    str_clear(&seen);
    sse_init(&s, on_event, NULL);
    for (size_t i = 0; i < strlen(STREAM); i++) {
        sse_feed(&s, STREAM + i, 1);
    }
    assert_string_equal(str_text(&seen), "[1|message|a]");
    sse_fini(&s);
}

static void a_broken_event_is_forgotten_and_its_id_too(void **state)
{
    static const char FIRST[] = "id: 5\ndata: a\n\nid: 6\nevent: x\ndata: hal";
    static const char SECOND[] = "data: b\n\n";
    struct sse s;

    (void)state;
    str_clear(&seen);
    sse_init(&s, on_event, NULL);
    sse_feed(&s, FIRST, strlen(FIRST));
    sse_reset(&s);
    assert_string_equal(str_text(&s.last_id), "5");
    sse_feed(&s, SECOND, strlen(SECOND));
    assert_string_equal(str_text(&seen), "[5|message|a][5|message|b]");
    sse_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_split_gives_the_same_events, end),
        cmocka_unit_test_teardown(one_byte_at_a_time, end),
        cmocka_unit_test_teardown(a_broken_event_is_forgotten_and_its_id_too, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
