#include "core/fact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_kind_is_known_by_its_name(void **state)
{
    (void)state;
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        const char *name = fact_kind_name((enum fact_kind)k);

        assert_int_equal(fact_kind_of(name), k);
        assert_non_null(fact_kind_schema((enum fact_kind)k));
    }
    assert_int_equal(fact_kind_of("job_bored"), FACT_NONE);
    assert_int_equal(fact_kind_of(""), FACT_NONE);
    assert_string_equal(fact_kind_name(FACT_NONE), "none");
    assert_string_equal(fact_kind_name(FACT_KIND_COUNT), "none");
    assert_null(fact_kind_schema(FACT_NONE));
    assert_null(fact_kind_schema(FACT_KIND_COUNT));
}

static void decisions_are_told_from_facts_of_the_world(void **state)
{
    (void)state;
    assert_true(fact_kind_is_decision(FACT_JOB_STARTED));
    assert_true(fact_kind_is_decision(FACT_NODE_LOST));
    assert_false(fact_kind_is_decision(FACT_JOB_SUBMITTED));
    assert_false(fact_kind_is_decision(FACT_TASK_ENDED));
    assert_false(fact_kind_is_decision(FACT_NONE));
    assert_false(fact_kind_is_decision(FACT_KIND_COUNT));
}

static size_t size_of(enum field_kind kind)
{
    switch (kind) {
    case FIELD_INT:
        return sizeof(int64_t);
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_ENUM:
        return sizeof(int);
    case FIELD_TEXT:
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        return sizeof(void *);
    case FIELD_STRUCT:
        break;
    }
    return 0;
}

/* Fields lie inside the struct, have a place of their own and a name of their own; what a kind of
 * field needs is there. */
static void check_table(const struct schema *s, int depth)
{
    assert_true(s->field_count > 0 && s->field_count <= 64);
    assert_true(depth < 16);
    for (size_t i = 0; i < s->field_count; i++) {
        const struct schema_field *f = &s->fields[i];
        size_t size = f->kind == FIELD_STRUCT ? f->sub->size : size_of(f->kind);
        bool counted = f->kind >= FIELD_LIST;

        assert_true(f->offset + size <= s->size);
        assert_true(!counted || f->count_offset + sizeof(size_t) <= s->size);
        assert_true(!counted || f->count_offset != f->offset);
        assert_int_equal(f->kind == FIELD_ENUM, f->names != NULL);
        assert_int_equal(f->kind == FIELD_LIST || f->kind == FIELD_STRUCT, f->sub != NULL);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(f->name, s->fields[k].name);
            assert_int_not_equal(f->offset, s->fields[k].offset);
        }
        if (f->sub != NULL) {
            check_table(f->sub, depth + 1);
        }
    }
}

static void the_tables_are_sound(void **state)
{
    (void)state;
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        check_table(fact_kind_schema((enum fact_kind)k), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_is_known_by_its_name),
        cmocka_unit_test(decisions_are_told_from_facts_of_the_world),
        cmocka_unit_test(the_tables_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
