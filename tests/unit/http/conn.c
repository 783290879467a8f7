/* Limits of one peer and of all, and how a connection ends. */
#include "http/conn.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct conn local(uint32_t uid)
{
    return (struct conn){.peer = {true, uid}};
}

static struct conn remote(const char *address)
{
    struct conn c = {.peer = {false, UINT32_MAX}};
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, address, &in.sin_addr) == 1) {
        memcpy(&c.address, &in, sizeof(in));
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
        memcpy(&c.address, &in6, sizeof(in6));
    }
    return c;
}

static void a_peer_has_its_share(void **state)
{
    struct conn_list l = {.count_max = 8, .peer_max = 2};
    struct conn held[] = {
        local(1), local(1), local(2), remote("127.0.0.1"), remote("127.0.0.1"), remote("::1")};
    struct conn more[] = {local(1),      remote("127.0.0.1"), local(2),
                          remote("::1"), remote("127.0.0.2"), remote("::2")};
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        assert_int_equal(conn_list_room(&l, &held[i], &err), 0);
        conn_list_add(&l, &held[i]);
    }
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        assert_int_equal(conn_list_room(&l, &more[i], &err), i < 2 ? ERR_BUSY : 0);
    }
    conn_list_remove(&l, &held[0]);
    assert_int_equal(conn_list_room(&l, &more[0], &err), 0);
}

static void all_have_one_limit(void **state)
{
    struct conn_list l = {.count_max = 3, .peer_max = 3};
    struct conn c[] = {local(1), local(2), local(3), local(4)};
    struct err err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        conn_list_add(&l, &c[i]);
    }
    assert_int_equal(conn_list_room(&l, &c[3], &err), ERR_BUSY);
    conn_list_remove(&l, &c[1]); /* in the middle */
    conn_list_remove(&l, &c[2]); /* the first */
    conn_list_remove(&l, &c[0]); /* the last */
    assert_null(l.first);
    assert_int_equal(l.count, 0);
}

static void the_kernel_names_a_local_peer(void **state)
{
    struct sockaddr_storage none = {0};
    struct conn c = {0};
    struct err err;
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(conn_identify(&c, pair[0], true, &none, &err), 0);
    assert_int_equal(c.peer.uid, getuid());
    assert_int_equal(conn_identify(&c, pair[0], false, &none, &err), 0);
    assert_int_equal(c.peer.uid, UINT32_MAX);
    close(pair[0]);
    assert_int_equal(conn_identify(&c, pair[0], true, &none, &err), ERR_IO);
    close(pair[1]);
}

static void a_cut_connection_is_told_why(void **state)
{
    struct problem p = {.status = 408, .request_id = "-"};
    char got[1024] = "";
    size_t len = 0;
    ssize_t count;
    int pair[2];

    (void)state;
    err_set(&p.err, ERR_TIMEOUT, "too slow");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    conn_cut_with(pair[0], &p);
    while ((count = recv(pair[1], got + len, sizeof(got) - 1 - len, 0)) > 0) {
        len += (size_t)count;
    }
    assert_int_equal(count, 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"));
    assert_non_null(strstr(got, "\"detail\":\"too slow\""));
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_has_its_share),
        cmocka_unit_test(all_have_one_limit),
        cmocka_unit_test(the_kernel_names_a_local_peer),
        cmocka_unit_test(a_cut_connection_is_told_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
