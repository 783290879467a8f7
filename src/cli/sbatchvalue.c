#include "cli/sbatchvalue.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DIGITS        "0123456789"
#define SECONDS_MAX   ((int64_t)366 * 10 * 86400)
#define NODES_MAX     4096
#define ELEMENTS_MAX  100000
#define GRACE_DEFAULT 60
#define GRACE_MAX     65535 /* sbatch's own */

/* The digits at *at as a number; false when there is none or more than nine of them. */
static bool take_number(const char **at, int64_t *ret)
{
    size_t len = strspn(*at, DIGITS);
    int64_t value = 0;

    if (len == 0 || len > 9) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += len;
    *ret = value;
    return true;
}

int sbatchvalue_count(const char *text, int64_t min, int64_t *ret, struct err *err)
{
    const char *at = text;
    int64_t value = 0;

    if (!take_number(&at, &value) || *at != '\0' || value < min || value > SBATCHVALUE_COUNT_MAX) {
        return err_set(err, ERR_INVALID,
                       "'%.60s': a whole number from %" PRId64 " to %" PRId64 " is wanted", text,
                       min, SBATCHVALUE_COUNT_MAX);
    }
    *ret = value;
    return 0;
}

int sbatchvalue_time(const char *text, int64_t *ret_s, struct err *err)
{
    /* what the numbers count: [days given][how many follow] */
    static const int64_t UNITS[2][4] = {{0, 60, 60, 3600}, {0, 3600, 3600, 3600}};
    int64_t n[3] = {0};
    int64_t days = 0, seconds, unit;
    size_t count = 0;
    const char *at = text;
    bool dash = strchr(text, '-') != NULL;
    bool ok = true;

    if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 ||
        strcmp(text, "-1") == 0) {
        *ret_s = 0;
        return 0;
    }
    if (dash) {
        ok = take_number(&at, &days) && *at++ == '-';
    }
    while (ok && count < 3) {
        ok = take_number(&at, &n[count++]);
        if (*at != ':' || count == 3) {
            break;
        }
        at++;
    }
    if (!ok || count == 0 || *at != '\0' || days > SECONDS_MAX / 86400) {
        return err_set(err, ERR_INVALID,
                       "'%.60s' is no time: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S is wanted", text);
    }
    unit = UNITS[dash ? 1 : 0][count];
    seconds = days * 86400;
    for (size_t i = 0; i < count; i++) {
        seconds += n[i] * unit; /* nine digits by 3600: far from 63 bits */
        unit /= 60;
    }
    if (seconds > SECONDS_MAX) {
        return err_set(err, ERR_RANGE, "'%.60s' is more than ten years", text);
    }
    *ret_s = seconds;
    return 0;
}

int sbatchvalue_memory(const char *text, int64_t *ret_bytes, struct err *err)
{
    static const char UNITS[] = "KMGT";
    const char *at = text;
    const char *unit;
    int64_t value = 0;
    int shift = 20; /* megabytes without a unit */

    if (take_number(&at, &value)) {
        unit = *at != '\0' ? strchr(UNITS, *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at) : NULL;
        if (unit != NULL) {
            shift = 10 * (int)(unit - UNITS + 1);
            at++;
            at += *at == 'B' || *at == 'b' ? 1 : 0;
        }
        if (*at == '\0' && value <= INT64_MAX >> shift) {
            *ret_bytes = value << shift;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID,
                   "'%.60s' is no amount of memory: a whole number with K, M, G or T is wanted "
                   "(M without one)",
                   text);
}

int sbatchvalue_gpus(const char *text, bool gres, struct sbatchvalue_gpus *ret, struct err *err)
{
    struct sbatchvalue_gpus g = {.count = 1};
    const char *at = text;
    size_t len;

    if (strchr(text, ',') != NULL) {
        return err_set(err, ERR_UNSUPPORTED,
                       "'%.60s': muster gives a job one kind of GPU; several kinds are several "
                       "groups of a job file",
                       text);
    }
    if (gres) {
        at += strncmp(at, "gres:", 5) == 0 || strncmp(at, "gres/", 5) == 0 ? 5 : 0;
        if (strncmp(at, "gpu", 3) != 0 || (at[3] != '\0' && at[3] != ':')) {
            return err_set(err, ERR_UNSUPPORTED,
                           "'%.60s': muster counts GPUs only, as gpu[:TYPE][:N]; for a part of a "
                           "GPU use --share",
                           text);
        }
        if (at[3] == '\0') {
            *ret = g;
            return 0;
        }
        at += 4;
    }
    len = strcspn(at, ":");
    if (strspn(at, DIGITS) != len || len == 0) { /* a type */
        if (len >= sizeof(g.type) || len == 0) {
            return err_set(err, ERR_INVALID, "'%.60s': [TYPE:]N is wanted", text);
        }
        memcpy(g.type, at, len);
        at += len;
        if (*at == '\0') {
            *ret = g;
            return 0;
        }
        at++;
    }
    if (!take_number(&at, &g.count) || *at != '\0' || g.count > SBATCHVALUE_COUNT_MAX) {
        return err_set(err, ERR_INVALID, "'%.60s': a whole number of GPUs is wanted", text);
    }
    *ret = g;
    return 0;
}

bool sbatchvalue_is_profile(const char *type)
{
    size_t lead = strspn(type, DIGITS);
    size_t tail;

    if (lead == 0 || strncmp(type + lead, "g.", 2) != 0) {
        return false;
    }
    type += lead + 2;
    tail = strspn(type, DIGITS);
    return tail > 0 && strncmp(type + tail, "gb", 2) == 0 &&
           (type[tail + 2] == '\0' || type[tail + 2] == '+');
}

/* ---- node lists ---- */

static int bad_nodes(const char *text, struct err *err)
{
    return err_set(err, ERR_INVALID, "'%.60s': node names as n1,n2 or n[1-4,7] are wanted", text);
}

static bool add_node(json_t *list, const char *prefix, size_t len, const char *number)
{
    struct str name = {0};
    bool room = json_array_size(list) < NODES_MAX;

    str_add_n(&name, prefix, len);
    str_add(&name, number);
    if (room && name.len > 0) {
        json_array_append_new(list, json_string(str_text(&name)));
    }
    room = room && name.len > 0;
    str_fini(&name);
    return room;
}

/* "1-3,07]" of a name with this prefix; *at ends behind the bracket. */
static bool add_range(json_t *list, const char *prefix, size_t len, const char **at)
{
    for (;;) {
        int width = (int)strspn(*at, DIGITS);
        int64_t from, to;
        char number[32];

        if (!take_number(at, &from)) {
            return false;
        }
        to = from;
        if (**at == '-') {
            (*at)++;
            if (!take_number(at, &to) || to < from || to - from >= NODES_MAX) {
                return false;
            }
        }
        for (int64_t i = from; i <= to; i++) {
            snprintf(number, sizeof(number), "%0*" PRId64, width, i);
            if (!add_node(list, prefix, len, number)) {
                return false;
            }
        }
        if (**at == ']') {
            (*at)++;
            return true;
        }
        if (**at != ',') {
            return false;
        }
        (*at)++;
    }
}

int sbatchvalue_nodes(const char *text, json_t **ret, struct err *err)
{
    json_t *list = json_array();
    const char *at = text;
    bool ok = true;

    while (ok) {
        size_t len = strcspn(at, ",[]");
        const char *prefix = at;

        at += len;
        if (*at == '[') {
            at++;
            ok = add_range(list, prefix, len, &at);
        } else {
            ok = *at != ']' && add_node(list, prefix, len, "");
        }
        if (*at != ',') {
            break;
        }
        at++;
    }
    if (!ok || *at != '\0') {
        json_decref(list);
        return bad_nodes(text, err);
    }
    *ret = list;
    return 0;
}

/* ---- arrays ---- */

static bool add_element(struct sbatchvalue_array *a, int64_t from, int64_t to)
{
    if (a->count > 0 && from <= a->last) {
        return false; /* muster takes them in rising order, each once */
    }
    a->first = a->count == 0 ? from : a->first;
    a->last = to;
    a->count += to - from + 1;
    str_add(&a->list, a->list.len > 0 ? "," : "");
    str_add_int(&a->list, from);
    if (to > from) {
        str_add_char(&a->list, '-');
        str_add_int(&a->list, to);
    }
    return a->count <= ELEMENTS_MAX;
}

/* "4", "0-9" or "0-15:4". */
static bool add_elements(struct sbatchvalue_array *a, const char **at)
{
    int64_t from, to, step = 1;

    if (!take_number(at, &from)) {
        return false;
    }
    to = from;
    if (**at == '-') {
        (*at)++;
        if (!take_number(at, &to) || to < from) {
            return false;
        }
        if (**at == ':') {
            (*at)++;
            if (!take_number(at, &step) || step < 1) {
                return false;
            }
            a->step = step;
        }
    }
    if (step == 1) {
        return add_element(a, from, to);
    }
    for (; from <= to; from += step) {
        if (!add_element(a, from, from)) {
            return false;
        }
    }
    return true;
}

int sbatchvalue_array(const char *text, struct sbatchvalue_array *ret, struct err *err)
{
    struct sbatchvalue_array a = {.step = 1};
    const char *at = text;
    bool ok = add_elements(&a, &at);

    while (ok && *at == ',') {
        at++;
        ok = add_elements(&a, &at);
    }
    if (ok && *at == '%') {
        at++;
        ok = take_number(&at, &a.at_once);
    }
    if (!ok || *at != '\0') {
        str_fini(&a.list);
        return err_set(err, ERR_INVALID,
                       "'%.60s': elements in rising order are wanted, at most %d: 0-9, 1,3,5-7 or "
                       "0-15:4",
                       text, ELEMENTS_MAX);
    }
    *ret = a;
    return 0;
}

/* ---- signals ---- */

static const struct {
    int number;
    const char *name;
} SIGNALS[] = {{1, "HUP"},   {2, "INT"},   {3, "QUIT"}, {10, "USR1"},
               {12, "USR2"}, {15, "TERM"}, {18, "CONT"}};

int sbatchvalue_signal(const char *text, struct sbatchvalue_signal *ret, struct err *err)
{
    struct sbatchvalue_signal s = {.grace_s = GRACE_DEFAULT};
    const char *at = text;
    size_t len, i;
    int64_t number = -1;

    if (strncmp(at, "B:", 2) == 0 || strncmp(at, "R:", 2) == 0) {
        s.early = *at == 'R';
        at += 2;
    }
    at += strncasecmp(at, "SIG", 3) == 0 ? 3 : 0;
    len = strcspn(at, "@");
    if (strspn(at, DIGITS) == len) {
        const char *digits = at;

        (void)take_number(&digits, &number);
    }
    for (i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        if (SIGNALS[i].number == number ||
            (strlen(SIGNALS[i].name) == len && strncasecmp(SIGNALS[i].name, at, len) == 0)) {
            break;
        }
    }
    if (i == ARRAY_LEN(SIGNALS)) {
        return err_set(err, ERR_INVALID,
                       "'%.60s': one of TERM, INT, USR1, USR2, HUP, QUIT, CONT is wanted", text);
    }
    snprintf(s.name, sizeof(s.name), "%s", SIGNALS[i].name);
    at += len;
    if (*at == '@') {
        at++;
        if (!take_number(&at, &s.grace_s) || *at != '\0' || s.grace_s > GRACE_MAX) {
            return err_set(err, ERR_INVALID, "'%.60s': seconds from 0 to %d are wanted after @",
                           text, GRACE_MAX);
        }
    }
    *ret = s;
    return 0;
}

/* ---- names and patterns ---- */

/* A text that holds no sign. */
static void add_plain(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        str_add(out, *text == '%' ? "%" : "");
        str_add_char(out, *text);
    }
}

int sbatchvalue_pattern(const char *text, const struct sbatchvalue_names *names, struct str *ret,
                        struct err *err)
{
    if (text[0] == '\0') {
        return err_set(err, ERR_INVALID, "a file name is wanted");
    }
    if (text[0] == '\\') {
        add_plain(ret, text + strspn(text, "\\"));
        return 0;
    }
    for (; *text != '\0'; text++) {
        if (*text != '%') {
            str_add_char(ret, *text);
            continue;
        }
        text++;
        if (*text == 'x' || *text == 'u') {
            add_plain(ret, *text == 'x' ? names->job : names->user);
        } else if (*text != '\0' && strchr("jAa%tn", *text) != NULL) {
            str_add_char(ret, '%');
            str_add_char(ret, *text == 'n' ? 't' : *text);
        } else {
            return err_set(err, ERR_UNSUPPORTED,
                           "muster fills in %%j, %%A, %%a, %%n, %%t, %%u, %%x and %%%%, but not "
                           "'%%%.2s'",
                           text);
        }
    }
    return 0;
}

void sbatchvalue_name(const char *text, struct str *ret)
{
    for (; *text != '\0' && ret->len < 63; text++) {
        char c = *text;

        if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        }
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) {
            c = '-';
        }
        if (c != '-' || (ret->len > 0 && ret->text[ret->len - 1] != '-')) {
            str_add_char(ret, c);
        }
    }
    while (ret->len > 0 && ret->text[ret->len - 1] == '-') {
        ret->len--;
        ret->text[ret->len] = '\0';
    }
}
