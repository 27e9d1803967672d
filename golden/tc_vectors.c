/* tc_vectors.c - the classes of operands for contract TC.
 *
 * A tile's dot products share rows of A and columns of B, so what a class wants of a single dot product has to be said
 * in factors: the exponent of product k is that of a[m][k] plus that of b[k][n], and so is its sign. What is wanted of
 * c may depend on both, because every dot product has a c of its own. */
#include "tc_vectors.h"

#include "../ref/f32_round.h"
#include "philox.h"

enum { K = 16, BF16_FRACTION = 7, F32_FRACTION = 23, BIAS = 127, LOWEST = -126, SUBNORMAL = -127, HIGHEST = 127 };

/* ---- random words, in order ------------------------------------------------------------------- */

struct draw {
    struct sb_rng rng;
    uint64_t block;
    uint32_t word[4];
    int used;
};

static uint32_t next(struct draw *d)
{
    if (d->used == 4) {
        sb_rng_block(&d->rng, d->block++, d->word);
        d->used = 0;
    }
    return d->word[d->used++];
}

static uint32_t scaled(uint32_t word, uint32_t limit) /* 0 .. limit - 1 */
{
    return (uint32_t)((uint64_t)word * limit >> 32);
}

static uint32_t below(struct draw *d, uint32_t limit)
{
    return scaled(next(d), limit);
}

static int between(struct draw *d, int lowest, int highest)
{
    return lowest + (int)below(d, (uint32_t)(highest - lowest + 1));
}

static bool one_in(struct draw *d, uint32_t n)
{
    return below(d, n) == 0;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

uint16_t sb_tc_bf16(bool negative, uint32_t significand, int exponent)
{
    const uint32_t sign = negative ? 0x8000u : 0;
    if (significand == 0)
        return (uint16_t)sign;
    for (; significand < 128 && exponent > LOWEST; exponent--)
        significand <<= 1;
    if (exponent < LOWEST) {
        const int places = LOWEST - exponent;
        return (uint16_t)(sign | (places < 8 ? significand >> places : 0));
    }
    if (exponent > HIGHEST)
        return (uint16_t)(sign | 0x7F7Fu);
    return (uint16_t)(sign | (((uint32_t)(exponent - LOWEST) << BF16_FRACTION) + significand));
}

/* significand * 2^(exponent - 23), significand below 2^24; as sb_tc_bf16. */
static uint32_t f32_of(bool negative, uint32_t significand, int exponent)
{
    const uint32_t sign = negative ? 0x80000000u : 0;
    if (significand == 0)
        return sign;
    for (; significand < 1u << F32_FRACTION && exponent > LOWEST; exponent--)
        significand <<= 1;
    if (exponent < LOWEST) {
        const int places = LOWEST - exponent;
        return sign | (places < 24 ? significand >> places : 0);
    }
    if (exponent > HIGHEST)
        return sign | 0x7F7FFFFFu;
    return sign | (((uint32_t)(exponent - LOWEST) << F32_FRACTION) + significand);
}

/* -(x * y), exact where it is a normal number. */
static uint32_t minus_product(uint16_t x, uint16_t y)
{
    const uint32_t x_bits = (uint32_t)x << 16, y_bits = (uint32_t)y << 16;
    const uint32_t significand =
        (sb_f32_significand(x_bits) >> 16) * (sb_f32_significand(y_bits) >> 16); /* 2^-14 each */
    const bool negative = ((x ^ y) & 0x8000) == 0;
    return f32_of(negative, significand << 8, sb_f32_exponent(x_bits) + sb_f32_exponent(y_bits) + 1);
}

/* Any sign and fraction; the exponent within limits, SUBNORMAL for a number without a hidden bit. One word. */
static uint16_t any_bf16(struct draw *d, int lowest, int highest)
{
    const uint32_t word = next(d);
    const int exponent = lowest + (int)scaled(word, (uint32_t)(highest - lowest + 1));
    return (uint16_t)((word & 1) << 15 | (uint32_t)(exponent + BIAS) << BF16_FRACTION | (word >> 1 & 0x7F));
}

static uint32_t any_f32(struct draw *d, int lowest, int highest)
{
    const uint32_t word = next(d);
    const int exponent = between(d, lowest, highest);
    return (word & 0x807FFFFFu) | (uint32_t)(exponent + BIAS) << F32_FRACTION;
}

static uint32_t zero_of_any_sign(struct draw *d)
{
    return next(d) & 0x80000000u;
}

static uint32_t any_subnormal(struct draw *d)
{
    return next(d) & 0x807FFFFFu;
}

/* ---- whole operands --------------------------------------------------------------------------- */

static void fill_a(struct draw *d, const struct sb_tc_tile *t, int lowest, int highest)
{
    for (int i = 0; i < t->rows * K; i++)
        t->a[i] = any_bf16(d, lowest, highest);
}

static void fill_b(struct draw *d, const struct sb_tc_tile *t, int lowest, int highest)
{
    for (int i = 0; i < K * t->cols; i++)
        t->b[i] = any_bf16(d, lowest, highest);
}

static void fill_c(struct draw *d, const struct sb_tc_tile *t, int lowest, int highest)
{
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = any_f32(d, lowest, highest);
}

static uint16_t *a_at(const struct sb_tc_tile *t, int m, int k)
{
    return &t->a[m * K + k];
}

static uint16_t *b_at(const struct sb_tc_tile *t, int k, int n)
{
    return &t->b[k * t->cols + n];
}

/* Product k + distance becomes nearly the negative of product k, for each k of the set bits: off by the last place of
 * b's significand, now and then. */
static void oppose(struct draw *d, const struct sb_tc_tile *t, uint32_t which, int distance, uint32_t exact_in)
{
    for (int k = 0; k + distance < K; k++) {
        if ((which >> k & 1) == 0)
            continue;
        for (int m = 0; m < t->rows; m++)
            *a_at(t, m, k + distance) = *a_at(t, m, k);
        for (int n = 0; n < t->cols; n++)
            *b_at(t, k + distance, n) = *b_at(t, k, n) ^ (uint16_t)(0x8000u | (one_in(d, exact_in) ? 0 : next(d) & 1));
    }
}

/* Exponents that a tile's rows and columns add to all of their products. */
struct shifts {
    int row[SB_TC_MAX_TILE], column[SB_TC_MAX_TILE];
};

static struct shifts any_shifts(struct draw *d, const struct sb_tc_tile *t, int limit)
{
    struct shifts s;
    for (int m = 0; m < t->rows; m++)
        s.row[m] = between(d, -limit, limit);
    for (int n = 0; n < t->cols; n++)
        s.column[n] = between(d, -limit, limit);
    return s;
}

/* ---- the classes ------------------------------------------------------------------------------ */

static void normal(struct draw *d, const struct sb_tc_tile *t)
{
    fill_a(d, t, -7, 3);
    fill_b(d, t, -7, 3);
    fill_c(d, t, -8, 4);
}

static void wide(struct draw *d, const struct sb_tc_tile *t)
{
    static const int widths[] = {10, 25, 60, 126};
    const int width = widths[below(d, 4)];
    fill_a(d, t, -width, width);
    fill_b(d, t, -width, width);
    fill_c(d, t, -width, width);
}

static void any_bits(struct draw *d, const struct sb_tc_tile *t)
{
    for (int i = 0; i < t->rows * K; i++)
        t->a[i] = (uint16_t)(next(d) >> 16);
    for (int i = 0; i < K * t->cols; i++)
        t->b[i] = (uint16_t)(next(d) >> 16);
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = next(d);
}

static void subnormal_inputs(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t kind = below(d, 3);
    const bool subnormal_a = one_in(d, 2);
    const int lowest = kind == 0 ? 100 : kind == 1 ? -8 : -27, highest = kind == 0 ? 127 : kind == 1 ? 8 : 3;
    fill_a(d, t, subnormal_a ? SUBNORMAL : lowest, subnormal_a ? -125 : highest);
    fill_b(d, t, subnormal_a ? lowest : SUBNORMAL, subnormal_a ? highest : -125);
    if (kind == 0)
        fill_c(d, t, -30, 4);
    else
        for (int i = 0; i < t->rows * t->cols; i++)
            t->c[i] = any_subnormal(d);
}

static void subnormal_results(struct draw *d, const struct sb_tc_tile *t)
{
    fill_a(d, t, -70, -62);
    fill_b(d, t, -70, -62);
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = one_in(d, 3) ? zero_of_any_sign(d) : one_in(d, 2) ? any_subnormal(d) : any_f32(d, -127, -124);
}

static uint16_t nan_or_inf(struct draw *d)
{
    static const uint16_t special[] = {0x7FC0, 0xFFC0, 0x7F81, 0xFF81, 0x7FFF, 0x7FBF, 0x7F80, 0xFF80};
    return special[below(d, 8)];
}

static void nan_and_inf(struct draw *d, const struct sb_tc_tile *t)
{
    normal(d, t);
    for (int i = 0; i < t->rows * K; i++)
        if (one_in(d, 64))
            t->a[i] = nan_or_inf(d);
    for (int i = 0; i < K * t->cols; i++)
        if (one_in(d, 64))
            t->b[i] = nan_or_inf(d);
    for (int i = 0; i < t->rows * t->cols; i++)
        if (one_in(d, 16))
            t->c[i] = (uint32_t)nan_or_inf(d) << 16 | (one_in(d, 2) ? next(d) & 0xFFFF : 0);
}

static uint16_t inf_or_zero(struct draw *d)
{
    return (uint16_t)((one_in(d, 2) ? 0x7F80u : 0) | (next(d) & 0x8000));
}

static void infinities(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t rarity = 8u << below(d, 4);
    wide(d, t);
    for (int i = 0; i < t->rows * K; i++)
        if (one_in(d, rarity))
            t->a[i] = inf_or_zero(d);
    for (int i = 0; i < K * t->cols; i++)
        if (one_in(d, rarity))
            t->b[i] = inf_or_zero(d);
    for (int i = 0; i < t->rows * t->cols; i++)
        if (one_in(d, 6))
            t->c[i] = (uint32_t)inf_or_zero(d) << 16;
}

static void overflow(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t kind = below(d, 3);
    if (kind == 0) { /* sums near 2^128 */
        fill_a(d, t, 60, 63);
        fill_b(d, t, 60, 63);
    } else { /* products far above it, or just there, that come back */
        const int lowest = kind == 1 ? 63 : 100;
        fill_a(d, t, lowest, lowest + 2);
        fill_b(d, t, lowest, lowest + 2);
        oppose(d, t, 0x5555, 1, 16);
    }
    fill_c(d, t, 122, 127);
}

static void cancellation(struct draw *d, const struct sb_tc_tile *t)
{
    normal(d, t);
    oppose(d, t, 0x5555, 1, 2);
    for (int m = 0; m < t->rows; m++)
        for (int n = 0; n < t->cols; n++) {
            uint32_t *const c = &t->c[m * t->cols + n];
            const uint32_t kind = below(d, 4);
            if (kind == 0)
                *c = zero_of_any_sign(d);
            else if (kind == 1)
                *c = minus_product(*a_at(t, m, 0), *b_at(t, 0, n)) + below(d, 3) - 1;
            else if (kind == 2)
                *c = any_f32(d, -24, -8);
        }
}

/* Half of the tiles are nothing but zeros of one sign a row and a column: only then are all products -0. */
static void signed_zeros(struct draw *d, const struct sb_tc_tile *t)
{
    const bool uniform = one_in(d, 2);
    normal(d, t);
    for (int m = 0; m < t->rows; m++) {
        const uint16_t sign = (uint16_t)(next(d) & 0x8000);
        for (int k = 0; k < K; k++)
            if (uniform)
                *a_at(t, m, k) = sign | (uint16_t)(*a_at(t, m, k) & 0x7FFF);
            else if (!one_in(d, 4))
                *a_at(t, m, k) &= 0x8000;
    }
    for (int n = 0; n < t->cols; n++) {
        const uint16_t sign = (uint16_t)(next(d) & 0x8000);
        for (int k = 0; k < K; k++)
            if (uniform)
                *b_at(t, k, n) = sign;
            else if (one_in(d, 2))
                *b_at(t, k, n) &= 0x8000;
    }
    for (int i = 0; i < t->rows * t->cols; i++)
        if (!one_in(d, 4))
            t->c[i] &= 0x80000000u;
}

static void tiny_products(struct draw *d, const struct sb_tc_tile *t)
{
    fill_a(d, t, -80, -65);
    fill_b(d, t, -80, -65);
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = one_in(d, 8) ? any_subnormal(d) : zero_of_any_sign(d);
}

/* Rule 3's floor. Sums that are exactly a multiple of 2^-149, the last place of the result, put together from products
 * with bits below 2^-158: one cut too many or too few moves the sum across it. Five pairs give zero exactly, as
 * a * b - (a_high + a_low) * (b_high + b_low); the last pair is the sum. All exponents are below -133, c is zero. */
static void floor_of_e_max(struct draw *d, const struct sb_tc_tile *t)
{
    static const uint32_t whole = 0xFF, high = 0xF0, low = 0x0F;
    static const struct {
        bool negative;
        const uint32_t *a, *b;
    } part[5] = {
        {false, &whole, &whole}, {true, &high, &high}, {true, &high, &low}, {true, &low, &high}, {true, &low, &low}};
    const int a_exponent = between(d, -75, -73), b_exponent = between(d, -74, -72);
    for (int k = 0; k < 15; k += 5) {
        for (int m = 0; m < t->rows; m++) {
            const uint32_t word = next(d);
            const int exponent = a_exponent - (int)(word >> 16 & 1);
            for (int i = 0; i < 5; i++)
                *a_at(t, m, k + i) = sb_tc_bf16((word >> 8 & 1) != 0, (128 + (word & 0x7F)) & *part[i].a, exponent);
        }
        for (int n = 0; n < t->cols; n++) {
            const uint32_t word = next(d);
            for (int i = 0; i < 5; i++)
                *b_at(t, k + i, n) = sb_tc_bf16(part[i].negative != ((word >> 8 & 1) != 0),
                                                (128 + (word & 0x7F)) & *part[i].b, b_exponent);
        }
    }
    for (int m = 0; m < t->rows; m++) /* the product's last place is at 2^-149 or above it */
        *a_at(t, m, 15) = any_bf16(d, -72, -68);
    for (int n = 0; n < t->cols; n++)
        *b_at(t, 15, n) = sb_tc_bf16(one_in(d, 2), 128, between(d, -70, -66));
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = zero_of_any_sign(d);
}

/* What stands above the fifteen small products. */
enum above { C_ALONE, PRODUCT_ALONE, PRODUCT_AND_MINUS_C, ABOVES };

/* c for a product 0 of exponent e: above the others as wanted, or a small term too. */
static uint32_t c_beside(struct draw *d, enum above above, uint16_t a, uint16_t b, int e)
{
    if (above == PRODUCT_AND_MINUS_C) /* what is left are the cut terms themselves */
        return minus_product(a, b);
    const int exponent = above == C_ALONE ? e : e - between(d, 18, 28);
    return any_f32(d, exponent, exponent);
}

/* Products 1..15 stand `nearest`..`farthest` places below the top. With `one_sign` all of them have one sign in a
 * column; `few_bits`: significands of 1, 1.25 or 1.5, so that ties are common. */
static void small_beside_large(struct draw *d, const struct sb_tc_tile *t, int nearest, int farthest, bool one_sign,
                               bool few_bits)
{
    const enum above above = (enum above)below(d, ABOVES);
    const struct shifts s = any_shifts(d, t, 20);
    int distance[K] = {0};
    for (int k = above == C_ALONE ? 0 : 1; k < K; k++)
        distance[k] = between(d, nearest, farthest);
    for (int m = 0; m < t->rows; m++)
        for (int k = 0; k < K; k++) {
            const uint32_t word = next(d), significand = few_bits ? 128 : 128 + (word & 0x7F);
            *a_at(t, m, k) = sb_tc_bf16(!one_sign && (word >> 8 & 1) != 0, significand, s.row[m] - distance[k]);
        }
    for (int n = 0; n < t->cols; n++) {
        const bool column_sign = one_in(d, 2);
        for (int k = 0; k < K; k++) {
            const uint32_t word = next(d), significand = few_bits ? 128 + 32 * (word % 3) : 128 + (word & 0x7F);
            *b_at(t, k, n) = sb_tc_bf16(one_sign ? column_sign : (word >> 8 & 1) != 0, significand, s.column[n]);
        }
    }
    for (int m = 0; m < t->rows; m++)
        for (int n = 0; n < t->cols; n++)
            t->c[m * t->cols + n] = c_beside(d, above, *a_at(t, m, 0), *b_at(t, 0, n), s.row[m] + s.column[n]);
}

static void alignment(struct draw *d, const struct sb_tc_tile *t)
{
    small_beside_large(d, t, 20, 30, false, false);
}

static void cut_of_one_sign(struct draw *d, const struct sb_tc_tile *t)
{
    small_beside_large(d, t, 16, 30, true, false);
}

static void ties(struct draw *d, const struct sb_tc_tile *t)
{
    small_beside_large(d, t, 23, 26, one_in(d, 2), true);
}

/* Significands at their largest, one sign and one exponent throughout: the sum needs 32 bits and a sign. */
static void full_sums(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t loose = one_in(d, 2) ? 0 : 1u << between(d, 0, 5);
    const struct shifts s = any_shifts(d, t, 25);
    for (int m = 0; m < t->rows; m++) {
        const bool negative = one_in(d, 2);
        for (int k = 0; k < K; k++)
            *a_at(t, m, k) = sb_tc_bf16(negative, 255 - below(d, loose + 1), s.row[m]);
    }
    for (int n = 0; n < t->cols; n++) {
        const bool negative = one_in(d, 2);
        for (int k = 0; k < K; k++)
            *b_at(t, k, n) = sb_tc_bf16(negative, 255 - below(d, loose + 1), s.column[n]);
    }
    for (int m = 0; m < t->rows; m++)
        for (int n = 0; n < t->cols; n++) {
            const bool negative = ((*a_at(t, m, 0) ^ *b_at(t, 0, n)) & 0x8000) != 0;
            t->c[m * t->cols + n] = f32_of(negative, 0xFFFFFF - below(d, loose + 1), s.row[m] + s.column[n]);
        }
}

/* Halves and quarters of k that cancel against each other, or are of different size. */
static void halves(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t kind = below(d, 4);
    fill_a(d, t, -3, 3);
    fill_b(d, t, -3, 3);
    fill_c(d, t, -24, -4);
    if (kind == 0)
        oppose(d, t, 0x00FF, 8, 2);
    else if (kind == 1)
        oppose(d, t, 0x0F0F, 4, 2);
    else {
        const int unit = kind == 2 ? 8 : 4, small = between(d, 0, K / unit - 1), distance = between(d, 12, 27);
        for (int m = 0; m < t->rows; m++)
            for (int k = small * unit; k < (small + 1) * unit; k++)
                *a_at(t, m, k) = any_bf16(d, -distance, 3 - distance);
    }
}

static void zero_partners(struct draw *d, const struct sb_tc_tile *t)
{
    const uint32_t zeros = next(d) & 0xFFFF, in_a = next(d); /* by k */
    const int low = between(d, -30, -12);
    fill_a(d, t, low - 6, low);
    fill_b(d, t, low - 6, low);
    fill_c(d, t, 2 * low - 8, 2 * low);
    for (int k = 0; k < K; k++) {
        if ((zeros >> k & 1) == 0)
            continue;
        for (int m = 0; m < t->rows; m++)
            *a_at(t, m, k) = (in_a >> k & 1) != 0 ? (uint16_t)(next(d) & 0x8000) : any_bf16(d, 90, 127);
        for (int n = 0; n < t->cols; n++)
            *b_at(t, k, n) = (in_a >> k & 1) != 0 ? any_bf16(d, 90, 127) : (uint16_t)(next(d) & 0x8000);
    }
}

/* Products of one sign a row and a column, most of their sums between -2^-149 and 2^-149. */
static void underflow(struct draw *d, const struct sb_tc_tile *t)
{
    const int highest = between(d, -80, -74);
    for (int m = 0; m < t->rows; m++) {
        const uint16_t sign = (uint16_t)(next(d) & 0x8000);
        for (int k = 0; k < K; k++)
            *a_at(t, m, k) = sign | (any_bf16(d, highest - 8, highest) & 0x7FFF);
    }
    for (int n = 0; n < t->cols; n++) {
        const uint16_t sign = (uint16_t)(next(d) & 0x8000);
        for (int k = 0; k < K; k++)
            *b_at(t, k, n) = sign | (any_bf16(d, highest - 8, highest) & 0x7FFF);
    }
    for (int i = 0; i < t->rows * t->cols; i++)
        t->c[i] = zero_of_any_sign(d);
}

static const struct {
    const char *name, *reason;
    void (*fill)(struct draw *d, const struct sb_tc_tile *t);
} classes[SB_TC_CLASSES] = {
    [SB_TC_NORMAL] = {"normal", "ordinary numbers: 24 and 26 bits differ already here", normal},
    [SB_TC_WIDE] = {"wide-exponents", "exponents far apart: most terms fall below the cut", wide},
    [SB_TC_ANY_BITS] = {"any-bits", "every operand any 16 or 32 bits: what nobody thought of", any_bits},
    [SB_TC_SUBNORMAL_INPUTS] = {"subnormal-inputs", "subnormal operands count, with large partners and with small ones",
                                subnormal_inputs},
    [SB_TC_SUBNORMAL_RESULTS] = {"subnormal-results", "results around 2^-126: kept, not flushed", subnormal_results},
    [SB_TC_NAN_AND_INF] = {"nan-and-inf", "a NaN or an infinity among ordinary numbers: one NaN, 7FFFFFFF",
                           nan_and_inf},
    [SB_TC_INFINITIES] = {"infinities", "infinities of both signs, and infinity times zero", infinities},
    [SB_TC_OVERFLOW] = {"overflow", "sums around 2^128, and products above it that come back: only the sum overflows",
                        overflow},
    [SB_TC_CANCELLATION] = {"cancellation", "pairs that nearly cancel: the cut bits are all that is left",
                            cancellation},
    [SB_TC_SIGNED_ZEROS] = {"signed-zeros", "zeros of both signs, alone and among others: every zero result is +0",
                            signed_zeros},
    [SB_TC_TINY_PRODUCTS] = {"tiny-products", "products around 2^-145: e_max is at least -133", tiny_products},
    [SB_TC_FLOOR] = {"floor", "sums that one bit at 2^-158 moves across a result's last place: -133, not -132 or -134",
                     floor_of_e_max},
    [SB_TC_ALIGNMENT] = {"alignment", "c, a product or both stand 20 to 30 places above the rest: cut at 25 bits",
                         alignment},
    [SB_TC_CUT_OF_ONE_SIGN] = {"cut-of-one-sign",
                               "all small terms negative, or all positive: cut toward zero, not down", cut_of_one_sign},
    [SB_TC_TIES] = {"ties", "terms and sums halfway between two places: cut, not rounded to nearest", ties},
    [SB_TC_FULL_SUMS] = {"full-sums", "all terms at their largest and of one sign: the sum passes 31 bits", full_sums},
    [SB_TC_HALVES] = {"halves", "halves and quarters that cancel or differ in size: 16 pairs are one sum", halves},
    [SB_TC_ZERO_PARTNERS] = {"zero-partners", "zeros with huge partners: they take no part in e_max", zero_partners},
    [SB_TC_UNDERFLOW] = {"underflow", "sums of one sign cut to nothing: +0, from a negative sum too", underflow},
};

const char *sb_tc_class_name(enum sb_tc_class cls)
{
    return classes[cls].name;
}

const char *sb_tc_class_reason(enum sb_tc_class cls)
{
    return classes[cls].reason;
}

void sb_tc_make_tile(uint64_t seed, enum sb_tc_class cls, uint64_t index, const struct sb_tc_tile *tile)
{
    struct draw d = {.rng = {seed, (uint64_t)cls << 48 | index}, .used = 4};
    classes[cls].fill(&d, tile);
}
