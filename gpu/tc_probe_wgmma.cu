/* tc_probe_wgmma.cu - tiles of 64x256 dot products, one wgmma.mma_async m64n256k16 each. Contract: tc_probe.h.
 *
 * A warpgroup, which is the block, a tile. Both operands lie in shared memory with M and N fastest, the form in which
 * the weight gradient has them. wgmma is of sm_90a alone: in any other image the kernel gives its tiles up.
 */
#include "tc_probe.h"

#include "launch.cuh"
#include "ptx.cuh"
#include "ptx_async.cuh"
#include "ptx_wgmma.cuh"
#include "tc_probe_stage.cuh"

constexpr int threads = 128; // a warpgroup

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int rows = 64, cols = ptx_wgmma_n;

/* Where accumulator i of a thread stands, from its first one on: ptx_wgmma_m64n256k16_bf16. */
static __device__ __forceinline__ int accumulator_at(int i)
{
    return i / 4 * 8 + i % 4 / 2 * 8 * cols + i % 2;
}

/* With `scale_d` false the instruction is not to read its accumulators. They hold a NaN then: should it read them all
 * the same, it shows. Not known when this is compiled: the compiler would put zeros in their place. */
static __device__ __forceinline__ void compute_tile(const struct sb_tc_probe_tiles &tiles, int64_t tile, bool scale_d)
{
    alignas(stage_alignment) __shared__ unsigned char a[stage_bytes(rows)];
    alignas(stage_alignment) __shared__ unsigned char b[stage_bytes(cols)];
    stage_a(a, tiles.a + tile * rows * stage_depth, rows);
    stage_b(b, tiles.b + tile * stage_depth * cols, cols);

    const int lane = threadIdx.x % 32;
    const int64_t first = (tile * rows + threadIdx.x / 32 * 16 + lane / 4) * cols + lane % 4 * 2;
    float sum[ptx_wgmma_accumulators];
#pragma unroll
    for (int i = 0; i < ptx_wgmma_accumulators; i++)
        sum[i] = __uint_as_float(scale_d ? tiles.c[first + accumulator_at(i)] : 0x7FC12345u);

    ptx_fence_proxy_async(); // the staged operands, for wgmma's own way to shared memory
    __syncthreads();
    ptx_wgmma_results(sum); // the sums so far, too, are in their registers before the fence
    ptx_wgmma_fence();
    ptx_wgmma_m64n256k16_bf16(sum, ptx_wgmma_descriptor(ptx_shared_address(a), stage_column_bytes),
                              ptx_wgmma_descriptor(ptx_shared_address(b), stage_column_bytes), scale_d);
    ptx_wgmma_commit_group();
    ptx_wgmma_wait_group<0>();
    ptx_wgmma_results(sum);
#pragma unroll
    for (int i = 0; i < ptx_wgmma_accumulators; i++)
        tiles.d[first + accumulator_at(i)] = __float_as_uint(sum[i]);
}
#endif

static __global__ __launch_bounds__(threads) void tc_probe_wgmma(const struct sb_tc_probe_tiles tiles, bool scale_d)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    compute_tile(tiles, blockIdx.x, scale_d);
#else
    if (threadIdx.x == 0)
        atomicAdd(tiles.unfinished, 1u);
#endif
}

extern "C" int sb_tc_probe_wgmma(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    return (int)sb_launch(tc_probe_wgmma, dim3((unsigned)tiles->tiles), dim3(threads), 0, (cudaStream_t)stream, *tiles,
                          true);
}

extern "C" int sb_tc_probe_wgmma_d0(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    return (int)sb_launch(tc_probe_wgmma, dim3((unsigned)tiles->tiles), dim3(threads), 0, (cudaStream_t)stream, *tiles,
                          false);
}
