/* peak.cu - see peak.h. Operands are drawn, of both signs: on zeros a tensor core takes less power, runs at a higher
 * clock and shows a peak that no real operand reaches. */
#include "peak.h"

#include <string.h>

#include "launch.cuh"
#include "ptx.cuh"
#include "ptx_async.cuh"
#include "ptx_wgmma.cuh"

/* Two bf16 of either sign and from 0.5 to 2: sums stay far from infinity over all rounds. */
static __device__ __forceinline__ uint32_t drawn_pair(uint32_t i)
{
    i = (i ^ 61u ^ i >> 16) * 9u;
    i = (i ^ i >> 4) * 0x27D4EB2Du;
    i ^= i >> 15;
    return (i & 0x80FF80FFu) | 0x3F003F00u;
}

static __device__ __forceinline__ void leave_result(struct sb_peak_result *result, uint32_t instruction,
                                                    uint32_t digest)
{
    __shared__ uint32_t all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    atomicXor(&all, digest * (2u * threadIdx.x + 1u));
    __syncthreads();
    if (threadIdx.x == 0)
        result[blockIdx.x] = {instruction, all};
}

/* ---- mma.sync: every target ------------------------------------------------------------------------------------ */

constexpr int mma_threads = 1024; // eight warps a scheduler, and all registers: a multiprocessor takes one block
constexpr int mma_chains = 8;     // independent accumulators a warp, to hide the latency
constexpr int mma_rounds = 1 << 15;

static __global__ void __launch_bounds__(mma_threads, 1) peak_mma_sync(struct sb_peak_result *result)
{
    float sum[mma_chains][4] = {};
    uint32_t a[4], b[mma_chains][2];
    for (int i = 0; i < 4; i++)
        a[i] = drawn_pair(threadIdx.x * 4 + i);
#pragma unroll
    for (int j = 0; j < mma_chains; j++) {
        b[j][0] = drawn_pair(~(threadIdx.x * 2 * mma_chains + 2 * j));
        b[j][1] = drawn_pair(~(threadIdx.x * 2 * mma_chains + 2 * j + 1));
    }
    for (int round = 0; round < mma_rounds; round++) {
#pragma unroll
        for (int j = 0; j < mma_chains; j++)
            ptx_mma_m16n8k16_bf16(sum[j], a, b[j][0], b[j][1]);
    }
    uint32_t digest = 0;
#pragma unroll
    for (int j = 0; j < mma_chains; j++) {
        for (int i = 0; i < 4; i++)
            digest = digest * 31u + __float_as_uint(sum[j][i]);
    }
    leave_result(result, SB_PEAK_MMA_SYNC, digest);
}

/* ---- wgmma: sm_90a --------------------------------------------------------------------------------------------- */

constexpr int wgmma_groups = 2;                   // warpgroups: while one waits for its sums the other multiplies
constexpr int wgmma_threads = wgmma_groups * 128; // of 154 registers: a multiprocessor takes one block
constexpr int wgmma_steps = 4;                    // of 16 rows of k, at different places of shared memory
constexpr int wgmma_rounds = 1 << 14;
constexpr int wgmma_atom_bytes = wgmma_steps * 16 * 128; // 64 columns by all rows of k
constexpr int wgmma_b_atoms = ptx_wgmma_n / 64;
constexpr int wgmma_shared_bytes = (wgmma_groups + wgmma_b_atoms) * wgmma_atom_bytes;
extern "C" const int sb_dynamic_shared_bytes_peak_wgmma; // read from the object by tests/sass.py
const int sb_dynamic_shared_bytes_peak_wgmma = wgmma_shared_bytes;

static __global__ void __launch_bounds__(wgmma_threads, 1) peak_wgmma(struct sb_peak_result *result)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char shared[];
    for (int i = (int)threadIdx.x; i < wgmma_shared_bytes / 4; i += wgmma_threads)
        ((uint32_t *)shared)[i] = drawn_pair(i);
    ptx_fence_proxy_async();
    __syncthreads();

    const uint32_t a_at = ptx_shared_address(shared) + threadIdx.x / 128 * wgmma_atom_bytes;
    const uint32_t b_at = ptx_shared_address(shared) + wgmma_groups * wgmma_atom_bytes;
    const uint64_t a = ptx_wgmma_descriptor(a_at, wgmma_atom_bytes);
    const uint64_t b = ptx_wgmma_descriptor(b_at, wgmma_atom_bytes);
    float sum[ptx_wgmma_accumulators] = {};
    for (int round = 0; round < wgmma_rounds; round++) {
        ptx_wgmma_fence();
#pragma unroll
        for (int step = 0; step < wgmma_steps; step++)
            ptx_wgmma_m64n256k16_bf16(sum, ptx_wgmma_descriptor_at(a, step * 16 * 128),
                                      ptx_wgmma_descriptor_at(b, step * 16 * 128), true);
        ptx_wgmma_commit_group();
        ptx_wgmma_wait_group<1>();
    }
    ptx_wgmma_wait_group<0>();
    ptx_wgmma_results(sum);
    uint32_t digest = 0;
#pragma unroll
    for (int i = 0; i < ptx_wgmma_accumulators; i++)
        digest = digest * 31u + __float_as_uint(sum[i]);
    leave_result(result, SB_PEAK_WGMMA, digest);
#endif
}

/* ---- Host ------------------------------------------------------------------------------------------------------ */

extern "C" enum sb_peak_instruction sb_peak_instruction_of(int compute_capability)
{
    return compute_capability == 90 && strstr(SAMEBITS_CUDA_TARGETS, "sm_90a") != NULL ? SB_PEAK_WGMMA
                                                                                       : SB_PEAK_MMA_SYNC;
}

extern "C" const char *sb_peak_instruction_name(enum sb_peak_instruction instruction)
{
    return instruction == SB_PEAK_WGMMA ? "wgmma m64n256k16" : "mma.sync m16n8k16";
}

extern "C" int64_t sb_peak_macs(enum sb_peak_instruction instruction, int multiprocessors)
{
    const int64_t wgmma = (int64_t)wgmma_rounds * wgmma_steps * wgmma_groups * (64 * ptx_wgmma_n * 16);
    const int64_t mma_sync = (int64_t)mma_rounds * mma_chains * (mma_threads / 32) * (16 * 8 * 16);
    return multiprocessors * (instruction == SB_PEAK_WGMMA ? wgmma : mma_sync);
}

extern "C" struct sb_gpu_result sb_peak_run(enum sb_peak_instruction instruction, int multiprocessors,
                                            struct sb_peak_result *result, void *stream)
{
    const dim3 grid((unsigned)multiprocessors); // a block each: no two fit one
    const cudaStream_t on = (cudaStream_t)stream;
    if (instruction == SB_PEAK_MMA_SYNC)
        return sb_result_of(sb_launch(peak_mma_sync, grid, dim3(mma_threads), 0, on, result));
    const cudaError_t error =
        cudaFuncSetAttribute(peak_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, wgmma_shared_bytes);
    if (error != cudaSuccess)
        return sb_result_of(error);
    return sb_result_of(sb_launch(peak_wgmma, grid, dim3(wgmma_threads), wgmma_shared_bytes, on, result));
}
