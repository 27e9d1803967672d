/* What figures are taken on: processors, threads, the peak beside the figures. */
#include "../harness/bench_machine.h"
#include "../harness/fma_peak.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"

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

static Suite *make_suite(void)
{
    Suite *s = suite_create("bench_machine");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120); /* others may use the machine */
    tcase_add_test(t, peak);
    tcase_add_test(t, threads);
    tcase_add_test(t, idle_threads_end);
    suite_add_tcase(s, t);
    return s;
}
