/* wgrad_output.cuh - from the sums of wgrad_varlen_k to the bytes of dw: what every path does once per output, after
 * its last step. Contract: ref/CONTRACTS.md section 4. */
#ifndef SAMEBITS_GPU_WGRAD_OUTPUT_CUH
#define SAMEBITS_GPU_WGRAD_OUTPUT_CUH

#include "../ref/wgrad_varlen_k.h"
#include "ptx.cuh"

static __device__ __forceinline__ bool sb_wgrad_is_nan(uint32_t f32_bits)
{
    return (f32_bits & 0x7FFFFFFFu) > 0x7F800000u;
}

/* main_grad + sum: one f32 addition, subnormals kept; every NaN is the canonical one. */
static __device__ __forceinline__ uint32_t sb_wgrad_add(uint32_t main_grad, uint32_t sum)
{
    const uint32_t bits = __float_as_uint(ptx_add_rn_f32(__uint_as_float(main_grad), __uint_as_float(sum)));
    return sb_wgrad_is_nan(bits) ? 0x7FFFFFFFu : bits;
}

static __device__ __forceinline__ uint32_t sb_wgrad_bf16(uint32_t f32_bits)
{
    return sb_wgrad_is_nan(f32_bits) ? 0x7FFFu : (f32_bits + 0x7FFFu + (f32_bits >> 16 & 1u)) >> 16;
}

/* Two neighbouring outputs from their sums. `empty`: the segment has no rows, so main_grad passes as bits, a NaN
 * payload and -0 included. main_grad is read and dw written by the same thread here: they may be the same memory. */
static __device__ __forceinline__ void sb_wgrad_store_pair(const struct sb_wgrad_args *args, void *dw, bool empty,
                                                           int64_t at, uint32_t sum0, uint32_t sum1)
{
    uint2 out = make_uint2(sum0, sum1);
    if (args->main_grad) {
        const uint2 grad = *(const uint2 *)(args->main_grad + at);
        out.x = empty ? grad.x : sb_wgrad_add(grad.x, sum0);
        out.y = empty ? grad.y : sb_wgrad_add(grad.y, sum1);
    }
    if (args->out_dtype == SB_F32)
        *(uint2 *)((uint32_t *)dw + at) = out;
    else
        *(uint32_t *)((uint16_t *)dw + at) = sb_wgrad_bf16(out.x) | sb_wgrad_bf16(out.y) << 16;
}

#endif
