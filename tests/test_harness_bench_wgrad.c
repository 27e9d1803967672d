/* Timing wgrad_varlen_k on the CPU, with paths that are wrong. */
#include "../harness/bench_machine.h"
#include "../harness/bench_wgrad.h"

#include "bench_results.h"
#include "check_main.h"

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
    Suite *s = suite_create("bench_wgrad");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120); /* others may use the machine */
    tcase_add_test(t, right_bytes_are_timed);
    tcase_add_test(t, multiply_adds_are_not_padded);
    tcase_add_test(t, wrong_bytes_of_a_path);
    tcase_add_test(t, wrong_bytes_of_sampled_tiles);
    tcase_add_test(t, calls_too_large_to_compute_plainly);
    tcase_add_test(t, told_before_it_is_computed);
    tcase_add_test(t, calls_without_work);
    tcase_add_test(t, the_implementations_own_cases);
    tcase_add_test(t, a_figure_is_of_a_thread);
    suite_add_tcase(s, t);
    return s;
}
