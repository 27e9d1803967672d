/* f32_round.c - the two roundings outside the tensor core: FP32 to BF16, and one FP32 addition.
 * Contract: CONTRACTS.md section 4. In integers, for the reason given in tc_bf16_k16_f25.c. */
#include "f32_round.h"

enum { GUARD_BITS = 32 };

uint16_t sb_bf16_rne(uint32_t f32_bits)
{
    if (sb_f32_is_nan(f32_bits))
        return 0x7FFFu;
    const uint32_t last_place = f32_bits >> 16 & 1; /* a tie goes up exactly where the last place is odd */
    return (uint16_t)((f32_bits + 0x7FFFu + last_place) >> 16);
}

/* An f32 magnitude in units of 2^(exponent - 23 - 32): 32 zero bits below the last place. */
static uint64_t magnitude_of(uint32_t v)
{
    return (uint64_t)sb_f32_significand(v) << GUARD_BITS;
}

/* The smaller magnitude in the larger one's units. A bit is lost only beyond a distance of 32; the smaller number is
 * then less than 2^-8 of the larger one's last place, so the sum rounds to the larger one with or without it. */
static uint64_t align(uint64_t magnitude, int32_t distance)
{
    return distance < 64 ? magnitude >> distance : 0;
}

/* magnitude * 2^(exponent - 23 - 32) to the nearest f32, ties to even. */
static uint32_t round_to_f32(uint32_t sign, uint64_t magnitude, int32_t exponent)
{
    const uint64_t two = UINT64_C(2) << (SB_F32_FRACTION_BITS + GUARD_BITS);
    if (magnitude >= two) { /* the sum of two significands below 2 is below 4 */
        magnitude >>= 1;    /* loses nothing: carries come from distances of 24 or less, with zeros at the bottom */
        exponent++;
    }
    while (magnitude < two / 2 && exponent > SB_F32_LOWEST_EXPONENT) { /* cancelled; or a subnormal, where it stops */
        magnitude <<= 1;
        exponent--;
    }
    const uint64_t half = UINT64_C(1) << (GUARD_BITS - 1);
    const uint64_t last_place = magnitude >> GUARD_BITS & 1;
    const uint32_t significand = (uint32_t)((magnitude + half - 1 + last_place) >> GUARD_BITS);
    /* A normal significand's hidden bit adds one to the exponent field; a carry out of it adds one more. */
    const uint32_t bits = ((uint32_t)(exponent - SB_F32_LOWEST_EXPONENT) << SB_F32_FRACTION_BITS) + significand;
    return sign | (bits < sb_f32_infinity ? bits : sb_f32_infinity);
}

uint32_t sb_f32_add_rne(uint32_t a_bits, uint32_t b_bits)
{
    const bool a_inf = sb_f32_is_inf(a_bits), b_inf = sb_f32_is_inf(b_bits);
    if (sb_f32_is_nan(a_bits) || sb_f32_is_nan(b_bits) || (a_inf && b_inf && a_bits != b_bits))
        return 0x7FFFFFFFu;
    if (a_inf || b_inf)
        return a_inf ? a_bits : b_bits;

    /* Magnitudes of f32 numbers compare as their bits do. */
    const bool a_larger = (a_bits & ~sb_f32_sign) >= (b_bits & ~sb_f32_sign);
    const uint32_t large = a_larger ? a_bits : b_bits, small = a_larger ? b_bits : a_bits;
    const uint64_t from_large = magnitude_of(large);
    const uint64_t from_small = align(magnitude_of(small), sb_f32_exponent(large) - sb_f32_exponent(small));
    const bool same_sign = ((a_bits ^ b_bits) & sb_f32_sign) == 0;
    const uint64_t magnitude = same_sign ? from_large + from_small : from_large - from_small;
    if (magnitude == 0)
        return a_bits & b_bits & sb_f32_sign; /* -0 only from two of them */
    return round_to_f32(large & sb_f32_sign, magnitude, sb_f32_exponent(large));
}
