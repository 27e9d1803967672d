/* wgrad_varlen_k_avx2.c - wgrad_varlen_k eight outputs at a time. Compiled with AVX2, called only where the processor
 * has it. */
#include "wgrad_vector.h"

#if defined(__AVX2__)

#include "tc_bf16_k16_f25.h"

#include <immintrin.h>
#include <math.h>
#include <stdlib.h>

enum { LANES = 8, ROWS = 2 };
typedef __m256 vec_f;
typedef __m256i vec_i;
typedef __m256d half_d;
typedef __m128i half_i;

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
static inline vec_i sign_extend_low(vec_i v) { return _mm256_srai_epi32(_mm256_slli_epi32(v, 16), 16); }
static inline vec_i sign_extend_high(vec_i v) { return _mm256_srai_epi32(v, 16); }
static inline vec_i shift_right_7_i16(vec_i v) { return _mm256_srai_epi16(v, 7); }
static inline vec_i shift_right_23(vec_i v) { return _mm256_srli_epi32(v, 23); }
static inline vec_i replace_i16(vec_i v, int16_t old, int16_t new)
{
    return _mm256_blendv_epi8(v, set1_i16(new), _mm256_cmpeq_epi16(v, set1_i16(old)));
}
static inline vec_i where_zero_i32(vec_i test, vec_i zero, vec_i other)
{
    return _mm256_blendv_epi8(other, zero, _mm256_cmpeq_epi32(test, _mm256_setzero_si256()));
}
static inline half_i half_of_i(vec_i v, int half)
{
    return half == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1);
}
static inline half_d load_as_d(const uint32_t *p) { return _mm256_cvtps_pd(_mm_load_ps((const float *)p)); }
static inline half_d set1_d(double v) { return _mm256_set1_pd(v); }
static inline half_d mul_d(half_d a, half_d b) { return _mm256_mul_pd(a, b); }
static inline half_i add_h(half_i a, half_i b) { return _mm_add_epi32(a, b); }
static inline half_i sub_h(half_i a, half_i b) { return _mm_sub_epi32(a, b); }
static inline half_i set1_h(int32_t v) { return _mm_set1_epi32(v); }
static inline half_i truncate_d(half_d v) { return _mm256_cvttpd_epi32(v); }
static inline half_d sum_as_d(half_i a, half_i b) { return _mm256_add_pd(_mm256_cvtepi32_pd(a), _mm256_cvtepi32_pd(b)); }
static inline half_d field_as_d(half_i field)
{
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(field), 52));
}
static inline half_d infinite_from_d(half_d v, double limit)
{
    const half_d large = _mm256_cmp_pd(_mm256_andnot_pd(set1_d(-0.0), v), set1_d(limit), _CMP_GE_OQ);
    return _mm256_mul_pd(v, _mm256_blendv_pd(set1_d(1), set1_d(INFINITY), large));
}
static inline vec_f narrow(half_d low, half_d high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}
static inline vec_f add_f(vec_f a, vec_f b) { return _mm256_add_ps(a, b); }
static inline vec_f where_finite_f(vec_f test, vec_f finite, vec_f other)
{
    const vec_i infinity = set1_i32(0x7F800000);
    return _mm256_blendv_ps(finite, other, as_f(_mm256_cmpeq_epi32(and_i(as_i(test), infinity), infinity)));
}
/* clang-format on */

#include "wgrad_vector.inc"

const sb_wgrad_tile_fn sb_wgrad_tile_avx2 = tile;

#else

const sb_wgrad_tile_fn sb_wgrad_tile_avx2 = NULL;

#endif
