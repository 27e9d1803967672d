/* tc_exact.c - contract TC in arbitrary-precision integers, as the text reads; see tc_exact.h. */
#include "tc_exact.h"

#include <gmp.h>
#include <stdio.h>

enum { F32_FRACTION = 23, BF16_FRACTION = 7, LOWEST_EXPONENT = -126, HIGHEST_EXPONENT = 127, EXPONENT_FIELD = 255 };

const struct tc_rules tc_contract = {
    .pairs_fused = 16,
    .fraction_bits = 25,
    .lowest_e_max = -133,
    .terms = TC_TOWARD_ZERO,
    .sum = TC_TOWARD_ZERO,
    .nan = 0x7FFFFFFF,
};

/* A stored number. Where it is finite its value is significand * 2^(exponent - fraction), under its sign; a zero has
 * the significand 0 and the exponent -126. */
struct number {
    bool nan, infinite, negative;
    uint32_t significand;
    int exponent;
};

/* bf16 (fraction 7) and f32 (fraction 23) have the same eight bits of exponent. */
static struct number decode(uint32_t bits, int fraction)
{
    const int field = (int)(bits >> fraction & EXPONENT_FIELD);
    const uint32_t below = bits & ((1u << fraction) - 1);
    const bool hidden = field != 0;
    return (struct number){
        .nan = field == EXPONENT_FIELD && below != 0,
        .infinite = field == EXPONENT_FIELD && below == 0,
        .negative = (bits >> (fraction + 8) & 1) != 0,
        .significand = below + (hidden ? 1u << fraction : 0u),
        .exponent = hidden ? field - 127 : LOWEST_EXPONENT,
    };
}

/* x * 2^shift as an integer, rounded where it is none. */
static void scale(mpz_t x, long shift, enum tc_rounding how)
{
    if (shift >= 0) {
        mpz_mul_2exp(x, x, (mp_bitcnt_t)shift);
        return;
    }
    const mp_bitcnt_t dropped = (mp_bitcnt_t)-shift;
    if (how == TC_TOWARD_ZERO) {
        mpz_tdiv_q_2exp(x, x, dropped);
        return;
    }
    if (how == TC_DOWN) {
        mpz_fdiv_q_2exp(x, x, dropped);
        return;
    }
    const bool up = mpz_tstbit(x, dropped - 1) != 0; /* at least half: of a negative x too, whose bits are endless */
    const bool tie = up && mpz_scan1(x, 0) == dropped - 1;
    mpz_fdiv_q_2exp(x, x, dropped);
    if (up && (!tie || mpz_odd_p(x)))
        mpz_add_ui(x, x, 1);
}

/* x * 2^unit, rounded, as the bits of a bf16 or an f32 without its sign. Overflow is an infinity. */
static uint32_t encode(const mpz_t x, long unit, int fraction, enum tc_rounding how)
{
    const uint32_t infinity = (uint32_t)EXPONENT_FIELD << fraction;
    if (mpz_sgn(x) == 0)
        return 0;
    long exponent = (long)mpz_sizeinbase(x, 2) - 1 + unit;
    if (exponent > HIGHEST_EXPONENT)
        return infinity;
    if (exponent < LOWEST_EXPONENT)
        exponent = LOWEST_EXPONENT;
    mpz_t significand;
    mpz_init_set(significand, x);
    scale(significand, unit - (exponent - fraction), how);
    /* Its leading bit, or one above it after rounding up, adds 1 or 2 to the exponent's field. */
    const uint32_t bits = ((uint32_t)(exponent - LOWEST_EXPONENT) << fraction) + (uint32_t)mpz_get_ui(significand);
    mpz_clear(significand);
    return bits < infinity ? bits : infinity;
}

/* c or a product: its value is significand * 2^(exponent - point), under its sign. */
struct term {
    bool nan, infinite, negative, counts; /* counts: has a say in e_max */
    uint32_t significand;
    int exponent, point;
};

/* The exponent with which a term takes part in e_max, were it normalised. */
static int normalised(const struct term *t)
{
    int leading = 0;
    while (t->significand >> leading > 1)
        leading++;
    return t->exponent - t->point + leading;
}

static struct number input(const struct tc_rules *rules, uint32_t bits, int fraction)
{
    struct number v = decode(bits, fraction);
    if (rules->subnormal_inputs_dropped && v.exponent == LOWEST_EXPONENT && v.significand >> fraction == 0)
        v.significand = 0;
    return v;
}

static struct term accumulator(const struct tc_rules *rules, uint32_t bits)
{
    const struct number c = input(rules, bits, F32_FRACTION);
    return (struct term){.nan = c.nan,
                         .infinite = c.infinite,
                         .negative = c.negative,
                         .counts = c.significand != 0 || rules->zero_c_counts,
                         .significand = c.significand,
                         .exponent = c.exponent,
                         .point = F32_FRACTION};
}

static struct term product(const struct tc_rules *rules, uint16_t a_bits, uint16_t b_bits)
{
    const struct number a = input(rules, a_bits, BF16_FRACTION), b = input(rules, b_bits, BF16_FRACTION);
    const bool infinite = a.infinite || b.infinite;
    const bool zero = a.significand == 0 || b.significand == 0; /* an infinity's is the hidden bit */
    struct term t = {.nan = a.nan || b.nan || (infinite && zero),
                     .infinite = infinite,
                     .negative = a.negative != b.negative,
                     .counts = !zero || rules->zero_products_count,
                     .significand = a.significand * b.significand,
                     .exponent = a.exponent + b.exponent,
                     .point = 2 * BF16_FRACTION};
    if (rules->products_overflow && !zero && normalised(&t) > HIGHEST_EXPONENT)
        t.infinite = true;
    return t;
}

/* Rule 1. False: all terms are finite. */
static bool is_special(const struct tc_rules *rules, const struct term *terms, int count, uint32_t *result)
{
    bool nan = false, plus = false, minus = false;
    for (int i = 0; i < count; i++) {
        nan = nan || terms[i].nan;
        plus = plus || (terms[i].infinite && !terms[i].negative);
        minus = minus || (terms[i].infinite && terms[i].negative);
    }
    *result = nan || (plus && minus) ? rules->nan : minus ? 0xFF800000u : 0x7F800000u;
    return nan || plus || minus;
}

/* Rule 3. */
static int largest_exponent(const struct tc_rules *rules, const struct term *terms, int count)
{
    int e_max = rules->lowest_e_max;
    for (int i = 0; i < count; i++) {
        const bool by_leading_bit = i == 0 ? rules->c_normalised : rules->products_normalised;
        const int e = by_leading_bit && terms[i].significand != 0 ? normalised(&terms[i]) : terms[i].exponent;
        if (terms[i].counts && e > e_max)
            e_max = e;
    }
    return e_max;
}

/* Rule 4: the sum of the terms, each rounded to a multiple of 2^unit, in that unit. */
static void add_terms(const struct tc_rules *rules, const struct term *terms, int count, long unit, mpz_t sum)
{
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < count; i++) {
        if (terms[i].significand == 0)
            continue;
        mpz_set_ui(x, terms[i].significand);
        if (terms[i].negative)
            mpz_neg(x, x);
        scale(x, terms[i].exponent - terms[i].point - unit, rules->terms);
        mpz_add(sum, sum, x);
    }
    mpz_clear(x);
}

static bool all_minus_zero(const struct term *terms, int count)
{
    for (int i = 0; i < count; i++)
        if (terms[i].significand != 0 || !terms[i].negative)
            return false;
    return true;
}

/* Rule 5. */
static uint32_t round_sum(const struct tc_rules *rules, const mpz_t sum, long unit, bool minus_zero)
{
    const uint32_t sign = mpz_sgn(sum) < 0 ? 0x80000000u : 0u;
    uint32_t magnitude = encode(sum, unit, F32_FRACTION, rules->sum);
    if (rules->saturates && magnitude == 0x7F800000u)
        magnitude = 0x7F7FFFFFu;
    if (rules->subnormal_results_dropped && magnitude < 0x00800000u)
        magnitude = 0;
    if (magnitude != 0)
        return sign | magnitude;
    return (sign != 0 && rules->minus_zero_sums) || minus_zero ? 0x80000000u : 0u;
}

/* c and `pairs` products, in one sum. */
static uint32_t fused(const struct tc_rules *rules, uint32_t c, const uint16_t *a, const uint16_t *b, int pairs)
{
    struct term terms[1 + TC_PAIRS];
    terms[0] = accumulator(rules, c);
    for (int i = 0; i < pairs; i++)
        terms[1 + i] = product(rules, a[i], b[i]);
    uint32_t result;
    if (is_special(rules, terms, 1 + pairs, &result))
        return result;
    const long unit = largest_exponent(rules, terms, 1 + pairs) - rules->fraction_bits;
    mpz_t sum;
    mpz_init(sum);
    add_terms(rules, terms, 1 + pairs, unit, sum);
    result = round_sum(rules, sum, unit, rules->minus_zero_terms && all_minus_zero(terms, 1 + pairs));
    mpz_clear(sum);
    return result;
}

uint32_t tc_exact(const struct tc_rules *rules, const struct tc_dot *dot)
{
    uint32_t c = dot->c;
    for (int i = 0; i < TC_PAIRS; i += rules->pairs_fused)
        c = fused(rules, c, dot->a + i, dot->b + i, rules->pairs_fused);
    return c;
}

/* A finite v in units of 2^-149, the smallest f32. */
static void in_smallest_units(mpz_t x, const struct number *v)
{
    mpz_set_ui(x, v->significand);
    mpz_mul_2exp(x, x, (mp_bitcnt_t)(v->exponent - LOWEST_EXPONENT));
    if (v->negative)
        mpz_neg(x, x);
}

uint32_t tc_exact_add(uint32_t x, uint32_t y)
{
    const struct number p = decode(x, F32_FRACTION), q = decode(y, F32_FRACTION);
    if (p.nan || q.nan || (p.infinite && q.infinite && p.negative != q.negative))
        return 0x7FFFFFFFu;
    if (p.infinite || q.infinite)
        return p.infinite ? x : y;
    mpz_t sum, other;
    mpz_inits(sum, other, NULL);
    in_smallest_units(sum, &p);
    in_smallest_units(other, &q);
    mpz_add(sum, sum, other);
    const bool both_minus = p.negative && q.negative; /* -0 plus -0 is -0; any other zero is +0 */
    const bool negative = mpz_sgn(sum) < 0 || (mpz_sgn(sum) == 0 && both_minus);
    const uint32_t magnitude = encode(sum, LOWEST_EXPONENT - F32_FRACTION, F32_FRACTION, TC_NEAREST_EVEN);
    mpz_clears(sum, other, NULL);
    return (negative ? 0x80000000u : 0u) | magnitude;
}

uint16_t tc_exact_bf16(uint32_t x)
{
    const struct number v = decode(x, F32_FRACTION);
    if (v.nan)
        return 0x7FFF;
    if (v.infinite)
        return (uint16_t)(x >> 16);
    mpz_t value;
    mpz_init(value);
    in_smallest_units(value, &v);
    const uint32_t magnitude = encode(value, LOWEST_EXPONENT - F32_FRACTION, BF16_FRACTION, TC_NEAREST_EVEN);
    mpz_clear(value);
    return (uint16_t)((v.negative ? 0x8000u : 0u) | magnitude);
}

const char *tc_dot_text(const struct tc_dot *dot, char *text, size_t size)
{
    int used = snprintf(text, size, "c %08X, pairs", dot->c);
    for (int i = 0; i < TC_PAIRS; i++)
        if ((dot->a[i] | dot->b[i]) != 0 && used >= 0 && (size_t)used < size)
            used += snprintf(text + used, size - (size_t)used, " %d:%04X*%04X", i, dot->a[i], dot->b[i]);
    return text;
}
