/* distribution.c - see distribution.h. No floating-point operation anywhere: values are put together from bits. */
#include "distribution.h"

#include <stddef.h>

/* ---- BF16 --------------------------------------------------------------------------------------- */

/* What each hunts:
 * normal     everyday rounding: a wrong order of k, an FMA chain or split-K in place of fused steps of 16
 * wide       alignment shifts that pass the accumulator's width, products above 2^128 (an infinite sum)
 * bits       NaN and Inf rules, one 16-bit pattern as likely as another
 * subnormal  operands flushed to zero, a hidden bit given to a subnormal
 * cancel     terms dropped before the leading ones vanish: accumulator width, order of steps
 * zeros      -0 results, zeros that take part in the maximum exponent
 * infnan     NaN of another sign or payload, Inf - Inf
 * tiny       the exponent floor of contract TC, results below the smallest normal
 * huge       partial sums beyond 2^128 inside one fused step, which a chain of FMAs turns into Inf
 * infzero    Inf * 0 taken for Inf or for 0, as where products with a zero are skipped
 * full       a sum of aligned terms kept in 32 bits: sixteen products just below 4 come to 0.992 * 2^31 units of
 *            2^-25, and an accumulator of the step before takes them past 2^31 */
const char *const sb_bf16_dist_names[SB_DIST_COUNT + 1] = {"normal", "wide", "bits", "subnormal", "cancel", "zeros",
                                                           "infnan", "tiny", "huge", "infzero",   "full",   NULL};

enum { BF16_BIAS = 127, BF16_FRACTION_BITS = 7, F32_FRACTION_BITS = 23 };

static uint16_t bf16_bits(unsigned sign, int exponent, unsigned fraction)
{
    return (uint16_t)((sign & 1u) << 15 | (unsigned)(exponent + BF16_BIAS) << BF16_FRACTION_BITS | (fraction & 0x7Fu));
}

static int leading_bit(uint64_t x) /* x > 0 */
{
    int bit = 0;
    while (x >>= 1)
        bit++;
    return bit;
}

/* The sum of four 16-bit numbers about its mean: bell-shaped in (-2^17, 2^17). */
static int64_t bell(uint64_t r)
{
    const int64_t sum =
        (int64_t)(r & 0xFFFF) + (int64_t)(r >> 16 & 0xFFFF) + (int64_t)(r >> 32 & 0xFFFF) + (int64_t)(r >> 48);
    return sum - 2 * 0xFFFF;
}

static uint16_t draw_normal(uint64_t r)
{
    const int64_t value = bell(r); /* times 2^-16: in (-2, 2) */
    if (value == 0)
        return 0;
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);
    const int top = leading_bit(magnitude);
    const uint64_t aligned = magnitude << (63 - top);
    return bf16_bits(value < 0, top - 16, (unsigned)(aligned >> (63 - BF16_FRACTION_BITS)));
}

/* A random sign and fraction with an exponent uniform in [lowest, lowest + count). */
static uint16_t draw_exponent(uint64_t r, int lowest, unsigned count)
{
    const unsigned pick = (unsigned)((r >> 32) * count >> 32);
    return bf16_bits((unsigned)r & 1u, lowest + (int)pick, (unsigned)(r >> 8));
}

static uint16_t draw_subnormal(uint64_t r)
{
    const unsigned sign = (unsigned)r & 1u;
    const unsigned fraction = (unsigned)(r >> 8) & 0x7Fu;
    const int smallest_normal = r >> 60 < 4; /* a quarter: exponent field 1 */
    if (smallest_normal)
        return bf16_bits(sign, 1 - BF16_BIAS, fraction);
    return (uint16_t)(sign << 15 | (fraction == 0 ? 1u : fraction));
}

static uint16_t draw_zeros(uint64_t r)
{
    const unsigned sign = (unsigned)r & 1u;
    const unsigned fraction = (unsigned)(r >> 8);
    switch (r >> 61) {
    case 0:
        return bf16_bits(sign, 60, fraction);
    case 1:
        return bf16_bits(sign, -60, fraction);
    case 2:
        return bf16_bits(sign, 0, fraction);
    default:
        return (uint16_t)(sign << 15);
    }
}

static uint16_t draw_infnan(uint64_t r)
{
    const uint64_t pick = r >> 53; /* 11 bits */
    if (pick < 4)
        return (uint16_t)(0x7F80u | ((unsigned)r & 1u) << 15);
    if (pick == 4)
        return (uint16_t)(0x7F80u | ((unsigned)r & 1u) << 15 | ((unsigned)(r >> 8) & 0x7Fu) | 1u);
    return draw_normal(r * 0x9E3779B97F4A7C15u); /* the top bits decided above: spread the others again */
}

/* One in 64 is Inf and one in four a zero: in a sum of 33 products Inf meets a zero about once in four times, and Inf
 * of both signs one time in ten. */
static uint16_t draw_infzero(uint64_t r)
{
    const unsigned sign = ((unsigned)r & 1u) << 15;
    const uint64_t pick = r >> 58;
    if (pick == 0)
        return (uint16_t)(0x7F80u | sign);
    if (pick <= 16)
        return (uint16_t)sign;
    return draw_normal(r * 0x9E3779B97F4A7C15u); /* see draw_infnan */
}

/* 255/128, the largest number below 2, or in one of eight its neighbour. */
static uint16_t draw_full(uint64_t r)
{
    const unsigned below = (r >> 61) == 0;
    return (uint16_t)(((unsigned)r & 1u) << 15 | (0x3FFFu - below));
}

uint16_t sb_bf16_draw(enum sb_bf16_dist dist, const struct sb_rng *rng, uint64_t i)
{
    const uint64_t r = sb_rng_u64(rng, i);
    switch (dist) {
    case SB_DIST_WIDE:
        return draw_exponent(r, 1 - BF16_BIAS, 254);
    case SB_DIST_BITS:
        return (uint16_t)r;
    case SB_DIST_SUBNORMAL:
        return draw_subnormal(r);
    case SB_DIST_CANCEL:
        return draw_exponent(r, -2, 5);
    case SB_DIST_ZEROS:
        return draw_zeros(r);
    case SB_DIST_INFNAN:
        return draw_infnan(r);
    case SB_DIST_TINY:
        return draw_exponent(r, -76, 8); /* products from 2^-152 to 2^-136 */
    case SB_DIST_HUGE:
        return draw_exponent(r, 62, 2); /* products from 2^124 to 2^128 */
    case SB_DIST_INFZERO:
        return draw_infzero(r);
    case SB_DIST_FULL:
        return draw_full(r);
    case SB_DIST_NORMAL:
    case SB_DIST_COUNT:
        break;
    }
    return draw_normal(r);
}

/* How far apart the two rows of a pair stand. 1: inside one fused step. 16: in successive steps. 8: the first half
 * of a step against its second, so that a sum in order of k has grown before it shrinks. */
static int64_t pair_distance(enum sb_bf16_dist dist, int64_t k)
{
    if (dist == SB_DIST_HUGE)
        return 8;
    return (k & 64) != 0 ? 16 : 1;
}

/* Rows 0 to 15 of a pair leave +-(255/256)^2 in a fresh accumulator: exponent -1, so that the products of rows 16 to
 * 31, of exponent 0, set the unit of the second step. One sign a column and pair, or the terms would cancel. */
static uint16_t full_along_k(const struct sb_rng *rng, int64_t k, int64_t column, int64_t columns)
{
    enum { STEP = 16, PAIR = 32 };
    const int64_t pair = k / PAIR;
    const unsigned sign = (unsigned)(sb_rng_u64(rng, (uint64_t)(pair * PAIR * columns + column)) >> 1 & 1u) << 15;
    if (k % PAIR < STEP)
        return (uint16_t)(sign | (k % STEP == pair % STEP ? 0x3F7Fu : 0u));
    return (uint16_t)(sign | (sb_bf16_draw(SB_DIST_FULL, rng, (uint64_t)(k * columns + column)) & 0x7FFFu));
}

bool sb_bf16_depends_on_k(enum sb_bf16_dist dist)
{
    return dist == SB_DIST_FULL || dist == SB_DIST_CANCEL || dist == SB_DIST_HUGE;
}

uint16_t sb_bf16_draw_along_k(enum sb_bf16_dist dist, const struct sb_rng *rng, int64_t k, int64_t column,
                              int64_t columns, bool negate)
{
    if (dist == SB_DIST_FULL)
        return full_along_k(rng, k, column, columns);
    if (!sb_bf16_depends_on_k(dist))
        return sb_bf16_draw(dist, rng, (uint64_t)(k * columns + column));
    const int64_t distance = pair_distance(dist, k);
    const bool second = (k & distance) != 0;
    const uint64_t first = (uint64_t)((k & ~distance) * columns + column);
    uint16_t value = sb_bf16_draw(dist, rng, first);
    if (second) {
        const uint64_t own = sb_rng_u64(rng, (uint64_t)(k * columns + column));
        value = (uint16_t)(value ^ (own & 1u) ^ (negate ? 0x8000u : 0u));
    }
    return value;
}

/* ---- f32 ---------------------------------------------------------------------------------------- */

/* unit: what a router's softmax gives. normal: gradients. special: bits that a floating-point move would change.
 * far: an addition that drops a term 24 places below the other, though it is more than half of the last place.
 * limit: an addition that stops at the largest finite number, where Inf is due. */
const char *const sb_f32_dist_names[SB_F32_COUNT + 1] = {"unit", "normal", "special", "far", "limit", NULL};

/* magnitude * 2^scale, sign aside, fraction cut to 23 bits. */
static uint32_t f32_from_integer(unsigned sign, uint64_t magnitude, int scale)
{
    if (magnitude == 0)
        return 0;
    const int top = leading_bit(magnitude);
    const uint64_t aligned = magnitude << (63 - top);
    const uint32_t fraction = (uint32_t)(aligned >> (63 - F32_FRACTION_BITS)) & 0x7FFFFFu;
    return (uint32_t)sign << 31 | (uint32_t)(top + scale + BF16_BIAS) << F32_FRACTION_BITS | fraction;
}

static uint32_t f32_normal(const uint32_t word[4])
{
    const int64_t value = bell((uint64_t)word[1] << 32 | word[0]); /* 18 bits */
    const unsigned sign = value < 0;
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value) << 16 | (word[2] & 0xFFFFu);
    return f32_from_integer(sign, magnitude, -32);
}

static uint32_t f32_special(const uint32_t word[4])
{
    const uint32_t sign = word[3] & 0x80000000u;
    const uint32_t fraction = word[1] & 0x7FFFFFu;
    switch (word[3] & 15u) { /* half of the values are ordinary */
    case 0:
        return 0x80000000u; /* -0 */
    case 1:
        return sign | (fraction == 0 ? 1u : fraction); /* subnormal */
    case 2:
        return sign | 0x7FC00000u | fraction; /* quiet NaN with a payload */
    case 3:
        return sign | 0x7F800000u | (fraction & 0x3FFFFFu) | 1u; /* signalling NaN */
    case 4:
        return sign | 0x7F800000u; /* infinity */
    case 5:
        return sign | 0x7F7FFFFFu; /* largest finite */
    case 6:
        return sign | 1u; /* smallest subnormal */
    case 7:
        return sign | 0x00800000u; /* smallest normal */
    default:
        return f32_normal(word);
    }
}

/* A quarter are powers of two, whose neighbour below is nearer; a quarter stand at a tie of the rounding to BF16 or one
 * unit beside it, so that the last place shows there, too; a quarter more have an odd last place, where ties go up. */
static uint32_t f32_far(const uint32_t word[4])
{
    const uint32_t sign = word[3] & 0x80000000u;
    const uint32_t exponent = (uint32_t)BF16_BIAS + 23u + (word[3] & 3u);
    uint32_t fraction = word[1] & 0x7FFFFFu;
    switch (word[3] >> 2 & 3u) {
    case 0:
        fraction = 0;
        break;
    case 1:
        fraction = (fraction & 0x7F0000u) | (0x7FFFu + word[2] % 3u);
        break;
    case 2:
        fraction |= 1u;
        break;
    default:
        break;
    }
    return sign | exponent << F32_FRACTION_BITS | fraction;
}

static uint32_t f32_limit(const uint32_t word[4])
{
    const uint32_t sign = word[3] & 0x80000000u;
    switch (word[3] & 3u) {
    case 0:
        return sign | 0x7F000000u | (word[1] & 0x7FFFFFu); /* 2^127 and above */
    case 1:
        return sign | (0x7EFFFFFCu + (word[1] & 7u)); /* around 2^127 */
    default:
        return sign | (0x7F7FFFFFu - (word[1] & 7u));
    }
}

uint32_t sb_f32_draw(enum sb_f32_dist dist, const struct sb_rng *rng, uint64_t i)
{
    uint32_t word[4];
    sb_rng_block(rng, i, word);
    switch (dist) {
    case SB_F32_UNIT:
        return f32_from_integer(0, word[0] >> 8, -24);
    case SB_F32_SPECIAL:
        return f32_special(word);
    case SB_F32_FAR:
        return f32_far(word);
    case SB_F32_LIMIT:
        return f32_limit(word);
    case SB_F32_NORMAL:
    case SB_F32_COUNT:
        break;
    }
    return f32_normal(word);
}

/* ---- E8M0 --------------------------------------------------------------------------------------- */

/* real: the common path. bytes: any scale, opaque. ramp: all 256 in order. edges: the bytes on which published
 * upcasts disagree (0x00, 0xFF) and their neighbours. */
const char *const sb_scale_dist_names[SB_SCALE_COUNT + 1] = {"real", "bytes", "ramp", "edges", NULL};

static uint8_t scale_from_byte(enum sb_scale_dist dist, uint8_t random, uint64_t i)
{
    static const uint8_t edges[4] = {0x00, 0x01, 0xFE, 0xFF};
    switch (dist) {
    case SB_SCALE_REAL:
        return (uint8_t)(112u + (random & 7u));
    case SB_SCALE_RAMP:
        return (uint8_t)i;
    case SB_SCALE_EDGES:
        return edges[random & 3u];
    case SB_SCALE_BYTES:
    case SB_SCALE_COUNT:
        break;
    }
    return random;
}

uint8_t sb_scale_draw(enum sb_scale_dist dist, const struct sb_rng *rng, uint64_t i)
{
    uint8_t byte;
    sb_scale_fill(dist, rng, i, 1, &byte);
    return byte;
}

void sb_scale_fill(enum sb_scale_dist dist, const struct sb_rng *rng, uint64_t first, int64_t count, uint8_t *out)
{
    uint32_t word[4] = {0};
    for (int64_t j = 0; j < count; j++) {
        const uint64_t i = first + (uint64_t)j;
        if (dist != SB_SCALE_RAMP && (j == 0 || i % 16 == 0))
            sb_rng_block(rng, i / 16, word);
        const uint8_t random = (uint8_t)(word[i % 16 / 4] >> (i % 4 * 8));
        out[j] = scale_from_byte(dist, random, i);
    }
}
