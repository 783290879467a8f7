#include "cli/explain.h"

#include "base/check.h"
#include "base/quantity.h"
#include "cli/display.h"

#include <inttypes.h>
#include <string.h>

/* What time alone will end, as it is said in the last column; the others block until somebody
 * changes something or gives back. */
static bool only_waits(enum err_code code)
{
    static const enum err_code CODES[] = {
        WHY_BACKOFF,      WHY_NOMINATED, WHY_NOMINATED_ELSEWHERE, WHY_PLANNED_START,
        WHY_DRAINING_FOR, WHY_AHEAD,     WHY_STARTS_NOW,
    };

    for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
        if (CODES[i] == code) {
            return true;
        }
    }
    return false;
}

static const char *effect_of(enum err_code code)
{
    if (code == WHY_NEVER || err_exit(code) == 4) {
        return "never";
    }
    return only_waits(code) ? "waits" : "blocks";
}

static void add_member(struct str *out, const json_t *object, const char *key)
{
    display_text(out, member_text(object, key));
}

static void print_head(const struct view *view, const json_t *job, const json_t *why, FILE *out)
{
    const char *state = member_text(why, "state");
    int64_t since_ms = member_int(job, "started_ms");
    struct str line = {0};

    if (job != NULL) {
        str_addf(&line, "%s%s%s", view_colour(view, view_state_colour(state)), state,
                 view_colour(view, "\033[0m"));
        if (since_ms == 0 || strcmp(state, "queued") == 0 || strcmp(state, "held") == 0) {
            since_ms = member_int(job, "submitted_ms");
        }
        if (since_ms > 0 && member_int(job, "ended_ms") == 0) {
            str_add_char(&line, ' ');
            display_span(&line, view->now_ms - since_ms);
        }
        str_add(&line, "  needs ");
        add_member(&line, job, "request");
        str_add(&line, ", queue ");
        add_member(&line, job, "queue");
        str_add_char(&line, '\n');
    }
    if (member_text(why, "summary")[0] != '\0') {
        add_member(&line, why, "summary");
        str_add_char(&line, '\n');
    }
    fputs(str_text(&line), out);
    str_fini(&line);
}

static void print_blocker(const struct view *view, const json_t *blocker, size_t number, FILE *out)
{
    const char *name = member_text(blocker, "code");
    const char *dot = strchr(name, '.');
    enum err_code code = err_of_name(name);
    const json_t *jobs = json_object_get(blocker, "jobs");
    struct str line = {0};

    str_addf(&line, "%2zu %-16s ", number, dot != NULL ? dot + 1 : name);
    add_member(&line, blocker, "text");
    if (json_array_size(jobs) > 0 && json_array_size(jobs) <= 20) {
        str_add(&line, " (job ");
        member_join(&line, jobs);
        str_add_char(&line, ')');
    }
    str_addf(&line, "  %s%s%s\n", view_colour(view, "\033[1m"), effect_of(code),
             view_colour(view, "\033[0m"));
    fputs(str_text(&line), out);
    str_fini(&line);
}

static void print_remedies(const json_t *blockers, struct str *line)
{
    const json_t *blocker;
    size_t i;

    json_array_foreach(blockers, i, blocker)
    {
        if (member_text(blocker, "remedy")[0] != '\0') {
            str_add(line, line->len > 0 ? " · " : "");
            add_member(line, blocker, "remedy");
        }
    }
}

static void print_start(const struct view *view, const json_t *why, FILE *out)
{
    int64_t from_ms = member_int(why, "earliest_ms");
    int64_t to_ms = member_int(why, "latest_ms");
    struct str line = {0};

    print_remedies(json_object_get(why, "blockers"), &line);
    if (from_ms > 0 || to_ms > 0) {
        str_add(&line, line.len > 0 ? " · est. " : "est. ");
        display_time(&line, from_ms > 0 ? from_ms : to_ms, view->local);
        if (from_ms > 0 && to_ms > from_ms) {
            str_add(&line, "–");
            display_time(&line, to_ms, view->local);
        }
    }
    if (line.len > 0) {
        fprintf(out, " would start: %s\n", str_text(&line));
    }
    str_fini(&line);
}

/* "need_gu": 2016000 is shown as need 16 GPUs, "waited_ms": 1500 as waited 1s. */
static void add_number(struct str *out, const char *name, const json_t *value)
{
    int64_t number = json_is_integer(value) ? json_integer_value(value) : 0;
    size_t len = strlen(name);
    char gpus[QUANTITY_TEXT_MAX];

    if (json_is_string(value) && !str_to_int(json_string_value(value), &number)) {
        display_text(out, name);
        str_add_char(out, ' ');
        display_text(out, json_string_value(value));
    } else if (len > 6 && strcmp(name + len - 6, "_gu_ms") == 0) {
        str_addf(out, "%.*s %" PRId64 " GPU-s", (int)len - 6, name, number / (GU_PER_GPU * 1000));
    } else if (len > 3 && strcmp(name + len - 3, "_gu") == 0) {
        quantity_gpus_text(number, gpus);
        str_addf(out, "%.*s %s GPUs", (int)len - 3, name, gpus);
    } else if (len > 3 && strcmp(name + len - 3, "_ms") == 0) {
        str_addf(out, "%.*s ", (int)len - 3, name);
        display_span(out, number);
    } else {
        display_text(out, name);
        str_addf(out, " %" PRId64, number);
    }
}

static void print_decision(const json_t *decision, FILE *out)
{
    const json_t *value;
    const char *name;
    struct str line = {0};

    if (member_text(decision, "text")[0] == '\0' && member_text(decision, "rule")[0] == '\0') {
        return;
    }
    str_add(&line, " last decision: ");
    add_member(&line, decision, "text");
    str_add(&line, " (rule ");
    add_member(&line, decision, "rule");
    if (member_int(decision, "seq") > 0) {
        str_addf(&line, ", journal %" PRId64, member_int(decision, "seq"));
    }
    json_object_foreach((json_t *)(uintptr_t)json_object_get(decision, "numbers"), name, value)
    {
        str_add(&line, ", ");
        add_number(&line, name, value);
    }
    str_add(&line, ")\n");
    fputs(str_text(&line), out);
    str_fini(&line);
}

void explain_print(const struct view *view, const json_t *job, const json_t *why, FILE *out)
{
    const json_t *blocker;
    size_t i;

    print_head(view, job, why, out);
    json_array_foreach(json_object_get(why, "blockers"), i, blocker)
    {
        print_blocker(view, blocker, i + 1, out);
    }
    print_start(view, why, out);
    print_decision(json_object_get(why, "decision"), out);
}

int explain_exit_status(const json_t *why)
{
    const char *state = member_text(why, "state");
    const json_t *blocker;
    int status = 0;
    size_t i;

    if (state[0] != '\0' && strcmp(state, "queued") != 0 && strcmp(state, "held") != 0) {
        return 0;
    }
    json_array_foreach(json_object_get(why, "blockers"), i, blocker)
    {
        enum err_code code = err_of_name(member_text(blocker, "code"));

        if (code == WHY_NEVER || err_exit(code) == 4) {
            return 4;
        }
        status = code == WHY_STARTS_NOW ? status : 3;
    }
    return status;
}
