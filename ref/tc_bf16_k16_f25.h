/* tc_bf16_k16_f25.h - the tensor core's fused dot product of 16 BF16 pairs and an FP32 accumulator.
 * Contract: CONTRACTS.md, section "Contract TC". */
#ifndef SAMEBITS_REF_TC_BF16_K16_F25_H
#define SAMEBITS_REF_TC_BF16_K16_F25_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of fl(c + sum a[i] * b[i]) under contract TC. c is f32 bits, a and b are bf16 bits. */
uint32_t sb_tc_bf16_k16_f25(uint32_t c, const uint16_t a[16], const uint16_t b[16]);

/* f32 bits -> bf16 bits, round to nearest even; every NaN becomes 0x7FFF. */
uint16_t sb_bf16_rne(uint32_t f32_bits);

/* One IEEE f32 addition, round to nearest even, subnormals kept; every NaN result is 0x7FFFFFFF. */
uint32_t sb_f32_add_rne(uint32_t a_bits, uint32_t b_bits);

#ifdef __cplusplus
}
#endif
#endif
