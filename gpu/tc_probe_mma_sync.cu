/* tc_probe_mma_sync.cu - tiles of 16x8 dot products, one mma.sync.m16n8k16 each. Contract: tc_probe.h.
 *
 * A warp a tile. Every lane loads its own elements of the fragments, where the instruction set says they are
 * (ptx_mma_m16n8k16_bf16): nothing between memory and the instruction can go wrong by itself.
 */
#include "tc_probe.h"

#include "launch.cuh"
#include "ptx.cuh"

constexpr int rows = 16, cols = 8, depth = 16;
constexpr int warps = 8; // a block; any number would do

/* Two bf16 that follow each other along k. */
static __device__ __forceinline__ uint32_t a_pair(const uint16_t *a, int m, int k)
{
    return *(const uint32_t *)(a + m * depth + k);
}
static __device__ __forceinline__ uint32_t b_pair(const uint16_t *b, int k, int n)
{
    return b[k * cols + n] | (uint32_t)b[(k + 1) * cols + n] << 16;
}

static __global__ void tc_probe_mma_sync(const struct sb_tc_probe_tiles tiles)
{
    const int64_t tile = (int64_t)blockIdx.x * warps + threadIdx.x / 32;
    if (tile >= tiles.tiles)
        return; // the whole warp
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4 * 2;
    const uint16_t *const a = tiles.a + tile * rows * depth, *const b = tiles.b + tile * depth * cols;
    const uint32_t *const c = tiles.c + tile * rows * cols;
    uint32_t *const d = tiles.d + tile * rows * cols;

    const uint32_t a_fragment[4] = {a_pair(a, g, t), a_pair(a, g + 8, t), a_pair(a, g, t + 8), a_pair(a, g + 8, t + 8)};
    const int at[4] = {g * cols + t, g * cols + t + 1, (g + 8) * cols + t, (g + 8) * cols + t + 1};
    float sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = __uint_as_float(c[at[i]]);
    ptx_mma_m16n8k16_bf16(sum, a_fragment, b_pair(b, t, g), b_pair(b, t + 8, g));
    for (int i = 0; i < 4; i++)
        d[at[i]] = __float_as_uint(sum[i]);
}

extern "C" int sb_tc_probe_mma_sync(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    return (int)sb_launch(tc_probe_mma_sync, dim3((unsigned)sb_cdiv(tiles->tiles, warps)), dim3(warps * 32), 0,
                          (cudaStream_t)stream, *tiles);
}
