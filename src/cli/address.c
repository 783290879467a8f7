/* address - the environment says where the server is; what would leak a token is refused. */
#include "cli/address.h"

#include "base/check.h"
#include "base/defaults.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_ROOM       512
#define SOCKET_BYTES_MAX 107 /* sun_path of Linux, less the NUL */

static bool is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Our own daemon's socket; where there is none, that of the system's daemon if it runs. */
static char *usual_socket(void)
{
    char *own = defaults_socket(geteuid());

    if (!is_socket(own) && is_socket(DEFAULTS_SYSTEM_SOCKET)) {
        mem_free(own);
        own = mem_text(DEFAULTS_SYSTEM_SOCKET);
    }
    return own;
}

static int read_token(const char *path, char **ret, struct err *err)
{
    char text[TOKEN_ROOM];
    struct stat st;
    ssize_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        return err_set(err, ERR_TOKEN, "cannot read the token file %s: %s", path, strerror(errno));
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & 077) != 0) {
        close(fd);
        return err_set(
            err, ERR_TOKEN,
            "the token file %s may be read by others: make it yours alone with chmod 600", path);
    }
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' ')) {
        len--;
    }
    if (len <= 0 || len >= (ssize_t)sizeof(text) - 1) {
        return err_set(err, ERR_TOKEN, "the token file %s holds no token", path);
    }
    *ret = mem_text_n(text, (size_t)len);
    return 0;
}

/* A token may not carry bytes that would end the header. */
static int take_token(struct address *a, const char *token, struct err *err)
{
    struct str line = {0};

    for (const char *at = token; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~') {
            return err_set(err, ERR_TOKEN, "the token holds a byte that no token has");
        }
    }
    str_addf(&line, "Authorization: Bearer %s", token);
    a->bearer = str_take(&line);
    return 0;
}

static int find_token(struct address *a, const char *file, struct err *err)
{
    const char *token = getenv("MUSTER_TOKEN");
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    CLEANUP(mem_freep) char *text = NULL;
    struct str path = {0};
    CLEANUP(mem_freep) char *usual = NULL;
    int rc;

    if (file == NULL && token != NULL && token[0] != '\0') {
        return take_token(a, token, err);
    }
    if (file == NULL && a->socket != NULL) {
        return 0; /* the local socket knows who asks */
    }
    if (file == NULL) {
        if (config != NULL && config[0] == '/') {
            str_addf(&path, "%s/muster/token", config);
        } else {
            str_addf(&path, "%s/.config/muster/token", home != NULL ? home : "");
        }
        usual = str_take(&path);
        file = usual;
        if (access(file, F_OK) != 0) {
            return 0; /* the server says what it asks for */
        }
    }
    rc = read_token(file, &text, err);
    return rc != 0 ? rc : take_token(a, text, err);
}

static bool is_loopback(const char *host, size_t len)
{
    static const char *const NAMES[] = {"127.0.0.1", "localhost", "[::1]"};

    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        if (len == strlen(NAMES[i]) && strncmp(host, NAMES[i], len) == 0) {
            return true;
        }
    }
    return false;
}

static int take_server(struct address *a, const char *server, struct err *err)
{
    bool secure = strncmp(server, "https://", 8) == 0;
    const char *host = server + (secure ? 8 : 7);
    size_t len = strlen(server);
    size_t host_len;

    if ((!secure && strncmp(server, "http://", 7) != 0) || host[0] == '\0' ||
        strpbrk(host, " @?#\\") != NULL) {
        return err_set(err, ERR_INVALID,
                       "MUSTER_SERVER is '%s': http://127.0.0.1:PORT or https://HOST is wanted",
                       server);
    }
    host_len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    a->loopback = is_loopback(host, host_len);
    if (!secure && !a->loopback) {
        return err_set(err, ERR_INVALID,
                       "MUSTER_SERVER is '%s': plain http would show the token to the network; "
                       "use https",
                       server);
    }
    while (len > 0 && server[len - 1] == '/') {
        len--;
    }
    a->base = mem_text_n(server, len);
    a->words = mem_text_n(server, len);
    return 0;
}

static int find_address(struct address *a, const char *socket, struct err *err)
{
    const char *server = getenv("MUSTER_SERVER");
    const char *path = socket != NULL ? socket : getenv("MUSTER_SOCKET");

    if (socket == NULL && server != NULL && server[0] != '\0') {
        return take_server(a, server, err);
    }
    a->socket = path != NULL && path[0] != '\0' ? mem_text(path) : usual_socket();
    if (strlen(a->socket) > SOCKET_BYTES_MAX) {
        return err_set(err, ERR_INVALID, "the socket's path is longer than %d bytes: %s",
                       SOCKET_BYTES_MAX, a->socket);
    }
    a->base = mem_text("http://muster");
    a->words = mem_text(a->socket);
    a->loopback = true;
    return 0;
}

int address_find(struct address *a, const char *socket, const char *token_file, struct err *err)
{
    int rc = find_address(a, socket, err);

    return rc != 0 ? rc : find_token(a, token_file, err);
}

void address_fini(struct address *a)
{
    mem_free(a->base);
    mem_free(a->socket);
    mem_free(a->bearer);
    mem_free(a->words);
    *a = (struct address){0};
}
