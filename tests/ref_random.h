/* ref_random.h - random numbers for the tests of ref/: the same on every machine, and not golden/'s generator, which
 * the reference must not lean on. */
#ifndef SAMEBITS_TESTS_REF_RANDOM_H
#define SAMEBITS_TESTS_REF_RANDOM_H

#include <stdint.h>

/* A 64-bit linear congruential generator with its high bits mixed down; `state` is any start value. */
static inline uint32_t random_u32(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t v = *state ^ (*state >> 29);
    return (uint32_t)(v >> 31);
}

static inline int64_t random_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(random_u32(state) % (uint64_t)limit);
}

#endif
