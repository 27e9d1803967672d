/* tc_bf16_k16_f25.c - the tensor core's fused dot product of 16 BF16 pairs and an FP32 accumulator.
 * Contract: CONTRACTS.md, section "Contract TC"; the rule numbers below are its numbers.
 *
 * Integers from end to end, so that neither the compiler's floating-point options nor the caller's rounding mode or
 * flush-to-zero setting can change a bit.
 *
 * Scales. A bf16 significand of 8 bits stands for significand * 2^-7, in [1, 2) for normal numbers; the product of two
 * stands for product * 2^-14, in [1, 4), with the sum of the two exponents; c's significand of 24 bits stands for
 * significand * 2^-23. "Aligned to 25 fractional bits" brings all of them to the unit 2^(e_max - 25). */
#include "tc_bf16_k16_f25.h"

#include "f32_round.h"

enum {
    FRACTION_BITS = 25,         /* kept below 2^e_max when terms are aligned */
    LOWEST_E_MAX = -133,        /* the exponent of bf16's smallest subnormal */
    PRODUCT_FRACTION_BITS = 14, /* of the product of two bf16 significands */
    ZERO_EXPONENT = -1000,      /* with any partner's exponent added it is below LOWEST_E_MAX: zeros never set e_max */
};

static const uint32_t f32_nan = 0x7FFFFFFFu;

static bool f32_is_finite(uint32_t v)
{
    return (v & sb_f32_infinity) != sb_f32_infinity;
}

static bool f32_is_zero(uint32_t v)
{
    return (v & ~sb_f32_sign) == 0;
}

/* bf16 is the upper half of an f32. */
static uint32_t widen(uint16_t bf16)
{
    return (uint32_t)bf16 << 16;
}

static int highest_bit(uint64_t v) /* v != 0 */
{
    int bit = 0;
    for (int step = 32; step > 0; step /= 2)
        if (v >> step != 0) {
            v >>= step;
            bit += step;
        }
    return bit;
}

/* ---- Rule 1: NaN and infinity -------------------------------------------------------------------------- */

/* The result where c or an operand is NaN or infinite; it is never finite. */
static uint32_t nonfinite_result(uint32_t c, const uint16_t a[16], const uint16_t b[16])
{
    bool nan = sb_f32_is_nan(c);
    bool plus = c == sb_f32_infinity;
    bool minus = c == (sb_f32_infinity | sb_f32_sign);
    for (int i = 0; i < SB_TC_K; i++) {
        const uint32_t x = widen(a[i]), y = widen(b[i]);
        const bool inf_times_zero = (sb_f32_is_inf(x) && f32_is_zero(y)) || (f32_is_zero(x) && sb_f32_is_inf(y));
        if (sb_f32_is_nan(x) || sb_f32_is_nan(y) || inf_times_zero)
            nan = true;
        else if (sb_f32_is_inf(x) || sb_f32_is_inf(y)) {
            const bool negative = ((x ^ y) & sb_f32_sign) != 0;
            plus = plus || !negative;
            minus = minus || negative;
        }
    }
    if (nan || (plus && minus))
        return f32_nan;
    return plus ? sb_f32_infinity : sb_f32_infinity | sb_f32_sign;
}

/* ---- Rule 2: significands and exponents ----------------------------------------------------------------- */

static int32_t exponent_of(uint32_t v)
{
    return f32_is_zero(v) ? ZERO_EXPONENT : sb_f32_exponent(v);
}

static int32_t sign_of(uint32_t v)
{
    return (v & sb_f32_sign) != 0 ? -1 : 1;
}

void sb_tc_decode(const uint16_t v[16], struct sb_tc_operands *operands)
{
    operands->finite = true;
    for (int i = 0; i < SB_TC_K; i++) {
        const uint32_t bits = widen(v[i]);
        operands->significand[i] = sb_f32_significand(bits) >> 16; /* a widened bf16's lower 16 bits are zero */
        operands->exponent[i] = exponent_of(bits);
        operands->sign[i] = sign_of(bits);
        operands->bits[i] = v[i];
        operands->finite = operands->finite && f32_is_finite(bits);
    }
}

/* ---- Rule 4: cutting a term ------------------------------------------------------------------------------ */

/* A magnitude in units of 2^(exponent - 25), cut toward zero to units of 2^(e_max - 25). Magnitudes have at most 27
 * bits, so a distance of 31 stands for any longer one. */
static int32_t cut(uint32_t magnitude, int32_t exponent, int32_t e_max)
{
    const int32_t distance = e_max - exponent;
    return (int32_t)(magnitude >> (distance < 31 ? distance : 31));
}

/* ---- Rule 5: the sum as an f32 --------------------------------------------------------------------------- */

/* sum * 2^unit, cut toward zero. */
static uint32_t f32_toward_zero(int64_t sum, int32_t unit)
{
    if (sum == 0)
        return 0;
    const uint32_t sign = sum < 0 ? sb_f32_sign : 0;
    const uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int32_t exponent = highest_bit(magnitude) + unit;
    if (exponent > SB_F32_BIAS)
        return sign | sb_f32_infinity;
    if (exponent < SB_F32_LOWEST_EXPONENT)
        exponent = SB_F32_LOWEST_EXPONENT; /* a subnormal: fewer significand bits, never flushed */
    const int32_t excess = exponent - SB_F32_FRACTION_BITS - unit; /* bits below the result's last place */
    const uint32_t significand =
        (uint32_t)(excess >= 0 ? magnitude >> (excess < 63 ? excess : 63) : magnitude << -excess);
    if (significand == 0)
        return 0; /* +0, from a negative sum too */
    /* A normal significand's hidden bit adds one to the exponent field; a subnormal has none to add. */
    return sign | (((uint32_t)(exponent - SB_F32_LOWEST_EXPONENT) << SB_F32_FRACTION_BITS) + significand);
}

/* ---- The dot product ------------------------------------------------------------------------------------- */

uint32_t sb_tc_step(uint32_t c, const struct sb_tc_operands *a, const struct sb_tc_operands *b)
{
    /* Rule 1. */
    if (!f32_is_finite(c) || !a->finite || !b->finite)
        return nonfinite_result(c, a->bits, b->bits);

    /* Rule 2. */
    uint32_t product[SB_TC_K];
    int32_t exponent[SB_TC_K];
    for (int i = 0; i < SB_TC_K; i++) {
        product[i] = a->significand[i] * b->significand[i];
        exponent[i] = a->exponent[i] + b->exponent[i];
    }
    const int32_t c_exponent = exponent_of(c);

    /* Rule 3. */
    int32_t e_max = LOWEST_E_MAX > c_exponent ? LOWEST_E_MAX : c_exponent;
    for (int i = 0; i < SB_TC_K; i++)
        e_max = exponent[i] > e_max ? exponent[i] : e_max;

    /* Rule 4. The sum stays below 16 * 2^27 + 2^26 in magnitude: more than an int32_t holds. */
    int64_t sum = sign_of(c) * cut(sb_f32_significand(c) << (FRACTION_BITS - SB_F32_FRACTION_BITS), c_exponent, e_max);
    for (int i = 0; i < SB_TC_K; i++)
        sum += a->sign[i] * b->sign[i] * cut(product[i] << (FRACTION_BITS - PRODUCT_FRACTION_BITS), exponent[i], e_max);

    /* Rule 5. */
    return f32_toward_zero(sum, e_max - FRACTION_BITS);
}

uint32_t sb_tc_bf16_k16_f25(uint32_t c, const uint16_t a[16], const uint16_t b[16])
{
    struct sb_tc_operands a_operands, b_operands;
    sb_tc_decode(a, &a_operands);
    sb_tc_decode(b, &b_operands);
    return sb_tc_step(c, &a_operands, &b_operands);
}
