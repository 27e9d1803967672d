/* e8m0_upcast.c - E8M0 block scales to FP32 or BF16 bits. Contract: CONTRACTS.md section 1.
 *
 * Integers from end to end: 2^-127 is an FP32 subnormal and one of the NaNs is signalling, and neither
 * survives a floating-point move on every machine. */
#include "e8m0_upcast.h"

/* Bytes 1..254 mean the same to everybody: the byte is the biased exponent. */
uint32_t sb_e8m0_f32_bits(uint8_t scale, enum sb_e8m0_semantics semantics)
{
    static const uint32_t byte_00[SB_E8M0_SEMANTICS_COUNT] = {
        [SB_E8M0_SHIFT] = 0x00000000u, /* +0: what the shift alone gives */
        [SB_E8M0_TORCH] = 0x00400000u, /* 2^-127 */
        [SB_E8M0_CUDA] = 0x00400000u,
        [SB_E8M0_TE] = 0x00400000u,
    };
    static const uint32_t byte_ff[SB_E8M0_SEMANTICS_COUNT] = {
        [SB_E8M0_SHIFT] = 0x7F800000u, /* +Inf: what the shift alone gives */
        [SB_E8M0_TORCH] = 0x7F800001u, /* a signalling NaN */
        [SB_E8M0_CUDA] = 0x7FFF0000u,
        [SB_E8M0_TE] = 0x7FFFFFFFu,
    };
    if (scale == 0x00)
        return byte_00[semantics];
    if (scale == 0xFF)
        return byte_ff[semantics];
    return (uint32_t)scale << 23;
}

uint16_t sb_e8m0_bf16_bits(uint8_t scale, enum sb_e8m0_semantics semantics)
{
    /* The upper half of 0x7F800001 would be an infinity: PyTorch's rounding to BF16 makes a quiet NaN of it. */
    if (scale == 0xFF && semantics == SB_E8M0_TORCH)
        return 0x7FC0u;
    return (uint16_t)(sb_e8m0_f32_bits(scale, semantics) >> 16);
}

struct sb_status sb_e8m0_check_args(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                    enum sb_dtype out_dtype)
{
    if (scale->rank >= 2 && scale->row_stride != 0 && scale->row_stride < scale->shape[scale->rank - 1])
        return sb_reject(SB_BAD_ARGUMENT, 1, scale->row_stride, 0);
    if (scale->col_stride != 0 && scale->col_stride != 1)
        return sb_reject(SB_BAD_ARGUMENT, 2, scale->col_stride, 0);
    if (out_dtype != SB_F32 && out_dtype != SB_BF16)
        return sb_reject(SB_BAD_ARGUMENT, 3, out_dtype, 0);
    if ((int)semantics < 0 || semantics >= SB_E8M0_SEMANTICS_COUNT)
        return sb_reject(SB_BAD_ARGUMENT, 4, semantics, 0);
    return sb_status_ok();
}

struct sb_status sb_ref_e8m0_upcast(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                    enum sb_dtype out_dtype, void *out)
{
    const struct sb_status status = sb_e8m0_check_args(scale, semantics, out_dtype);
    if (status.code != SB_OK)
        return status;

    const uint8_t *bytes = scale->data;
    uint32_t *out_f32 = out;
    uint16_t *out_bf16 = out;
    const int64_t count = sb_tensor_count(scale);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        const uint8_t byte = bytes[sb_tensor_offset(scale, i)];
        if (out_dtype == SB_F32)
            out_f32[i] = sb_e8m0_f32_bits(byte, semantics);
        else
            out_bf16[i] = sb_e8m0_bf16_bits(byte, semantics);
    }
    return status;
}
