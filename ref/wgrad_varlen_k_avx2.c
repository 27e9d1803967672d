/* wgrad_varlen_k_avx2.c - wgrad_varlen_k eight outputs at a time. Compiled with AVX2, called only where the processor
 * has it. */
#include "wgrad_vector.h"

#if defined(__AVX2__)

#include "tc_bf16_k16_f25.h"

#include <immintrin.h>
#include <stdlib.h>

enum { LANES = 8, ROWS = 2 };
typedef __m256 vec_f;
typedef __m256i vec_i;

/* clang-format off */
static inline vec_f load_f(const uint32_t *p) { return _mm256_load_ps((const float *)p); }
static inline void store_f(uint32_t *p, vec_f v) { _mm256_store_ps((float *)p, v); }
static inline vec_f set1_f(uint32_t bits) { return _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)bits)); }
static inline vec_f mul_f(vec_f a, vec_f b) { return _mm256_mul_ps(a, b); }
static inline vec_i load_i(const int16_t *p) { return _mm256_load_si256((const __m256i *)p); }
static inline vec_i set1_i32(int32_t v) { return _mm256_set1_epi32(v); }
static inline vec_i set1_i16(int16_t v) { return _mm256_set1_epi16(v); }
static inline vec_i and_i(vec_i a, vec_i b) { return _mm256_and_si256(a, b); }
static inline vec_i add_i(vec_i a, vec_i b) { return _mm256_add_epi32(a, b); }
static inline vec_i sub_i(vec_i a, vec_i b) { return _mm256_sub_epi32(a, b); }
static inline vec_i max_i32(vec_i a, vec_i b) { return _mm256_max_epi32(a, b); }
static inline vec_i shift_left_16(vec_i v) { return _mm256_slli_epi32(v, 16); }
static inline vec_i adds_i16(vec_i a, vec_i b) { return _mm256_adds_epi16(a, b); }
static inline vec_i max_i16(vec_i a, vec_i b) { return _mm256_max_epi16(a, b); }
static inline bool any_between_i16(vec_i v, int16_t low, int16_t high)
{
    const vec_i between = and_i(_mm256_cmpgt_epi16(v, set1_i16(low)), _mm256_cmpgt_epi16(set1_i16(high), v));
    return !_mm256_testz_si256(between, between);
}
static inline vec_i truncate(vec_f v) { return _mm256_cvttps_epi32(v); }
static inline vec_f to_float(vec_i v) { return _mm256_cvtepi32_ps(v); }
static inline vec_i as_i(vec_f v) { return _mm256_castps_si256(v); }
static inline vec_f as_f(vec_i v) { return _mm256_castsi256_ps(v); }
/* clang-format on */

#include "wgrad_vector.inc"

const sb_wgrad_tile_fn sb_wgrad_tile_avx2 = tile;

#else

const sb_wgrad_tile_fn sb_wgrad_tile_avx2 = NULL;

#endif
