/* Timing: the statistics, the turns, and above all that wrong bytes never get a figure. */
#include "../harness/bench_machine.h"
#include "../harness/bench_print.h"
#include "../harness/bench_wgrad.h"
#include "../harness/fma_peak.h"
#include "../harness/ops.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"

/* ---- statistics ------------------------------------------------------------------------------------------------- */

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

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

/* ---- a made-up implementation whose clock is its own ---------------------------------------------------------------
 */

enum { WORK = 1000, OUTPUTS = 16, NO_RUN = -1, EVERY_RUN = -2 };

/* Path "slow" takes 1 s a run, "quick" 1/8 s, "absent" does not run. Every output is to be `right`. */
static struct {
    char log[4096]; /* a letter a run: its path's first */
    unsigned char out[OUTPUTS], right;
    int runs[3];
    int wrong_path, wrong_run; /* the run, counted from 0, that leaves the last output alone; NO_RUN, EVERY_RUN */
    int opened, closed;
    bool poisoned;
} fake;

static const char *const fake_paths[] = {"slow", "quick", "absent", NULL};
static const struct sb_bench_default fake_cases[] = {{NULL, NULL}};

static const char *fake_cannot(const struct sb_bench_impl *impl, int path)
{
    (void)impl;
    return path == 2 ? "no such instructions" : NULL;
}

static void *fake_open(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                       struct sb_bench_about *about, struct sb_error *err)
{
    (void)impl;
    (void)plan;
    (void)err;
    about->work = WORK;
    snprintf(about->compared, sizeof about->compared, "all of %.100s", c->id);
    fake.opened++;
    return &fake;
}

static void fake_close(void *opened)
{
    ck_assert_ptr_eq(opened, &fake);
    fake.closed++;
}

static void fake_poison(const struct sb_bench_subject *s, int byte)
{
    (void)s;
    memset(fake.out, byte, OUTPUTS);
    fake.poisoned = true;
}

static int threads_of_parallel_work(void)
{
    int found = 0;
#pragma omp parallel reduction(+ : found)
    found++;
    return found;
}

static bool fake_run(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    static const double each[] = {1.0, 0.125};
    const int path = *(const int *)s->state;
    (void)err;
    ck_assert(fake.poisoned);
    ck_assert_int_eq(threads_of_parallel_work(), s->threads);
    fake.poisoned = false;
    const bool wrong = path == fake.wrong_path && (fake.wrong_run == EVERY_RUN || fake.runs[path] == fake.wrong_run);
    memset(fake.out, fake.right, wrong ? OUTPUTS - 1 : OUTPUTS);
    snprintf(fake.log + strlen(fake.log), sizeof fake.log - strlen(fake.log), "%c", fake_paths[path][0]);
    fake.runs[path]++;
    *seconds = each[path];
    return true;
}

static bool fake_check(const struct sb_bench_subject *s, int poison, struct sb_error *err)
{
    (void)s;
    (void)poison;
    for (int i = 0; i < OUTPUTS; i++)
        if (fake.out[i] != fake.right)
            return sb_fail(err, SB_EXIT_MISMATCH, "output %d is %02x", i, fake.out[i]);
    return true;
}

static bool fake_subject(void *opened, int path, int threads, struct sb_bench_subject *s, struct sb_error *err)
{
    static int number[] = {0, 1};
    (void)err;
    ck_assert(opened == &fake && path < 2);
    *s = (struct sb_bench_subject){.work = WORK,
                                   .threads = threads,
                                   .state = &number[path],
                                   .poison = fake_poison,
                                   .run = fake_run,
                                   .check = fake_check};
    return true;
}

static const struct sb_bench_impl fake_impl = {
    .op = "wgrad_varlen_k",
    .impl = "fake",
    .unit = "GMAC/s",
    .unit_work = 100,
    .cases = fake_cases,
    .paths = fake_paths,
    .cannot = fake_cannot,
    .open = fake_open,
    .subject = fake_subject,
    .close = fake_close,
};
static const struct sb_bench_plan fake_plan = {
    .path = {true, true, true}, .threads = {1}, .thread_counts = 1, .seconds = 2, .min_samples = 5};

static struct sb_case parsed(const char *id)
{
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(&c, &sb_op_table()->list, id, &err), "%s", err.text);
    return c;
}

static void start_fake(int wrong_path, int wrong_run)
{
    memset(&fake, 0, sizeof fake);
    fake.wrong_path = wrong_path;
    fake.wrong_run = wrong_run;
    fake.right = 7;
}

static const char *printed(const struct sb_bench_impl *impl, const struct sb_bench_result *r)
{
    static char text[16384];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(f);
    sb_bench_print_call(f, r->c);
    if (r->about.compared[0] != '\0')
        sb_bench_print_about(f, impl, r);
    sb_bench_print_rows(f, impl, r);
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

static const struct sb_bench_row *row_of(const struct sb_bench_result *r, const char *name, int threads)
{
    for (int i = 0; i < r->rows; i++)
        if (strcmp(r->row[i].name, name) == 0 && r->row[i].threads == threads)
            return &r->row[i];
    ck_abort_msg("no row of %s at %d threads", name, threads);
    return NULL;
}

/* The JSON's row of this path and number of threads, owned by `all`. */
static json_t *json_row(json_t *all, const char *name, int threads)
{
    size_t i;
    json_t *row, *rows = json_object_get(json_array_get(json_object_get(all, "cases"), 0), "rows");
    json_array_foreach(rows, i, row) if (strcmp(json_string_value(json_object_get(row, "path")), name) == 0 &&
                                         json_integer_value(json_object_get(row, "threads")) == threads) return row;
    ck_abort_msg("no row of %s in the JSON", name);
    return NULL;
}

START_TEST(figures_and_turns)
{
    struct sb_bench_result r;
    struct sb_error err = {0};
    const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
    start_fake(0, NO_RUN);
    ck_assert(sb_bench_case(&fake_impl, &fake_plan, &c, &r, &err));
    const struct sb_bench_row *slow = row_of(&r, "slow", 1), *quick = row_of(&r, "quick", 1);
    ck_assert_int_eq(slow->rate.samples, 5);   /* 5 s: the least number of samples */
    ck_assert_int_eq(quick->rate.samples, 16); /* 2 s */
    ck_assert_int_eq(fake.runs[0], 6);         /* and one to warm up */
    ck_assert(near(slow->rate.median, 10) && near(quick->rate.median, 80));
    ck_assert(quick->to_yardstick.known && quick->to_yardstick.resolved && near(quick->to_yardstick.value, 8));
    ck_assert(!slow->to_yardstick.known && !slow->efficiency.known && !quick->of_ceiling.known);
    /* Between two runs of the slow one the quick one has its share: no path has a stretch of time to itself. */
    const char *first = strchr(fake.log + 2, 's'), *last = strrchr(fake.log, 's');
    ck_assert_ptr_nonnull(first);
    for (const char *p = first; p < last;) {
        const char *after = strchr(p + 1, 's');
        ck_assert_msg(after - p >= 3 && after - p <= 5, "turns: %s", fake.log);
        p = after;
    }
    const struct sb_bench_row *absent = row_of(&r, "absent", 0);
    ck_assert_int_eq(absent->outcome, SB_BENCH_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(printed(&fake_impl, &r), "NOT RUN: no such instructions"));
    ck_assert_ptr_nonnull(strstr(printed(&fake_impl, &r), "8.00x"));
    ck_assert_int_eq(sb_bench_status(&r, 1), 0);
    ck_assert(fake.opened == 1 && fake.closed == 1);
    sb_bench_result_free(&r);
}
END_TEST

/* The rows take turns, so the number of threads changes from run to run: fake_run looks. */
START_TEST(each_row_runs_on_its_threads)
{
    struct sb_bench_result r;
    struct sb_error err = {0};
    const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
    struct sb_bench_impl impl = fake_impl;
    struct sb_bench_plan plan = fake_plan;
    impl.threaded = true;
    if (sb_bench_processors() > 1)
        plan.threads[plan.thread_counts++] = 2;
    start_fake(0, NO_RUN);
    ck_assert(sb_bench_case(&impl, &plan, &c, &r, &err));
    ck_assert_int_eq(r.rows, 1 + 2 * plan.thread_counts);
    ck_assert(sb_bench_processors() < 2 || row_of(&r, "quick", 2)->efficiency.known);
    sb_bench_result_free(&r);
}
END_TEST

/* Whichever run is wrong, the warm-up or the last: the path has no figure, in no output. The other path keeps its. */
START_TEST(a_wrong_run_leaves_no_figure)
{
    static const int runs[] = {0, 1, 3, 5};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct sb_bench_result r;
        struct sb_error err = {0};
        const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
        start_fake(0, runs[i]);
        ck_assert(sb_bench_case(&fake_impl, &fake_plan, &c, &r, &err));
        const struct sb_bench_row *slow = row_of(&r, "slow", 1), *quick = row_of(&r, "quick", 1);
        ck_assert_int_eq(slow->outcome, SB_BENCH_WRONG);
        ck_assert_int_eq(slow->rate.samples, 0);
        ck_assert_int_eq(fake.runs[0], runs[i] + 1); /* it is not run again */
        ck_assert_ptr_nonnull(strstr(slow->reason, "output 15"));
        ck_assert_int_eq(quick->outcome, SB_BENCH_TIMED);
        ck_assert(!quick->to_yardstick.known);
        ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
        const char *text = printed(&fake_impl, &r), *line = strstr(text, "  slow");
        ck_assert_ptr_nonnull(strstr(text, c.id));
        ck_assert_msg(line != NULL && strncmp(line + 2, "slow            1 WRONG: output 15 is", 37) == 0, "%s", text);
        json_t *all = sb_bench_json(&fake_impl, &fake_plan, &r, 1);
        ck_assert(json_is_null(json_object_get(json_row(all, "slow", 1), "rate")));
        ck_assert_int_eq(json_integer_value(json_object_get(all, "exit_status")), SB_EXIT_MISMATCH);
        json_decref(all);
        sb_bench_result_free(&r);
    }
}
END_TEST

/* A byte that nobody writes holds the poison, which may be the right value: of one of two poisons only. */
START_TEST(an_output_that_nobody_writes)
{
    for (int right = 0; right < 256; right++) {
        struct sb_bench_result r;
        struct sb_error err = {0};
        const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
        start_fake(0, EVERY_RUN);
        fake.right = (unsigned char)right;
        ck_assert(sb_bench_case(&fake_impl, &fake_plan, &c, &r, &err));
        ck_assert_msg(row_of(&r, "slow", 1)->outcome == SB_BENCH_WRONG, "%02x is the poison every time", right);
        ck_assert_int_eq(row_of(&r, "quick", 1)->outcome, SB_BENCH_TIMED);
        sb_bench_result_free(&r);
    }
}
END_TEST

START_TEST(nothing_that_runs_is_status_3)
{
    struct sb_bench_result r;
    struct sb_error err = {0};
    const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
    struct sb_bench_plan plan = fake_plan;
    plan.path[0] = plan.path[1] = false;
    start_fake(0, NO_RUN);
    ck_assert(sb_bench_case(&fake_impl, &plan, &c, &r, &err));
    ck_assert_int_eq(fake.opened, 0);
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_NOTHING_RAN);
    ck_assert_ptr_nonnull(strstr(printed(&fake_impl, &r), "NOT RUN: no such instructions"));
    sb_bench_result_free(&r);
    ck_assert_int_eq(sb_bench_status(NULL, 0), SB_EXIT_NOTHING_RAN);
}
END_TEST

/* ---- wgrad_varlen_k on the CPU, with paths that are wrong
 * ------------------------------------------------------------ */

static enum { RIGHT, FLIP_A_BIT, FLIP_LATER, LEAVE_THE_LAST, REJECT, WRONG_TILES } fault;
static int calls_made;

static bool avx2_and_plain(enum sb_wgrad_path path)
{
    return path != SB_WGRAD_AVX512;
}

static bool plain_only(enum sb_wgrad_path path)
{
    return path == SB_WGRAD_PLAIN;
}

static struct sb_status faulty_whole(const struct sb_wgrad_args *args, enum sb_wgrad_path path, void *dw)
{
    uint32_t *bits = dw;
    const int64_t last = args->E * args->M * args->N - 1;
    const uint32_t before = fault == LEAVE_THE_LAST ? bits[last] : 0; /* faults are in f32 outputs only */
    if (path == SB_WGRAD_PLAIN)
        return sb_ref_wgrad_varlen_k(args, dw);
    if (fault == REJECT)
        return sb_reject(SB_BAD_ARGUMENT, 3, args->M, 0);
    const struct sb_status status = sb_ref_wgrad_varlen_k(args, dw);
    calls_made++;
    if (fault == FLIP_A_BIT || (fault == FLIP_LATER && calls_made == 4))
        bits[last] ^= 1;
    if (fault == LEAVE_THE_LAST)
        bits[last] = before;
    return status;
}

static struct sb_status faulty_tiles(const struct sb_wgrad_args *args, enum sb_wgrad_path path,
                                     const struct sb_wgrad_tile *tiles, int64_t count, void *out)
{
    const struct sb_status status = sb_ref_wgrad_varlen_k_tiles(args, path, tiles, count, out);
    if (fault == WRONG_TILES)
        *(uint32_t *)out ^= 0x80000000;
    return status;
}

static struct sb_bench_wgrad_calls faulty = {avx2_and_plain, faulty_whole, faulty_tiles, 1 << 30};
static const char small_case[] = "wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5";
/* 17 million multiply-adds: the plain model is given some tiles of it. */
static const char larger_case[] = "wgrad_varlen_k/M=128,N=128,E=2,counts=equal,tokens=1024";

static struct sb_bench_impl faulty_impl(void)
{
    struct sb_bench_impl impl = sb_bench_wgrad_varlen_k_ref;
    impl.calls = &faulty;
    impl.ceiling = NULL; /* its time is none of these tests' */
    return impl;
}

/* Times `id` with this fault, as few samples as there may be. */
static struct sb_bench_result timed_with(int wanted, const char *id)
{
    static struct sb_case c;
    struct sb_bench_result r;
    struct sb_error err = {0};
    const struct sb_bench_impl impl = faulty_impl();
    struct sb_bench_plan plan = {.path = {true, true, true}, .threads = {1}, .thread_counts = 1, .min_samples = 5};
    if (sb_bench_processors() > 1)
        plan.threads[plan.thread_counts++] = 2;
    fault = wanted;
    calls_made = 0;
    c = parsed(id);
    ck_assert_msg(sb_bench_case(&impl, &plan, &c, &r, &err), "%s", err.text);
    return r;
}

START_TEST(right_bytes_are_timed)
{
    static const char *const ids[] = {small_case, larger_case,
                                      "wgrad_varlen_k/M=64,N=48,E=2,counts=80+48,gather=random,accumulate=1",
                                      "wgrad_varlen_k/M=48,N=40,E=4,counts=18+0+33+70,first=3,tail=9,out_dtype=bf16",
                                      "wgrad_varlen_k/M=48,N=48,E=8,counts=1+2+1+3+1+2+4+1,dist=bits,ld_dy=56"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct sb_bench_result r = timed_with(RIGHT, ids[i]);
        ck_assert_msg(sb_bench_status(&r, 1) == 0, "%s: %s", ids[i], r.why);
        ck_assert_int_ge(row_of(&r, "plain", 1)->rate.samples, 5);
        ck_assert_int_ge(row_of(&r, "avx2", 1)->rate.samples, 5);
        ck_assert(row_of(&r, "avx2", 1)->rate.median > 0 && row_of(&r, "avx2", 1)->to_yardstick.known);
        ck_assert_int_eq(row_of(&r, "avx512", 0)->outcome, SB_BENCH_NOT_RUN);
        if (sb_bench_processors() > 1)
            ck_assert(row_of(&r, "avx2", 2)->efficiency.known && row_of(&r, "plain", 2)->efficiency.known);
        sb_bench_result_free(&r);
    }
}
END_TEST

START_TEST(multiply_adds_are_not_padded)
{
    struct sb_bench_result r = timed_with(RIGHT, small_case);
    ck_assert_int_eq(r.about.work, 22 * 72 * 40);
    ck_assert_int_eq(row_of(&r, "avx2", 1)->work, 22 * 72 * 40);
    ck_assert(!row_of(&r, "plain", 1)->part);
    sb_bench_result_free(&r);
    r = timed_with(RIGHT, larger_case);
    const struct sb_bench_row *plain = row_of(&r, "plain", 1);
    ck_assert_int_eq(r.about.work, INT64_C(1024) * 128 * 128);
    ck_assert(plain->part && plain->work % (32 * 32 * 512) == 0 && plain->work < r.about.work);
    if (sb_bench_processors() > 1)
        ck_assert_int_eq(row_of(&r, "plain", 2)->work, 2 * plain->work);
    const struct sb_bench_impl impl = faulty_impl();
    ck_assert_ptr_nonnull(strstr(printed(&impl, &r), "plain: sampled tiles"));
    sb_bench_result_free(&r);
}
END_TEST

START_TEST(wrong_bytes_of_a_path)
{
    static const int faults[] = {FLIP_A_BIT, FLIP_LATER, LEAVE_THE_LAST, REJECT};
    static const char *const words[] = {"[e=2, m=71, n=39]", "[e=2, m=71, n=39]", "[e=2, m=71, n=39]", "rejects"};
    for (int i = 0; i < 4; i++) {
        struct sb_bench_result r = timed_with(faults[i], small_case);
        const struct sb_bench_row *row = row_of(&r, "avx2", 1);
        if (faults[i] == FLIP_LATER && row->outcome == SB_BENCH_TIMED)
            row = row_of(&r, "avx2", 2); /* whose turn the fourth run is */
        ck_assert_msg(row->outcome == SB_BENCH_WRONG, "fault %d was not seen", faults[i]);
        ck_assert_msg(strstr(row->reason, words[i]) != NULL, "%s", row->reason);
        ck_assert_int_eq(row->rate.samples, 0);
        ck_assert_int_eq(row_of(&r, "plain", 1)->outcome, SB_BENCH_TIMED);
        ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
        sb_bench_result_free(&r);
    }
}
END_TEST

START_TEST(wrong_bytes_of_sampled_tiles)
{
    struct sb_bench_result r = timed_with(WRONG_TILES, larger_case);
    ck_assert_int_eq(row_of(&r, "plain", 1)->outcome, SB_BENCH_WRONG);
    ck_assert_int_eq(row_of(&r, "avx2", 1)->outcome, SB_BENCH_TIMED);
    ck_assert(!row_of(&r, "avx2", 1)->to_yardstick.known);
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
    sb_bench_result_free(&r);
}
END_TEST

/* Too large for the plain model: sampled tiles confirm the first output, which the others are compared with. */
START_TEST(calls_too_large_to_compute_plainly)
{
    faulty.whole_limit = 1000;
    struct sb_bench_result r = timed_with(RIGHT, small_case);
    ck_assert_msg(sb_bench_status(&r, 1) == 0, "%s", r.why);
    ck_assert_ptr_nonnull(strstr(r.about.compared, "sampled tiles"));
    ck_assert_ptr_nonnull(strstr(r.about.compared, "of 8640 outputs"));
    sb_bench_result_free(&r);
    r = timed_with(FLIP_A_BIT, small_case);
    ck_assert_int_eq(r.outcome, SB_BENCH_WRONG);
    ck_assert_ptr_nonnull(strstr(r.why, "avx2 against the plain reference"));
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
    const struct sb_bench_impl impl = faulty_impl();
    ck_assert_ptr_null(strstr(printed(&impl, &r), "samples"));
    sb_bench_result_free(&r);
    r = timed_with(FLIP_LATER, small_case);
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
    sb_bench_result_free(&r);
    faulty.runs = plain_only;
    r = timed_with(RIGHT, larger_case);
    ck_assert_int_eq(sb_bench_status(&r, 1), 0);
    ck_assert(row_of(&r, "plain", 1)->part);
    sb_bench_result_free(&r);
    faulty.runs = avx2_and_plain;
    faulty.whole_limit = 1 << 30;
}
END_TEST

/* What was said, and how much was computed by then. */
static struct {
    int opened, calls_before, long_steps;
    char steps[4096];
} told;

static void note_opened(void *user, const struct sb_bench_result *r)
{
    (void)user;
    told.opened++;
    told.calls_before = calls_made;
    ck_assert(r->about.work > 0 && r->about.compared[0] != '\0');
}

static void note_step(void *user, const char *what, bool takes_long)
{
    (void)user;
    told.long_steps += takes_long;
    snprintf(told.steps + strlen(told.steps), sizeof told.steps - strlen(told.steps), "%s\n", what);
}

/* The case is described before anything of it is computed, what takes long is told before it starts, and a case's own
 * samples change nothing. Where no vector path is timed, none computes. */
START_TEST(told_before_it_is_computed)
{
    static const char *const ids[] = {"wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5",
                                      "wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5,sample=2"};
    char compared[2][sizeof(struct sb_bench_about)];
    const struct sb_bench_impl impl = faulty_impl();
    faulty.whole_limit = 1000;
    fault = RIGHT;
    for (int i = 0; i < 4; i++) {
        struct sb_bench_result r;
        struct sb_error err = {0};
        const bool vector = i < 2;
        const struct sb_case c = parsed(ids[i % 2]);
        const struct sb_bench_plan plan = {.path = {true, vector, vector},
                                           .threads = {1},
                                           .thread_counts = 1,
                                           .min_samples = 5,
                                           .watch = {note_opened, note_step, NULL}};
        memset(&told, 0, sizeof told);
        calls_made = 0;
        ck_assert_msg(sb_bench_case(&impl, &plan, &c, &r, &err), "%s", err.text);
        ck_assert_msg(sb_bench_status(&r, 1) == 0, "%s", r.why);
        ck_assert(told.opened == 1 && told.calls_before == 0);
        ck_assert_int_eq(told.long_steps, vector ? 4 : 0); /* tiles, first output, warm-ups */
        ck_assert(!vector == (strstr(told.steps, "avx2 computes the whole call") == NULL));
        ck_assert(!vector == (strstr(told.steps, "avx2 on 1 thread, run 5") == NULL));
        ck_assert(vector == (calls_made > 0)); /* whole calls */
        snprintf(compared[i % 2], sizeof compared[0], "%s", r.about.compared);
        if (i % 2 == 1)
            ck_assert_str_eq(compared[0], compared[1]);
        sb_bench_result_free(&r);
    }
    faulty.whole_limit = 1 << 30;
}
END_TEST

START_TEST(calls_without_work)
{
    static const struct {
        const char *id, *words;
    } calls[] = {{"wgrad_varlen_k/M=24,N=24,E=4,counts=empty", "every segment is empty"},
                 {"wgrad_varlen_k/M=12,N=24,E=2,counts=10+20", "rejected"},
                 {"wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=descending", "break=descending"},
                 {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,break=misaligned_dw", "break=misaligned_dw"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct sb_bench_result r = timed_with(RIGHT, calls[i].id);
        ck_assert_int_eq(r.outcome, SB_BENCH_NOT_RUN);
        ck_assert_msg(strstr(r.why, calls[i].words) != NULL, "%s", r.why);
        ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_NOTHING_RAN);
        sb_bench_result_free(&r);
    }
}
END_TEST

START_TEST(the_implementations_own_cases)
{
    for (const struct sb_bench_default *row = sb_bench_wgrad_varlen_k_ref.cases; row->call != NULL; row++) {
        char id[SB_ID_SIZE];
        snprintf(id, sizeof id, "wgrad_varlen_k/%s", row->call);
        const struct sb_case c = parsed(id);
        ck_assert_str_eq(c.id, id);
        ck_assert_str_ne(row->reason, "");
    }
    for (int path = 0; path < SB_WGRAD_PATHS; path++)
        ck_assert_str_eq(sb_bench_wgrad_varlen_k_ref.paths[path], sb_wgrad_path_name((enum sb_wgrad_path)path));
    ck_assert_ptr_null(sb_bench_wgrad_varlen_k_ref.paths[SB_WGRAD_PATHS]);
}
END_TEST

/* ---- the machine --------------------------------------------------------------------------------------------------
 */

START_TEST(peak)
{
    ck_assert(sb_fma_peak_pass(1) && sb_fma_peak_pass(sb_bench_processors()));
    ck_assert_int_gt(sb_fma_peak_macs(), 1 << 20);
    ck_assert_str_ne(sb_fma_peak_kind(), "");
}
END_TEST

START_TEST(threads)
{
    for (int n = 1; n <= sb_bench_processors() && n <= 4; n++)
        ck_assert_int_eq(sb_bench_use_threads(n), n);
    ck_assert(sb_bench_cores() >= 0 && sb_bench_cores() <= sb_bench_processors());
    char name[160];
    ck_assert_str_ne(sb_bench_cpu_name(name, sizeof name), "");
    ck_assert_ptr_null(strchr(name, '\n'));
}
END_TEST

static int threads_of_process(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* The threads of a wider region end when a narrower one is to be timed: waiting, they would take processor time. */
START_TEST(idle_threads_end)
{
    ck_assert_int_eq(sb_bench_use_threads(sb_bench_processors()), sb_bench_processors());
    ck_assert_int_eq(threads_of_process(), sb_bench_processors());
    ck_assert_int_eq(sb_bench_use_threads(1), 1);
    for (int i = 0; i < 1000 && threads_of_process() > 1; i++) /* ending takes a moment */
        usleep(1000);
    ck_assert_int_eq(threads_of_process(), 1);
}
END_TEST

/* A core may run two threads: no figure is called one of a core. */
START_TEST(a_figure_is_of_a_thread)
{
    struct sb_bench_result r = timed_with(RIGHT, small_case);
    const struct sb_bench_impl impl = faulty_impl();
    const struct sb_bench_plan plan = {.min_samples = 5};
    const char *text = printed(&impl, &r);
    ck_assert(strstr(text, " a thread ") != NULL && strstr(text, "core") == NULL);
    json_t *all = sb_bench_json(&impl, &plan, &r, 1);
    const json_t *rate = json_object_get(json_row(all, "plain", 1), "rate");
    ck_assert(near(json_number_value(json_object_get(rate, "per_thread")), row_of(&r, "plain", 1)->rate.median));
    ck_assert_ptr_null(json_object_get(rate, "per_core"));
    json_decref(all);
    sb_bench_result_free(&r);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("bench");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120); /* others may use the machine */
    tcase_add_test(t, medians);
    tcase_add_test(t, where_the_median_lies);
    tcase_add_test(t, outliers);
    tcase_add_test(t, ratios);
    tcase_add_test(t, figures_and_turns);
    tcase_add_test(t, each_row_runs_on_its_threads);
    tcase_add_test(t, a_wrong_run_leaves_no_figure);
    tcase_add_test(t, an_output_that_nobody_writes);
    tcase_add_test(t, nothing_that_runs_is_status_3);
    tcase_add_test(t, right_bytes_are_timed);
    tcase_add_test(t, multiply_adds_are_not_padded);
    tcase_add_test(t, wrong_bytes_of_a_path);
    tcase_add_test(t, wrong_bytes_of_sampled_tiles);
    tcase_add_test(t, calls_too_large_to_compute_plainly);
    tcase_add_test(t, told_before_it_is_computed);
    tcase_add_test(t, calls_without_work);
    tcase_add_test(t, the_implementations_own_cases);
    tcase_add_test(t, peak);
    tcase_add_test(t, threads);
    tcase_add_test(t, idle_threads_end);
    tcase_add_test(t, a_figure_is_of_a_thread);
    suite_add_tcase(s, t);
    return s;
}
