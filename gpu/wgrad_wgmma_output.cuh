/* wgrad_wgmma_output.cuh - how the warpgroups of wgrad_varlen_k_wgmma.cu write dw: by way of shared memory, from where
 * bulk tensor copies take it on their own time. */
#ifndef SAMEBITS_GPU_WGRAD_WGMMA_OUTPUT_CUH
#define SAMEBITS_GPU_WGRAD_WGMMA_OUTPUT_CUH

#include "wgrad_output.cuh"
#include "wgrad_wgmma_ring.cuh"

/* Where a warpgroup writes its outputs on the way to dw, and from which of its threads' point of view. */
struct writer {
    const struct sb_wgrad_args *args;
    const CUtensorMap *dw_map;
    uint32_t boxes;        // .shared address of out_boxes boxes of 64 rows x 128 bytes, swizzled
    int group, warp, lane; // the warp and the lane within the warpgroup
};

/* Byte, in a box, of 16-byte chunk `chunk` of row `row`. */
static __device__ __forceinline__ uint32_t out_byte(int row, int chunk)
{
    return (uint32_t)(row * row_bytes + (chunk ^ row % 8) * 16);
}

/* What main_grad has at an even place of this row, or zeros past the end. */
static __device__ __forceinline__ uint2 grad_pair(const struct sb_wgrad_args *args, int64_t row, bool inside, int32_t n)
{
    return inside && n < args->N ? __ldcs((const uint2 *)(args->main_grad + row * args->N + n)) : make_uint2(0, 0);
}

/* Adds `count` groups of 8 columns, the first of them `first`, of this thread's sums to main_grad. */
template <int count>
static __device__ __forceinline__ void add_grad(float sum[ptx_wgmma_accumulators], const struct writer *writer,
                                                const struct wgrad_tile *tile, int first)
{
    const int32_t m = tile->m0 + writer->group * group_m + writer->warp * 16 + writer->lane / 4;
    const int32_t n = tile->n0 + writer->lane % 4 * 2;
    const bool empty = tile->length == 0;
    uint2 was[count][2];
#pragma unroll
    for (int i = 0; i < count; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            was[i][half] = grad_pair(writer->args, tile->e * writer->args->M + m + half * 8,
                                     m + half * 8 < writer->args->M, n + (first + i) * 8);
#pragma unroll
    for (int i = 0; i < count; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float *const pair = sum + (first + i) * 4 + half * 2;
            pair[0] = __uint_as_float(sb_wgrad_onto(was[i][half].x, empty, __float_as_uint(pair[0])));
            pair[1] = __uint_as_float(sb_wgrad_onto(was[i][half].y, empty, __float_as_uint(pair[1])));
        }
}

/* This thread's part of a box of f32: 4 groups of 8 columns, from accumulator `at` on. */
static __device__ __forceinline__ void write_f32(uint32_t box, const float *sum, int warp, int lane)
{
    const int row = warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            ptx_st_shared_v2(box + out_byte(row + half * 8, i * 2 + lane % 4 / 2) + (uint32_t)(lane % 2 * 8),
                             __float_as_uint(sum[i * 4 + half * 2]), __float_as_uint(sum[i * 4 + half * 2 + 1]));
}

/* The same of bf16: 8 groups. Matrices as they follow in a store: (columns i, rows 0-7), (i, rows 8-15), then of i + 1.
 */
static __device__ __forceinline__ void write_bf16(uint32_t box, const float *sum, int warp, int lane)
{
    const int row = warp * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        uint32_t pairs[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            pairs[k] = ptx_cvt_rn_bf16x2_f32(sum[i * 4 + k * 2], sum[i * 4 + k * 2 + 1]);
        ptx_stmatrix_x4(box + out_byte(row, i + lane / 16), pairs);
    }
}

/* A warpgroup's 64 x 256 outputs on their way to dw. They leave on their own time, while the next tile is computed. */
template <bool onto, bool narrow>
static __device__ __forceinline__ void write_outputs(float sum[ptx_wgmma_accumulators], const struct writer *writer,
                                                     const struct wgrad_tile *tile)
{
    constexpr int groups = narrow ? 8 : 4; // of 8 columns, in a box
    constexpr int boxes = ptx_wgmma_accumulators / 4 / groups;
    const bool leader = writer->warp == 0 && writer->lane == 0;
#pragma unroll
    for (int batch = 0; batch < boxes; batch += out_batch) {
        if (leader)
            ptx_bulk_wait_group_read<out_boxes / out_batch - 1>(); // the boxes to be written have left
        ptx_bar_sync(out_barrier + writer->group, warps_of_group * 32);
#pragma unroll
        for (int i = 0; i < out_batch; i++) {
            const int box = batch + i;
            const uint32_t to = writer->boxes + (uint32_t)(box % out_boxes * out_box_bytes);
#pragma unroll
            for (int some = 0; onto && some < groups; some += 4)
                add_grad<4>(sum, writer, tile, box * groups + some);
            if (narrow)
                write_bf16(to, sum + box * groups * 4, writer->warp, writer->lane);
            else
                write_f32(to, sum + box * groups * 4, writer->warp, writer->lane);
        }
        ptx_fence_proxy_async();
        ptx_bar_sync(out_barrier + writer->group, warps_of_group * 32);
        if (leader) {
#pragma unroll
            for (int i = 0; i < out_batch; i++)
                ptx_bulk_store_3d(writer->dw_map, tile->n0 + (batch + i) * groups * 8,
                                  tile->m0 + writer->group * group_m, tile->e,
                                  writer->boxes + (uint32_t)((batch + i) % out_boxes * out_box_bytes));
            ptx_bulk_commit_group();
        }
    }
}

#endif
