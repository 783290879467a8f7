/* trainer - one connection a rank, messages of fixed size, everything with a deadline.
 *
 *     rank r: "I am rank r of job J, attempt a" -> rank 0
 *     rank 0: step s -> all;  rank r: s × (r + 1) -> rank 0;  …  rank 0: step STOP -> all
 *
 * A rank whose leader is gone ends with status 1: half a gang does not train. */
#include "demo/trainer.h"

#include "base/mem.h"
#include "base/str.h"
#include "demo/stepledger.h"
#include "demo/trainsave.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STOP         ((int64_t)-1)
#define PEER_SECONDS 120 /* a rank that says nothing for so long is gone */
#define LIFE_SECONDS 900 /* a trainer that nobody stops ends by itself */
#define RANKS_MAX    1024
#define RETRY_NS     20000000L

struct hello {
    uint64_t place; /* of which musterd: another one of this host may have chosen the same port */
    int64_t job;
    int64_t attempt;
    int64_t rank;
};

struct trainer {
    const struct trainer_want *want;
    struct hello self;
    int64_t ranks;
    struct sockaddr_in leader;
    const char *save_dir;
    int peers[RANKS_MAX]; /* of rank 0, by rank */
    struct trainsave state;
    int64_t resumed_at; /* step of the checkpoint it went on from, 0 = from the beginning */
    int64_t saved_at;
    int64_t saves;
    int64_t target; /* the step that completes it, 0 = not in this attempt */
};

static volatile sig_atomic_t told_to_stop;

static void on_signal(int number)
{
    (void)number;
    told_to_stop = 1;
}

/* The signal is let in only while rank 0 waits for the next step, so that none ends half-way. */
static void set_signals(bool ignored)
{
    struct sigaction action = {.sa_handler = ignored ? SIG_IGN : on_signal};
    sigset_t blocked;

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void wait_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    sigset_t open;

    sigemptyset(&open);
    ppoll(NULL, 0, &time, &open);
}

static int64_t env_int(const char *name, bool *good)
{
    const char *text = getenv(name);
    int64_t value = 0;

    *good = *good && text != NULL && str_to_int(text, &value);
    return value;
}

/* FNV-1a of the path, which is unique on the host. */
static uint64_t place_of(const char *dir)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; dir != NULL && *dir != '\0'; dir++) {
        hash = (hash ^ (unsigned char)*dir) * UINT64_C(1099511628211);
    }
    return hash;
}

static bool read_environment(struct trainer *t)
{
    const char *address = getenv("MASTER_ADDR");
    bool good = true;

    t->self.job = env_int("MUSTER_JOB", &good);
    t->self.attempt = env_int("MUSTER_ATTEMPT", &good);
    t->self.rank = env_int("RANK", &good);
    t->ranks = env_int("WORLD_SIZE", &good);
    t->leader.sin_family = AF_INET;
    t->leader.sin_port = htons((uint16_t)env_int("MASTER_PORT", &good));
    t->save_dir = getenv("MUSTER_CHECKPOINT_DIR");
    t->self.place = place_of(t->save_dir);
    return good && t->save_dir != NULL && address != NULL && t->ranks <= RANKS_MAX &&
           inet_pton(AF_INET, address, &t->leader.sin_addr) == 1;
}

static void set_deadline(int fd)
{
    struct timeval time = {.tv_sec = PEER_SECONDS};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static bool get(int fd, void *ret, size_t len)
{
    return recv(fd, ret, len, MSG_WAITALL) == (ssize_t)len;
}

static bool put(int fd, const void *data, size_t len)
{
    return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* ---- the other ranks ---- */

static int join(const struct trainer *t)
{
    time_t until = time(NULL) + PEER_SECONDS;
    const struct timespec pause = {.tv_nsec = RETRY_NS};

    do {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (connect(fd, (const struct sockaddr *)&t->leader, sizeof(t->leader)) == 0) {
            set_deadline(fd);
            return fd;
        }
        close(fd);
        nanosleep(&pause, NULL); /* rank 0 does not listen yet */
    } while (time(NULL) < until);
    return -1;
}

/* The first step comes only from our own leader: a stranger who has the port hangs up. */
static int first_step(const struct trainer *t, int64_t *ret_step)
{
    time_t until = time(NULL) + PEER_SECONDS;
    const struct timespec pause = {.tv_nsec = RETRY_NS};

    do {
        int fd = join(t);

        if (fd >= 0 && put(fd, &t->self, sizeof(t->self)) && get(fd, ret_step, sizeof(*ret_step))) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
        nanosleep(&pause, NULL);
    } while (time(NULL) < until);
    return -1;
}

static int follow_leader(const struct trainer *t)
{
    int64_t step = 0;
    int fd = first_step(t, &step);
    bool good = fd >= 0;

    while (good && step != STOP) {
        int64_t part = step * (t->self.rank + 1);

        good = put(fd, &part, sizeof(part)) && get(fd, &step, sizeof(step));
    }
    if (!good) {
        fprintf(stderr, "trainer: rank %" PRId64 ": the leader is gone\n", t->self.rank);
    }
    return good ? 0 : 1;
}

/* ---- rank 0 ---- */

/* Somebody else may hold the port for a moment: until his ranks have come. */
static int listen_for_ranks(const struct trainer *t)
{
    time_t until = time(NULL) + PEER_SECONDS;
    const struct timespec pause = {.tv_nsec = RETRY_NS};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    while (bind(fd, (const struct sockaddr *)&t->leader, sizeof(t->leader)) != 0 ||
           listen(fd, RANKS_MAX) != 0) {
        if (errno != EADDRINUSE || time(NULL) >= until) {
            close(fd);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    set_deadline(fd);
    return fd;
}

/* Strangers on the port and ranks of an earlier attempt are turned away. */
static bool assemble(struct trainer *t)
{
    int at = listen_for_ranks(t);

    for (int64_t missing = t->ranks - 1; at >= 0 && missing > 0;) {
        int fd = accept4(at, NULL, NULL, SOCK_CLOEXEC);
        struct hello hello;

        if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
            break;
        }
        if (fd < 0) {
            continue;
        }
        set_deadline(fd);
        if (!get(fd, &hello, sizeof(hello)) || hello.place != t->self.place ||
            hello.job != t->self.job || hello.attempt != t->self.attempt || hello.rank < 1 ||
            hello.rank >= t->ranks || t->peers[hello.rank] != 0) {
            close(fd);
            continue;
        }
        t->peers[hello.rank] = fd;
        missing--;
    }
    if (at >= 0) {
        close(at);
    }
    for (int64_t r = 1; r < t->ranks; r++) {
        if (t->peers[r] == 0) {
            fprintf(stderr, "trainer: rank %" PRId64 " did not come\n", r);
            return false;
        }
    }
    return true;
}

static bool tell_all(const struct trainer *t, int64_t step)
{
    bool good = true;

    for (int64_t r = 1; r < t->ranks; r++) {
        good = put(t->peers[r], &step, sizeof(step)) && good;
    }
    return good;
}

/* One step of all ranks: either the counter and the ledger have it, or neither. */
static bool do_step(struct trainer *t)
{
    int64_t step = t->state.step + 1;
    int64_t sum = step; /* rank 0's own part */
    struct err err;

    if (!tell_all(t, step)) {
        return false;
    }
    for (int64_t r = 1; r < t->ranks; r++) {
        int64_t part;

        if (!get(t->peers[r], &part, sizeof(part))) {
            fprintf(stderr, "trainer: rank %" PRId64 " is gone at step %" PRId64 "\n", r, step);
            return false;
        }
        sum += part;
    }
    if (stepledger_add(t->want->ledger, step, t->self.attempt, t->state.total + sum, &err) != 0) {
        fprintf(stderr, "trainer: %s\n", err.text);
        return false;
    }
    t->state = (struct trainsave){.step = step, .total = t->state.total + sum};
    return true;
}

static bool save(struct trainer *t)
{
    struct err err;

    if (t->saved_at == t->state.step) {
        return true;
    }
    if (trainsave_write(t->save_dir, &t->state, &err) != 0) {
        fprintf(stderr, "trainer: %s\n", err.text);
        return false;
    }
    t->saved_at = t->state.step;
    t->saves++;
    printf("saved step %" PRId64 "\n", t->state.step);
    return true;
}

static bool is_complete(const struct trainer *t)
{
    return t->target > 0 && t->state.step >= t->target;
}

/* Go on from the newest checkpoint.  Steps that the ledger has beyond it are lost: done again. */
static int resume(struct trainer *t, struct err *err)
{
    struct stepledger_sum done;
    int rc = trainsave_read(t->save_dir, &t->state, err);

    if (rc == 0) {
        rc = stepledger_read(t->want->ledger, t->ranks, &done, err);
    }
    if (rc != 0) {
        return rc;
    }
    t->resumed_at = t->saved_at = t->state.step;
    if (t->resumed_at > 0) {
        t->target = (done.last > t->resumed_at ? done.last : t->resumed_at) + t->want->more;
    }
    printf("attempt %" PRId64 " of %" PRId64 " ranks goes on after step %" PRId64 "\n",
           t->self.attempt, t->ranks, t->resumed_at);
    return 0;
}

static bool save_now_and_then(struct trainer *t)
{
    bool due = (t->state.step - t->resumed_at) % t->want->save_every == 0;

    return !due || (t->want->ignores_signal && t->saves > 0) || save(t);
}

static int lead(struct trainer *t)
{
    time_t until = time(NULL) + LIFE_SECONDS;
    struct err err;
    bool good;

    if (resume(t, &err) != 0) {
        fprintf(stderr, "trainer: %s\n", err.text);
        return 1;
    }
    good = assemble(t);
    while (good && !told_to_stop && !is_complete(t) && time(NULL) < until) {
        good = do_step(t) && save_now_and_then(t);
        wait_ms(t->want->step_ms);
    }
    if (told_to_stop) {
        t->saved_at = 0; /* asked to save, it does, be it the same step again */
    }
    good = good && save(t) && tell_all(t, STOP);
    printf("%s after step %" PRId64 ", counter %" PRId64 "\n",
           !good            ? "broken"
           : is_complete(t) ? "complete"
                            : "told to stop",
           t->state.step, t->state.total);
    return good ? 0 : 1;
}

int trainer_run(const struct trainer_want *want)
{
    struct trainer t = {.want = want};

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_environment(&t)) {
        fprintf(stderr, "trainer: this is a task of a job: muster demo afternoon submits it\n");
        return 2;
    }
    set_signals(want->ignores_signal || t.self.rank != 0);
    return t.self.rank == 0 ? lead(&t) : follow_leader(&t);
}
