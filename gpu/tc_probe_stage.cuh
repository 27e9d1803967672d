/* tc_probe_stage.cuh - a tile's operands in shared memory, as wgmma and tcgen05.mma read them: M or N fastest, 128-byte
 * swizzle. Both instructions' descriptors take atoms of 64 elements of M or N by 8 rows of k: */
#ifndef SAMEBITS_GPU_TC_PROBE_STAGE_CUH
#define SAMEBITS_GPU_TC_PROBE_STAGE_CUH

#include <stdint.h>

constexpr int stage_depth = 16;                                   // rows of k: one instruction's
constexpr int stage_atom = 64;                                    // elements of an atom's row
constexpr int stage_row_bytes = stage_atom * 2;                   // 128
constexpr int stage_column_bytes = stage_depth * stage_row_bytes; // from 64 columns to the next 64
constexpr int stage_alignment = 1024;                             // of an operand: the swizzle counts rows from there

static constexpr __host__ __device__ int stage_bytes(int columns)
{
    return columns / stage_atom * stage_column_bytes;
}

/* Where element (k, column) of a staged operand stands. Its 16-byte chunk is XORed with the low three bits of k. */
static __device__ __forceinline__ uint16_t *stage_at(unsigned char *operand, int k, int column)
{
    const int chunk = column % stage_atom / 8;
    return (uint16_t *)(operand + column / stage_atom * stage_column_bytes + k * stage_row_bytes +
                        ((chunk ^ (k & 7)) * 16) + column % 8 * 2);
}

/* a: [columns][16] in global memory, k fastest. All threads of the block. */
static __device__ __forceinline__ void stage_a(unsigned char *operand, const uint16_t *a, int columns)
{
    for (int i = threadIdx.x; i < columns * stage_depth; i += blockDim.x)
        *stage_at(operand, i % stage_depth, i / stage_depth) = a[i];
}

/* b: [16][columns]. */
static __device__ __forceinline__ void stage_b(unsigned char *operand, const uint16_t *b, int columns)
{
    for (int i = threadIdx.x; i < stage_depth * columns; i += blockDim.x)
        *stage_at(operand, i / columns, i % columns) = b[i];
}

#endif
