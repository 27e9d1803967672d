/* wgrad_wgmma_output.cuh - how the warpgroups of wgrad_varlen_k_wgmma.cu write dw: by way of shared memory, from where
 * bulk tensor copies take it on their own time. */
#ifndef SAMEBITS_GPU_WGRAD_WGMMA_OUTPUT_CUH
#define SAMEBITS_GPU_WGRAD_WGMMA_OUTPUT_CUH

#include "wgrad_wgmma_shape.cuh"
#include "wgrad_output.cuh"
#include "wgrad_ring.cuh"

/* Where a warpgroup writes its outputs on the way to dw, and from which of its threads' point of view. */
struct writer {
    const struct sb_wgrad_args *args;
    const CUtensorMap *dw_map;
    uint32_t boxes;        // .shared address of out_boxes boxes of 64 rows x 128 bytes, swizzled
    int group, warp, lane; // the warp and the lane within the warpgroup
};

static __device__ __forceinline__ struct writer writer_of(uint32_t shared, const struct sb_wgrad_args *args,
                                                          const CUtensorMap *dw_map, int group, int warp, int lane)
{
    const uint32_t boxes = shared + (uint32_t)(offsetof(struct shared_parts, out) + group * out_boxes * out_box_bytes);
    return {args, dw_map, boxes, group, warp, lane};
}

/* Byte, in a box, of 16-byte chunk `chunk` of row `row`. */
static __device__ __forceinline__ uint32_t out_byte(int row, int chunk)
{
    return (uint32_t)(row * row_bytes + (chunk ^ row % 8) * 16);
}

/* 8-column groups that main_grad is added to at a time. */
constexpr int batch_groups = 8;

/* What main_grad has in this thread's places of a batch of groups; zeros past the ends, where nothing is written. */
static __device__ __forceinline__ void load_grad(uint2 was[batch_groups][2], const struct writer *writer,
                                                 const struct wgrad_tile *tile, int first_group)
{
    const struct sb_wgrad_args *args = writer->args;
    const int32_t m = tile->m0 + writer->group * group_m + writer->warp * 16 + writer->lane / 4;
    const int32_t n = tile->n0 + writer->lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int32_t left = m + half * 8 < args->M ? (int32_t)args->N - n : 0; // columns, from this thread's first on
        const uint32_t *grad = args->main_grad + (tile->e * args->M + m + half * 8) * args->N + n;
#pragma unroll
        for (int i = 0; i < batch_groups; i++)
            was[i][half] =
                (first_group + i) * 8 < left ? __ldcs((const uint2 *)(grad + (first_group + i) * 8)) : make_uint2(0, 0);
    }
}

/* `sum`: the batch's. */
static __device__ __forceinline__ void add_grad(float *sum, const uint2 was[batch_groups][2], bool empty)
{
#pragma unroll
    for (int i = 0; i < batch_groups; i++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float *const pair = sum + i * 4 + half * 2;
            pair[0] = __uint_as_float(sb_wgrad_onto(was[i][half].x, empty, __float_as_uint(pair[0])));
            pair[1] = __uint_as_float(sb_wgrad_onto(was[i][half].y, empty, __float_as_uint(pair[1])));
        }
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

/* A warpgroup's 64 x 256 outputs on their way to dw. All of bf16 finds room at once; of f32 two boxes are written while
 * two leave; with main_grad it is as many as there are registers for. They leave on their own time, while the next tile
 * is computed. */
template <bool onto, bool narrow>
static __device__ __forceinline__ void write_outputs(float sum[ptx_wgmma_accumulators], const struct writer *writer,
                                                     const struct wgrad_tile *tile)
{
    constexpr int box_groups = narrow ? 8 : 4;
    constexpr int boxes = onto ? batch_groups / box_groups : narrow ? out_boxes : out_boxes / 2; // at a time
    constexpr int all_boxes = ptx_wgmma_accumulators / 4 / box_groups;
    const bool leader = writer->warp == 0 && writer->lane == 0;
#pragma unroll
    for (int first = 0; first < all_boxes; first += boxes) {
        float *const sums = sum + first * box_groups * 4;
        const uint32_t to = writer->boxes + (uint32_t)(first % out_boxes * out_box_bytes);
        uint2 was[batch_groups][2];
        if (onto)
            load_grad(was, writer, tile, first * box_groups);
        if (leader)
            ptx_bulk_wait_group_read<out_boxes / boxes - 1>(); // what these boxes held has left
        ptx_bar_sync(out_barrier + writer->group, warps_of_group * 32);
        if (onto)
            add_grad(sums, was, tile->length == 0);
#pragma unroll
        for (int i = 0; i < boxes; i++) {
            if (narrow)
                write_bf16(to + i * out_box_bytes, sums + i * box_groups * 4, writer->warp, writer->lane);
            else
                write_f32(to + i * out_box_bytes, sums + i * box_groups * 4, writer->warp, writer->lane);
        }
        ptx_fence_proxy_async();
        ptx_bar_sync(out_barrier + writer->group, warps_of_group * 32);
        if (leader) {
#pragma unroll
            for (int i = 0; i < boxes; i++)
                ptx_bulk_store_3d(writer->dw_map, tile->n0 + (first + i) * box_groups * 8,
                                  tile->m0 + writer->group * group_m, tile->e, to + i * out_box_bytes);
            ptx_bulk_commit_group();
        }
    }
}

#endif
