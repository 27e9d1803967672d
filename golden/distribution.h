/* distribution.h - input values that hunt bugs, from Philox words by integer arithmetic alone. */
#ifndef SAMEBITS_GOLDEN_DISTRIBUTION_H
#define SAMEBITS_GOLDEN_DISTRIBUTION_H

#include "philox.h"
#include "../ref/types.h"

/* BF16 values. Each is documented with the bug it hunts in distribution.c. */
enum sb_bf16_dist {
    SB_DIST_NORMAL,    /* bell-shaped around 0, exponents as in training */
    SB_DIST_WIDE,      /* every finite normal exponent */
    SB_DIST_BITS,      /* any 16 bits: NaN, Inf, subnormals included */
    SB_DIST_SUBNORMAL, /* subnormals and the smallest normals */
    SB_DIST_CANCEL,    /* values that nearly cancel along k */
    SB_DIST_ZEROS,     /* signed zeros among huge and tiny values */
    SB_DIST_INFNAN,    /* normal values with a few Inf and NaN */
    SB_DIST_TINY,      /* products around 2^-145: the exponent floor of contract TC */
    SB_DIST_HUGE,      /* sums that pass 2^128 and come back */
    SB_DIST_INFZERO,   /* normal values with Inf and zeros: Inf * 0 in every third sum or so */
    SB_DIST_FULL,      /* along k: a step of contract TC whose aligned sum needs more than 32 bits */
    SB_DIST_COUNT
};
extern const char *const sb_bf16_dist_names[SB_DIST_COUNT + 1]; /* NULL-terminated */

uint16_t sb_bf16_draw(enum sb_bf16_dist dist, const struct sb_rng *rng, uint64_t i);
/* out[j] = sb_bf16_draw(dist, rng, first + j): the same bits, NORMAL many times as fast. */
void sb_bf16_fill(enum sb_bf16_dist dist, const struct sb_rng *rng, uint64_t first, int64_t count, uint16_t *out);
/* Do the values depend on k (see sb_bf16_draw_along_k)? */
bool sb_bf16_depends_on_k(enum sb_bf16_dist dist);

/* Element (k, column) of a factor [*, columns] of a product summed along k. As sb_bf16_draw at k * columns + column,
 * except that under CANCEL and HUGE rows stand in pairs: the second has the first's values, one unit in the last
 * place aside in half of them, and, where `negate` (one of the two factors), the opposite sign. Under FULL k counts in
 * pairs of 16 rows: the first 16 hold one value and zeros, the second the largest numbers below 2; columns have one
 * sign a pair. Segments that start at a multiple of 32 make the steps of contract TC out of them. */
uint16_t sb_bf16_draw_along_k(enum sb_bf16_dist dist, const struct sb_rng *rng, int64_t k, int64_t column,
                              int64_t columns, bool negate);

/* f32 bits for probabilities and gradients. */
enum sb_f32_dist {
    SB_F32_UNIT, /* [0, 1) */
    SB_F32_NORMAL,
    SB_F32_SPECIAL, /* -0, subnormals, quiet and signalling NaN payloads, Inf, among ordinary values */
    SB_F32_FAR,     /* 2^23 to 2^27: about 24 places above sums of normal values */
    SB_F32_LIMIT,   /* the largest finite numbers, and those around 2^127 */
    SB_F32_COUNT
};
extern const char *const sb_f32_dist_names[SB_F32_COUNT + 1];

uint32_t sb_f32_draw(enum sb_f32_dist dist, const struct sb_rng *rng, uint64_t i);

/* E8M0 scale bytes. */
enum sb_scale_dist {
    SB_SCALE_REAL,  /* 112..119: around the 115 and 116 that a public checkpoint was seen to hold */
    SB_SCALE_BYTES, /* uniform over all 256 */
    SB_SCALE_RAMP,  /* i mod 256: every byte, in order */
    SB_SCALE_EDGES, /* 0x00, 0x01, 0xFE, 0xFF only */
    SB_SCALE_COUNT
};
extern const char *const sb_scale_dist_names[SB_SCALE_COUNT + 1];

uint8_t sb_scale_draw(enum sb_scale_dist dist, const struct sb_rng *rng, uint64_t i);
/* out[j] = sb_scale_draw(dist, rng, first + j), sixteen bytes a Philox block. */
void sb_scale_fill(enum sb_scale_dist dist, const struct sb_rng *rng, uint64_t first, int64_t count, uint8_t *out);

#endif
