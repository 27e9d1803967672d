/* tc_bf16_k16_f25.h - the tensor core's fused dot product of 16 BF16 pairs and an FP32 accumulator.
 * Contract: CONTRACTS.md, section "Contract TC". */
#ifndef SAMEBITS_REF_TC_BF16_K16_F25_H
#define SAMEBITS_REF_TC_BF16_K16_F25_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SB_TC_K = 16 }; /* pairs in one step */

/* Bits of fl(c + sum a[i] * b[i]) under contract TC. c is f32 bits, a and b are bf16 bits. */
uint32_t sb_tc_bf16_k16_f25(uint32_t c, const uint16_t a[16], const uint16_t b[16]);

/* Sixteen bf16 operands taken apart once, for callers that use them in many steps. A finite operand's value is
 * sign * significand * 2^(exponent - 7). */
struct sb_tc_operands {
    uint32_t significand[SB_TC_K]; /* 8 bits, the hidden bit included */
    int32_t exponent[SB_TC_K];     /* -126..127; of a zero -1000: with any partner's it stays below all others */
    int32_t sign[SB_TC_K];         /* +1 or -1 */
    uint16_t bits[SB_TC_K];        /* as they came: decides between NaN and Inf */
    bool finite;                   /* none of the sixteen is a NaN or an infinity */
};

void sb_tc_decode(const uint16_t v[16], struct sb_tc_operands *operands);

/* sb_tc_bf16_k16_f25 on operands already taken apart. */
uint32_t sb_tc_step(uint32_t c, const struct sb_tc_operands *a, const struct sb_tc_operands *b);

#ifdef __cplusplus
}
#endif
#endif
