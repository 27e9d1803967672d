/* philox.c - Philox4x32-10. Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11. The constants are the paper's: two odd multipliers and the Weyl increments of the key. */
#include "philox.h"

enum { PHILOX_ROUNDS = 10 };

static const uint32_t MULTIPLIER_0 = 0xD2511F53u;
static const uint32_t MULTIPLIER_1 = 0xCD9E8D57u;
static const uint32_t WEYL_0 = 0x9E3779B9u; /* golden ratio */
static const uint32_t WEYL_1 = 0xBB67AE85u; /* sqrt(3) - 1 */

static inline uint32_t high_word(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

void sb_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0;
        const uint64_t p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = high_word(p1) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = high_word(p0) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void sb_rng_block(const struct sb_rng *rng, uint64_t block, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)block, high_word(block), (uint32_t)rng->stream, high_word(rng->stream)};
    const uint32_t key[2] = {(uint32_t)rng->seed, high_word(rng->seed)};
    sb_philox4x32_10(counter, key, out);
}

uint32_t sb_rng_u32(const struct sb_rng *rng, uint64_t i)
{
    uint32_t word[4];
    sb_rng_block(rng, i / 4, word);
    return word[i % 4];
}

uint64_t sb_rng_u64(const struct sb_rng *rng, uint64_t i)
{
    uint32_t word[4];
    sb_rng_block(rng, i / 2, word);
    const uint64_t lane = i % 2 * 2;
    return (uint64_t)word[lane + 1] << 32 | word[lane];
}

uint64_t sb_rng_below(const struct sb_rng *rng, uint64_t i, uint64_t n)
{
    /* High half of the 64 x 64 product, from 32-bit halves: no 128-bit type in the path. */
    const uint64_t x = sb_rng_u64(rng, i);
    const uint64_t low = (x & UINT32_MAX) * (n & UINT32_MAX);
    const uint64_t mid_a = (x >> 32) * (n & UINT32_MAX);
    const uint64_t mid_b = (x & UINT32_MAX) * (n >> 32);
    const uint64_t carry = ((low >> 32) + (mid_a & UINT32_MAX) + (mid_b & UINT32_MAX)) >> 32;
    return (x >> 32) * (n >> 32) + (mid_a >> 32) + (mid_b >> 32) + carry;
}
