/* philox.h - Philox4x32-10 (Salmon et al., SC'11), the counter-based generator of every golden input.
 * Integer arithmetic only: every machine, compiler and thread count gives the same bytes, and any slice of
 * any tensor can be made alone. */
#ifndef SAMEBITS_GOLDEN_PHILOX_H
#define SAMEBITS_GOLDEN_PHILOX_H

#include <stdint.h>

/* One block: 128 counter bits and 64 key bits to 128 random bits. */
void sb_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A stream is one tensor of one case: word i depends on (seed, stream, i) alone. Read a stream by one of the
 * functions below only: they share its blocks. */
struct sb_rng {
    uint64_t seed;   /* the case's */
    uint64_t stream; /* which tensor, or which purpose */
};

/* Block `block` of the stream: words 4 * block .. 4 * block + 3 of sb_rng_u32. */
void sb_rng_block(const struct sb_rng *rng, uint64_t block, uint32_t out[4]);
uint32_t sb_rng_u32(const struct sb_rng *rng, uint64_t i);
uint64_t sb_rng_u64(const struct sb_rng *rng, uint64_t i);
/* Uniform in [0, n), n >= 1, by 64-bit multiply-shift (bias below 2^-32 for n < 2^32). */
uint64_t sb_rng_below(const struct sb_rng *rng, uint64_t i, uint64_t n);

#endif
