/* metadata_pack: the two ops in one call, byte for byte; the known answer at full size. */
#define _POSIX_C_SOURCE 200809L
#include "../ref/metadata_pack.h"

#include "check_main.h"
#include "ref_topk.h"

#include <sys/resource.h>
#include <time.h>

static struct sb_scale_pack_args scales_of(const uint8_t *raw, int64_t n, int64_t cols)
{
    return (struct sb_scale_pack_args){.raw = raw,
                                       .carrier = SB_CARRIER_U8,
                                       .n = n,
                                       .cols = cols,
                                       .row_stride = sb_cdiv(cols, 32),
                                       .col_stride = 1,
                                       .fill = 1};
}

static uint8_t *random_bytes(int64_t size, uint64_t seed)
{
    uint8_t *bytes = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(bytes);
    for (int64_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_u32(&seed);
    return bytes;
}

START_TEST(equals_the_two_ops)
{
    static const struct {
        int64_t n, topk, experts, block, cols;
        enum topk_route route;
    } cases[] = {
        {300, 8, 8, 128, 7168, ROUTE_FULL}, {300, 4, 40, 128, 288, ROUTE_HOLES}, {77, 3, 5, 16, 100, ROUTE_WILD},
        {50, 2, 9, 1, 64, ROUTE_HOLES},     {40, 4, 4, 128, 128, ROUTE_NONE},    {0, 4, 4, 128, 128, ROUTE_NONE},
    };
    struct sb_topk_args args = {.idx_dtype = SB_I64,
                                .counts_align = 1,
                                .n = cases[_i].n,
                                .topk = cases[_i].topk,
                                .experts = cases[_i].experts,
                                .block = cases[_i].block};
    topk_fill_input(&args, cases[_i].route, 9);
    uint8_t *raw = random_bytes(args.n * sb_cdiv(cases[_i].cols, 32), 10);
    struct sb_scale_pack_args scales = scales_of(raw, args.n, cases[_i].cols);
    scales.r = -99; /* ignored, and the gather with it */
    scales.gather = (const int32_t *)args.topk_prob;

    int64_t TK, TKP;
    const struct sb_status counted = sb_ref_topk_count(&args, NULL, &TK, &TKP);
    struct sb_topk_out expected = topk_alloc(&args, TK, TKP), out = topk_alloc(&args, TK, TKP);
    const size_t size = (size_t)sb_scale_pack_bytes(TKP, scales.cols);
    uint8_t *expected_packed = malloc(size + 64), *packed = malloc(size + 64);
    memset(expected_packed, 0xA5, size + 64);
    memset(packed, 0xA5, size + 64);

    ck_assert_int_eq(sb_ref_topk_metadata(&args, &expected).code, SB_OK);
    struct sb_scale_pack_args gathered = scales;
    gathered.r = TKP;
    gathered.gather = expected.x_gather_idx;
    ck_assert_int_eq(sb_ref_scale_pack(&gathered, expected_packed).code, SB_OK);

    const struct sb_status status = sb_ref_metadata_pack(&args, &scales, &out, packed);
    ck_assert_mem_eq(&status, &counted, sizeof status); /* ok, with the same count of ignored ids */
    topk_assert_same(&args, &out, &expected);
    ck_assert_mem_eq(packed, expected_packed, size + 64);

    /* Padding rows carry row 0's scales, not the fill. */
    for (int64_t p = 0; p < TKP; p++)
        for (int64_t s = 0; out.s_scatter_idx[p] >= TK && s < sb_cdiv(scales.cols, 32); s++)
            if (packed[sb_scale_pack_offset(p, s, scales.cols)] != raw[s])
                ck_abort_msg("padding row %lld, column %lld", (long long)p, (long long)s);

    topk_free(&expected);
    topk_free(&out);
    topk_free_input(&args);
    free(expected_packed);
    free(packed);
    free(raw);
}
END_TEST

static void expect_rejection(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales,
                             enum sb_code code, int64_t a, int64_t b, int64_t c)
{
    struct sb_topk_out out = topk_alloc(args, 16, 16);
    uint8_t packed[512];
    memset(packed, 0xA5, sizeof packed);
    const struct sb_status expected = sb_reject(code, a, b, c),
                           status = sb_ref_metadata_pack(args, scales, &out, packed);
    ck_assert_mem_eq(&status, &expected, sizeof status);
    if (code != SB_DUPLICATE_EXPERT) { /* needs no array */
        const struct sb_status checked = sb_metadata_pack_check_args(args, scales);
        ck_assert_mem_eq(&checked, &expected, sizeof checked);
    }
    topk_assert_guards(&out, (const int64_t[TOPK_ARRAYS]){0});
    ck_assert(packed[0] == 0xA5 && memcmp(packed, packed + 1, sizeof packed - 1) == 0);
    ck_assert(out.TK == -1 && out.TKP == -1 && out.pad_rows == -1);
    topk_free(&out);
}

START_TEST(rejections_in_order)
{
    static const int64_t twice[4] = {0, 1, 2, 2};
    static const uint32_t prob[4] = {0};
    static const uint8_t raw[2 * 8] = {0};
    struct sb_topk_args args = {.topk_idx = twice,
                                .topk_prob = prob,
                                .idx_dtype = SB_I64,
                                .counts_align = 1,
                                .n = 2,
                                .topk = 2,
                                .experts = 4,
                                .block = 8};
    struct sb_scale_pack_args scales = scales_of(raw, 2, 256);
    expect_rejection(&args, &scales, SB_DUPLICATE_EXPERT, 1, 0, 1);
    scales.cols = INT64_MAX; /* a size that the most rows there can be make too large */
    expect_rejection(&args, &scales, SB_TOO_LARGE, INT64_MAX, INT64_MAX, 0);
    scales.row_stride = 0;
    expect_rejection(&args, &scales, SB_BAD_ARGUMENT, 3, 0, 0);
    scales = scales_of(raw, 2, 256);
    scales.carrier = SB_CARRIER_I32X4; /* arguments come before data */
    scales.cols = 96;
    expect_rejection(&args, &scales, SB_CARRIER_WIDTH, 3, 4, 0);
    scales.cols = 0;
    expect_rejection(&args, &scales, SB_BAD_ARGUMENT, 2, 0, 0);
    scales.n = 3;
    expect_rejection(&args, &scales, SB_BAD_ARGUMENT, 1, 3, 0);
    args.block = 3; /* topk_metadata's arguments come before scale_pack's */
    expect_rejection(&args, &scales, SB_BAD_ARGUMENT, 4, 3, 0);
}
END_TEST

static double seconds_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

START_TEST(known_answer)
{
    enum { N = 116000, TOPK = 8, COLS = 7168, S = COLS / 32 };
    struct sb_topk_args args = {
        .idx_dtype = SB_I64, .counts_align = 1, .n = N, .topk = TOPK, .experts = TOPK, .block = 128};
    topk_fill_input(&args, ROUTE_FULL, 1); /* eight different experts of eight: every token on every expert */
    uint8_t *raw = random_bytes((int64_t)N * S, 2);
    const struct sb_scale_pack_args scales = scales_of(raw, N, COLS);

    int64_t count[TOPK], TK, TKP;
    ck_assert_int_eq(sb_ref_topk_count(&args, count, &TK, &TKP).code, SB_OK);
    ck_assert_int_eq(TK, 928000);
    ck_assert_int_eq(TKP, 928768);
    for (int e = 0; e < TOPK; e++)
        ck_assert_int_eq(count[e], N);
    const int64_t size = sb_scale_pack_bytes(TKP, COLS);
    ck_assert_int_eq(size, 208044032);

    struct sb_topk_out out = topk_alloc(&args, TK, TKP);
    uint8_t *packed = malloc((size_t)size);
    ck_assert_ptr_nonnull(packed);
    const double start = seconds_now(CLOCK_MONOTONIC), start_used = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
    ck_assert_int_eq(sb_ref_metadata_pack(&args, &scales, &out, packed).code, SB_OK);
    const double seconds = seconds_now(CLOCK_MONOTONIC) - start;
    const double used = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - start_used; /* by all threads */
    ck_assert_int_eq(out.pad_rows, 768);

    /* Every byte: with every token on every expert row p of segment e is token p - e * 116096, or row 0 past its end.
     */
    for (int64_t p = 0; p < TKP; p++) {
        const int64_t within = p % 116096, row = within < N ? within : 0;
        if (out.x_gather_idx[p] != row)
            ck_abort_msg("x_gather_idx[%lld] is %d", (long long)p, out.x_gather_idx[p]);
        for (int64_t tile = 0; tile < S / 4; tile++) {
            const int64_t at = (p / 128 * (S / 4) + tile) * 512 + p % 32 * 16 + p % 128 / 32 * 4;
            if (memcmp(packed + at, raw + row * S + tile * 4, 4) != 0)
                ck_abort_msg("packed row %lld, tile %lld", (long long)p, (long long)tile);
        }
    }
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
    const double limit = 60.0; /* not the build that the promise of 10 s is made for */
#else
    const double limit = 10.0;
#endif
    /* On a machine that is busy with something else the processor time alone says what the call took. */
    ck_assert_msg(seconds < limit || used < limit, "metadata_pack took %.1f s, %.1f s of processor time", seconds,
                  used);
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    const long limit_kib = 4L << 20;
    ck_assert_msg(usage.ru_maxrss < limit_kib, "metadata_pack took %ld KiB", usage.ru_maxrss);
    topk_free(&out);
    topk_free_input(&args);
    free(packed);
    free(raw);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref metadata_pack");
    TCase *tc = tcase_create("metadata_pack");
    tcase_add_loop_test(tc, equals_the_two_ops, 0, 6);
    tcase_add_test(tc, rejections_in_order);
    tcase_add_test(tc, known_answer);
    suite_add_tcase(suite, tc);
    return suite;
}
