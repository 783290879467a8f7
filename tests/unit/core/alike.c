#include "core/alike.h"

#include "base/str.h"
#include "core/codec.h"
#include "random_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 3000

static const struct schema *submitted(void)
{
    return fact_kind_schema(FACT_JOB_SUBMITTED);
}

/* Equal text of all that makes a difference. */
static bool same_text(const struct fact_job_submitted *a, const struct fact_job_submitted *b)
{
    struct fact_job_submitted plain_a = alike_plain(a), plain_b = alike_plain(b);
    struct str x = {0}, y = {0};
    bool same;

    codec_encode(submitted(), &plain_a, &x);
    codec_encode(submitted(), &plain_b, &y);
    same = strcmp(str_text(&x), str_text(&y)) == 0;
    str_fini(&x);
    str_fini(&y);
    return same;
}

static void check_pair(const struct fact_job_submitted *a, const struct fact_job_submitted *b)
{
    bool same = same_text(a, b);

    assert_int_equal(alike_same(a, b), same);
    assert_int_equal(alike_same(b, a), same);
    if (same) {
        assert_int_equal(alike_hash(a), alike_hash(b));
    }
    assert_true(alike_hash(a) >= 0);
}

/* Give one field another value; a list of structs: one field of its first item. */
static void change(const struct schema_field *f, void *base, struct rng *rng, struct arena *arena)
{
    void *part = (char *)base + f->offset;
    size_t *count = (size_t *)(void *)((char *)base + f->count_offset);

    switch (f->kind) {
    case FIELD_INT:
        *(int64_t *)part += 1;
        break;
    case FIELD_BOOL:
        *(bool *)part = !*(bool *)part;
        break;
    case FIELD_ENUM:
        *(int *)part = *(int *)part == 0;
        break;
    case FIELD_TEXT:
        *(const char **)part = arena_printf(arena, "%s+", *(const char **)part);
        break;
    case FIELD_STRUCT:
        fail_msg("a struct in a struct: teach this test");
        break;
    case FIELD_LIST:
        if (*count > 0) {
            change(&f->sub->fields[rng_below(rng, f->sub->field_count)], *(void **)part, rng,
                   arena);
        }
        break;
    case FIELD_INTS:
        if (*count > 0) {
            ++**(int64_t **)part;
        }
        break;
    case FIELD_TEXTS:
        *count -= *count > 0;
        break;
    }
}

/* Whatever field is changed, alone: the text says whether it makes a difference. */
static void one_field_makes_the_difference_that_its_text_makes(void **state)
{
    struct rng rng = rng_init(3);
    int differ = 0;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct arena *arena = arena_make();
        const struct schema *schema = submitted();
        const void *value = random_small_value(schema, &rng, arena);
        void *other = codec_copy(schema, value, arena);

        check_pair(value, other);
        change(&schema->fields[i % (int)schema->field_count], other, &rng, arena);
        check_pair(value, other);
        differ += !alike_same(value, other);
        assert_int_equal(alike_hash(value) == alike_hash(other), alike_same(value, other));
        arena_free(arena);
    }
    assert_in_range(differ, ROUNDS / 2, ROUNDS - 1);
}

static void two_of_many_are_alike_if_their_texts_are(void **state)
{
    struct rng rng = rng_init(4);
    struct arena *arena = arena_make();
    const void *last = random_small_value(submitted(), &rng, arena);

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const void *value = random_small_value(submitted(), &rng, arena);

        check_pair(value, last);
        last = value;
    }
    arena_free(arena);
}

static void the_subject_counts_with_shares_only(void **state)
{
    struct fact_group group = {.tasks = 1, .min_tasks = 1, .gpus = 1};
    struct fact_job_submitted a = {
        .id = 7, .name = "x", .subject = "ann", .spec = "d1", .groups = &group, .group_count = 1};
    struct fact_job_submitted b = {
        .id = 8, .name = NULL, .subject = "bob", .spec = "", .groups = &group, .group_count = 1};

    (void)state;
    assert_true(alike_same(&a, &b));
    assert_int_equal(alike_hash(&a), alike_hash(&b));
    assert_string_equal(alike_plain(&a).subject, "");
    group.gpus = 0;
    group.share_gu = 1;
    assert_false(alike_same(&a, &b));
    assert_string_equal(alike_plain(&a).subject, "ann");
    b.subject = "ann";
    assert_true(alike_same(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_field_makes_the_difference_that_its_text_makes),
        cmocka_unit_test(two_of_many_are_alike_if_their_texts_are),
        cmocka_unit_test(the_subject_counts_with_shares_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
