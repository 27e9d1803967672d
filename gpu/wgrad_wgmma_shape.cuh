/* wgrad_wgmma_shape.cuh - the shape of wgrad_varlen_k_wgmma.cu, as wgrad_ring.cuh wants to know it. Included by the
 * parts of that kernel alone. */
#ifndef SAMEBITS_GPU_WGRAD_WGMMA_SHAPE_CUH
#define SAMEBITS_GPU_WGRAD_WGMMA_SHAPE_CUH

#include "ptx_wgmma.cuh"

constexpr int stages = 3;
constexpr bool bounded_waits = false;

constexpr int group_m = 64;    // of a warpgroup: the instruction's
constexpr int multipliers = 2; // warpgroups that multiply
constexpr int warps_of_group = 4;
constexpr int threads = (1 + multipliers) * warps_of_group * 32;
/* A block begins with as many registers a thread as 64 Ki / threads allows, a multiple of 8; it hands them over among
 * its warps and gets no more: asking for more waits for ever. Gathering keeps rows at hand. */
constexpr int first_registers = 65536 / threads / 8 * 8;
static constexpr __host__ __device__ int copy_registers(bool gather)
{
    return gather ? 72 : 40;
}
static constexpr __host__ __device__ int multiply_registers(bool gather)
{
    return ((1 + multipliers) * first_registers - copy_registers(gather)) / multipliers / 8 * 8;
}

/* dw leaves in boxes of 128 bytes by 64 rows. A warpgroup has room for four. */
constexpr int out_box_bytes = group_m * 128;
constexpr int out_boxes = 4;
constexpr int out_bytes = multipliers * out_boxes * out_box_bytes;

constexpr int out_barrier = 1; // and the next, a warpgroup each; 0 is __syncthreads'

#endif
