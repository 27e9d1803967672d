/* fma_peak.c - chains of multiply-adds that depend on nothing but themselves, enough of them to hide the latency, all
 * in registers: the speed is that of the arithmetic alone. Floating point is what is measured here. */
#include "fma_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { ROUNDS = 1 << 22 };

/* x -> x / 2 + 1/2 ends at exactly 1 from any start below 2^24, and stays there. Volatile: nothing may be computed
 * beforehand. Each chain starts at a value of its own, or the compiler would compute one and copy it. */
static volatile float half = 0.5F;

static int ones(const float *lane, int lanes)
{
    int n = 0;
    for (int i = 0; i < lanes; i++)
        n += lane[i] == 1.0F;
    return n;
}

/* Each pass_* returns how many lanes ended at 1: `chains` of `lanes` each. */
struct peak {
    const char *kind;
    int chains, lanes;
    int (*pass)(void);
};

/* ---- any machine, with 128-bit vectors -------------------------------------------------------------------------- */

typedef float v4 __attribute__((vector_size(16)));
enum { GENERIC_CHAINS = 12, GENERIC_LANES = 4 }; /* with the two factors they fit 16 registers */

static int pass_generic(void)
{
    const float h = half;
    const v4 factor = {h, h, h, h};
    union {
        v4 vector[GENERIC_CHAINS];
        float lane[GENERIC_CHAINS * GENERIC_LANES];
    } end;
    v4 chain[GENERIC_CHAINS];
    for (int i = 0; i < GENERIC_CHAINS; i++)
        chain[i] = factor * (float)i;
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 16
        for (int i = 0; i < GENERIC_CHAINS; i++)
            chain[i] = chain[i] * factor + factor;
    for (int i = 0; i < GENERIC_CHAINS; i++)
        end.vector[i] = chain[i];
    return ones(end.lane, GENERIC_CHAINS * GENERIC_LANES);
}

static const struct peak generic = {"128-bit multiply and add", GENERIC_CHAINS, GENERIC_LANES, pass_generic};

/* ---- x86-64 -------------------------------------------------------------------------------------------------------
 */

#if defined(__x86_64__)

enum { AVX2_CHAINS = 12, AVX2_LANES = 8, AVX512_CHAINS = 16, AVX512_LANES = 16 };

__attribute__((target("avx2,fma"))) static int pass_avx2(void)
{
    const __m256 factor = _mm256_set1_ps(half);
    float lane[AVX2_CHAINS * AVX2_LANES];
    __m256 chain[AVX2_CHAINS];
    for (int i = 0; i < AVX2_CHAINS; i++)
        chain[i] = _mm256_mul_ps(factor, _mm256_set1_ps((float)i));
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 16
        for (int i = 0; i < AVX2_CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], factor, factor);
    for (int i = 0; i < AVX2_CHAINS; i++)
        _mm256_storeu_ps(lane + i * AVX2_LANES, chain[i]);
    return ones(lane, AVX2_CHAINS * AVX2_LANES);
}

__attribute__((target("avx512f"))) static int pass_avx512(void)
{
    const __m512 factor = _mm512_set1_ps(half);
    float lane[AVX512_CHAINS * AVX512_LANES];
    __m512 chain[AVX512_CHAINS];
    for (int i = 0; i < AVX512_CHAINS; i++)
        chain[i] = _mm512_mul_ps(factor, _mm512_set1_ps((float)i));
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 16
        for (int i = 0; i < AVX512_CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], factor, factor);
    for (int i = 0; i < AVX512_CHAINS; i++)
        _mm512_storeu_ps(lane + i * AVX512_LANES, chain[i]);
    return ones(lane, AVX512_CHAINS * AVX512_LANES);
}

static const struct peak avx2 = {"AVX2 FMA", AVX2_CHAINS, AVX2_LANES, pass_avx2};
static const struct peak avx512 = {"AVX-512 FMA", AVX512_CHAINS, AVX512_LANES, pass_avx512};

static const struct peak *widest(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : &generic;
}

/* ---- aarch64 ------------------------------------------------------------------------------------------------------
 */

#elif defined(__aarch64__)

enum { NEON_CHAINS = 16, NEON_LANES = 4 };

/* By the intrinsic: with -ffp-contract=off a product and a sum are never fused. */
static int pass_neon(void)
{
    const float32x4_t factor = vdupq_n_f32(half);
    float lane[NEON_CHAINS * NEON_LANES];
    float32x4_t chain[NEON_CHAINS];
    for (int i = 0; i < NEON_CHAINS; i++)
        chain[i] = vmulq_n_f32(factor, (float)i);
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 16
        for (int i = 0; i < NEON_CHAINS; i++)
            chain[i] = vfmaq_f32(factor, chain[i], factor);
    for (int i = 0; i < NEON_CHAINS; i++)
        vst1q_f32(lane + i * NEON_LANES, chain[i]);
    return ones(lane, NEON_CHAINS * NEON_LANES);
}

static const struct peak neon = {"NEON FMA", NEON_CHAINS, NEON_LANES, pass_neon};

static const struct peak *widest(void)
{
    (void)generic; /* every aarch64 has NEON */
    return &neon;
}

#else

static const struct peak *widest(void)
{
    return &generic;
}

#endif

/* -------------------------------------------------------------------------------------------------------------------
 */

const char *sb_fma_peak_kind(void)
{
    return widest()->kind;
}

int64_t sb_fma_peak_macs(void)
{
    return (int64_t)ROUNDS * widest()->chains * widest()->lanes;
}

bool sb_fma_peak_pass(int threads)
{
    const struct peak *peak = widest();
    int right = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : right)
    for (int i = 0; i < threads; i++)
        right += peak->pass() == peak->chains * peak->lanes;
    return right == threads;
}
