/* wgrad_varlen_k by vector instructions: the plain model's bytes on every input. The values are drawn to make blocks
 * change between the fast steps and the plain ones, and to sit at the edges of every condition in wgrad_vector.inc. */
#include "../ref/wgrad_varlen_k_fast.h"

#include "check_main.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Problems of each kind; fewer where a planted fault is to be seen. */
#if defined(TC_ONE_IN)
enum { ROUNDS = 4 };
#else
enum { ROUNDS = 16 };
#endif
enum { GUARD = 64, GUARD_BYTE = 0xC3, STEP = 16 };

/* ---- values ----------------------------------------------------------------------------------------------- */

static uint16_t bf16(int sign, int exponent, int fraction)
{
    return (uint16_t)((sign & 1) << 15 | (exponent + 127) << 7 | (fraction & 0x7F));
}

static uint16_t ordinary(uint64_t *state)
{
    const uint32_t w = random_u32(state);
    return bf16((int)(w >> 31), (int)(w >> 8 & 7) - 5, (int)w);
}

/* One value in row k, of dy or of x (`second`). */
typedef uint16_t (*value_fn)(uint64_t *state, int64_t k, bool second);

static uint16_t plain_numbers(uint64_t *state, int64_t k, bool second)
{
    (void)k;
    (void)second;
    return ordinary(state);
}

static uint16_t any_bits(uint64_t *state, int64_t k, bool second)
{
    (void)k;
    (void)second;
    return (uint16_t)random_u32(state);
}

static uint16_t any_finite(uint64_t *state, int64_t k, bool second)
{
    (void)k;
    (void)second;
    return (uint16_t)((uint32_t)random_below(state, 0x7F80) | (random_u32(state) & 0x8000u));
}

/* Ordinary steps; every fifth has, here and there, one of the exceptions. */
static uint16_t mixed(uint64_t *state, int64_t k, bool second)
{
    (void)second;
    static const uint16_t odd[] = {0x7F80, 0xFF80, 0x7FC1, 0x0001, 0x807F, 0x7F7F, 0xFF7F, 0x0080, 0x0000, 0x8000};
    if (k / STEP % 5 == 3 && random_below(state, 400) == 0)
        return odd[random_below(state, sizeof odd / sizeof odd[0])];
    return ordinary(state);
}

/* Steps whose sums are huge or tiny, and ordinary ones after them: what c is left with is looked at. */
static uint16_t swings(uint64_t *state, int64_t k, bool second)
{
    static const int exponent[8] = {0, -62, 0, 54, -70, 0, -50, 40};
    const uint32_t w = random_u32(state);
    return bf16(second ? 0 : (int)(w >> 31), exponent[k / STEP % 8] + (int)(w >> 9 & 1), (int)w);
}

/* The edges of the exponents that the fast steps take: sums around -100 and 80. */
static uint16_t edges(uint64_t *state, int64_t k, bool second)
{
    static const int exponent[6] = {-50, 40, -51, 41, -49, 39};
    const uint32_t w = random_u32(state);
    if (w % 11 == 0)
        return (uint16_t)(w >> 16 & 0x8000);
    return bf16((int)(w >> 31), exponent[k / STEP % 6] + (second ? (int)(w >> 10) % 2 : 0), (int)w);
}

/* A few products far below the others, down to what f32 cannot hold. */
static uint16_t outliers(uint64_t *state, int64_t k, bool second)
{
    (void)k;
    (void)second;
    if (random_below(state, 40) == 0)
        return bf16((int)random_u32(state), -126 + (int)random_below(state, 70), (int)random_u32(state));
    return ordinary(state);
}

/* Columns, and now and then whole steps, of zeros between tiny products. */
static uint16_t sparse(uint64_t *state, int64_t k, bool second)
{
    if (random_below(state, 3) != 0 || k / STEP % 4 == 1)
        return (uint16_t)(random_u32(state) & 0x8000);
    return bf16((int)random_u32(state), (second ? -58 : -50) - (int)random_below(state, 8), (int)random_u32(state));
}

/* Steps in pairs: the first brings c to just below 2 by one product, the second adds 16 products of the largest
 * significands, or nearly so: together around 2^31 units, below and above. */
static uint16_t heavy(uint64_t *state, int64_t k, bool second)
{
    const bool first_pair = k < 2 * STEP;
    if (k / STEP % 2 == 0 && k % STEP != 0)
        return 0;
    if (k / STEP % 2 == 0)
        return second ? bf16(0, first_pair ? 0 : 5, first_pair ? 0x7F : 0x7E) : bf16(!first_pair, 0, 0);
    return bf16(0, 0, 0x7F - (second || k % 3 == 0 ? 0 : (int)random_below(state, 12)));
}

/* Infinities and NaN whose partners are tiny. */
static uint16_t far_apart(uint64_t *state, int64_t k, bool second)
{
    if (!second && random_below(state, 300) == 0)
        return k / STEP % 3 == 0 ? 0x7FC1 : (uint16_t)(0x7F80 | (random_u32(state) & 0x8000));
    return bf16((int)random_u32(state), second ? -90 : 10, (int)random_u32(state));
}

/* Products around f32's smallest numbers and contract TC's floor of -133. */
static uint16_t tiny(uint64_t *state, int64_t k, bool second)
{
    (void)k;
    (void)second;
    if (random_below(state, 4) == 0)
        return (uint16_t)(random_u32(state) & 0x8000);
    return bf16((int)random_u32(state), -66 - (int)random_below(state, 12), (int)random_u32(state));
}

/* Tiny products beside zeros whose partners are as large as numbers get. */
static uint16_t zero_partners(uint64_t *state, int64_t k, bool second)
{
    if (k % 3 != 2)
        return (k % 3 == 0) == second ? (uint16_t)(random_u32(state) & 0x8000) : bf16(0, 127, 0);
    return bf16((int)random_u32(state), (second ? -73 : -70) - (int)random_below(state, 3), (int)random_u32(state));
}

/* Subnormals, alone in every second step, whose partners are so large that the products are ordinary. */
static uint16_t subnormals(uint64_t *state, int64_t k, bool second)
{
    const uint32_t w = random_u32(state);
    if (second)
        return bf16((int)(w >> 31), 100 + (int)(w >> 9) % 26, (int)w);
    return w % 3 == 0 && k / STEP % 2 == 0 ? bf16((int)(w >> 31), -126 + (int)(w >> 9) % 6, (int)w)
                                           : (uint16_t)(w & 0x807F);
}

/* Sums that cancel to zero, or to their last bits. */
static uint16_t cancelling(uint64_t *state, int64_t k, bool second)
{
    const uint32_t w = random_u32(state);
    return bf16(second ? 0 : (int)(k / STEP), (int)(w >> 9 & 1), second ? 0 : (int)(w & 1));
}

static const struct {
    const char *name;
    value_fn value;
} kinds[] = {{"ordinary", plain_numbers},
             {"any bits", any_bits},
             {"any finite", any_finite},
             {"mixed", mixed},
             {"swings", swings},
             {"edges", edges},
             {"outliers", outliers},
             {"sparse", sparse},
             {"heavy", heavy},
             {"far apart", far_apart},
             {"tiny", tiny},
             {"zero partners", zero_partners},
             {"subnormals", subnormals},
             {"cancelling", cancelling}};
enum { KINDS = sizeof kinds / sizeof kinds[0], EDGES = 5, SUBNORMALS = KINDS - 2 };

/* ---- calls ------------------------------------------------------------------------------------------------ */

struct problem {
    struct sb_wgrad_args args;
    uint16_t *dy, *x;
    int32_t cu[4], *gather;
    uint32_t *main_grad;
    size_t bytes; /* of dw */
};

static void *aligned(size_t bytes)
{
    void *memory = aligned_alloc(64, bytes / 64 * 64 + 128);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static uint16_t *matrix(int kind, int64_t rows, int64_t columns, bool second, uint64_t *state)
{
    uint16_t *values = aligned((size_t)(rows * columns) * sizeof *values);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t j = 0; j < columns; j++)
            values[k * columns + j] = kinds[kind].value(state, k, second);
    return values;
}

/* Three segments, the first from row 0, so that steps and rows / 16 agree there. `options`: 1 gather, 2 main_grad,
 * 4 bf16. */
static struct problem make_problem(int kind, int64_t m, int64_t n, int64_t t, int options, uint64_t *state)
{
    struct problem p = {.args = {.M = m, .N = n, .E = 3, .T = t, .Tx = t, .ld_dy = m + 8, .ld_x = n + 16}};
    p.args.out_dtype = (options & 4) != 0 ? SB_BF16 : SB_F32;
    p.cu[1] = (int32_t)random_below(state, t + 1);
    p.cu[2] = p.cu[1] + (int32_t)random_below(state, t - p.cu[1] + 1);
    p.cu[3] = (int32_t)t;
    p.dy = matrix(kind, t, p.args.ld_dy, false, state);
    p.x = matrix(kind, t, p.args.ld_x, true, state);
    if ((options & 1) != 0) {
        p.gather = aligned((size_t)t * sizeof *p.gather);
        for (int64_t k = 0; k < t; k++)
            p.gather[k] = (int32_t)random_below(state, t);
    }
    const size_t count = (size_t)(3 * m * n);
    if ((options & 2) != 0) {
        p.main_grad = aligned(count * sizeof *p.main_grad);
        for (size_t i = 0; i < count; i++)
            p.main_grad[i] = i % 9 == 0 ? random_u32(state) : (uint32_t)ordinary(state) << 16;
    }
    p.bytes = count * (p.args.out_dtype == SB_F32 ? 4 : 2);
    p.args.dy = p.dy;
    p.args.x = p.x;
    p.args.x_gather_idx = p.gather;
    p.args.main_grad = p.main_grad;
    return p;
}

static void free_problem(struct problem *p)
{
    free(p->dy);
    free(p->x);
    free(p->gather);
    free(p->main_grad);
}

static unsigned char *output(size_t bytes)
{
    unsigned char *out = aligned(bytes + GUARD);
    memset(out, GUARD_BYTE, bytes + GUARD);
    return out;
}

/* One assertion for a buffer: Check takes a system call for each. */
static void expect_equal(const unsigned char *want, const unsigned char *got, size_t bytes, int kind, int path)
{
    size_t wrong = 0;
    while (wrong < bytes && want[wrong] == got[wrong])
        wrong++;
    ck_assert_msg(wrong == bytes, "%s by %s: byte %zu of %zu is %02x, expected %02x", kinds[kind].name,
                  sb_wgrad_path_name((enum sb_wgrad_path)path), wrong, bytes, got[wrong], want[wrong]);
    for (size_t i = bytes; i < bytes + GUARD; i++)
        wrong += got[i] != GUARD_BYTE;
    ck_assert_msg(wrong == bytes, "bytes past the output were written");
}

static void compare_paths(struct problem *p, int kind)
{
    p->args.cu_seqlens = p->cu;
    unsigned char *want = output(p->bytes);
    ck_assert_int_eq(sb_ref_wgrad_varlen_k(&p->args, want).code, SB_OK);
    for (int path = 0; path < SB_WGRAD_PATHS; path++) {
        if (!sb_wgrad_path_runs((enum sb_wgrad_path)path))
            continue;
        unsigned char *got = output(p->bytes);
        ck_assert_int_eq(sb_ref_wgrad_varlen_k_by(&p->args, (enum sb_wgrad_path)path, got).code, SB_OK);
        expect_equal(want, got, p->bytes, kind, path);
        free(got);
    }
    free(want);
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

START_TEST(the_same_bytes_by_every_path)
{
    uint64_t state = 2024 + (uint64_t)_i;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t m = 8 * (1 + random_below(&state, 20)), n = 8 * (1 + random_below(&state, 20));
        struct problem p = make_problem(_i, m, n, 1 + random_below(&state, 300), round % 8, &state);
        compare_paths(&p, _i);
        free_problem(&p);
    }
}
END_TEST

/* More than one tile each way, and the bits do not depend on how many threads share them. */
START_TEST(threads_and_tiles)
{
    uint64_t state = 77;
    struct problem p = make_problem(3, 264, 296, 150, 0, &state);
#if defined(_OPENMP)
    const int before = omp_get_max_threads();
    static const int counts[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(counts[i]);
        compare_paths(&p, 3);
    }
    omp_set_num_threads(before);
#else
    compare_paths(&p, 3);
#endif
    free_problem(&p);
}
END_TEST

/* Whatever the caller set the floating-point unit to, and it is found as it was. */
START_TEST(the_callers_rounding_mode_does_not_matter)
{
#if defined(__x86_64__)
    enum { DENORMALS_ARE_ZERO = 0x40 };
    static const unsigned modes[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP,
                                     _MM_ROUND_DOWN | _MM_FLUSH_ZERO_ON | DENORMALS_ARE_ZERO};
    static const int of_kind[] = {EDGES, SUBNORMALS};
    uint64_t state = 5;
#if defined(_OPENMP)
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* a mode is one thread's */
#endif
    for (int i = 0; i < 6; i++) {
        struct problem p = make_problem(of_kind[i / 3], 40, 72, 130, 2, &state);
        const unsigned before = _mm_getcsr();
        _mm_setcsr((unsigned)_MM_MASK_MASK | modes[i % 3]);
        compare_paths(&p, of_kind[i / 3]);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        ck_assert_uint_eq(after & ~(unsigned)_MM_EXCEPT_MASK, (unsigned)_MM_MASK_MASK | modes[i % 3]);
        free_problem(&p);
    }
#if defined(_OPENMP)
    omp_set_num_threads(threads);
#endif
#endif
}
END_TEST

/* Two steps of ROWS_ALIKE rows each: the first makes a c of 24 ones, 1.99999988 * 2^e, out of three products, the
 * second is what the test is for. Blocks of a path are at most ROWS_ALIKE rows. */
enum { ROWS_ALIKE = 8, GROUPS = 12 };

static struct problem two_steps(uint64_t *state)
{
    struct problem p = make_problem(0, ROWS_ALIKE * GROUPS, 40, 2 * STEP, 0, state);
    p.cu[1] = p.cu[2] = 2 * STEP;
    memset(p.dy, 0, (size_t)(2 * STEP * p.args.ld_dy) * sizeof *p.dy);
    memset(p.x, 0, (size_t)(2 * STEP * p.args.ld_x) * sizeof *p.x);
    return p;
}

static void ones(struct problem *p, int64_t m, int e)
{
    for (int part = 0; part < 3; part++) {
        p->dy[part * p->args.ld_dy + m] = bf16(0, e + 50 - 8 * part, 0x7F);
        for (int64_t n = 0; n < p->args.N; n++)
            p->x[part * p->args.ld_x + n] = bf16(0, -50, 0);
    }
}

/* Condition c at its edge: weights of 3978, 3979, ... 3989; from 3984 on the sum passes 2^31 units. */
START_TEST(the_heaviest_row_that_fits)
{
    uint64_t state = 1;
    struct problem p = two_steps(&state);
    for (int64_t m = 0; m < p.args.M; m++) {
        const int64_t weight = 3978 + m / ROWS_ALIKE;
        ones(&p, m, 0);
        for (int64_t k = 0; k < STEP; k++)
            p.dy[(STEP + k) * p.args.ld_dy + m] = bf16(0, 0, (int)(weight / STEP + (k < weight % STEP)));
    }
    for (int64_t k = STEP; k < 2 * STEP; k++)
        for (int64_t n = 0; n < p.args.N; n++)
            p.x[k * p.args.ld_x + n] = bf16(0, 0, 0x7F);
    compare_paths(&p, 0);
    free_problem(&p);
}
END_TEST

/* Condition d at its edge: c of 24 ones and exponents -110, -109, ... -99, then a step of zeros, which must leave it.
 */
START_TEST(the_smallest_sum_that_stays)
{
    uint64_t state = 1;
    struct problem p = two_steps(&state);
    for (int64_t m = 0; m < p.args.M; m++)
        ones(&p, m, -110 + (int)(m / ROWS_ALIKE));
    compare_paths(&p, 0);
    free_problem(&p);
}
END_TEST

static size_t tile_bytes(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t)
{
    return (size_t)((t->m1 - t->m0) * (t->n1 - t->n0)) * (args->out_dtype == SB_F32 ? 4 : 2);
}

/* The rows of a tile, out of the whole output. */
static void cut_tile(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, const unsigned char *whole,
                     unsigned char *out)
{
    const size_t element = args->out_dtype == SB_F32 ? 4 : 2, row = (size_t)(t->n1 - t->n0) * element;
    for (int64_t m = t->m0; m < t->m1; m++)
        memcpy(out + (size_t)(m - t->m0) * row, whole + (size_t)((t->e * args->M + m) * args->N + t->n0) * element,
               row);
}

START_TEST(tiles_are_the_whole_cut_up)
{
    static const struct sb_wgrad_tile tiles[] = {{0, 0, 160, 0, 200}, /* larger than a task */
                                                 {2, 3, 4, 199, 200},
                                                 {1, 8, 8, 0, 200}, /* nothing */
                                                 {1, 0, 129, 60, 189},
                                                 {2, 32, 160, 8, 136}};
    enum { COUNT = sizeof tiles / sizeof tiles[0] };
    uint64_t state = 9;
    struct problem p = make_problem(_i % KINDS, 160, 200, 90, _i % 8, &state);
    p.args.cu_seqlens = p.cu;
    unsigned char *whole = output(p.bytes);
    ck_assert_int_eq(sb_ref_wgrad_varlen_k(&p.args, whole).code, SB_OK);
    size_t bytes = 0;
    for (int i = 0; i < COUNT; i++)
        bytes += tile_bytes(&p.args, &tiles[i]);
    unsigned char *want = output(bytes), *place = want;
    for (int i = 0; i < COUNT; i++) {
        cut_tile(&p.args, &tiles[i], whole, place);
        place += tile_bytes(&p.args, &tiles[i]);
    }
    for (int path = 0; path < SB_WGRAD_PATHS; path++) {
        if (!sb_wgrad_path_runs((enum sb_wgrad_path)path))
            continue;
        unsigned char *got = output(bytes);
        ck_assert_int_eq(sb_ref_wgrad_varlen_k_tiles(&p.args, (enum sb_wgrad_path)path, tiles, COUNT, got).code, SB_OK);
        expect_equal(want, got, bytes, _i % KINDS, path);
        free(got);
    }
    free(want);
    free(whole);
    free_problem(&p);
}
END_TEST

START_TEST(the_same_rejections_by_every_path)
{
    uint64_t state = 3;
    struct problem p = make_problem(0, 16, 24, 40, 1, &state);
    static const struct sb_wgrad_tile outside[] = {{0, 0, 16, 0, 24}, {3, INT64_MIN, INT64_MAX, 0, 24}};
    p.args.cu_seqlens = p.cu;
    for (int path = 0; path < SB_WGRAD_PATHS; path++) {
        if (!sb_wgrad_path_runs((enum sb_wgrad_path)path))
            continue;
        unsigned char *got = output(p.bytes);
        struct sb_status status = sb_ref_wgrad_varlen_k_tiles(&p.args, (enum sb_wgrad_path)path, outside, 2, got);
        ck_assert_int_eq(status.code, SB_BAD_ARGUMENT);
        ck_assert_int_eq(status.where[0], 9);
        ck_assert_int_eq(status.where[1], 1);
        const int32_t kept = p.gather[39];
        p.gather[39] = 40;
        status = sb_ref_wgrad_varlen_k_by(&p.args, (enum sb_wgrad_path)path, got);
        const struct sb_status plain = sb_ref_wgrad_varlen_k(&p.args, got);
        ck_assert_int_eq(status.code, SB_GATHER_RANGE);
        ck_assert_mem_eq(&status, &plain, sizeof plain);
        p.gather[39] = kept;
        unsigned char *untouched = output(p.bytes);
        ck_assert_mem_eq(got, untouched, p.bytes + GUARD);
        free(untouched);
        free(got);
    }
    free_problem(&p);
}
END_TEST

START_TEST(paths_have_names_and_the_best_one_runs)
{
    ck_assert_str_eq(sb_wgrad_path_name(SB_WGRAD_PLAIN), "plain");
    ck_assert_str_eq(sb_wgrad_path_name(SB_WGRAD_AVX2), "avx2");
    ck_assert_str_eq(sb_wgrad_path_name(SB_WGRAD_AVX512), "avx512");
    ck_assert(sb_wgrad_path_runs(SB_WGRAD_PLAIN));
    ck_assert(sb_wgrad_path_runs(sb_wgrad_best_path()));
    for (int path = (int)sb_wgrad_best_path() + 1; path < SB_WGRAD_PATHS; path++)
        ck_assert(!sb_wgrad_path_runs((enum sb_wgrad_path)path));
#if defined(__x86_64__) && defined(__GNUC__)
    /* A path that this processor has and the build lacks would never be tested. */
    ck_assert(sb_wgrad_path_runs(SB_WGRAD_AVX2) || !__builtin_cpu_supports("avx2"));
    ck_assert(sb_wgrad_path_runs(SB_WGRAD_AVX512) || !__builtin_cpu_supports("avx512bw"));
#endif
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("wgrad paths");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 1200);
    tcase_add_loop_test(t, the_same_bytes_by_every_path, 0, KINDS);
    tcase_add_test(t, threads_and_tiles);
    tcase_add_test(t, the_callers_rounding_mode_does_not_matter);
    tcase_add_test(t, the_heaviest_row_that_fits);
    tcase_add_test(t, the_smallest_sum_that_stays);
    tcase_add_loop_test(t, tiles_are_the_whole_cut_up, 0, KINDS);
    tcase_add_test(t, the_same_rejections_by_every_path);
    tcase_add_test(t, paths_have_names_and_the_best_one_runs);
    suite_add_tcase(s, t);
    return s;
}
