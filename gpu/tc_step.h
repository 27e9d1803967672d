/* tc_step.h - one step of contract TC (ref/CONTRACTS.md) without a tensor core, in plain C for the device and for the
 * host, where a test holds it to ref/tc_bf16_k16_f25.h.
 *
 * The general step takes any operands: integers from end to end, as in ref/tc_bf16_k16_f25.c.
 *
 * The fast step takes a block of outputs. With e = ea + eb the exponent of a product and u = 2^(e_max - 25) the unit
 * that terms are cut to, it is
 *
 *   1. e_max                 16-bit integers: exponents added, and their maximum with c's
 *   2. p = a * b             two 8-bit significands
 *   3. p / u                 1/u is a power of two
 *   4. cut toward zero       the conversion to i32 truncates
 *   5. c / u + sum           i32, c cut like a product
 *   6. back to f32           the conversion rounds toward zero, and times u
 *
 * Its conditions:
 *   a. every operand is zero or has an exponent of -50 .. 40 (sb_tc_is_fast): no NaN, no infinity, no subnormal;
 *   b. in no row of a do the 16 fractions, as 7-bit integers, add up to SB_TC_HEAVY = 1936 or more: then the 16
 *      significands add up to less than 1936 + 16 * 128 = 3984;
 *   c. c is zero, or finite and at least 2^-102 (sb_tc_is_ordinary): a multiple of 2^-125. So are all sums of
 *      fast steps, since u is one: the condition is to be looked at after a general step only.
 *
 * Why its bits are the contract's:
 *   - By a the exponents of nonzero products are -100 .. 80. Starting the maximum at -100 changes nothing for an
 *     output that has a nonzero product. For one that has none the sum is c, which by c loses nothing at a unit of
 *     2^-125 or at its own. A zero's exponent is one that stays below -100 with any partner's.
 *   - 2 is exact: a product of 16 bits and at least 2^-100. 3 is exact, or gives less than 2^-126, which 4 cuts to 0
 *     as it should, whatever became of it. Nothing overflows: |p| < 2^82, |p / u| < 2^27, and the same for c.
 *   - 5 fits i32. By b the sum of the 16 products is at most 3983 / 128 * 255 / 128 * 2^25 < 62 * 2^25; c's term is
 *     below 2^26: together below 2^31.
 *   - 6 is exact after the conversion. It does not underflow: u is 2^-125 or more. It does not overflow: below
 *     e_max = 108 the result is below 2^31 * 2^82; from there on every product is below u and cut to 0, and c stays c.
 *
 * Neither a flush of subnormals (-ftz, -use_fast_math) nor the rounding mode has a say: no subnormal goes in or is a
 * result, other than those p / u that are cut to 0; every product of f32 numbers is exact beside them; and nothing is
 * added in f32, so nothing can be contracted. */
#ifndef SAMEBITS_GPU_TC_STEP_H
#define SAMEBITS_GPU_TC_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SB_TC_FUNCTION static __host__ __device__ __forceinline__
#else
#define SB_TC_FUNCTION static inline
#endif

enum {
    SB_TC_PAIRS = 16,   /* of a step */
    SB_TC_ROWS = 4,     /* of a block of outputs, whose units and sums a thread's registers hold; even, */
    SB_TC_COLUMNS = 8,  /* like the columns: their exponents go two a word */
    SB_TC_HEAVY = 1936, /* condition b */
};

SB_TC_FUNCTION float sb_tc_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

SB_TC_FUNCTION uint32_t sb_tc_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- The general step -------------------------------------------------------------------------------------- */

SB_TC_FUNCTION bool sb_tc_is_finite(uint32_t f32)
{
    return (f32 & 0x7F800000u) != 0x7F800000u;
}

SB_TC_FUNCTION bool sb_tc_is_zero(uint32_t f32)
{
    return (f32 & 0x7FFFFFFFu) == 0;
}

SB_TC_FUNCTION bool sb_tc_is_nan(uint32_t f32)
{
    return (f32 & 0x7FFFFFFFu) > 0x7F800000u;
}

/* Of a finite number: 24 bits, value significand * 2^(exponent - 23). */
SB_TC_FUNCTION uint32_t sb_tc_significand(uint32_t f32)
{
    return (f32 & 0x007FFFFFu) | ((f32 & 0x7F800000u) != 0 ? 0x00800000u : 0);
}

/* A zero's stays below the floor of -133 with any partner's. */
SB_TC_FUNCTION int32_t sb_tc_exponent(uint32_t f32)
{
    const int32_t field = (int32_t)(f32 >> 23 & 0xFF);
    return sb_tc_is_zero(f32) ? -1000 : field != 0 ? field - 127 : -126;
}

/* Rule 1: what NaNs and infinities among c and the pairs come to; at least one is there. */
SB_TC_FUNCTION uint32_t sb_tc_nonfinite(uint32_t c, const uint32_t *a, const uint32_t *b, int stride)
{
    bool nan = sb_tc_is_nan(c), plus = c == 0x7F800000u, minus = c == 0xFF800000u;
    for (int i = 0; i < SB_TC_PAIRS; i++) {
        const uint32_t x = a[i * stride], y = b[i * stride];
        if (sb_tc_is_finite(x) && sb_tc_is_finite(y))
            continue;
        const bool negative = ((x ^ y) & 0x80000000u) != 0;
        nan = nan || sb_tc_is_nan(x) || sb_tc_is_nan(y) || sb_tc_is_zero(x) || sb_tc_is_zero(y);
        plus = plus || !negative;
        minus = minus || negative;
    }
    if (nan || (plus && minus))
        return 0x7FFFFFFFu;
    return plus ? 0x7F800000u : 0xFF800000u;
}

SB_TC_FUNCTION int32_t sb_tc_highest_bit(uint64_t v) /* v != 0 */
{
    int32_t bit = 0;
    for (int step = 32; step > 0; step /= 2)
        if (v >> step != 0) {
            v >>= step;
            bit += step;
        }
    return bit;
}

/* Rule 5: sum * 2^unit, cut toward zero. */
SB_TC_FUNCTION uint32_t sb_tc_toward_zero(int64_t sum, int32_t unit)
{
    if (sum == 0)
        return 0;
    const uint32_t sign = sum < 0 ? 0x80000000u : 0;
    const uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int32_t exponent = sb_tc_highest_bit(magnitude) + unit;
    if (exponent > 127)
        return sign | 0x7F800000u;
    if (exponent < -126)
        exponent = -126;                         /* a subnormal */
    const int32_t excess = exponent - 23 - unit; /* bits below the result's last place: 9 at most */
    const uint32_t significand = (uint32_t)(excess >= 0 ? magnitude >> excess : magnitude << -excess);
    if (significand == 0)
        return 0; /* +0, from a negative sum too */
    /* A normal significand's hidden bit adds one to the exponent field; a subnormal has none to add. */
    return sign | (((uint32_t)(exponent + 126) << 23) + significand);
}

/* Rule 4: a magnitude in units of 2^(exponent - 25), of at most 27 bits, cut to units of 2^(e_max - 25). */
SB_TC_FUNCTION int32_t sb_tc_cut(uint32_t magnitude, int32_t exponent, int32_t e_max)
{
    const int32_t distance = e_max - exponent;
    return (int32_t)(magnitude >> (distance < 31 ? distance : 31));
}

/* Bits of fl(c + sum of 16 a * b), with any operands. Pair i is a[i * stride], b[i * stride], as f32 bits that bf16
 * holds. */
SB_TC_FUNCTION uint32_t sb_tc_general_step(uint32_t c, const uint32_t *a, const uint32_t *b, int stride)
{
    bool finite = sb_tc_is_finite(c);
    int32_t e_max = finite && sb_tc_exponent(c) > -133 ? sb_tc_exponent(c) : -133;
    for (int i = 0; i < SB_TC_PAIRS; i++) {
        const uint32_t x = a[i * stride], y = b[i * stride];
        const int32_t exponent = sb_tc_exponent(x) + sb_tc_exponent(y);
        finite = finite && sb_tc_is_finite(x) && sb_tc_is_finite(y);
        e_max = exponent > e_max ? exponent : e_max;
    }
    if (!finite)
        return sb_tc_nonfinite(c, a, b, stride);

    const int32_t from_c = sb_tc_cut(sb_tc_significand(c) << 2, sb_tc_exponent(c), e_max);
    int64_t sum = c >> 31 != 0 ? -from_c : from_c;
    for (int i = 0; i < SB_TC_PAIRS; i++) {
        const uint32_t x = a[i * stride], y = b[i * stride];
        const uint32_t product = (sb_tc_significand(x) >> 16) * (sb_tc_significand(y) >> 16);
        const int32_t term = sb_tc_cut(product << 11, sb_tc_exponent(x) + sb_tc_exponent(y), e_max);
        sum += (x ^ y) >> 31 != 0 ? -term : term;
    }
    return sb_tc_toward_zero(sum, e_max - 25);
}

/* ---- The fast step: conditions ----------------------------------------------------------------------------- */

/* Condition a, of a bf16. */
SB_TC_FUNCTION bool sb_tc_is_fast(uint32_t bf16)
{
    const uint32_t magnitude = bf16 & 0x7FFFu;
    return magnitude == 0 || magnitude - ((127u - 50) << 7) < ((40u + 50 + 1) << 7);
}

/* Condition c, of f32 bits. */
SB_TC_FUNCTION bool sb_tc_is_ordinary(uint32_t c)
{
    const uint32_t magnitude = c & 0x7FFFFFFFu;
    return magnitude == 0 || magnitude - ((127u - 102) << 23) < ((128u + 102) << 23);
}

/* ---- The fast step: exponents ------------------------------------------------------------------------------ */

/* Exponents of operands under condition a as i16, shifted to the place of bf16's field. Those of a carry the bias and
 * those of b do not: their sums are in f32's own bias. The largest number's exponent and the other's zero together
 * stay below -100 + 127, two zeros above -2^15. */
SB_TC_FUNCTION uint32_t sb_tc_exponent_of_a(uint32_t bf16)
{
    return (bf16 & 0x7FFFu) == 0 ? (uint32_t)-8192 & 0xFFFFu : bf16 & 0x7F80u;
}

SB_TC_FUNCTION uint32_t sb_tc_exponent_of_b(uint32_t bf16)
{
    return ((bf16 & 0x7FFFu) == 0 ? (uint32_t)-20480 : (bf16 & 0x7F80u) - (127u << 7)) & 0xFFFFu;
}

/* max(a + b, most) in both halves, as i16; no sum overflows. */
SB_TC_FUNCTION uint32_t sb_tc_add_max(uint32_t a, uint32_t b, uint32_t most)
{
#ifdef __CUDA_ARCH__
    return __viaddmax_s16x2(a, b, most);
#else
    const int16_t low = (int16_t)(uint16_t)(a + b), high = (int16_t)(uint16_t)((a >> 16) + (b >> 16));
    const int16_t most_low = (int16_t)(uint16_t)most, most_high = (int16_t)(uint16_t)(most >> 16);
    return (uint32_t)(uint16_t)(low > most_low ? low : most_low) |
           (uint32_t)(uint16_t)(high > most_high ? high : most_high) << 16;
#endif
}

/* e_max of a block's products, two outputs a word. Of rows 2i, 2i + 1 and columns 2j, 2j + 1, straight[i][j] holds
 * (2i, 2j) and above it (2i + 1, 2j + 1), crossed[i][j] holds (2i + 1, 2j) and above it (2i, 2j + 1). */
struct sb_tc_exponents {
    uint32_t straight[SB_TC_ROWS / 2][SB_TC_COLUMNS / 2], crossed[SB_TC_ROWS / 2][SB_TC_COLUMNS / 2];
};

SB_TC_FUNCTION void sb_tc_exponents_start(struct sb_tc_exponents *e_max)
{
    const uint32_t lowest = (uint32_t)(127 - 100) << 7;
    for (int i = 0; i < SB_TC_ROWS / 2; i++) {
        for (int j = 0; j < SB_TC_COLUMNS / 2; j++)
            e_max->straight[i][j] = e_max->crossed[i][j] = lowest << 16 | lowest;
    }
}

/* One k: a's exponents of the rows and b's of the columns, the even one of two in the lower half. */
SB_TC_FUNCTION void sb_tc_exponents_add(struct sb_tc_exponents *e_max, const uint32_t a[SB_TC_ROWS / 2],
                                        const uint32_t b[SB_TC_COLUMNS / 2])
{
    for (int i = 0; i < SB_TC_ROWS / 2; i++) {
        const uint32_t swapped = a[i] << 16 | a[i] >> 16;
        for (int j = 0; j < SB_TC_COLUMNS / 2; j++) {
            e_max->straight[i][j] = sb_tc_add_max(a[i], b[j], e_max->straight[i][j]);
            e_max->crossed[i][j] = sb_tc_add_max(swapped, b[j], e_max->crossed[i][j]);
        }
    }
}

/* Of output (m, n), at the place of f32's field. */
SB_TC_FUNCTION uint32_t sb_tc_field(const struct sb_tc_exponents *e_max, int m, int n)
{
    const uint32_t pair = (m + n) % 2 == 0 ? e_max->straight[m / 2][n / 2] : e_max->crossed[m / 2][n / 2];
    return n % 2 == 0 ? pair << 16 : pair & 0xFFFF0000u;
}

/* ---- The fast step: significands --------------------------------------------------------------------------- */

/* What a block's step goes on with once e_max is known: 1/u and the sum in units of u, c's term to begin with. */
struct sb_tc_sums {
    float scale[SB_TC_ROWS][SB_TC_COLUMNS];
    int32_t total[SB_TC_ROWS][SB_TC_COLUMNS];
};

/* `c`: f32 bits, SB_TC_COLUMNS a row. */
SB_TC_FUNCTION void sb_tc_sums_start(struct sb_tc_sums *sums, const struct sb_tc_exponents *e_max, const uint32_t *c)
{
    for (int m = 0; m < SB_TC_ROWS; m++) {
        for (int n = 0; n < SB_TC_COLUMNS; n++) {
            const uint32_t bits = c[m * SB_TC_COLUMNS + n];
            const uint32_t of_products = sb_tc_field(e_max, m, n), of_c = bits & 0x7F800000u;
            sums->scale[m][n] = sb_tc_f32(((25u + 2 * 127) << 23) - (of_products > of_c ? of_products : of_c));
            sums->total[m][n] = (int32_t)(sb_tc_f32(bits) * sums->scale[m][n]);
        }
    }
}

/* One k. */
SB_TC_FUNCTION void sb_tc_sums_add(struct sb_tc_sums *sums, const float a[SB_TC_ROWS], const float b[SB_TC_COLUMNS])
{
    for (int m = 0; m < SB_TC_ROWS; m++) {
        for (int n = 0; n < SB_TC_COLUMNS; n++)
            sums->total[m][n] += (int32_t)(a[m] * b[n] * sums->scale[m][n]);
    }
}

/* The nearest f32 toward zero; |v| < 2^31. */
SB_TC_FUNCTION float sb_tc_f32_of(int32_t v)
{
#ifdef __CUDA_ARCH__
    return __int2float_rz(v);
#else
    uint32_t magnitude = (uint32_t)(v < 0 ? -v : v);
    for (int bit = 24; bit < 31; bit++)
        if (magnitude >> bit != 0)
            magnitude &= ~(1u << (bit - 24));
    return v < 0 ? -(float)magnitude : (float)magnitude;
#endif
}

SB_TC_FUNCTION void sb_tc_sums_finish(const struct sb_tc_sums *sums, uint32_t *c)
{
    for (int m = 0; m < SB_TC_ROWS; m++) {
        for (int n = 0; n < SB_TC_COLUMNS; n++) {
            const float unit = sb_tc_f32(((2u * 127) << 23) - sb_tc_bits(sums->scale[m][n]));
            c[m * SB_TC_COLUMNS + n] = sb_tc_bits(sb_tc_f32_of(sums->total[m][n]) * unit);
        }
    }
}

#endif
