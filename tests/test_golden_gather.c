/* Row indices for the ops that gather: every pattern on few rows, against lists written out. */
#include "check_main.h"
#include "../golden/gather.h"

struct pattern {
    enum sb_gather kind;
    int32_t expected[8]; /* places 10..17, positions 0..7, of three rows */
};

static const struct pattern patterns[] = {
    {SB_GATHER_IDENTITY, {1, 2, 0, 1, 2, 0, 1, 2}},
    {SB_GATHER_REVERSE, {2, 1, 0, 2, 1, 0, 2, 1}},
    {SB_GATHER_REPEAT, {0, 0, 0, 1, 1, 1, 2, 2}},
    {SB_GATHER_ROW0, {0, 0, 0, 0, 0, 0, 0, 0}},
};

START_TEST(patterns_are_as_written_out)
{
    const struct sb_rng rng = {1, 2};
    for (int64_t i = 0; i < 8; i++)
        ck_assert_int_eq(sb_gather_row(patterns[_i].kind, &rng, 10 + i, i, 3), patterns[_i].expected[i]);
}
END_TEST

START_TEST(random_rows_depend_on_the_place)
{
    const struct sb_rng rng = {1, 2};
    int seen[5] = {0}, moved = 0;
    for (int64_t i = 0; i < 500; i++) {
        const int32_t row = sb_gather_row(SB_GATHER_RANDOM, &rng, i, 0, 5);
        ck_assert_int_ge(row, 0);
        ck_assert_int_lt(row, 5);
        ck_assert_int_eq(sb_gather_row(SB_GATHER_RANDOM, &rng, i, 77, 5), row);
        ck_assert_int_eq(sb_gather_row((enum sb_gather)(SB_GATHER_COUNT + 1), &rng, i, 0, 5), row);
        seen[row]++;
        moved += row != sb_gather_row(SB_GATHER_RANDOM, &rng, i + 1, 0, 5);
    }
    for (int row = 0; row < 5; row++)
        ck_assert_int_gt(seen[row], 50);
    ck_assert_int_gt(moved, 300);
}
END_TEST

START_TEST(no_rows_give_an_index_out_of_range)
{
    const struct sb_rng rng = {1, 2};
    for (int kind = SB_GATHER_IDENTITY; kind < SB_GATHER_COUNT; kind++)
        ck_assert_int_eq(sb_gather_row((enum sb_gather)kind, &rng, 3, 3, 0), 0);
}
END_TEST

START_TEST(the_lower_place_has_the_value_for_the_middle)
{
    int32_t gather[4] = {0, 1, 2, 3}, one[1] = {0};
    sb_gather_spoil(gather, 2, -1, 3, INT32_MAX);
    ck_assert_int_eq(gather[1], 1);
    ck_assert_int_eq(gather[2], -1);
    ck_assert_int_eq(gather[3], INT32_MAX);
    sb_gather_spoil(one, 0, -1, 0, INT32_MAX);
    ck_assert_int_eq(one[0], -1);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/gather");
    TCase *tc = tcase_create("all");
    tcase_add_loop_test(tc, patterns_are_as_written_out, 0, sizeof patterns / sizeof patterns[0]);
    tcase_add_test(tc, random_rows_depend_on_the_place);
    tcase_add_test(tc, no_rows_give_an_index_out_of_range);
    tcase_add_test(tc, the_lower_place_has_the_value_for_the_middle);
    suite_add_tcase(suite, tc);
    return suite;
}
