/* wgrad_output.cuh - from the sums of wgrad_varlen_k to the bytes of dw: what every path does once per output, after
 * its last step. Contract: ref/CONTRACTS.md section 4. */
#ifndef SAMEBITS_GPU_WGRAD_OUTPUT_CUH
#define SAMEBITS_GPU_WGRAD_OUTPUT_CUH

#include "../ref/wgrad_varlen_k.h"
#include "ptx.cuh"

/* The output's f32 bits: one f32 addition, subnormals kept; a NaN of it is 0x7FFFFFFF, the only one that PTX's add.f32
 * gives. `empty`: the segment has no rows, so main_grad passes as bits, a NaN payload and -0 included. */
static __device__ __forceinline__ uint32_t sb_wgrad_onto(uint32_t main_grad, bool empty, uint32_t sum)
{
    const float added = ptx_add_rn_f32(__uint_as_float(main_grad), __uint_as_float(sum));
    return empty ? main_grad : __float_as_uint(added);
}

static __device__ __forceinline__ uint32_t sb_wgrad_bf16_pair(uint32_t low, uint32_t high)
{
    return ptx_cvt_rn_bf16x2_f32(__uint_as_float(low), __uint_as_float(high));
}

/* Two neighbouring outputs from their sums, `at` even. main_grad is read and dw written by the same thread here and
 * below: they may be the same memory. */
static __device__ __forceinline__ void sb_wgrad_store_pair(const struct sb_wgrad_args *args, void *dw, bool empty,
                                                           int64_t at, uint32_t sum0, uint32_t sum1)
{
    uint2 out = make_uint2(sum0, sum1);
    if (args->main_grad) {
        const uint2 grad = *(const uint2 *)(args->main_grad + at);
        out.x = sb_wgrad_onto(grad.x, empty, sum0);
        out.y = sb_wgrad_onto(grad.y, empty, sum1);
    }
    if (args->out_dtype == SB_F32)
        *(uint2 *)((uint32_t *)dw + at) = out;
    else
        *(uint32_t *)((uint16_t *)dw + at) = sb_wgrad_bf16_pair(out.x, out.y);
}

/* Four neighbouring outputs from their sums; `was` is what main_grad has there. */
static __device__ __forceinline__ uint4 sb_wgrad_onto_four(uint4 was, bool empty, uint4 sums)
{
    return make_uint4(sb_wgrad_onto(was.x, empty, sums.x), sb_wgrad_onto(was.y, empty, sums.y),
                      sb_wgrad_onto(was.z, empty, sums.z), sb_wgrad_onto(was.w, empty, sums.w));
}

/* Stores that the caches need not keep: dy and x are read again, dw is not. */
template <bool narrow> static __device__ __forceinline__ void sb_wgrad_store_four(void *out, uint4 four)
{
    if (narrow)
        __stcs((uint2 *)out, make_uint2(sb_wgrad_bf16_pair(four.x, four.y), sb_wgrad_bf16_pair(four.z, four.w)));
    else
        __stcs((uint4 *)out, four);
}

#endif
