/* From samples to figures: medians, where they may lie, and ratios. */
#include "../harness/bench_stats.h"

#include "bench_results.h"
#include "check_main.h"

/* The figure of 1, 2, ... count, handed over in a scrambled order (step must have no factor in common with count). */
static struct sb_bench_figure figure_up_to(int count, int step)
{
    static double sample[SB_BENCH_MAX_SAMPLES];
    for (int i = 0; i < count; i++)
        sample[i] = 1 + i * step % count;
    return sb_bench_figure_of(sample, count);
}

START_TEST(medians)
{
    double odd[] = {9, 1, 4, 100, 3}, even[] = {4, 1, 10, 2}, one[] = {7};
    struct sb_bench_figure f = sb_bench_figure_of(odd, 5);
    ck_assert(near(f.median, 4) && near(f.mad, 3) && near(f.min, 1) && near(f.max, 100) && f.samples == 5);
    f = sb_bench_figure_of(even, 4);
    ck_assert(near(f.median, 3) && near(f.mad, 1.5)); /* distances 2 1 1 7 */
    f = sb_bench_figure_of(one, 1);
    ck_assert(near(f.median, 7) && near(f.low, 7) && near(f.high, 7) && f.mad == 0);
}
END_TEST

/* Ranks that bound the median with 95%, from tables of the binomial distribution. */
START_TEST(where_the_median_lies)
{
    static const int known[][2] = {{1, 1},   {2, 1},   {5, 1},    {6, 1},     {8, 1},     {9, 2},
                                   {11, 2},  {12, 3},  {15, 4},   {20, 6},    {25, 8},    {30, 10},
                                   {50, 18}, {99, 40}, {100, 40}, {500, 228}, {1000, 469}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const int count = known[i][0], rank = known[i][1];
        const struct sb_bench_figure f = figure_up_to(count, count % 7 == 0 ? 11 : 7);
        ck_assert_msg(near(f.low, rank) && near(f.high, count + 1 - rank), "%d samples: %g..%g", count, f.low, f.high);
    }
}
END_TEST

/* One outlier of twenty does not widen the range; with five it does. */
START_TEST(outliers)
{
    double many[20], few[5];
    for (int i = 0; i < 20; i++)
        many[i] = i == 7 ? 1000 : 10 + i % 3;
    for (int i = 0; i < 5; i++)
        few[i] = i == 2 ? 1000 : 10 + i % 3;
    struct sb_bench_figure f = sb_bench_figure_of(many, 20);
    ck_assert(f.high <= 12 && near(f.max, 1000));
    f = sb_bench_figure_of(few, 5);
    ck_assert(near(f.high, 1000));
}
END_TEST

static struct sb_bench_ratio ratio(double low_a, double high_a, double low_b, double high_b)
{
    const struct sb_bench_figure a = {.samples = 5, .median = (low_a + high_a) / 2, .low = low_a, .high = high_a};
    const struct sb_bench_figure b = {.samples = 5, .median = (low_b + high_b) / 2, .low = low_b, .high = high_b};
    return sb_bench_ratio_of(&a, &b);
}

START_TEST(ratios)
{
    const struct sb_bench_figure none = {0}, some = {.samples = 5, .median = 2, .low = 1, .high = 3};
    struct sb_bench_ratio r = ratio(18, 22, 9, 11);
    ck_assert(r.known && r.resolved && near(r.value, 2) && near(r.low, 18.0 / 11) && near(r.high, 22.0 / 9));
    ck_assert(ratio(9, 11, 18, 22).resolved);
    ck_assert(!ratio(9, 11, 10, 12).resolved && !ratio(10, 12, 9, 11).resolved);
    ck_assert(!ratio(9, 10, 10, 11).resolved); /* they touch */
    ck_assert(!ratio(1, 100, 40, 41).resolved && !ratio(40, 41, 1, 100).resolved);
    ck_assert(!sb_bench_ratio_of(&none, &some).known && !sb_bench_ratio_of(&some, &none).known);
    const struct sb_bench_figure four = sb_bench_scale(&some, 4);
    ck_assert(near(four.median, 8) && near(four.low, 4) && near(four.high, 12) && four.samples == 5);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("bench_stats");
    TCase *t = tcase_create("all");
    tcase_add_test(t, medians);
    tcase_add_test(t, where_the_median_lies);
    tcase_add_test(t, outliers);
    tcase_add_test(t, ratios);
    suite_add_tcase(s, t);
    return s;
}
