/* tc_model.c - contract TC with its rules as parameters. Integers from end to end. */
#include "tc_model.h"

#include <stdlib.h>

enum { K = 16, PRODUCT_FRACTION = 14, F32_FRACTION = 23, LOWEST = -126, HIGHEST = 127 };

static const uint32_t sign_bit = 0x80000000u, infinity = 0x7F800000u;

/* A finite f32 taken apart: significand * 2^(exponent - 23). */
struct number {
    bool negative;
    uint32_t significand;
    int exponent;
};

static struct number take_apart(uint32_t bits)
{
    const uint32_t field = bits >> 23 & 0xFF, fraction = bits & 0x007FFFFF;
    if (field == 0)
        return (struct number){(bits & sign_bit) != 0, fraction, LOWEST};
    return (struct number){(bits & sign_bit) != 0, fraction | 0x00800000, (int)field - 127};
}

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) > infinity;
}

static bool is_inf(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) == infinity;
}

static bool is_zero(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) == 0;
}

static uint32_t flushed(uint32_t bits, bool flush)
{
    return flush && (bits & infinity) == 0 ? bits & sign_bit : bits;
}

/* ---- terms: c, and the products of a step ----------------------------------------------------- */

enum kind { FINITE, INFINITE, NAN_TERM };

/* A finite one is significand * 2^(exponent - fraction). */
struct term {
    enum kind kind;
    bool is_c, negative;
    uint64_t significand;
    int exponent, fraction;
};

static struct term term_of(uint32_t c)
{
    const struct number n = take_apart(c);
    const enum kind kind = is_nan(c) ? NAN_TERM : is_inf(c) ? INFINITE : FINITE;
    return (struct term){kind, true, n.negative, n.significand, n.exponent, F32_FRACTION};
}

/* Is significand * 2^(exponent - 14) at least 2^128? */
static bool overflows(uint32_t significand, int exponent)
{
    const int distance = 128 + PRODUCT_FRACTION - exponent;
    return distance < 16 && (distance <= 0 ? significand != 0 : significand >> distance != 0);
}

static struct term product_of(const struct sb_tc_rules *rules, uint32_t a, uint32_t b)
{
    const struct number x = take_apart(a), y = take_apart(b);
    struct term t = {FINITE, false, x.negative != y.negative, 0, x.exponent + y.exponent, PRODUCT_FRACTION};
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b))) {
        t.kind = NAN_TERM;
    } else if (is_inf(a) || is_inf(b)) {
        t.kind = INFINITE;
    } else {
        const uint32_t significand = (x.significand >> 16) * (y.significand >> 16); /* the lower halves are zero */
        t.significand = significand;
        if (rules->products_overflow && overflows(significand, t.exponent))
            t.kind = INFINITE;
    }
    return t;
}

/* How a term counts in the maximum. */
static int exponent_in_maximum(const struct sb_tc_rules *rules, const struct term *t)
{
    if (t->significand == 0)
        return rules->zeros_have_exponents ? t->exponent : SB_TC_NO_FLOOR;
    if (rules->subnormal_c_normalised && t->is_c) /* a normal one has its first bit at the place of its exponent */
        return t->exponent - t->fraction + 63 - __builtin_clzll(t->significand);
    return t->exponent + (rules->renormalised && t->significand >> (t->fraction + 1) != 0);
}

/* ---- rounding --------------------------------------------------------------------------------- */

/* magnitude / 2^places to an integer. */
static uint64_t rounded(uint64_t magnitude, int places, bool negative, enum sb_tc_rounding rounding)
{
    if (places <= 0)
        return magnitude << -places;
    const uint64_t kept = places < 64 ? magnitude >> places : 0;
    const uint64_t lost = places < 64 ? magnitude & ((UINT64_C(1) << places) - 1) : magnitude;
    const uint64_t half = places <= 64 ? UINT64_C(1) << (places - 1) : UINT64_MAX; /* beyond: more than there is */
    switch (rounding) {
    case SB_TC_NEAREST_EVEN:
        return kept + (lost > half || (lost == half && kept % 2 == 1));
    case SB_TC_DOWN:
        return kept + (negative && lost != 0);
    case SB_TC_STICKY:
        return kept | (lost != 0);
    case SB_TC_TOWARD_ZERO:
        break;
    }
    return kept;
}

static int64_t wrapped(int64_t sum, int bits)
{
    if (bits == 0)
        return sum;
    const int64_t half = INT64_C(1) << (bits - 1);
    return ((sum + half) & (2 * half - 1)) - half;
}

/* sum * 2^unit, sum != 0. */
static uint32_t f32_of(const struct sb_tc_rules *rules, int64_t sum, int unit)
{
    const bool negative = sum < 0;
    const uint64_t magnitude = negative ? (uint64_t)-sum : (uint64_t)sum;
    int exponent = unit + 63 - __builtin_clzll(magnitude);
    if (exponent < LOWEST)
        exponent = LOWEST;
    const uint32_t sign = negative ? sign_bit : 0;
    const uint32_t largest = infinity - 1;
    if (exponent > HIGHEST)
        return sign | (rules->saturated ? largest : infinity);
    const uint64_t significand = rounded(magnitude, exponent - F32_FRACTION - unit, negative, rules->sum);
    /* A significand that rounding has brought to the next power of two carries into the exponent by itself. */
    const uint32_t bits = ((uint32_t)(exponent - LOWEST) << F32_FRACTION) + (uint32_t)significand;
    if (bits == 0)
        return rules->minus_zero_of_underflow ? sign : 0;
    if (bits >= infinity)
        return sign | (rules->saturated ? largest : infinity);
    return flushed(sign | bits, rules->flush_results);
}

/* ---- a step, and the steps of a dot product --------------------------------------------------- */

/* The result where a term is not finite; 0 where all are. */
static uint32_t not_finite(const struct sb_tc_rules *rules, const struct term *term, int count)
{
    bool nan = false, plus = false, minus = false;
    for (int i = 0; i < count; i++) {
        nan = nan || term[i].kind == NAN_TERM;
        plus = plus || (term[i].kind == INFINITE && !term[i].negative);
        minus = minus || (term[i].kind == INFINITE && term[i].negative);
    }
    if (nan || (plus && minus))
        return rules->nan;
    return plus ? infinity : minus ? infinity | sign_bit : 0;
}

static bool all_minus_zero(const struct term *term, int count)
{
    for (int i = 0; i < count; i++)
        if (term[i].significand != 0 || !term[i].negative)
            return false;
    return true;
}

static uint32_t add(const struct sb_tc_rules *rules, const struct term *term, int count)
{
    const uint32_t special = not_finite(rules, term, count);
    if (special != 0)
        return special;
    int e_max = rules->lowest_e_max;
    for (int i = 0; i < count; i++) {
        const int exponent = exponent_in_maximum(rules, &term[i]);
        e_max = exponent > e_max ? exponent : e_max;
    }
    const int unit = e_max - rules->fraction_bits;
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (term[i].significand == 0)
            continue;
        const int lowest_place = term[i].exponent - term[i].fraction;
        const int64_t magnitude =
            (int64_t)rounded(term[i].significand, unit - lowest_place, term[i].negative, rules->terms);
        sum += term[i].negative ? -magnitude : magnitude;
    }
    sum = wrapped(sum, rules->sum_bits);
    if (sum == 0)
        return rules->minus_zero_of_zeros && all_minus_zero(term, count) ? sign_bit : 0;
    return f32_of(rules, sum, unit);
}

/* More fraction bits would not fit the sums' 64. */
static bool within_limits(const struct sb_tc_rules *rules)
{
    return rules->group >= 1 && rules->group <= K && K % rules->group == 0 && rules->fraction_bits >= 0 &&
           rules->fraction_bits <= (rules->group == 1 ? 58 : 30);
}

uint32_t sb_tc_model(const struct sb_tc_rules *rules, uint32_t c, const uint16_t a[16], const uint16_t b[16])
{
    if (!within_limits(rules))
        abort();
    uint32_t sum = flushed(c, rules->flush_inputs);
    for (int first = 0; first < K; first += rules->group) {
        struct term term[K + 1];
        term[0] = term_of(sum);
        for (int i = 0; i < rules->group; i++)
            term[1 + i] = product_of(rules, flushed((uint32_t)a[first + i] << 16, rules->flush_inputs),
                                     flushed((uint32_t)b[first + i] << 16, rules->flush_inputs));
        sum = add(rules, term, rules->group + 1);
    }
    return sum;
}

struct sb_tc_rules sb_tc_contract(void)
{
    return (struct sb_tc_rules){.fraction_bits = 25,
                                .group = K,
                                .terms = SB_TC_TOWARD_ZERO,
                                .sum = SB_TC_TOWARD_ZERO,
                                .lowest_e_max = -133,
                                .nan = 0x7FFFFFFFu};
}

/* ---- the variants ----------------------------------------------------------------------------- */

enum rule {
    END,
    FRACTION_BITS,
    GROUP,
    TERMS,
    SUM,
    ZEROS,
    SUBNORMAL_C,
    RENORMALISED,
    FLOOR,
    SUM_BITS,
    MINUS_ZERO_OF_UNDERFLOW,
    MINUS_ZERO_OF_ZEROS,
    FLUSH_INPUTS,
    FLUSH_RESULTS,
    PRODUCTS_OVERFLOW,
    SATURATED,
    QUIET_NAN,
};

enum { CHANGES = 8 };

/* A rule other than the contract's. */
struct change {
    enum rule rule;
    int value;
};

static const struct {
    const char *name, *reason;
    struct change change[CHANGES]; /* ends with END */
} variants[] = {
    {"24-bits", "terms kept to 24 bits below e_max", {{FRACTION_BITS, 24}}},
    {"26-bits", "terms kept to 26 bits below e_max", {{FRACTION_BITS, 26}}},
    {"23-bits", "terms kept to 23 bits below e_max", {{FRACTION_BITS, 23}}},
    {"steps-of-8", "two fused steps of 8 pairs", {{GROUP, 8}}},
    {"steps-of-4", "four fused steps of 4 pairs", {{GROUP, 4}}},
    {"24-bits-steps-of-8", "Ampere and Ada: 24 bits, two fused steps of 8", {{FRACTION_BITS, 24}, {GROUP, 8}}},
    {"23-bits-steps-of-4", "Volta, with other inputs: 23 bits, steps of 4", {{FRACTION_BITS, 23}, {GROUP, 4}}},
    {"nearest-terms", "terms rounded to nearest even", {{TERMS, SB_TC_NEAREST_EVEN}}},
    {"nearest-sum", "the sum rounded to nearest even", {{SUM, SB_TC_NEAREST_EVEN}}},
    {"nearest-both", "terms and the sum to nearest even", {{TERMS, SB_TC_NEAREST_EVEN}, {SUM, SB_TC_NEAREST_EVEN}}},
    {"down-terms", "terms cut toward minus infinity: two's complement shifts", {{TERMS, SB_TC_DOWN}}},
    {"down-sum", "the sum cut toward minus infinity", {{SUM, SB_TC_DOWN}}},
    {"down-both", "terms and the sum toward minus infinity", {{TERMS, SB_TC_DOWN}, {SUM, SB_TC_DOWN}}},
    {"renormalised", "products renormalised before e_max is taken", {{RENORMALISED, 1}}},
    {"zeros-with-exponents", "zeros take part in e_max, as subnormals would", {{ZEROS, 1}}},
    {"subnormal-c-normalised", "a subnormal c has the exponent of its first bit in e_max", {{SUBNORMAL_C, 1}}},
    {"no-floor", "e_max without a lower limit", {{FLOOR, SB_TC_NO_FLOOR}}},
    {"floor-132", "e_max at least -132", {{FLOOR, -132}}},
    {"floor-134", "e_max at least -134", {{FLOOR, -134}}},
    {"floor-126",
     "e_max at least -126, f32's least exponent: a zero c with that exponent gives the same",
     {{FLOOR, -126}}},
    {"minus-zero-of-underflow", "a negative sum that is cut to zero is -0", {{MINUS_ZERO_OF_UNDERFLOW, 1}}},
    {"minus-zero-of-zeros", "a sum of nothing but -0 is -0", {{MINUS_ZERO_OF_ZEROS, 1}}},
    {"minus-zero", "both of these", {{MINUS_ZERO_OF_UNDERFLOW, 1}, {MINUS_ZERO_OF_ZEROS, 1}}},
    {"flush-inputs", "subnormal operands are zero", {{FLUSH_INPUTS, 1}}},
    {"flush-results", "subnormal results are zero", {{FLUSH_RESULTS, 1}}},
    {"flush-both", "subnormal operands and results are zero", {{FLUSH_INPUTS, 1}, {FLUSH_RESULTS, 1}}},
    {"products-overflow", "a product of 2^128 or more is an infinity by itself", {{PRODUCTS_OVERFLOW, 1}}},
    {"saturated", "a sum of 2^128 or more is the largest finite number", {{SATURATED, 1}}},
    {"sum-of-32-bits", "the sum wraps at 32 bits", {{SUM_BITS, 32}}},
    {"nan-7fc00000", "another NaN", {{QUIET_NAN, 0x7FC00000}}},
    {"fma-chain",
     "FP32 fused multiply-adds, k ascending, to nearest even: no tensor core",
     {{FRACTION_BITS, 58},
      {GROUP, 1},
      {TERMS, SB_TC_STICKY},
      {SUM, SB_TC_NEAREST_EVEN},
      {FLOOR, SB_TC_NO_FLOOR},
      {MINUS_ZERO_OF_UNDERFLOW, 1},
      {MINUS_ZERO_OF_ZEROS, 1}}},
};

static void apply(struct sb_tc_rules *rules, const struct change *change)
{
    const int value = change->value;
    switch (change->rule) {
    case END:
        break;
    case FRACTION_BITS:
        rules->fraction_bits = value;
        break;
    case GROUP:
        rules->group = value;
        break;
    case TERMS:
        rules->terms = (enum sb_tc_rounding)value;
        break;
    case SUM:
        rules->sum = (enum sb_tc_rounding)value;
        break;
    case ZEROS:
        rules->zeros_have_exponents = value != 0;
        break;
    case SUBNORMAL_C:
        rules->subnormal_c_normalised = value != 0;
        break;
    case RENORMALISED:
        rules->renormalised = value != 0;
        break;
    case FLOOR:
        rules->lowest_e_max = value;
        break;
    case SUM_BITS:
        rules->sum_bits = value;
        break;
    case MINUS_ZERO_OF_UNDERFLOW:
        rules->minus_zero_of_underflow = value != 0;
        break;
    case MINUS_ZERO_OF_ZEROS:
        rules->minus_zero_of_zeros = value != 0;
        break;
    case FLUSH_INPUTS:
        rules->flush_inputs = value != 0;
        break;
    case FLUSH_RESULTS:
        rules->flush_results = value != 0;
        break;
    case PRODUCTS_OVERFLOW:
        rules->products_overflow = value != 0;
        break;
    case SATURATED:
        rules->saturated = value != 0;
        break;
    case QUIET_NAN:
        rules->nan = (uint32_t)value;
        break;
    }
}

int sb_tc_variants(void)
{
    return (int)(sizeof variants / sizeof variants[0]);
}

struct sb_tc_variant sb_tc_variant(int index)
{
    struct sb_tc_variant v = {variants[index].name, variants[index].reason, sb_tc_contract()};
    for (int i = 0; i < CHANGES && variants[index].change[i].rule != END; i++)
        apply(&v.rules, &variants[index].change[i]);
    return v;
}
