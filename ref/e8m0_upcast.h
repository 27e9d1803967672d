/* e8m0_upcast.h - E8M0 block scales to FP32 or BF16 bits. Contract: CONTRACTS.md section 1. */
#ifndef SAMEBITS_REF_E8M0_UPCAST_H
#define SAMEBITS_REF_E8M0_UPCAST_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which public behaviour to follow at the two odd bytes, 0x00 and 0xFF. */
enum sb_e8m0_semantics { SB_E8M0_SHIFT, SB_E8M0_TORCH, SB_E8M0_CUDA, SB_E8M0_TE, SB_E8M0_SEMANTICS_COUNT };

uint32_t sb_e8m0_f32_bits(uint8_t scale, enum sb_e8m0_semantics semantics);
uint16_t sb_e8m0_bf16_bits(uint8_t scale, enum sb_e8m0_semantics semantics);

/* The only checks there are; none reads the array. SB_BAD_ARGUMENT: where = 1 a row stride that is neither 0 nor at
 * least the last extent (from rank 2 on), 2 a column stride other than 0 or 1, 3 an out_dtype other than SB_F32 and
 * SB_BF16, 4 unknown semantics; and the value. Host-side code of the kernels calls it too. */
struct sb_status sb_e8m0_check_args(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                    enum sb_dtype out_dtype);

/* out[i] = upcast of scale[i], dense, in logical order. `scale` is a u8/e8m0 tensor of rank 0..4 whose
 * rows may be strided (row_stride >= last extent). `out` holds sb_tensor_count(scale) elements of
 * out_dtype (SB_F32: u32 bits, SB_BF16: u16 bits). Rejects what sb_e8m0_check_args rejects. */
struct sb_status sb_ref_e8m0_upcast(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                    enum sb_dtype out_dtype, void *out);

#ifdef __cplusplus
}
#endif
#endif
