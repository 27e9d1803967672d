/* test_gpu_tc_step.c - contract TC on ordinary cores (gpu/tc_step.h), executed on the host: the general step and the
 * fast step give the bits of ref/tc_bf16_k16_f25.h, over every class of operands and at the edges of the fast step's
 * conditions. No GPU is needed, nor a build with CUDA. */
#include "../golden/tc_vectors.h"
#include "../gpu/tc_step.h"
#include "../ref/tc_bf16_k16_f25.h"

#include "check_main.h"
#include "ref_random.h"

#include <fenv.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { ROWS = SB_TC_ROWS, COLUMNS = SB_TC_COLUMNS, K = SB_TC_PAIRS, OUTPUTS = ROWS * COLUMNS };

/* The operands of one step of a block of outputs, and its sums. */
struct block {
    uint16_t a[ROWS * K], b[K * COLUMNS];
    uint32_t c[OUTPUTS];
};

static uint32_t expected(const struct block *block, int m, int n)
{
    uint16_t b[K];
    for (int k = 0; k < K; k++)
        b[k] = block->b[k * COLUMNS + n];
    return sb_tc_bf16_k16_f25(block->c[m * COLUMNS + n], block->a + m * K, b);
}

/* Fails where the block's step was not the reference's. `after`: the sums that it gave. */
static void assert_same(const struct block *block, const uint32_t after[OUTPUTS], const char *step, const char *what,
                        int number)
{
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < COLUMNS; n++) {
            const uint32_t want = expected(block, m, n), got = after[m * COLUMNS + n];
            if (got != want)
                ck_abort_msg("%s step, %s, block %d, output %d,%d: %08x, expected %08x; c = %08x", step, what, number,
                             m, n, got, want, block->c[m * COLUMNS + n]);
        }
}

/* ---- the two steps, put together as the kernel does -------------------------------------------------------- */

static void general_step(const struct block *block, uint32_t after[OUTPUTS])
{
    enum { STRIDE = 3 };
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < COLUMNS; n++) {
            uint32_t a[K * STRIDE], b[K * STRIDE];
            memset(a, 0x7F, sizeof a); /* between the pairs: not to be read */
            memset(b, 0x7F, sizeof b);
            for (int k = 0; k < K; k++) {
                a[k * STRIDE] = (uint32_t)block->a[m * K + k] << 16;
                b[k * STRIDE] = (uint32_t)block->b[k * COLUMNS + n] << 16;
            }
            after[m * COLUMNS + n] = sb_tc_general_step(block->c[m * COLUMNS + n], a, b, STRIDE);
        }
}

static void fast_step(const struct block *block, uint32_t after[OUTPUTS])
{
    struct sb_tc_exponents e_max;
    sb_tc_exponents_start(&e_max);
    for (int k = 0; k < K; k++) {
        uint32_t a[ROWS / 2], b[COLUMNS / 2];
        for (int i = 0; i < ROWS / 2; i++)
            a[i] = sb_tc_exponent_of_a(block->a[2 * i * K + k]) | sb_tc_exponent_of_a(block->a[(2 * i + 1) * K + k])
                                                                      << 16;
        for (int j = 0; j < COLUMNS / 2; j++)
            b[j] = sb_tc_exponent_of_b(block->b[k * COLUMNS + 2 * j]) |
                   sb_tc_exponent_of_b(block->b[k * COLUMNS + 2 * j + 1]) << 16;
        sb_tc_exponents_add(&e_max, a, b);
    }
    struct sb_tc_sums sums;
    sb_tc_sums_start(&sums, &e_max, block->c);
    for (int k = 0; k < K; k++) {
        float a[ROWS], b[COLUMNS];
        for (int m = 0; m < ROWS; m++)
            a[m] = sb_tc_f32((uint32_t)block->a[m * K + k] << 16);
        for (int n = 0; n < COLUMNS; n++)
            b[n] = sb_tc_f32((uint32_t)block->b[k * COLUMNS + n] << 16);
        sb_tc_sums_add(&sums, a, b);
    }
    sb_tc_sums_finish(&sums, after);
}

/* Conditions a and b. */
static bool qualifies(const struct block *block)
{
    for (int m = 0; m < ROWS; m++) {
        uint32_t fractions = 0;
        for (int k = 0; k < K; k++) {
            fractions += block->a[m * K + k] & 0x7Fu;
            if (!sb_tc_is_fast(block->a[m * K + k]))
                return false;
        }
        if (fractions >= SB_TC_HEAVY)
            return false;
    }
    for (int k = 0; k < K; k++)
        for (int n = 0; n < COLUMNS; n++)
            if (!sb_tc_is_fast(block->b[k * COLUMNS + n]))
                return false;
    return true;
}

/* Condition c. */
static bool all_are_ordinary(const uint32_t c[OUTPUTS])
{
    for (int i = 0; i < OUTPUTS; i++)
        if (!sb_tc_is_ordinary(c[i]))
            return false;
    return true;
}

/* One step, its kind chosen as the kernel chooses; both kinds where it may choose. True: it was a fast one. */
static bool one_step(struct block *block, bool *known, const char *what, int number)
{
    uint32_t after[OUTPUTS];
    general_step(block, after);
    assert_same(block, after, "general", what, number);
    *known = *known || all_are_ordinary(block->c);
    const bool fast = *known && qualifies(block);
    if (fast) {
        fast_step(block, after);
        assert_same(block, after, "fast", what, number);
    }
    *known = fast;
    memcpy(block->c, after, sizeof after);
    return fast;
}

/* ---- every class of operands ------------------------------------------------------------------------------- */

/* The same number with an exponent of -50 .. 40. */
static uint16_t into_window(uint16_t v)
{
    const unsigned field = v >> 7 & 0xFF;
    return (v & 0x7FFF) == 0 || sb_tc_is_fast(v) ? v : (uint16_t)((v & 0x807Fu) | (77 + field % 91) << 7);
}

static void next_operands(struct block *block, int cls, uint64_t index, bool fold, bool keep_c)
{
    uint32_t c[OUTPUTS];
    const struct sb_tc_tile tile = {ROWS, COLUMNS, block->a, block->b, keep_c ? c : block->c};
    sb_tc_make_tile(17, (enum sb_tc_class)cls, index, &tile);
    if (!fold)
        return;
    for (int i = 0; i < ROWS * K; i++)
        block->a[i] = into_window(block->a[i]);
    for (int i = 0; i < K * COLUMNS; i++)
        block->b[i] = into_window(block->b[i]);
}

enum { CHAINS = 400, STEPS = 5 }; /* of 32 outputs: 64,000 dot products a class and way */

/* Chains of steps of a class, c fed back. The count of fast steps. */
static int run_chains(int cls, bool fold)
{
    int fast = 0;
    for (int chain = 0; chain < CHAINS; chain++) {
        struct block block;
        bool known = false;
        for (int step = 0; step < STEPS; step++) {
            const int number = chain * STEPS + step;
            next_operands(&block, cls, (uint64_t)number, fold, step > 0);
            fast += one_step(&block, &known, sb_tc_class_name((enum sb_tc_class)cls), number);
        }
    }
    return fast;
}

START_TEST(any_operands)
{
    const int fast = run_chains(_i, false);
    if (_i == SB_TC_NORMAL)
        ck_assert_int_eq(fast, CHAINS * STEPS);
}
END_TEST

/* The same classes moved to where the fast step takes them. Left to the general step: heavy rows, infinite and tiny c's
 * of the first step, and what the infinite ones leave behind. */
START_TEST(operands_in_the_window)
{
    const int fast = run_chains(_i, true);
    const bool few = _i == SB_TC_NAN_AND_INF || _i == SB_TC_INFINITIES || _i == SB_TC_FULL_SUMS;
    const int at_least = few ? CHAINS * STEPS / 20 : CHAINS * STEPS * 7 / 10;
    ck_assert_msg(fast >= at_least, "%s: only %d of %d steps were fast ones", sb_tc_class_name((enum sb_tc_class)_i),
                  fast, CHAINS * STEPS);
}
END_TEST

/* ---- the edges of the conditions --------------------------------------------------------------------------- */

static uint16_t bf16_of(uint64_t *state, int lowest, int highest)
{
    const uint32_t word = random_u32(state);
    const uint32_t exponent = (uint32_t)(127 + lowest) + (word >> 16) % (uint32_t)(highest - lowest + 1);
    return (uint16_t)((word & 0x807Fu) | exponent << 7);
}

static void any_ends_of_the_window(struct block *block, int kind, uint64_t *state)
{
    const bool a_low = kind % 2 == 0, b_low = kind / 2 % 2 == 0;
    for (int j = 0; j < ROWS * K; j++)
        block->a[j] = bf16_of(state, a_low ? -50 : 38, a_low ? -48 : 40);
    for (int j = 0; j < K * COLUMNS; j++)
        block->b[j] = bf16_of(state, b_low ? -50 : 38, b_low ? -48 : 40);
    for (int k = 0; k < K; k++) /* all pairs, none, or one in eight without a zero */
        for (int j = 0; j < COLUMNS; j++)
            if (kind % 3 != 0 && (kind % 3 == 1 || random_u32(state) % 8 != 0)) {
                block->a[j % ROWS * K + k] &= (uint16_t)(k % 2 == 0 ? 0x8000 : 0xFFFF);
                block->b[k * COLUMNS + j] &= (uint16_t)(k % 2 == 1 ? 0x8000 : 0xFFFF);
            }
    for (int j = 0; j < OUTPUTS; j++) /* zero, or from the smallest to the largest that are ordinary */
        block->c[j] = random_u32(state) % 4 == 0
                          ? random_u32(state) & 0x80000000u
                          : (random_u32(state) & 0x807FFFFFu) | (25u + random_u32(state) % 230) << 23;
}

START_TEST(condition_a)
{
    for (uint32_t v = 0; v < 0x10000; v++) {
        const uint32_t field = v >> 7 & 0xFF;
        ck_assert_int_eq(sb_tc_is_fast(v), (v & 0x7FFF) == 0 || (field >= 127 - 50 && field <= 127 + 40));
    }
}
END_TEST

/* Exponents at both ends of the window, zeros among them, and zeros alone: all must be fast. */
START_TEST(exponents_at_the_ends_of_the_window)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        struct block block;
        any_ends_of_the_window(&block, i, &state);
        bool known = true;
        ck_assert(one_step(&block, &known, "ends of the window", i));
    }
}
END_TEST

/* Rounding up and flushing subnormals to zero, as -ftz=true does on the device: the same bits. */
START_TEST(floating_point_environment_has_no_say)
{
    uint64_t state = 3;
    for (int i = 0; i < 5000; i++) {
        struct block block;
        uint32_t after[OUTPUTS];
        any_ends_of_the_window(&block, i, &state);
        fesetround(FE_UPWARD);
#if defined(__SSE__)
        const unsigned csr = _mm_getcsr();
        _mm_setcsr(csr | 0x8040u);
#endif
        fast_step(&block, after);
#if defined(__SSE__)
        _mm_setcsr(csr);
#endif
        fesetround(FE_TONEAREST);
        ck_assert(qualifies(&block));
        assert_same(&block, after, "fast", "another environment", i);
    }
}
END_TEST

/* One sign and one exponent, the heaviest rows that are allowed, c with them: the largest sums there are. */
START_TEST(condition_b)
{
    for (int i = 0; i < 4; i++) {
        struct block block;
        for (int m = 0; m < ROWS; m++) {
            uint32_t left = SB_TC_HEAVY - 1;
            for (int k = 0; k < K; k++) {
                const uint32_t fraction = left < 127 ? left : 127;
                left -= fraction;
                block.a[m * K + k] = (uint16_t)((i % 2 != 0 ? 0x8000u : 0) | 127u << 7 | fraction);
            }
            ck_assert_uint_eq(left, 0);
        }
        for (int j = 0; j < K * COLUMNS; j++)
            block.b[j] = 127 << 7 | 127;
        for (int j = 0; j < OUTPUTS; j++)
            block.c[j] = (i % 2 != 0 ? 0x80000000u : 0) | (127u << 23) | (i / 2 != 0 ? 0 : 0x7FFFFFu);
        struct block heavier = block;
        bool known = true;
        ck_assert(one_step(&block, &known, "heavy rows", i));
        for (int k = K - 1; k >= 0; k--) /* one more in one row */
            if ((heavier.a[(ROWS - 1) * K + k] & 0x7F) != 127) {
                heavier.a[(ROWS - 1) * K + k]++;
                break;
            }
        ck_assert(!qualifies(&heavier));
        known = true;
        ck_assert(!one_step(&heavier, &known, "rows too heavy", i));
    }
}
END_TEST

START_TEST(condition_c)
{
    static const struct {
        uint32_t c;
        bool ordinary;
    } words[] = {{0x00000000u, true},  {0x80000000u, true},  {0x00000001u, false}, {0x807FFFFFu, false},
                 {0x0C7FFFFFu, false}, {0x0C800000u, true},  {0x8C800000u, true},  {0x8C7FFFFFu, false},
                 {0x3F800001u, true},  {0x7F7FFFFFu, true},  {0xFF7FFFFFu, true},  {0x7F800000u, false},
                 {0xFF800000u, false}, {0x7FFFFFFFu, false}, {0x7F800001u, false}, {0xFFFFFFFFu, false}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(sb_tc_is_ordinary(words[i].c) == words[i].ordinary, "%08x", words[i].c);
}
END_TEST

/* Sums that cancel leave c's below 2^-102, which stay multiples of 2^-125 and go on being fast. */
START_TEST(small_sums_of_fast_steps)
{
    uint64_t state = 2;
    int small = 0;
    for (int i = 0; i < 4000; i++) {
        struct block block;
        memset(block.c, 0, sizeof block.c);
        bool known = true;
        for (int step = 0; step < 6; step++) {
            for (int j = 0; j < ROWS * K; j++)
                block.a[j] = j % K < 3 ? bf16_of(&state, -50, -49) : 0;
            for (int j = 0; j < K * COLUMNS; j++)
                block.b[j] = bf16_of(&state, -50, -50);
            for (int n = 0; n < COLUMNS; n++)
                block.b[COLUMNS + n] = block.b[n] ^ 1; /* nearly its neighbour */
            for (int m = 0; m < ROWS; m++) {
                block.a[m * K + 1] = block.a[m * K] ^ 0x8000;
                if (step % 3 != 2) /* the two alone, then only zeros, then the two and a third */
                    block.a[m * K + 2] = 0;
                if (step % 3 == 1)
                    block.a[m * K] = block.a[m * K + 1] = 0;
            }
            ck_assert(one_step(&block, &known, "small sums", i));
            for (int j = 0; j < OUTPUTS; j++)
                small += !sb_tc_is_ordinary(block.c[j]);
        }
    }
    ck_assert_int_gt(small, 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("gpu tc_step");
    TCase *classes = tcase_create("classes");
    tcase_add_loop_test(classes, any_operands, 0, SB_TC_CLASSES);
    tcase_add_loop_test(classes, operands_in_the_window, 0, SB_TC_CLASSES);
    suite_add_tcase(suite, classes);
    TCase *edges = tcase_create("edges");
    tcase_add_test(edges, condition_a);
    tcase_add_test(edges, exponents_at_the_ends_of_the_window);
    tcase_add_test(edges, floating_point_environment_has_no_say);
    tcase_add_test(edges, condition_b);
    tcase_add_test(edges, condition_c);
    tcase_add_test(edges, small_sums_of_fast_steps);
    suite_add_tcase(suite, edges);
    return suite;
}
