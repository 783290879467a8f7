#include "demo/stepledger.h"

#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define STEP_MAX 1000000

int64_t stepledger_total(int64_t steps, int64_t ranks)
{
    return steps * (steps + 1) / 2 * (ranks * (ranks + 1) / 2);
}

int stepledger_add(const char *path, int64_t step, int64_t attempt, int64_t total, struct err *err)
{
    struct str line = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool whole;

    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    }
    str_addf(&line, "%" PRId64 " %" PRId64 " %" PRId64 "\n", step, attempt, total);
    whole = write(fd, line.text, line.len) == (ssize_t)line.len;
    str_fini(&line);
    close(fd);
    return whole ? 0 : err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

struct reading {
    int64_t ranks;
    struct stepledger_sum sum;
    VEC(bool) done; /* by step */
};

static bool take_line(struct reading *r, const char *line)
{
    int64_t step, attempt, total;
    int used = 0;

    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &step, &attempt, &total, &used) < 3 ||
        line[used] != '\n' || step < 1 || step > STEP_MAX) {
        return false;
    }
    while (r->done.count <= (size_t)step) {
        vec_push(&r->done, false);
    }
    r->sum.lines++;
    r->sum.again += r->done.items[step];
    r->done.items[step] = true;
    r->sum.last = step > r->sum.last ? step : r->sum.last;
    r->sum.wrong += total != stepledger_total(step, r->ranks);
    if (attempt > r->sum.attempts) {
        r->sum.attempts = attempt;
        r->sum.resumed = step;
    }
    return true;
}

int stepledger_read(const char *path, int64_t ranks, struct stepledger_sum *ret, struct err *err)
{
    struct reading r = {.ranks = ranks};
    FILE *file = fopen(path, "re");
    char line[128];
    bool good = true;

    if (file == NULL && errno != ENOENT) {
        return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
    }
    while (good && file != NULL && fgets(line, sizeof(line), file) != NULL) {
        good = take_line(&r, line);
    }
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 1; i < r.done.count; i++) {
        r.sum.missing += !r.done.items[i];
    }
    vec_fini(&r.done);
    if (!good) {
        return err_set(err, ERR_SYNTAX,
                       "%s: after %" PRId64 " lines: \"STEP ATTEMPT TOTAL\" wanted", path,
                       r.sum.lines);
    }
    *ret = r.sum;
    return 0;
}
