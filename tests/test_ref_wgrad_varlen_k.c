/* wgrad_varlen_k: segments, poisoned neighbours, gather, main_grad, output types, strides, rejections, threads. */
#include "../ref/f32_round.h"
#include "../ref/tc_bf16_k16_f25.h"
#include "../ref/wgrad_varlen_k.h"

#include "check_main.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

enum { NAN_BF16 = 0x7FC0, INF_BF16 = 0x7F80, GUARD = 16 };

/* One call and the memory it owns. Every row of dy and x outside the segments is poisoned, and the gaps too. */
struct problem {
    struct sb_wgrad_args args;
    uint16_t *dy, *x;
    int32_t *cu, *gather;
    uint32_t *main_grad;
    void *dw;
};

struct shape {
    int64_t M, N, E, ld_dy, ld_x; /* 0: dense */
    int64_t first, tail;          /* rows before the first segment and after the last */
    const int32_t *length;        /* [E] */
};

static int64_t outputs(const struct problem *p)
{
    return p->args.E * p->args.M * p->args.N;
}

static void *aligned(int64_t bytes)
{
    void *memory = aligned_alloc(64, (size_t)(bytes + 64) / 64 * 64);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Around 1 in magnitude, with a full significand and either sign. */
static uint16_t value(uint64_t *state)
{
    const uint32_t word = random_u32(state);
    return (uint16_t)((word & 0x807Fu) | (uint32_t)(123 + word / 256 % 8) << 7);
}

static uint16_t poison(int64_t i)
{
    return i % 3 == 0 ? NAN_BF16 : i % 3 == 1 ? INF_BF16 : INF_BF16 | 0x8000;
}

static void refresh_dw(struct problem *p)
{
    memset(p->dw, 0xA5, (size_t)(outputs(p) + GUARD) * 4);
}

static struct problem make_problem(const struct shape *s, uint64_t seed)
{
    struct problem p = {.args = {.M = s->M, .N = s->N, .E = s->E, .out_dtype = SB_F32}};
    p.args.ld_dy = s->ld_dy != 0 ? s->ld_dy : s->M;
    p.args.ld_x = s->ld_x != 0 ? s->ld_x : s->N;
    p.cu = malloc((size_t)(s->E + 1) * sizeof *p.cu);
    p.cu[0] = (int32_t)s->first;
    for (int64_t e = 0; e < s->E; e++)
        p.cu[e + 1] = p.cu[e] + s->length[e];
    p.args.T = p.args.Tx = p.cu[s->E] + s->tail;
    p.dy = aligned(p.args.T * p.args.ld_dy * 2 + 64);
    p.x = aligned(p.args.T * p.args.ld_x * 2 + 64);
    for (int64_t k = 0; k < p.args.T; k++) {
        const bool inside = k >= p.cu[0] && k < p.cu[s->E];
        for (int64_t m = 0; m < p.args.ld_dy; m++)
            p.dy[k * p.args.ld_dy + m] = inside && m < s->M ? value(&seed) : poison(k + m);
        for (int64_t n = 0; n < p.args.ld_x; n++)
            p.x[k * p.args.ld_x + n] = inside && n < s->N ? value(&seed) : poison(k + n + 1);
    }
    p.dw = aligned((outputs(&p) + GUARD) * 4);
    refresh_dw(&p);
    p.args.dy = p.dy;
    p.args.x = p.x;
    p.args.cu_seqlens = p.cu;
    return p;
}

static void add_main_grad(struct problem *p, uint64_t seed)
{
    p->main_grad = aligned(outputs(p) * 4);
    for (int64_t i = 0; i < outputs(p); i++) /* ordinary numbers around 1; every 50th any bits: NaN, Inf, -0 */
        p->main_grad[i] = i % 50 == 0 ? random_u32(&seed) : (random_u32(&seed) & 0x807FFFFFu) | 0x3F800000u;
    p->args.main_grad = p->main_grad;
}

static void free_problem(struct problem *p)
{
    free(p->dy);
    free(p->x);
    free(p->cu);
    free(p->gather);
    free(p->main_grad);
    free(p->dw);
}

/* One output by itself, in the words of the contract: no tiles, no operands taken apart ahead of time. */
static uint32_t one_output(const struct sb_wgrad_args *args, int64_t e, int64_t m, int64_t n)
{
    uint32_t sum = 0;
    const int64_t length = args->cu_seqlens[e + 1] - args->cu_seqlens[e];
    for (int64_t step = 0; step < (length + 15) / 16; step++) {
        uint16_t a[16], b[16];
        for (int64_t i = 0; i < 16; i++) {
            const int64_t k = args->cu_seqlens[e] + step * 16 + i;
            const bool real = step * 16 + i < length;
            a[i] = real ? args->dy[k * args->ld_dy + m] : 0;
            b[i] = real ? args->x[(args->x_gather_idx != NULL ? args->x_gather_idx[k] : k) * args->ld_x + n] : 0;
        }
        sum = sb_tc_bf16_k16_f25(sum, a, b);
    }
    if (args->main_grad == NULL)
        return sum;
    const uint32_t before = args->main_grad[(e * args->M + m) * args->N + n];
    return length == 0 ? before : sb_f32_add_rne(before, sum);
}

static void run(const struct problem *p)
{
    const struct sb_status status = sb_ref_wgrad_varlen_k(&p->args, p->dw), ok = sb_status_ok();
    char text[512];
    ck_assert_msg(memcmp(&status, &ok, sizeof ok) == 0, "%s", sb_status_text(&status, text, sizeof text));
}

static void expect_right(const struct problem *p)
{
    run(p);
    const bool f32 = p->args.out_dtype == SB_F32;
    int64_t i = 0;
    for (int64_t e = 0; e < p->args.E; e++)
        for (int64_t m = 0; m < p->args.M; m++)
            for (int64_t n = 0; n < p->args.N; n++, i++) {
                const uint32_t wide = one_output(&p->args, e, m, n);
                const uint32_t expected = f32 ? wide : sb_bf16_rne(wide);
                const uint32_t got = f32 ? ((uint32_t *)p->dw)[i] : ((uint16_t *)p->dw)[i];
                if (got != expected)
                    ck_abort_msg("dw[%lld, %lld, %lld] is %08x, expected %08x", (long long)e, (long long)m,
                                 (long long)n, got, expected);
            }
    const unsigned char *end = (unsigned char *)p->dw + (size_t)outputs(p) * (f32 ? 4 : 2);
    for (int k = 0; k < GUARD * 2; k++)
        ck_assert_uint_eq(end[k], 0xA5);
}

/* ---- segments -----------------------------------------------------------------------------------------------------
 */

static const int32_t all_lengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129};
static const int32_t b200_lengths[] = {162, 0, 2577, 446, 0, 83};
static const int32_t no_lengths[8] = {0};
static const int32_t one_hot[] = {0, 0, 300, 0};
static const int32_t single[] = {40};

static const struct {
    const char *reason;
    struct shape shape;
} segments[] = {
    {"every length around a step, a warp and a block", {16, 24, 15, 0, 0, 0, 0, all_lengths}},
    {"the same, first offset 5, poisoned rows on both sides", {16, 8, 15, 0, 0, 5, 19, all_lengths}},
    {"a public failure on B200", {8, 16, 6, 0, 0, 0, 0, b200_lengths}},
    {"all segments empty", {16, 16, 8, 0, 0, 0, 0, no_lengths}},
    {"all segments empty, with rows outside", {16, 16, 8, 0, 0, 3, 30, no_lengths}},
    {"one hot expert", {40, 72, 4, 0, 0, 0, 0, one_hot}},
    {"smaller than any tile", {8, 8, 1, 0, 0, 0, 0, single}},
    {"wider than a tile, and not a multiple of one", {136, 8, 1, 0, 0, 0, 0, single}},
    {"the same the other way", {8, 200, 1, 0, 0, 0, 0, single}},
    {"strided rows with poison in the gaps", {24, 40, 4, 32, 64, 3, 3, one_hot}},
};
enum { SEGMENTS = sizeof segments / sizeof segments[0] };

/* Plain, then with main_grad, in both output types. */
START_TEST(segment_lengths)
{
    struct problem p = make_problem(&segments[_i].shape, (uint64_t)_i + 1);
    for (int with_grad = 0; with_grad < 2; with_grad++) {
        if (with_grad)
            add_main_grad(&p, 7);
        for (int type = 0; type < 2; type++) {
            p.args.out_dtype = type == 0 ? SB_F32 : SB_BF16;
            refresh_dw(&p);
            expect_right(&p);
        }
    }
    free_problem(&p);
}
END_TEST

/* Nothing of the poison outside the segments reaches an output: all are finite. */
START_TEST(neighbours_do_not_leak)
{
    const struct shape shape = {16, 16, 15, 24, 24, 9, 40, all_lengths};
    struct problem p = make_problem(&shape, 3);
    run(&p);
    for (int64_t i = 0; i < outputs(&p); i++)
        ck_assert_uint_ne(((uint32_t *)p.dw)[i] & 0x7F800000u, 0x7F800000u);
    free_problem(&p);
}
END_TEST

/* A poisoned segment stays its own trouble: the neighbours' outputs keep their bits. */
START_TEST(a_poisoned_segment_spoils_only_itself)
{
    static const int32_t lengths[] = {17, 20, 9};
    const struct shape shape = {8, 8, 3, 0, 0, 0, 0, lengths};
    struct problem p = make_problem(&shape, 4);
    run(&p);
    uint32_t before[3 * 64];
    memcpy(before, p.dw, sizeof before);
    for (int64_t i = 17 * 8; i < 37 * 8; i++)
        p.dy[i] = NAN_BF16;
    run(&p);
    for (int i = 0; i < 3 * 64; i++)
        ck_assert_uint_eq(((uint32_t *)p.dw)[i], i / 64 == 1 ? 0x7FFFFFFFu : before[i]);
    free_problem(&p);
}
END_TEST

START_TEST(small_integers_are_exact)
{
    /* dy[k, m] = k + m, x[k, n] = 1 + k n mod 5: sums that every order of addition gets right, by plain integers. */
    enum { M = 8, N = 16, T = 50 };
    static const int32_t lengths[] = {13, 0, 37};
    const struct shape shape = {M, N, 3, 0, 0, 0, 0, lengths};
    struct problem p = make_problem(&shape, 5);
    for (int k = 0; k < T; k++) {
        for (int m = 0; m < M; m++) {
            const float v = (float)(k + m);
            uint32_t bits;
            memcpy(&bits, &v, 4);
            p.dy[k * M + m] = (uint16_t)(bits >> 16);
        }
        for (int n = 0; n < N; n++) {
            const float v = (float)(1 + k * n % 5);
            uint32_t bits;
            memcpy(&bits, &v, 4);
            p.x[k * N + n] = (uint16_t)(bits >> 16);
        }
    }
    run(&p);
    for (int e = 0; e < 3; e++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                int sum = 0;
                for (int k = p.cu[e]; k < p.cu[e + 1]; k++)
                    sum += (k + m) * (1 + k * n % 5);
                float got;
                memcpy(&got, (uint32_t *)p.dw + (e * M + m) * N + n, 4);
                ck_assert(got == (float)sum);
            }
    free_problem(&p);
}
END_TEST

/* Steps of 16 start at the segment's own start: with a first offset of 8 the outputs are those of the same rows at 0.
 */
START_TEST(steps_start_with_the_segment)
{
    static const int32_t lengths[] = {100};
    const struct shape at_0 = {8, 64, 1, 0, 0, 0, 0, lengths}, at_8 = {8, 64, 1, 0, 0, 8, 0, lengths};
    struct problem p = make_problem(&at_0, 6), q = make_problem(&at_8, 6);
    memcpy(q.dy + 8 * 8, p.dy, 100 * 8 * 2);
    memcpy(q.x + 8 * 64, p.x, 100 * 64 * 2);
    run(&p);
    run(&q);
    ck_assert_mem_eq(p.dw, q.dw, 8 * 64 * 4);

    /* And the phase is visible: the same 100 rows behind 8 zero rows give other bits somewhere. */
    static const int32_t longer[] = {108};
    const struct shape shifted = {8, 64, 1, 0, 0, 0, 0, longer};
    struct problem r = make_problem(&shifted, 6);
    memset(r.dy, 0, 8 * 8 * 2);
    memset(r.x, 0, 8 * 64 * 2);
    memcpy(r.dy + 8 * 8, p.dy, 100 * 8 * 2);
    memcpy(r.x + 8 * 64, p.x, 100 * 64 * 2);
    run(&r);
    ck_assert(memcmp(p.dw, r.dw, 8 * 64 * 4) != 0);
    free_problem(&p);
    free_problem(&q);
    free_problem(&r);
}
END_TEST

START_TEST(no_rows_at_all)
{
    const struct shape shape = {8, 8, 2, 0, 0, 0, 0, no_lengths};
    struct problem p = make_problem(&shape, 7);
    p.args.dy = p.args.x = NULL;
    p.args.Tx = 0;
    run(&p);
    for (int i = 0; i < 128; i++)
        ck_assert_uint_eq(((uint32_t *)p.dw)[i], 0);
    free_problem(&p);
}
END_TEST

/* ---- gather
 * ----------------------------------------------------------------------------------------------------------- */

START_TEST(gathered_rows)
{
    const struct shape shape = {16, 24, 15, 0, 0, 4, 12, all_lengths};
    struct problem p = make_problem(&shape, 8);
    uint64_t state = 9;
    const int64_t rows = p.args.T, first = p.cu[0], last = p.cu[shape.E];
    p.gather = malloc((size_t)rows * sizeof *p.gather);
    p.args.x_gather_idx = p.gather;
    for (int kind = 0; kind < 3; kind++) { /* any row, all the same row, reversed; outside the segments, nonsense */
        for (int64_t k = 0; k < rows; k++) {
            const int64_t inside = kind == 0   ? first + random_below(&state, last - first)
                                   : kind == 1 ? first
                                               : last - 1 - (k - first);
            p.gather[k] = k >= first && k < last ? (int32_t)inside : k % 2 == 0 ? -1 : INT32_MAX;
        }
        refresh_dw(&p);
        expect_right(&p);
    }
    /* x may have fewer rows than dy, or more, when it is gathered. */
    p.args.Tx = first + 3;
    for (int64_t k = first; k < last; k++)
        p.gather[k] = (int32_t)(first + k % 3);
    refresh_dw(&p);
    expect_right(&p);
    free_problem(&p);
}
END_TEST

/* ---- main_grad, output types
 * ------------------------------------------------------------------------------------------ */

START_TEST(main_grad_of_an_empty_segment_is_unchanged)
{
    static const uint32_t words[8] = {0x7F800001u, 0xFFC12345u, 0x80000000u, 0x00000001u,
                                      0xFF800000u, 0x3F80FFFFu, 0x00000000u, 0x7FFFFFFFu};
    static const uint16_t rounded[8] = {0x7FFF, 0x7FFF, 0x8000, 0x0000, 0xFF80, 0x3F81, 0x0000, 0x7FFF};
    const struct shape shape = {8, 8, 2, 0, 0, 0, 0, no_lengths};
    struct problem p = make_problem(&shape, 10);
    add_main_grad(&p, 11);
    for (int i = 0; i < 128; i++)
        p.main_grad[i] = words[i % 8];
    run(&p);
    ck_assert_mem_eq(p.dw, p.main_grad, 128 * 4); /* NaN payloads and -0 included */
    p.args.out_dtype = SB_BF16;
    run(&p);
    for (int i = 0; i < 128; i++)
        ck_assert_uint_eq(((uint16_t *)p.dw)[i], rounded[i % 8]);
    free_problem(&p);
}
END_TEST

START_TEST(main_grad_nan_is_canonical_after_an_addition)
{
    const struct shape shape = {8, 8, 1, 0, 0, 0, 0, single};
    struct problem p = make_problem(&shape, 12);
    add_main_grad(&p, 13);
    for (int i = 0; i < 64; i++)
        p.main_grad[i] = i % 2 == 0 ? 0xFFC12345u : 0x7F800001u;
    run(&p);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(((uint32_t *)p.dw)[i], 0x7FFFFFFFu);
    free_problem(&p);
}
END_TEST

/* The gradient is added after the sum, not folded in as the first accumulator. */
START_TEST(main_grad_is_added_last)
{
    static const int32_t lengths[] = {16};
    const struct shape shape = {8, 8, 1, 0, 0, 0, 0, lengths};
    struct problem p = make_problem(&shape, 14);
    memset(p.dy, 0, 16 * 8 * 2);
    for (int i = 0; i < 16 * 8; i++)
        p.x[i] = 0x3F80;
    for (int m = 0; m < 8; m++)
        p.dy[m] = 0x3380; /* 2^-24: half a place of 1 */
    for (int m = 0; m < 8; m++)
        p.dy[8 + m] = 0x2F80; /* 2^-32: tips the rounding, and would be cut if 1 were the accumulator */
    add_main_grad(&p, 15);
    for (int i = 0; i < 64; i++)
        p.main_grad[i] = 0x3F800000u;
    run(&p);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(((uint32_t *)p.dw)[i], 0x3F800001u);
    free_problem(&p);
}
END_TEST

START_TEST(main_grad_in_place)
{
    const struct shape shape = {40, 48, 6, 0, 0, 0, 0, b200_lengths};
    struct problem p = make_problem(&shape, 16);
    add_main_grad(&p, 17);
    run(&p);
    const struct sb_status status = sb_ref_wgrad_varlen_k(&p.args, p.main_grad);
    ck_assert_int_eq(status.code, SB_OK);
    ck_assert_mem_eq(p.main_grad, p.dw, (size_t)outputs(&p) * 4);
    free_problem(&p);
}
END_TEST

START_TEST(nan_and_infinity_in_the_data)
{
    const struct shape shape = {8, 8, 1, 0, 0, 0, 0, single};
    struct problem p = make_problem(&shape, 18);
    p.dy[20 * 8 + 3] = INF_BF16; /* row 3 of dw: infinities; where x is zero: NaN */
    p.x[20 * 8 + 5] = 0x8000;
    expect_right(&p);
    const uint32_t *dw = p.dw;
    ck_assert_uint_eq(dw[3 * 8 + 5], 0x7FFFFFFFu);
    ck_assert_uint_eq(dw[3 * 8 + 4] & 0x7FFFFFFFu, 0x7F800000u);
    p.args.out_dtype = SB_BF16;
    refresh_dw(&p);
    expect_right(&p);
    ck_assert_uint_eq(((uint16_t *)p.dw)[3 * 8 + 5], 0x7FFFu);
    free_problem(&p);
}
END_TEST

/* ---- threads and repeats
 * ------------------------------------------------------------------------------------------------ */

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    const struct shape shape = {72, 136, 15, 0, 0, 2, 6, all_lengths};
    struct problem p = make_problem(&shape, 19);
    add_main_grad(&p, 20);
    run(&p);
    uint32_t *first = malloc((size_t)outputs(&p) * 4);
    memcpy(first, p.dw, (size_t)outputs(&p) * 4);
    static const int threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
#if defined(_OPENMP)
        omp_set_num_threads(threads[i]);
#else
        (void)threads;
#endif
        refresh_dw(&p);
        run(&p);
        ck_assert_mem_eq(first, p.dw, (size_t)outputs(&p) * 4);
    }
    free(first);
    free_problem(&p);
}
END_TEST

START_TEST(hundred_repeats)
{
    const struct shape shape = {16, 40, 4, 0, 0, 0, 0, one_hot};
    struct problem p = make_problem(&shape, 21);
    run(&p);
    uint32_t *first = malloc((size_t)outputs(&p) * 4);
    memcpy(first, p.dw, (size_t)outputs(&p) * 4);
    for (int i = 0; i < 100; i++) {
        refresh_dw(&p);
        run(&p);
        ck_assert_mem_eq(first, p.dw, (size_t)outputs(&p) * 4);
    }
    free(first);
    free_problem(&p);
}
END_TEST

/* ---- rejections
 * ----------------------------------------------------------------------------------------------------------- */

static void expect_rejection(const struct sb_wgrad_args *args, void *dw, enum sb_code code, int64_t a, int64_t b,
                             int64_t c)
{
    const struct sb_status expected = sb_reject(code, a, b, c), status = sb_ref_wgrad_varlen_k(args, dw);
    ck_assert_msg(memcmp(&status, &expected, sizeof status) == 0,
                  "%s {%lld, %lld, %lld}, expected %s {%lld, %lld, %lld}", sb_code_name((enum sb_code)status.code),
                  (long long)status.where[0], (long long)status.where[1], (long long)status.where[2],
                  sb_code_name(code), (long long)a, (long long)b, (long long)c);
}

static void expect_untouched(const struct problem *p)
{
    for (int64_t i = 0; i < outputs(p) + GUARD; i++)
        if (((uint32_t *)p->dw)[i] != 0xA5A5A5A5u)
            ck_abort_msg("a rejected call wrote element %lld", (long long)i);
}

/* The change to one argument, and what comes back. */
START_TEST(arguments)
{
    const struct shape shape = {16, 24, 4, 0, 0, 0, 2, one_hot};
    struct problem p = make_problem(&shape, 22);
    const struct sb_wgrad_args good = p.args;
    struct sb_wgrad_args bad;
    ck_assert_int_eq(sb_wgrad_check_args(&good, p.dw).code, SB_OK);
    bad = good, bad.T = -1;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 1, -1, 0);
    bad = good, bad.Tx = -1;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 2, -1, 0);
    bad = good, bad.Tx = good.T - 1; /* without a gather every row of dy needs its row of x */
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 2, good.T - 1, 0);
    bad = good, bad.M = 0;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 3, 0, 0);
    bad = good, bad.M = 4;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 3, 4, 0);
    bad = good, bad.N = -8;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 4, -8, 0);
    bad = good, bad.E = 0;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 5, 0, 0);
    bad = good, bad.ld_dy = 8;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 6, 8, 0);
    bad = good, bad.ld_x = 16;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 7, 16, 0);
    bad = good, bad.out_dtype = SB_I32;
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 8, SB_I32, 0);
    bad.T = -1; /* the first in order */
    expect_rejection(&bad, p.dw, SB_BAD_ARGUMENT, 1, -1, 0);
    expect_untouched(&p);
    free_problem(&p);
}
END_TEST

START_TEST(alignment)
{
    const struct shape shape = {16, 24, 4, 32, 32, 0, 2, one_hot};
    struct problem p = make_problem(&shape, 23);
    add_main_grad(&p, 24);
    const struct sb_wgrad_args good = p.args;
    struct sb_wgrad_args bad;
    bad = good, bad.M = 12;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 1, 12, 8);
    bad = good, bad.N = 23;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 2, 23, 8);
    bad = good, bad.ld_dy = 20;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 3, 20, 8);
    bad = good, bad.ld_x = 31;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 4, 31, 8);
    bad = good, bad.dy = p.dy + 1;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 5, 2, 16);
    bad = good, bad.x = p.x + 4;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 6, 8, 16);
    expect_rejection(&good, (uint32_t *)p.dw + 1, SB_ALIGNMENT, 7, 4, 16);
    bad = good, bad.main_grad = p.main_grad + 3;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 8, 12, 16);
    bad.x = p.x + 4, bad.ld_dy = 20; /* sizes before pointers, pointers in order */
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 3, 20, 8);
    bad.ld_dy = 32;
    expect_rejection(&bad, p.dw, SB_ALIGNMENT, 6, 8, 16);
    expect_untouched(&p);
    free_problem(&p);
}
END_TEST

START_TEST(segment_order)
{
    static const int32_t lengths[4] = {10, 10, 10, 10};
    const struct shape shape = {8, 8, 4, 0, 0, 0, 2, lengths};
    struct problem p = make_problem(&shape, 25); /* T = 42 */
    static const struct {
        int32_t cu[5];
        int64_t where[3];
    } bad[] = {
        {{-1, 10, 20, 30, 40}, {0, -1, 0}}, {{0, 10, 9, 30, 40}, {1, 10, 9}},   {{11, 10, 20, 30, 40}, {0, 11, 10}},
        {{0, 10, 20, 30, 29}, {3, 30, 29}}, {{0, 10, 20, 30, 43}, {4, 43, 42}}, {{-5, -9, 20, 10, 99}, {0, -5, 0}},
        {{0, 30, 20, 10, 99}, {1, 30, 20}}, {{0, 10, 99, 30, 40}, {2, 99, 30}}, {{43, 43, 43, 43, 43}, {4, 43, 42}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sb_wgrad_args args = p.args;
        args.cu_seqlens = bad[i].cu;
        expect_rejection(&args, p.dw, SB_SEGMENT_ORDER, bad[i].where[0], bad[i].where[1], bad[i].where[2]);
    }
    expect_untouched(&p);
    free_problem(&p);
}
END_TEST

START_TEST(gather_range)
{
    static const int32_t lengths[4] = {10, 0, 10, 10};
    const struct shape shape = {8, 8, 4, 0, 0, 3, 2, lengths};
    struct problem p = make_problem(&shape, 26);
    p.gather = calloc((size_t)p.args.T, sizeof *p.gather);
    p.args.x_gather_idx = p.gather;
    p.args.Tx = 20;
    p.gather[0] = p.gather[33] = -7; /* outside the segments: not looked at */
    for (int64_t k = 3; k < 33; k++)
        p.gather[k] = 5;
    p.gather[32] = 20;
    expect_rejection(&p.args, p.dw, SB_GATHER_RANGE, 32, 20, 20);
    p.gather[17] = -1;
    expect_rejection(&p.args, p.dw, SB_GATHER_RANGE, 17, -1, 20);
    p.gather[3] = INT32_MIN;
    expect_rejection(&p.args, p.dw, SB_GATHER_RANGE, 3, INT32_MIN, 20);
    expect_untouched(&p);
    p.cu[2] = 2; /* the order of the segments is looked at first */
    expect_rejection(&p.args, p.dw, SB_SEGMENT_ORDER, 1, 13, 2);
    expect_untouched(&p);
    free_problem(&p);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref wgrad_varlen_k");
    TCase *tc = tcase_create("wgrad_varlen_k");
    tcase_add_loop_test(tc, segment_lengths, 0, SEGMENTS);
    tcase_add_test(tc, neighbours_do_not_leak);
    tcase_add_test(tc, a_poisoned_segment_spoils_only_itself);
    tcase_add_test(tc, small_integers_are_exact);
    tcase_add_test(tc, steps_start_with_the_segment);
    tcase_add_test(tc, no_rows_at_all);
    tcase_add_test(tc, gathered_rows);
    tcase_add_test(tc, main_grad_of_an_empty_segment_is_unchanged);
    tcase_add_test(tc, main_grad_nan_is_canonical_after_an_addition);
    tcase_add_test(tc, main_grad_is_added_last);
    tcase_add_test(tc, main_grad_in_place);
    tcase_add_test(tc, nan_and_infinity_in_the_data);
    tcase_add_test(tc, any_number_of_threads_gives_the_same_bits);
    tcase_add_test(tc, hundred_repeats);
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, alignment);
    tcase_add_test(tc, segment_order);
    tcase_add_test(tc, gather_range);
    suite_add_tcase(suite, tc);
    return suite;
}
