/* philox.c - Philox4x32-10. Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11. */
#include "philox.h"

#include "philox_round.h"

static inline uint32_t high_word(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

void sb_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int round = 0; round < SB_PHILOX_ROUNDS; round++) {
        sb_philox_round(&c[0], &c[1], &c[2], &c[3], k);
        sb_philox_next_key(k);
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
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
