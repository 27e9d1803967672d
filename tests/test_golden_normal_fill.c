/* The fast draw of normal values, by each of its ways: sb_bf16_draw's bits. The source is included for its static
 * functions: which of them sb_bf16_fill takes is the processor's choice, and the others would never be executed. */
#include "../golden/normal_fill.c"

#include "check_main.h"

enum { COUNT = 4096, BLOCKS = COUNT / 2 };

typedef void (*fill_fn)(const struct sb_rng *rng, uint64_t block, int64_t blocks, uint16_t *out);

static void expect_draws(fill_fn fill)
{
    static const uint64_t first_block[] = {0, 1, 12345, (UINT64_C(1) << 32) - 3};
    static uint16_t out[COUNT];
    for (int i = 0; i < 4; i++) {
        const struct sb_rng rng = {UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)i, (uint64_t)i << 33};
        int wrong = 0;
        fill(&rng, first_block[i], BLOCKS, out);
        for (uint64_t j = 0; j < COUNT; j++)
            wrong += out[j] != sb_bf16_draw(SB_DIST_NORMAL, &rng, 2 * first_block[i] + j);
        ck_assert_int_eq(wrong, 0);
    }
}

START_TEST(for_any_processor)
{
    expect_draws(fill_plain);
}
END_TEST

#if defined(__x86_64__)
START_TEST(with_avx2)
{
    if (__builtin_cpu_supports("avx2"))
        expect_draws(fill_avx2);
}
END_TEST

START_TEST(with_avx512)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        expect_draws(fill_avx512);
}
END_TEST
#endif

/* From odd places on, and of odd lengths. */
START_TEST(any_slice)
{
    const struct sb_rng rng = {7, 9};
    uint16_t out[9];
    for (uint64_t first = 0; first < 5; first++)
        for (int64_t count = 0; count <= 9; count++) {
            sb_bf16_fill(SB_DIST_NORMAL, &rng, first, count, out);
            for (int64_t j = 0; j < count; j++)
                ck_assert_uint_eq(out[j], sb_bf16_draw(SB_DIST_NORMAL, &rng, first + (uint64_t)j));
        }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("normal fill");
    TCase *t = tcase_create("all");
    tcase_add_test(t, for_any_processor);
#if defined(__x86_64__)
    tcase_add_test(t, with_avx2);
    tcase_add_test(t, with_avx512);
#endif
    tcase_add_test(t, any_slice);
    suite_add_tcase(s, t);
    return s;
}
