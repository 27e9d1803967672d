/* normal_fill.c - many BF16 values at a time: those of sb_bf16_draw, at the speed that vectors give the common
 * distribution. A tensor of a production shape has half a billion of them.
 *
 * The same integer operations without branches, which compilers turn into vectors; compiled once for any processor and
 * again for AVX2 and AVX-512, chosen at run time. */
#include "distribution.h"
#include "philox_round.h"

_Static_assert(SB_PHILOX_ROUNDS == 10, "written out below");

/* Shifts by `by`, a constant, where the top `by` of the 18 bits are zero. */
static inline __attribute__((always_inline)) void lead(uint32_t *magnitude, uint32_t *exponent, uint32_t by)
{
    const bool low = *magnitude < (uint32_t)1 << (18 - by);
    *magnitude = low ? *magnitude << by : *magnitude;
    *exponent = low ? *exponent - by : *exponent;
}

/* draw_normal of distribution.c without branches: the sum of four 16-bit numbers about its mean, times 2^-16, cut to
 * BF16. Its magnitude, below 2^18, is shifted until bit 17 is its leading one. */
static inline __attribute__((always_inline)) uint16_t normal(uint32_t low, uint32_t high)
{
    const int32_t value = (int32_t)((low & 0xFFFF) + (low >> 16) + (high & 0xFFFF) + (high >> 16)) - 2 * 0xFFFF;
    const uint32_t sign = (uint32_t)value >> 31;
    uint32_t magnitude = sign ? 0u - (uint32_t)value : (uint32_t)value;
    const uint32_t keep = magnitude != 0 ? 0xFFFFFFFFu : 0;
    uint32_t exponent = 127 + 1; /* of bit 17: 2^17 * 2^-16 */
    lead(&magnitude, &exponent, 16);
    lead(&magnitude, &exponent, 8);
    lead(&magnitude, &exponent, 4);
    lead(&magnitude, &exponent, 2);
    lead(&magnitude, &exponent, 1);
    return (uint16_t)((sign << 15 | exponent << 7 | (magnitude >> 10 & 0x7F)) & keep);
}

static inline __attribute__((always_inline)) void two_rounds(uint32_t c[4], uint32_t key[2])
{
    sb_philox_round(&c[0], &c[1], &c[2], &c[3], key);
    sb_philox_next_key(key);
    sb_philox_round(&c[0], &c[1], &c[2], &c[3], key);
    sb_philox_next_key(key);
}

/* The two values of each of `blocks` blocks. Straight-line code in one loop: what compilers vectorise. */
static inline __attribute__((always_inline)) void fill_blocks(const struct sb_rng *rng, uint64_t block, int64_t blocks,
                                                              uint16_t *out)
{
    const uint32_t seed[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    const uint32_t stream[2] = {(uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)};
    for (int64_t i = 0; i < blocks; i++) {
        const uint64_t b = block + (uint64_t)i;
        uint32_t c[4] = {(uint32_t)b, (uint32_t)(b >> 32), stream[0], stream[1]}, key[2] = {seed[0], seed[1]};
        two_rounds(c, key);
        two_rounds(c, key);
        two_rounds(c, key);
        two_rounds(c, key);
        two_rounds(c, key);
        out[2 * i] = normal(c[0], c[1]);
        out[2 * i + 1] = normal(c[2], c[3]);
    }
}

static void fill_plain(const struct sb_rng *rng, uint64_t block, int64_t blocks, uint16_t *out)
{
    fill_blocks(rng, block, blocks, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void fill_avx2(const struct sb_rng *rng, uint64_t block, int64_t blocks,
                                                      uint16_t *out)
{
    fill_blocks(rng, block, blocks, out);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) static void
fill_avx512(const struct sb_rng *rng, uint64_t block, int64_t blocks, uint16_t *out)
{
    fill_blocks(rng, block, blocks, out);
}

static void fill_normal(const struct sb_rng *rng, uint64_t block, int64_t blocks, uint16_t *out)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        fill_avx512(rng, block, blocks, out);
    else if (__builtin_cpu_supports("avx2"))
        fill_avx2(rng, block, blocks, out);
    else
        fill_plain(rng, block, blocks, out);
}
#else
static void fill_normal(const struct sb_rng *rng, uint64_t block, int64_t blocks, uint16_t *out)
{
    fill_plain(rng, block, blocks, out);
}
#endif

void sb_bf16_fill(enum sb_bf16_dist dist, const struct sb_rng *rng, uint64_t first, int64_t count, uint16_t *out)
{
    int64_t done = 0;
    if (dist == SB_DIST_NORMAL && count > 0) {
        if (first % 2 != 0) /* the second value of a block */
            out[done++] = sb_bf16_draw(dist, rng, first);
        const int64_t blocks = (count - done) / 2;
        fill_normal(rng, (first + (uint64_t)done) / 2, blocks, out + done);
        done += 2 * blocks;
    }
    for (; done < count; done++)
        out[done] = sb_bf16_draw(dist, rng, first + (uint64_t)done);
}
