/* Timing a made-up implementation whose clock is its own: the turns, the threads, and above all that wrong bytes never
 * get a figure. */
#include "../harness/bench_machine.h"

#include <stdlib.h>

#include "bench_results.h"
#include "check_main.h"

enum { WORK = 1000, OUTPUTS = 16, NO_RUN = -1, EVERY_RUN = -2 };

/* Path "slow" takes 1 s a run, "quick" 1/8 s, "absent" does not run. Every output is to be `right`. */
static struct {
    char log[4096]; /* a letter a run: its path's first */
    unsigned char out[OUTPUTS], right;
    int runs[3];
    int wrong_path, wrong_run; /* the run, counted from 0, that leaves the last output alone; NO_RUN, EVERY_RUN */
    int opened, closed;
    bool poisoned;
    enum { NOWHERE, IN_RUN, IN_CHECK, AT_THE_END } short_of_memory; /* of the wrong path */
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
    about->when = "after every run";
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

static bool lacks_memory(const struct sb_bench_subject *s, int where, struct sb_error *err)
{
    return *(const int *)s->state == fake.wrong_path && (int)fake.short_of_memory == where &&
           !sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for it");
}

static bool fake_run(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    static const double each[] = {1.0, 0.125};
    const int path = *(const int *)s->state;
    ck_assert(fake.poisoned);
    ck_assert_int_eq(threads_of_parallel_work(), s->threads);
    fake.poisoned = false;
    const bool wrong = path == fake.wrong_path && (fake.wrong_run == EVERY_RUN || fake.runs[path] == fake.wrong_run);
    memset(fake.out, fake.right, wrong ? OUTPUTS - 1 : OUTPUTS);
    snprintf(fake.log + strlen(fake.log), sizeof fake.log - strlen(fake.log), "%c", fake_paths[path][0]);
    fake.runs[path]++;
    *seconds = each[path];
    return !lacks_memory(s, IN_RUN, err);
}

static bool fake_check(const struct sb_bench_subject *s, int poison, struct sb_error *err)
{
    (void)poison;
    for (int i = 0; i < OUTPUTS; i++)
        if (fake.out[i] != fake.right)
            return sb_fail(err, SB_EXIT_MISMATCH, "output %d is %02x", i, fake.out[i]);
    return !lacks_memory(s, IN_CHECK, err);
}

static bool fake_conclude(const struct sb_bench_subject *s, struct sb_error *err)
{
    return !lacks_memory(s, AT_THE_END, err);
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
                                   .check = fake_check,
                                   .conclude = fake_conclude};
    return true;
}

static const struct sb_bench_impl fake_impl = {
    .op = "wgrad_varlen_k",
    .impl = "fake",
    .unit = "GMAC/s",
    .unit_work = 100,
    .cases = fake_cases,
    .paths = fake_paths,
    .threaded = true,
    .cannot = fake_cannot,
    .open = fake_open,
    .subject = fake_subject,
    .close = fake_close,
};
static const struct sb_bench_plan fake_plan = {
    .path = {true, true, true}, .threads = {1}, .thread_counts = 1, .seconds = 2, .min_samples = 5};

static void start_fake(int wrong_path, int wrong_run)
{
    memset(&fake, 0, sizeof fake);
    fake.wrong_path = wrong_path;
    fake.wrong_run = wrong_run;
    fake.right = 7;
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
    struct sb_bench_plan plan = fake_plan;
    if (sb_bench_processors() > 1)
        plan.threads[plan.thread_counts++] = 2;
    start_fake(0, NO_RUN);
    ck_assert(sb_bench_case(&fake_impl, &plan, &c, &r, &err));
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
/* It has no figure, but nothing of it is wrong, and the others have theirs. */
START_TEST(no_memory_is_no_wrong_byte)
{
    for (int where = IN_RUN; where <= AT_THE_END; where++) {
        struct sb_bench_result r;
        struct sb_error err = {0};
        const struct sb_case c = parsed("wgrad_varlen_k/M=8,N=8,E=1,counts=3");
        start_fake(1, NO_RUN);
        fake.short_of_memory = where;
        ck_assert(sb_bench_case(&fake_impl, &fake_plan, &c, &r, &err));
        const struct sb_bench_row *quick = row_of(&r, "quick", 1);
        ck_assert_int_eq(quick->outcome, SB_BENCH_NOT_RUN);
        ck_assert_str_eq(quick->reason, "no memory for it");
        ck_assert_int_eq(quick->rate.samples, 0);
        ck_assert_int_eq(row_of(&r, "slow", 1)->outcome, SB_BENCH_TIMED);
        ck_assert_int_eq(r.outcome, SB_BENCH_TIMED);
        ck_assert_int_eq(sb_bench_status(&r, 1), 0);
        sb_bench_result_free(&r);
    }
}
END_TEST

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

static Suite *make_suite(void)
{
    Suite *s = suite_create("bench_run");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120); /* others may use the machine */
    tcase_add_test(t, figures_and_turns);
    tcase_add_test(t, each_row_runs_on_its_threads);
    tcase_add_test(t, a_wrong_run_leaves_no_figure);
    tcase_add_test(t, no_memory_is_no_wrong_byte);
    tcase_add_test(t, an_output_that_nobody_writes);
    tcase_add_test(t, nothing_that_runs_is_status_3);
    suite_add_tcase(s, t);
    return s;
}
