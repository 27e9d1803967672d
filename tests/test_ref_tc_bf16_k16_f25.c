/* The tensor core's dot product: literal probes for every rule, a second model in floating point, planted faults. */
#include "../ref/f32_round.h"
#include "../ref/tc_bf16_k16_f25.h"

#include "check_main.h"
#include "ref_random.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* bf16 words by name. */
enum {
    ZERO = 0x0000,
    MINUS_ZERO = 0x8000,
    ONE = 0x3F80,
    MINUS_ONE = 0xBF80,
    INF = 0x7F80,
    MINUS_INF = 0xFF80,
    QUIET_NAN = 0x7FC0,
    SIGNALLING_NAN = 0xFF81,
    LARGEST = 0x7F7F,
    TINIEST = 0x0001, /* 2^-133 */
};

/* bf16 bits of sign * 2^exponent, exponent -126..127. */
static uint16_t power(int sign, int exponent)
{
    return (uint16_t)((sign < 0 ? 0x8000 : 0) | (exponent + 127) << 7);
}

struct vector {
    uint32_t c;
    uint16_t a[16], b[16];
};

static uint32_t step(const struct vector *v)
{
    return sb_tc_bf16_k16_f25(v->c, v->a, v->b);
}

/* A vector of zeros; the pairs that matter are set on it. */
static struct vector zeros(uint32_t c)
{
    struct vector v = {.c = c};
    return v;
}

static void set(struct vector *v, int first, int last, uint16_t a, uint16_t b)
{
    for (int i = first; i <= last; i++) {
        v->a[i] = a;
        v->b[i] = b;
    }
}

static void expect(const struct vector *v, uint32_t expected)
{
    const uint32_t got = step(v);
    ck_assert_msg(got == expected, "%08x, expected %08x", got, expected);
    /* The order of the pairs does not matter, nor which operand is which. */
    struct vector reversed = *v;
    for (int i = 0; i < 16; i++) {
        reversed.a[i] = v->b[15 - i];
        reversed.b[i] = v->a[15 - i];
    }
    ck_assert_uint_eq(step(&reversed), expected);
}

/* ---- zeros, where published models disagree with each other and with silicon ------------------------------------- */

START_TEST(zeros_take_no_part_in_the_maximum)
{
    struct vector v = zeros(0x3A800001u); /* 2^-10 + 2^-33 */
    set(&v, 0, 15, ZERO, power(1, 127));
    expect(&v, 0x3A800001u);
    set(&v, 0, 15, power(-1, 127), MINUS_ZERO);
    expect(&v, 0x3A800001u);
    v = zeros(0); /* nor does a zero c */
    set(&v, 3, 3, power(1, -60), power(1, -70));
    set(&v, 4, 4, TINIEST, power(1, -10));
    expect(&v, 0x00080040u); /* 2^-130 + 2^-143 */
}
END_TEST

START_TEST(deep_subnormal_sums_are_kept)
{
    struct vector v = zeros(0);
    set(&v, 0, 15, power(1, -76), power(1, -76)); /* sixteen times 2^-152 */
    expect(&v, 0x00000002u);
    set(&v, 0, 15, power(-1, -76), power(1, -76));
    expect(&v, 0x80000002u);
}
END_TEST

START_TEST(every_zero_is_plus_zero)
{
    struct vector v = zeros(0);
    set(&v, 0, 0, power(1, -76), power(-1, -76)); /* a negative sum that is cut to nothing */
    expect(&v, 0x00000000u);
    v = zeros(0x80000000u); /* -0 and negative zero products */
    set(&v, 0, 15, MINUS_ZERO, ONE);
    expect(&v, 0x00000000u);
    v = zeros(0xBF800000u); /* exact cancellation */
    set(&v, 7, 7, ONE, ONE);
    expect(&v, 0x00000000u);
    v = zeros(0x80000000u);
    expect(&v, 0x00000000u);
}
END_TEST

/* ---- 25 bits, and truncation --------------------------------------------------------------------------------------
 */

START_TEST(twenty_five_bits_not_24)
{
    struct vector v = zeros(0x3F800000u);
    set(&v, 0, 3, power(1, -12), power(1, -13)); /* four times 2^-25: one unit in the last place of 1 */
    expect(&v, 0x3F800001u);                     /* 24 bits would lose all four: 3F800000 */
    v = zeros(0x3F800000u);
    set(&v, 9, 9, power(-1, -12), power(1, -13)); /* 1 - 2^-25, cut toward zero */
    expect(&v, 0x3F7FFFFFu);                      /* 24 bits: 3F800000 */
    v = zeros(0);
    set(&v, 0, 0, ONE, ONE);
    set(&v, 1, 12, power(1, -5), power(1, -20));
    expect(&v, 0x3F800003u); /* 24 bits: 3F800000 */
}
END_TEST

START_TEST(twenty_five_bits_not_26)
{
    struct vector v = zeros(0x3F800000u);
    set(&v, 0, 7, power(1, -13), power(1, -13)); /* eight times 2^-26: each is cut to nothing */
    expect(&v, 0x3F800000u);                     /* 26 bits would keep them: 3F800001 */
    v = zeros(0x3F800000u);
    set(&v, 2, 2, power(-1, -13), power(1, -13)); /* 1 - 2^-26 */
    expect(&v, 0x3F800000u);                      /* 26 bits: 3F7FFFFF */
    v = zeros(0xBF800000u);
    set(&v, 0, 15, power(-1, -20), power(1, -6));
    expect(&v, 0xBF800000u); /* 26 bits: BF800002 */
}
END_TEST

START_TEST(sixteen_pairs_are_one_sum)
{
    /* 2^24 among the first eight, -2^24 among the last eight, 1/2 on both sides: two sums of eight would lose one. */
    struct vector v = zeros(0);
    set(&v, 0, 0, power(1, 12), power(1, 12));
    set(&v, 15, 15, power(-1, 12), power(1, 12));
    set(&v, 3, 3, ONE, power(1, -1));
    set(&v, 12, 12, power(1, -1), ONE);
    expect(&v, 0x3F800000u);
}
END_TEST

START_TEST(products_are_not_renormalised)
{
    /* 1.5 * 1.5 = 2.25 counts as exponent 0: one term of 2^-25 beside it is kept, and so decides the last place. */
    struct vector v = zeros(0);
    set(&v, 0, 0, 0x3FC0, 0x3FC0);
    set(&v, 1, 8, power(1, -12), power(1, -13)); /* eight times 2^-25 = 2^-22, the last place of 2.25 */
    expect(&v, 0x40100001u);
}
END_TEST

START_TEST(sums_are_cut_toward_zero)
{
    struct vector v = zeros(0x3F800001u);
    set(&v, 0, 2, power(1, -12), power(1, -13)); /* three quarters of a place: dropped */
    expect(&v, 0x3F800001u);
    v.c = 0xBF800001u;
    set(&v, 0, 2, power(-1, -12), power(1, -13));
    expect(&v, 0xBF800001u);
    v.c = 0x3F800000u;
    set(&v, 0, 0, LARGEST, power(1, -126)); /* 3.984375 */
    set(&v, 1, 2, ZERO, ZERO);
    expect(&v, 0x409F8000u);
}
END_TEST

/* ---- the floor under e_max -----------------------------------------------------------------------------------------
 */

/* Two products 2^-145 + 2^-151 + 2^-159, minus 2^-150 and 2^-158. With the floor at -133 the unit is 2^-158: the two
 * 2^-159 are cut, 2^-158 is not, and the sum falls just short of 2^-144. A floor of -134, or none, keeps all: 2^-144
 * exactly. A floor of -132 cuts all three: 2^-144 again. */
START_TEST(floor_of_minus_133)
{
    struct vector v = zeros(0);
    set(&v, 0, 1, (uint16_t)(power(1, -72) | 1), (uint16_t)(power(1, -73) | 1));
    set(&v, 2, 2, power(1, -75), power(-1, -75));
    set(&v, 3, 3, power(1, -79), power(-1, -79));
    expect(&v, 0x0000001Fu);
    for (int i = 0; i < 16; i++)
        v.a[i] ^= 0x8000;
    expect(&v, 0x8000001Fu);
}
END_TEST

/* ---- subnormals and overflow ---------------------------------------------------------------------------------------
 */

START_TEST(subnormals_in_and_out)
{
    struct vector v = zeros(0x00000001u); /* the smallest f32 stays */
    expect(&v, 0x00000001u);
    set(&v, 0, 0, TINIEST, ONE);
    expect(&v, 0x00010001u);
    v = zeros(0x807FFFFFu);
    set(&v, 0, 0, 0x007F, ONE); /* bf16's largest subnormal, 127 * 2^-133 */
    expect(&v, 0x8000FFFFu);
    v = zeros(0x007FFFFFu); /* across the border to normal numbers */
    set(&v, 5, 5, power(1, -75), power(1, -74));
    expect(&v, 0x00800000u);
    v = zeros(0);
    set(&v, 0, 0, TINIEST, power(1, 127)); /* 2^-133 * 2^127, from a significand without hidden bit */
    expect(&v, 0x3C800000u);
    set(&v, 0, 0, TINIEST, TINIEST);
    expect(&v, 0x00000000u);
}
END_TEST

START_TEST(overflow_is_infinity)
{
    struct vector v = zeros(0);
    set(&v, 0, 0, power(1, 127), power(1, 1)); /* 2^128 */
    expect(&v, 0x7F800000u);
    set(&v, 0, 0, power(-1, 127), power(1, 1));
    expect(&v, 0xFF800000u);
    set(&v, 0, 0, LARGEST, LARGEST); /* a product past the range that comes back is no overflow */
    set(&v, 1, 1, LARGEST, LARGEST | 0x8000);
    set(&v, 2, 2, ONE, ONE);
    expect(&v, 0x00000000u); /* though it costs everything small */
    v = zeros(0x7F7FFFFFu);
    set(&v, 0, 0, power(1, 103), ONE); /* half a place above the largest f32: cut, not rounded up */
    expect(&v, 0x7F7FFFFFu);
    set(&v, 0, 0, power(1, 104), ONE);
    expect(&v, 0x7F800000u);
    v = zeros(0xFF7FFFFFu);
    set(&v, 0, 15, power(-1, 127), power(1, 127));
    expect(&v, 0xFF800000u);
    v = zeros(0xFF000000u); /* 2^128 - 2^127 = 2^127 */
    set(&v, 0, 0, power(1, 64), power(1, 64));
    expect(&v, 0x7F000000u);
}
END_TEST

/* 67,108,860 + 16 * 133,171,200 = 2,197,848,060 units of 2^-25, more than an int32_t holds; 65.5 and a little. */
START_TEST(aligned_sums_pass_32_bits)
{
    struct vector v = zeros(0x3FFFFFFFu);
    set(&v, 0, 15, 0x3FFF, 0x3FFF);
    expect(&v, 0x4283007Fu);
    v = zeros(0xBFFFFFFFu);
    set(&v, 0, 15, 0x3FFF, 0xBFFF);
    expect(&v, 0xC283007Fu);
}
END_TEST

/* ---- NaN and infinity
 * ------------------------------------------------------------------------------------------------ */

START_TEST(nan_and_infinity)
{
    static const struct {
        uint32_t c;
        uint16_t a0, b0, a1, b1;
        uint32_t expected;
    } rules[] = {
        {0x7FC00000u, ONE, ONE, ONE, ONE, 0x7FFFFFFFu},     /* NaN in c */
        {0xFF800001u, ZERO, ZERO, ZERO, ZERO, 0x7FFFFFFFu}, /* a signalling one, alone */
        {0, QUIET_NAN, ONE, ONE, ONE, 0x7FFFFFFFu},         /* NaN in a */
        {0, ONE, ONE, ONE, SIGNALLING_NAN, 0x7FFFFFFFu},    /* NaN in b */
        {0, QUIET_NAN, ZERO, ZERO, ZERO, 0x7FFFFFFFu},      /* NaN times zero */
        {0, QUIET_NAN, INF, ZERO, ZERO, 0x7FFFFFFFu},       /* NaN times Inf */
        {0, INF, ZERO, ZERO, ZERO, 0x7FFFFFFFu},            /* Inf times zero */
        {0, MINUS_ZERO, MINUS_INF, ZERO, ZERO, 0x7FFFFFFFu},
        {0x7F800000u, INF, ZERO, ZERO, ZERO, 0x7FFFFFFFu},
        {0, INF, ONE, ONE, ONE, 0x7F800000u}, /* one infinity */
        {0, INF, MINUS_ONE, ONE, ONE, 0xFF800000u},
        {0, MINUS_INF, MINUS_INF, ONE, ONE, 0x7F800000u},
        {0, INF, TINIEST, ONE, ONE, 0x7F800000u}, /* a subnormal is no zero */
        {0x7F800000u, ONE, ONE, ONE, ONE, 0x7F800000u},
        {0xFF800000u, LARGEST, LARGEST, ONE, ONE, 0xFF800000u},     /* a large product is no infinity */
        {0xFF800000u, INF, MINUS_ONE, MINUS_INF, ONE, 0xFF800000u}, /* several of one sign */
        {0, INF, ONE, MINUS_INF, ONE, 0x7FFFFFFFu},                 /* both signs */
        {0x7F800000u, MINUS_INF, ONE, ONE, ONE, 0x7FFFFFFFu},
        {0xFF800000u, INF, INF, ONE, ONE, 0x7FFFFFFFu},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct vector v = zeros(rules[i].c);
        set(&v, 2, 2, rules[i].a0, rules[i].b0);
        set(&v, 13, 13, rules[i].a1, rules[i].b1);
        expect(&v, rules[i].expected);
    }
}
END_TEST

/* ---- a second model, in double precision
 * ------------------------------------------------------------------------------ */

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int exponent(double v) /* v != 0, an f32's value */
{
    return ilogb(v) < -126 ? -126 : ilogb(v);
}

/* Finite operands only. Every step is exact in double: products of two 8-bit significands, scalings by powers of two
 * (terms are brought to integers below 2^28), sums of seventeen of them. */
static uint32_t model(const struct vector *v, int fraction_bits, int floor_exponent)
{
    double term[17];
    int term_exponent[17], e_max = floor_exponent;
    for (int i = 0; i < 16; i++) {
        const double a = (double)f32_of((uint32_t)v->a[i] << 16), b = (double)f32_of((uint32_t)v->b[i] << 16);
        term[i] = a * b;
        term_exponent[i] = term[i] != 0 ? exponent(a) + exponent(b) : INT32_MIN;
    }
    term[16] = (double)f32_of(v->c);
    term_exponent[16] = term[16] != 0 ? exponent(term[16]) : INT32_MIN;
    for (int i = 0; i < 17; i++)
        e_max = term_exponent[i] > e_max ? term_exponent[i] : e_max;
    double sum = 0;
    for (int i = 0; i < 17; i++)
        sum += trunc(ldexp(term[i], fraction_bits - e_max));
    sum = ldexp(sum, e_max - fraction_bits);
    if (fabs(sum) >= ldexp(1, 128))
        return sum < 0 ? 0xFF800000u : 0x7F800000u;
    if (sum == 0)
        return 0;
    const int last_place = exponent(sum) - 23;
    const double cut = ldexp(trunc(ldexp(sum, -last_place)), last_place);
    return cut == 0 ? 0 : bits_of((float)cut);
}

enum vector_class { NORMAL, WIDE, SUBNORMAL, CANCELLING, TINY, OVERFLOWING, SPARSE, CLASSES };

static uint16_t draw(uint64_t *state, int lowest, int highest) /* biased exponents */
{
    const uint32_t word = random_u32(state);
    return (uint16_t)((word & 0x807Fu) | (uint32_t)(lowest + (int)((word >> 8) % (uint32_t)(highest - lowest + 1)))
                                             << 7);
}

static struct vector random_vector(enum vector_class kind, uint64_t *state)
{
    static const int range[CLASSES][2] = {{120, 130}, {0, 254}, {0, 2}, {124, 130}, {46, 60}, {185, 192}, {100, 140}};
    struct vector v = {.c = random_u32(state)};
    for (int i = 0; i < 16; i++) {
        v.a[i] = draw(state, range[kind][0], range[kind][1]);
        v.b[i] = draw(state, range[kind][0], range[kind][1]);
        if (kind == SUBNORMAL)
            v.b[i] = draw(state, 100, 130);
        if (kind == CANCELLING && i % 2 == 1) { /* nearly minus its neighbour */
            v.a[i] = v.a[i - 1] ^ 0x8000;
            v.b[i] = v.b[i - 1] ^ (uint16_t)(random_u32(state) & 1);
        }
        if (kind == SPARSE && random_below(state, 3) != 0)
            v.a[i] &= 0x8000;
    }
    if (kind == TINY || kind == SPARSE)
        v.c = random_below(state, 2) != 0 ? 0 : 0x80000000u;
    else if (kind == SUBNORMAL)
        v.c &= 0x80FFFFFFu;
    else
        v.c = (v.c & 0x807FFFFFu) | (uint32_t)(kind == OVERFLOWING ? 254
                                               : kind == WIDE      ? (v.c >> 23) % 255
                                                                   : 127)
                                        << 23;
    return v;
}

enum { VECTORS = 100000 };

START_TEST(agrees_with_the_second_model)
{
    uint64_t state = (uint64_t)_i;
    for (int i = 0; i < VECTORS; i++) {
        const struct vector v = random_vector((enum vector_class)_i, &state);
        const uint32_t got = step(&v), expected = model(&v, 25, -133);
        if (got != expected)
            ck_abort_msg("class %d, vector %d: %08x, expected %08x", _i, i, got, expected);
    }
}
END_TEST

/* The random vectors above would find a wrong constant: planted ones differ, often. */
START_TEST(planted_constants_are_found)
{
    static const struct {
        enum vector_class kind;
        int fraction_bits, floor_exponent, at_least;
    } planted[] = {{NORMAL, 24, -133, VECTORS / 50},
                   {NORMAL, 26, -133, VECTORS / 50},
                   {CANCELLING, 24, -133, VECTORS / 50},
                   {TINY, 25, -132, 10},
                   {TINY, 25, -134, 10},
                   {TINY, 25, -100000, 10}};
    for (size_t k = 0; k < sizeof planted / sizeof planted[0]; k++) {
        uint64_t state = (uint64_t)planted[k].kind;
        int differ = 0;
        for (int i = 0; i < VECTORS; i++) {
            const struct vector v = random_vector(planted[k].kind, &state);
            differ += step(&v) != model(&v, planted[k].fraction_bits, planted[k].floor_exponent);
        }
        ck_assert_msg(differ >= planted[k].at_least, "planted fault %zu: only %d differ", k, differ);
    }
}
END_TEST

START_TEST(order_of_pairs_does_not_matter)
{
    uint64_t state = 99;
    for (int i = 0; i < 20000; i++) {
        struct vector v = random_vector((enum vector_class)(i % CLASSES), &state);
        if (i % 5 == 0)
            v.a[random_below(&state, 16)] = INF;
        const uint32_t expected = step(&v);
        for (int k = 15; k > 0; k--) {
            const int64_t other = random_below(&state, k + 1);
            const uint16_t a = v.a[k], b = v.b[k];
            v.a[k] = v.a[other], v.b[k] = v.b[other];
            v.a[other] = a, v.b[other] = b;
        }
        if (step(&v) != expected)
            ck_abort_msg("vector %d: %08x in one order, %08x in another", i, expected, step(&v));
    }
}
END_TEST

START_TEST(decoded_operands_give_the_same_bits)
{
    uint64_t state = 5;
    for (int i = 0; i < 20000; i++) {
        struct vector v = random_vector((enum vector_class)(i % CLASSES), &state);
        if (i % 4 == 0)
            v.b[random_below(&state, 16)] = (uint16_t)random_u32(&state); /* NaN and Inf among them */
        struct sb_tc_operands a, b;
        sb_tc_decode(v.a, &a);
        sb_tc_decode(v.b, &b);
        if (sb_tc_step(v.c, &a, &b) != step(&v))
            ck_abort_msg("vector %d", i);
    }
}
END_TEST

/* ---- the roundings after the sum
 * ---------------------------------------------------------------------------------------- */

START_TEST(bf16_rounding)
{
    static const struct {
        uint32_t f32;
        uint16_t bf16;
    } words[] = {
        {0x00000000u, 0x0000}, {0x80000000u, 0x8000}, {0x3F800000u, 0x3F80}, {0x3F807FFFu, 0x3F80},
        {0x3F808000u, 0x3F80}, {0x3F808001u, 0x3F81}, {0x3F818000u, 0x3F82}, {0x3F817FFFu, 0x3F81},
        {0xBF818000u, 0xBF82}, {0x3FFFFFFFu, 0x4000}, {0x00000001u, 0x0000}, {0x00008000u, 0x0000},
        {0x00008001u, 0x0001}, {0x007FFFFFu, 0x0080}, {0x80018000u, 0x8002}, {0x7F7F7FFFu, 0x7F7F},
        {0x7F7F8000u, 0x7F80}, {0x7F7FFFFFu, 0x7F80}, {0xFF7FFFFFu, 0xFF80}, {0x7F800000u, 0x7F80},
        {0xFF800000u, 0xFF80}, {0x7F800001u, 0x7FFF}, {0x7FFFFFFFu, 0x7FFF}, {0xFFFFFFFFu, 0x7FFF},
        {0xFF800001u, 0x7FFF},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(sb_bf16_rne(words[i].f32) == words[i].bf16, "%08x gives %04x, expected %04x", words[i].f32,
                      sb_bf16_rne(words[i].f32), words[i].bf16);
}
END_TEST

START_TEST(f32_addition)
{
    static const struct {
        uint32_t a, b, sum;
    } words[] = {
        {0x3F800000u, 0x3F800000u, 0x40000000u}, {0x80000000u, 0x00000000u, 0x00000000u},
        {0x80000000u, 0x80000000u, 0x80000000u}, {0x3F800000u, 0xBF800000u, 0x00000000u},
        {0x3F800000u, 0x33800000u, 0x3F800000u}, /* half a place, to even */
        {0x3F800001u, 0x33800000u, 0x3F800002u}, {0x3F800000u, 0x33800001u, 0x3F800001u},
        {0x00000001u, 0x00000001u, 0x00000002u}, {0x007FFFFFu, 0x00000001u, 0x00800000u},
        {0x00800000u, 0x80000001u, 0x007FFFFFu}, {0x7F7FFFFFu, 0x73000000u, 0x7F800000u},
        {0x7F7FFFFFu, 0x72FFFFFFu, 0x7F7FFFFFu}, {0x7F800000u, 0xFF7FFFFFu, 0x7F800000u},
        {0xFF800000u, 0xFF800000u, 0xFF800000u}, {0x7F800000u, 0xFF800000u, 0x7FFFFFFFu},
        {0x7FC00000u, 0x3F800000u, 0x7FFFFFFFu}, {0x00000000u, 0xFF800001u, 0x7FFFFFFFu},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert_uint_eq(sb_f32_add_rne(words[i].a, words[i].b), words[i].sum);
        ck_assert_uint_eq(sb_f32_add_rne(words[i].b, words[i].a), words[i].sum);
    }
}
END_TEST

/* Against this machine's own addition: any bits, and near neighbours, where cancellation and rounding meet. */
START_TEST(f32_addition_is_ieee)
{
    uint64_t state = 3;
    for (int i = 0; i < 3000000; i++) {
        const uint32_t a = random_u32(&state);
        uint32_t b = random_u32(&state);
        if (i % 2 == 0) /* exponents within 64 of each other */
            b = (b & 0x807FFFFFu) | ((((a >> 23) + (b >> 23) % 128 - 64) & 0xFF) << 23);
        volatile const float x = f32_of(a), y = f32_of(b);
        const float sum = x + y;
        const uint32_t expected = isnan(sum) ? 0x7FFFFFFFu : bits_of(sum);
        if (sb_f32_add_rne(a, b) != expected)
            ck_abort_msg("%08x + %08x = %08x, expected %08x", a, b, sb_f32_add_rne(a, b), expected);
    }
}
END_TEST

/* The caller's rounding mode and flush-to-zero setting change nothing. */
START_TEST(floating_point_environment_has_no_say)
{
    uint64_t state = 8;
    for (int i = 0; i < 5000; i++) {
        const struct vector v = random_vector((enum vector_class)(i % CLASSES), &state);
        const uint32_t a = random_u32(&state), b = random_u32(&state) & 0x80FFFFFFu;
        const uint32_t before[3] = {step(&v), sb_f32_add_rne(a, b), sb_f32_add_rne(b, 0x00012345u)};
        fesetround(FE_UPWARD);
#if defined(__SSE__)
        const unsigned csr = _mm_getcsr();
        _mm_setcsr(csr | 0x8040u); /* flush to zero, denormals are zero */
#endif
        const uint32_t after[3] = {step(&v), sb_f32_add_rne(a, b), sb_f32_add_rne(b, 0x00012345u)};
#if defined(__SSE__)
        _mm_setcsr(csr);
#endif
        fesetround(FE_TONEAREST);
        if (memcmp(before, after, sizeof before) != 0)
            ck_abort_msg("vector %d", i);
    }
}
END_TEST

/* The parts put together again give the number. */
START_TEST(f32_taken_apart)
{
    static const uint32_t words[] = {0x00000000u, 0x80000000u, 0x00000001u, 0x807FFFFFu, 0x00800000u,
                                     0x3F800000u, 0xBFC00000u, 0x7F7FFFFFu, 0x34000001u, 0xC2C80000u};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const double magnitude = ldexp(sb_f32_significand(words[i]), sb_f32_exponent(words[i]) - SB_F32_FRACTION_BITS);
        float value;
        memcpy(&value, &words[i], sizeof value);
        ck_assert(magnitude == fabs((double)value));
        ck_assert(!sb_f32_is_nan(words[i]) && !sb_f32_is_inf(words[i]));
    }
    ck_assert_int_eq(sb_f32_exponent(0), SB_F32_LOWEST_EXPONENT);
    ck_assert(sb_f32_is_inf(0x7F800000u) && sb_f32_is_inf(0xFF800000u) && !sb_f32_is_inf(0x7F800001u));
    ck_assert(!sb_f32_is_nan(0xFF800000u) && sb_f32_is_nan(0x7F800001u) && sb_f32_is_nan(0xFFFFFFFFu));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref tc_bf16_k16_f25");
    TCase *tc = tcase_create("tc");
    tcase_add_test(tc, zeros_take_no_part_in_the_maximum);
    tcase_add_test(tc, deep_subnormal_sums_are_kept);
    tcase_add_test(tc, every_zero_is_plus_zero);
    tcase_add_test(tc, twenty_five_bits_not_24);
    tcase_add_test(tc, twenty_five_bits_not_26);
    tcase_add_test(tc, sixteen_pairs_are_one_sum);
    tcase_add_test(tc, products_are_not_renormalised);
    tcase_add_test(tc, sums_are_cut_toward_zero);
    tcase_add_test(tc, floor_of_minus_133);
    tcase_add_test(tc, subnormals_in_and_out);
    tcase_add_test(tc, overflow_is_infinity);
    tcase_add_test(tc, aligned_sums_pass_32_bits);
    tcase_add_test(tc, nan_and_infinity);
    tcase_add_loop_test(tc, agrees_with_the_second_model, 0, CLASSES);
    tcase_add_test(tc, planted_constants_are_found);
    tcase_add_test(tc, order_of_pairs_does_not_matter);
    tcase_add_test(tc, decoded_operands_give_the_same_bits);
    tcase_add_test(tc, bf16_rounding);
    tcase_add_test(tc, f32_addition);
    tcase_add_test(tc, f32_addition_is_ieee);
    tcase_add_test(tc, f32_taken_apart);
    tcase_add_test(tc, floating_point_environment_has_no_say);
    suite_add_tcase(suite, tc);
    return suite;
}
