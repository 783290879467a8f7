/* local_fixture - a local backend in a directory of its own, with real supervisors and processes.
 */
#ifndef MUSTER_TEST_LOCAL_FIXTURE_H
#define MUSTER_TEST_LOCAL_FIXTURE_H

#include "backend/local/local.h"

#define FIXTURE_FACTS_MAX 256
#define FIXTURE_TASKS_MAX 8

struct fixture_fact { /* what a test asks of a fact, copied */
    enum fact_kind kind;
    int64_t true_at_ms;
    int64_t job;
    int64_t attempt;
    int64_t task;
    int64_t step;
    int64_t status;
    int cause;
    bool node_fault;
    char text[320]; /* reason, or name of a checkpoint or node */
    size_t device_count;
    char uuid[96]; /* of the first device */
    char model[96];
    char profile[96];
    int64_t memory_bytes;
};

struct fixture {
    char dir[64];
    char state_dir[96];
    char runtime_dir[96];
    struct event_base *base;
    struct backend *backend;
    struct local_config config;
    struct fixture_fact facts[FIXTURE_FACTS_MAX];
    size_t fact_count;
    char warnings[2048];
    /* The job that fixture_start starts; a test changes it before. */
    const char *argv[8];
    const char *env[4];
    const char *uuids[4];
    struct fact_grant tasks[FIXTURE_TASKS_MAX];
    struct fact_grant_device devices[FIXTURE_TASKS_MAX];
    struct backend_node nodes[2];
    struct backend_job job;
};

/* Set-up and tear-down of cmocka: *state is the fixture.  The tear-down fails if a process of the
 * test is left. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Let the backend go as a kill of musterd does, and make another one. */
void fixture_restart(struct fixture *f);
void fixture_close(struct fixture *f);
void fixture_open(struct fixture *f);
/* adopt with the job's first count tasks held. */
void fixture_adopt(struct fixture *f, size_t count);

/* The command: sh -c SCRIPT. */
void fixture_shell(struct fixture *f, const char *script);
void fixture_start(struct fixture *f);
void fixture_signal(struct fixture *f, struct backend_signal what); /* job and attempt are set */

/* Run the loop until the fact is there, in any order, and return it; fails the test after 10 s. */
const struct fixture_fact *fixture_wait(struct fixture *f, enum fact_kind kind, int64_t task);
/* The fact if it is there already, else NULL. */
const struct fixture_fact *fixture_find(const struct fixture *f, enum fact_kind kind, int64_t task);
void fixture_run_ms(struct fixture *f, int64_t ms);
/* Run the loop until the file is there. */
void fixture_wait_file(struct fixture *f, const char *path);

/* The text of a file, "" if there is none; the next call overwrites it. */
const char *fixture_read(const char *path);
const char *fixture_log(struct fixture *f, int64_t task, bool error);
/* A path below the test's directory; the next call overwrites it. */
const char *fixture_path(const struct fixture *f, const char *below);
/* The number in a file. */
int64_t fixture_number(const char *path);

#endif
