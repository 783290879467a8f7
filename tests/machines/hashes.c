/* hashes - what the core makes of the records of tests/fuzz/corpus/facts: a line a file with the
 * hash of the state at the end and of all that was planned.  Every machine must print the same.
 * usage: hashes FILE... */
#include "core/codec.h"
#include "core/core.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (1 << 16)

struct play {
    struct core *core;
    struct arena *arena;
    int64_t seq;
    int64_t now_ms;
    struct str planned;
};

static void apply(struct play *p, struct fact *fact)
{
    fact->seq = p->seq + 1;
    fact->at_ms = p->now_ms;
    p->seq += core_apply(p->core, fact, NULL) == 0;
}

static void plan(struct play *p)
{
    struct decisions d;
    struct fact *facts;
    size_t count;

    core_plan(p->core, p->now_ms, &d);
    count = d.count;
    facts = arena_new(p->arena, count + 1, sizeof(*facts));
    for (size_t i = 0; i < count; i++) {
        facts[i] = d.items[i];
        facts[i].body.any =
            codec_copy(fact_kind_schema(facts[i].kind), facts[i].body.any, p->arena);
        codec_encode_fact(&facts[i], &p->planned);
    }
    str_addf(&p->planned, "next %" PRId64 "\n", d.next_plan_ms);
    for (size_t i = 0; i < count; i++) {
        apply(p, &facts[i]);
    }
}

static void line(struct play *p, char *words)
{
    char kind[64] = "";
    int64_t step_ms = 0;
    int taken = 0;
    struct fact fact;
    enum fact_kind k;

    if (sscanf(words, "+%" SCNd64 " %63s%n", &step_ms, kind, &taken) < 2) {
        return;
    }
    p->now_ms += step_ms;
    words[strcspn(words, "\n")] = '\0';
    k = fact_kind_of(kind);
    if (strcmp(kind, "plan") == 0) {
        plan(p);
    } else if (k != FACT_NONE && words[taken] == ' ' &&
               codec_decode_fact(k, words + taken + 1, strlen(words + taken + 1), p->arena, &fact,
                                 NULL) == 0) {
        apply(p, &fact);
    }
    arena_reset(p->arena);
}

static void print_hashes(const char *path, const struct play *p)
{
    const char *slash = strrchr(path, '/');
    char state_hash[HASH_TEXT_MAX], plan_hash[HASH_TEXT_MAX];
    struct str state = {0};

    core_snapshot(p->core, &state);
    hash_sha256_text(state.text, state.len, state_hash);
    hash_sha256_text(str_text(&p->planned), p->planned.len, plan_hash);
    printf("%s %s %s\n", slash != NULL ? slash + 1 : path, state_hash, plan_hash);
    str_fini(&state);
}

int main(int argc, char **argv)
{
    char *text = mem_new(LINE_MAX_BYTES, 1);

    for (int i = 1; i < argc; i++) {
        struct play p = {.core = core_new(), .arena = arena_make(), .now_ms = 1000000};
        FILE *f = fopen(argv[i], "re");

        CHECK(f != NULL);
        while (fgets(text, LINE_MAX_BYTES, f) != NULL) {
            line(&p, text);
        }
        (void)fclose(f);
        print_hashes(argv[i], &p);
        core_free(p.core);
        arena_free(p.arena);
        str_fini(&p.planned);
    }
    mem_free(text);
    return 0;
}
