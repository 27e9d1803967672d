/* f32_round.h - FP32 numbers as bits: taken apart, and the two roundings outside the tensor core.
 * Contract: CONTRACTS.md section 4. */
#ifndef SAMEBITS_REF_F32_ROUND_H
#define SAMEBITS_REF_F32_ROUND_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* f32 bits -> bf16 bits, round to nearest even; every NaN becomes 0x7FFF. */
uint16_t sb_bf16_rne(uint32_t f32_bits);

/* One IEEE f32 addition, round to nearest even, subnormals kept; every NaN result is 0x7FFFFFFF. In integers:
 * no rounding mode and no flush-to-zero setting of the caller's reaches it. */
uint32_t sb_f32_add_rne(uint32_t a_bits, uint32_t b_bits);

/* ---- Taken apart. A finite value is significand * 2^(exponent - 23), with its sign. ----------------------------- */

enum { SB_F32_FRACTION_BITS = 23, SB_F32_BIAS = 127, SB_F32_LOWEST_EXPONENT = -126 };

static const uint32_t sb_f32_infinity = 0x7F800000u;
static const uint32_t sb_f32_sign = 0x80000000u;

static inline bool sb_f32_is_nan(uint32_t bits)
{
    return (bits & ~sb_f32_sign) > sb_f32_infinity;
}

static inline bool sb_f32_is_inf(uint32_t bits)
{
    return (bits & ~sb_f32_sign) == sb_f32_infinity;
}

/* 24 bits, the hidden bit included; subnormals have none. For finite values. */
static inline uint32_t sb_f32_significand(uint32_t bits)
{
    const uint32_t hidden_bit = (bits & sb_f32_infinity) != 0 ? UINT32_C(1) << SB_F32_FRACTION_BITS : 0;
    return hidden_bit | (bits & UINT32_C(0x007FFFFF));
}

/* -126..127; -126 for subnormals and zeros. For finite values. */
static inline int32_t sb_f32_exponent(uint32_t bits)
{
    const int32_t biased = (int32_t)(bits >> SB_F32_FRACTION_BITS & 0xFF);
    return biased != 0 ? biased - SB_F32_BIAS : SB_F32_LOWEST_EXPONENT;
}

#ifdef __cplusplus
}
#endif
#endif
