/* philox_round.h - one round of Philox4x32, for one block (philox.c) or for many at a time (normal_fill.c). The
 * constants are the paper's: two odd multipliers and the Weyl increments of the key. */
#ifndef SAMEBITS_GOLDEN_PHILOX_ROUND_H
#define SAMEBITS_GOLDEN_PHILOX_ROUND_H

#include <stdint.h>

enum { SB_PHILOX_ROUNDS = 10 };

static inline __attribute__((always_inline)) void sb_philox_round(uint32_t *c0, uint32_t *c1, uint32_t *c2,
                                                                  uint32_t *c3, const uint32_t key[2])
{
    const uint64_t p0 = (uint64_t)0xD2511F53u * *c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * *c2;
    *c0 = (uint32_t)(p1 >> 32) ^ *c1 ^ key[0];
    *c1 = (uint32_t)p1;
    *c2 = (uint32_t)(p0 >> 32) ^ *c3 ^ key[1];
    *c3 = (uint32_t)p0;
}

static inline __attribute__((always_inline)) void sb_philox_next_key(uint32_t key[2])
{
    key[0] += 0x9E3779B9u; /* golden ratio */
    key[1] += 0xBB67AE85u; /* sqrt(3) - 1 */
}

#endif
