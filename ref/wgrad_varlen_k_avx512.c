/* wgrad_varlen_k_avx512.c - wgrad_varlen_k sixteen outputs at a time. Compiled with AVX-512 F and BW, called only where
 * the processor has them. */
#include "wgrad_vector.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)

#include "tc_bf16_k16_f25.h"

#include <immintrin.h>
#include <math.h>
#include <stdlib.h>

enum { LANES = 16, ROWS = 4, TOWARD_ZERO = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC };
typedef __m512 vec_f;
typedef __m512i vec_i;
typedef __m512d half_d;
typedef __m256i half_i;

/* clang-format off */
static inline vec_f load_f(const uint32_t *p) { return _mm512_load_ps(p); }
static inline void store_f(uint32_t *p, vec_f v) { _mm512_store_ps(p, v); }
static inline vec_f set1_f(uint32_t bits) { return _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)bits)); }
static inline vec_f mul_f(vec_f a, vec_f b) { return _mm512_mul_ps(a, b); }
static inline vec_i load_i(const int16_t *p) { return _mm512_load_si512(p); }
static inline vec_i set1_i32(int32_t v) { return _mm512_set1_epi32(v); }
static inline vec_i set1_i16(int16_t v) { return _mm512_set1_epi16(v); }
static inline vec_i and_i(vec_i a, vec_i b) { return _mm512_and_si512(a, b); }
static inline vec_i add_i(vec_i a, vec_i b) { return _mm512_add_epi32(a, b); }
static inline vec_i sub_i(vec_i a, vec_i b) { return _mm512_sub_epi32(a, b); }
static inline vec_i max_i32(vec_i a, vec_i b) { return _mm512_max_epi32(a, b); }
static inline vec_i shift_left_16(vec_i v) { return _mm512_slli_epi32(v, 16); }
static inline vec_i adds_i16(vec_i a, vec_i b) { return _mm512_adds_epi16(a, b); }
static inline vec_i max_i16(vec_i a, vec_i b) { return _mm512_max_epi16(a, b); }
static inline bool any_between_i16(vec_i v, int16_t low, int16_t high) { return (_mm512_cmpgt_epi16_mask(v, set1_i16(low)) & _mm512_cmplt_epi16_mask(v, set1_i16(high))) != 0; }
static inline vec_i truncate(vec_f v) { return _mm512_cvttps_epi32(v); }
static inline vec_f to_float(vec_i v) { return _mm512_cvt_roundepi32_ps(v, TOWARD_ZERO); }
static inline vec_i as_i(vec_f v) { return _mm512_castps_si512(v); }
static inline vec_f as_f(vec_i v) { return _mm512_castsi512_ps(v); }
static inline vec_i sign_extend_low(vec_i v) { return _mm512_srai_epi32(_mm512_slli_epi32(v, 16), 16); }
static inline vec_i sign_extend_high(vec_i v) { return _mm512_srai_epi32(v, 16); }
static inline vec_i shift_right_7_i16(vec_i v) { return _mm512_srai_epi16(v, 7); }
static inline vec_i shift_right_23(vec_i v) { return _mm512_srli_epi32(v, 23); }
static inline vec_i replace_i16(vec_i v, int16_t old, int16_t new)
{
    return _mm512_mask_blend_epi16(_mm512_cmpeq_epi16_mask(v, set1_i16(old)), v, set1_i16(new));
}
static inline vec_i where_zero_i32(vec_i test, vec_i zero, vec_i other)
{
    return _mm512_mask_blend_epi32(_mm512_testn_epi32_mask(test, test), other, zero);
}
static inline half_i half_of_i(vec_i v, int half)
{
    return half == 0 ? _mm512_castsi512_si256(v) : _mm512_extracti64x4_epi64(v, 1);
}
static inline half_d load_as_d(const uint32_t *p) { return _mm512_cvtps_pd(_mm256_load_ps((const float *)p)); }
static inline half_d set1_d(double v) { return _mm512_set1_pd(v); }
static inline half_d mul_d(half_d a, half_d b) { return _mm512_mul_pd(a, b); }
static inline half_i add_h(half_i a, half_i b) { return _mm256_add_epi32(a, b); }
static inline half_i sub_h(half_i a, half_i b) { return _mm256_sub_epi32(a, b); }
static inline half_i set1_h(int32_t v) { return _mm256_set1_epi32(v); }
static inline half_i truncate_d(half_d v) { return _mm512_cvttpd_epi32(v); }
static inline half_d sum_as_d(half_i a, half_i b) { return _mm512_add_pd(_mm512_cvtepi32_pd(a), _mm512_cvtepi32_pd(b)); }
static inline half_d field_as_d(half_i field)
{
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_cvtepi32_epi64(field), 52));
}
static inline half_d infinite_from_d(half_d v, double limit)
{
    return _mm512_mask_mul_pd(v, _mm512_cmp_pd_mask(_mm512_abs_pd(v), set1_d(limit), _CMP_GE_OQ), v, set1_d(INFINITY));
}
static inline vec_f narrow(half_d low, half_d high)
{
    const vec_i bits = _mm512_castsi256_si512(_mm256_castps_si256(_mm512_cvt_roundpd_ps(low, TOWARD_ZERO)));
    return _mm512_castsi512_ps(_mm512_inserti64x4(bits, _mm256_castps_si256(_mm512_cvt_roundpd_ps(high, TOWARD_ZERO)), 1));
}
static inline vec_f add_f(vec_f a, vec_f b) { return _mm512_add_ps(a, b); }
static inline vec_f where_finite_f(vec_f test, vec_f finite, vec_f other)
{
    const vec_i field = and_i(as_i(test), set1_i32(0x7F800000));
    return _mm512_mask_blend_ps(_mm512_cmpeq_epi32_mask(field, set1_i32(0x7F800000)), finite, other);
}
/* clang-format on */

#include "wgrad_vector.inc"

const sb_wgrad_tile_fn sb_wgrad_tile_avx512 = tile;

#else

const sb_wgrad_tile_fn sb_wgrad_tile_avx512 = NULL;

#endif
