/* wgrad_varlen_k_avx512.c - wgrad_varlen_k sixteen outputs at a time. Compiled with AVX-512 F and BW, called only where
 * the processor has them. */
#include "wgrad_vector.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)

#include "tc_bf16_k16_f25.h"

#include <immintrin.h>
#include <stdlib.h>

enum { LANES = 16, ROWS = 4 };
typedef __m512 vec_f;
typedef __m512i vec_i;

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
static inline vec_f to_float(vec_i v) { return _mm512_cvtepi32_ps(v); }
static inline vec_i as_i(vec_f v) { return _mm512_castps_si512(v); }
static inline vec_f as_f(vec_i v) { return _mm512_castsi512_ps(v); }
/* clang-format on */

#include "wgrad_vector.inc"

const sb_wgrad_tile_fn sb_wgrad_tile_avx512 = tile;

#else

const sb_wgrad_tile_fn sb_wgrad_tile_avx512 = NULL;

#endif
