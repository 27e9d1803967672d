/* tc_probe_tcgen05.cu - tiles of 128x256 dot products, one tcgen05.mma kind::f16 each, by one block (cta_group::1).
 * Contract: tc_probe.h. Compiled, not yet executed.
 *
 * A block of four warps a tile. c goes to tensor memory first, row i to lane i; thread 0 starts the one instruction,
 * with its operands in shared memory, M and N fastest; every warp reads its 32 rows of d back. tcgen05 is of the sm_100
 * family alone: in any other image the kernel gives its tiles up. So it does, and says so, where the instruction is not
 * done in time: a wrong descriptor must not stop a GPU.
 */
#include "tc_probe.h"

#include "launch.cuh"
#include "ptx.cuh"
#include "ptx_async.cuh"
#include "ptx_tcgen05.cuh"
#include "tc_probe_stage.cuh"

#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100
#define HAS_TCGEN05 1
#endif

constexpr int threads = 128; // a row of the tile each

#ifdef HAS_TCGEN05
constexpr int rows = threads, cols = 256; // the largest of one block; 256 columns are half of the tensor memory
constexpr int chunk = 8;                  // columns that one load or store moves

constexpr long long patience = 1LL << 31; // clock cycles: about a second, for an instruction of about a microsecond

// the fields' table, worked out by hand
static_assert(ptx_tcgen05_bf16_descriptor(rows, cols) == 0x08418490, "M 128, N 256, bf16 and f32, both transposed");

/* Has the barrier's first phase completed before patience runs out? */
static __device__ __forceinline__ bool wait_bounded(uint32_t barrier)
{
    for (const long long start = clock64(); clock64() - start < patience;)
        if (ptx_mbarrier_try_wait(barrier, 0))
            return true;
    return false;
}

/* This thread's row of c to tensor memory, and of d from it. `lanes`: the address of the warp's first lane. */
static __device__ __forceinline__ void put_row(uint32_t lanes, const uint32_t *c)
{
    for (int n = 0; n < cols; n += chunk) {
        uint32_t value[chunk];
#pragma unroll
        for (int i = 0; i < chunk; i++)
            value[i] = c[n + i];
        ptx_tcgen05_st_32x32b_x8(lanes + n, value);
    }
    ptx_tcgen05_wait_st();
}

static __device__ __forceinline__ void get_row(uint32_t lanes, uint32_t *d)
{
    for (int n = 0; n < cols; n += chunk) {
        uint32_t value[chunk];
        ptx_tcgen05_ld_32x32b_x8(value, lanes + n);
#pragma unroll
        for (int i = 0; i < chunk; i++)
            d[n + i] = value[i];
    }
}

static __device__ __forceinline__ void compute_tile(const struct sb_tc_probe_tiles &tiles, int64_t tile)
{
    alignas(stage_alignment) __shared__ unsigned char a[stage_bytes(rows)];
    alignas(stage_alignment) __shared__ unsigned char b[stage_bytes(cols)];
    alignas(8) __shared__ uint64_t finished; // the barrier
    __shared__ uint32_t tensor_memory;       // the address of the accumulator
    const int64_t row = tile * rows + threadIdx.x;
    const uint32_t warp = threadIdx.x / 32, barrier = ptx_shared_address(&finished);

    stage_a(a, tiles.a + tile * rows * stage_depth, rows);
    stage_b(b, tiles.b + tile * stage_depth * cols, cols);
    ptx_fence_proxy_async(); // the staged operands, for the instruction's own way to shared memory
    if (threadIdx.x == 0) {
        ptx_mbarrier_init(barrier, 1);
        ptx_fence_mbarrier_init();
    }
    __syncwarp(); // warp 0 is whole again
    if (warp == 0) {
        ptx_tcgen05_alloc(ptx_shared_address(&tensor_memory), cols);
        ptx_tcgen05_relinquish_alloc_permit();
    }
    ptx_tcgen05_fence_before();
    __syncthreads();
    ptx_tcgen05_fence_after();

    const uint32_t sums = tensor_memory, lanes = sums + (warp << 21); // 32 lanes a warp, the lane in bits 31-16
    put_row(lanes, tiles.c + row * cols);
    ptx_tcgen05_fence_before();
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx_tcgen05_fence_after();
        ptx_tcgen05_mma_f16(sums, ptx_tcgen05_descriptor(ptx_shared_address(a), stage_column_bytes),
                            ptx_tcgen05_descriptor(ptx_shared_address(b), stage_column_bytes),
                            ptx_tcgen05_bf16_descriptor(rows, cols));
        ptx_tcgen05_commit(barrier);
    }
    __syncwarp();

    // one answer for all: the loads take whole warps
    if (__syncthreads_and(wait_bounded(barrier))) {
        ptx_tcgen05_fence_after();
        get_row(lanes, tiles.d + row * cols);
    } else if (threadIdx.x == 0) {
        atomicAdd(tiles.unfinished, 1u);
    }
    __syncwarp();
    ptx_tcgen05_fence_before();
    __syncthreads();
    if (warp == 0) {
        ptx_tcgen05_fence_after();
        ptx_tcgen05_dealloc(sums, cols); // kept, the other blocks would wait for it for ever
    }
}
#endif

static __global__ __launch_bounds__(threads) void tc_probe_tcgen05(const struct sb_tc_probe_tiles tiles)
{
#ifdef HAS_TCGEN05
    compute_tile(tiles, blockIdx.x);
#else
    if (threadIdx.x == 0)
        atomicAdd(tiles.unfinished, 1u);
#endif
}

extern "C" int sb_tc_probe_tcgen05(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    return (int)sb_launch(tc_probe_tcgen05, dim3((unsigned)tiles->tiles), dim3(threads), 0, (cudaStream_t)stream,
                          *tiles);
}
