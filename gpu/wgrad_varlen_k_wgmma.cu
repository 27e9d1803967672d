/* wgrad_varlen_k_wgmma.cu - BF16 grouped weight gradient over a jagged token axis, by wgmma: sm_90a.
 *
 *     dw[e,m,n] = sum over k = cu_seqlens[e] .. cu_seqlens[e+1]-1 of dy[k,m] * x[row(k),n]
 *
 * with row(k) = x_gather_idx[k], or k. Contract: ref/CONTRACTS.md section 4.
 *
 * Order of rounding: one f32 accumulator per output, +0 at first. k ascends from the segment's own start in steps of
 * 16; each step is one wgmma of k16, that is one fused dot product of 16 pairs and the accumulator. Then, once,
 * main_grad + sum in f32; then, once, bf16 to nearest even.
 *
 * Shape: as many blocks as the GPU has multiprocessors, each computing 128 x 256 tiles over whole segments. Both
 * operands lie in global memory as rows of k; bulk tensor copies bring boxes of 64 rows x 64 columns into shared memory
 * as they are, swizzled, and wgmma takes them with M and N fastest. A segment may begin at any row. Three stages of 64
 * rows; the room that a fourth would take holds outputs on their way to dw.
 *
 *   warp 0        starts the copies                                                   wgrad_feed.cuh
 *   warp 1        clears rows past the segment's end
 *   warps 2, 3    with x_gather_idx: copy the rows of x, which no bulk copy of sm_90 can gather
 *   warps 4-11    two warpgroups multiply, 64 x 256 outputs each,                     here
 *                 and write dw                                                        wgrad_wgmma_output.cuh
 *
 * Two neighbouring blocks in M form a cluster and bring half of their common x tile each, for both.
 *
 * Rows past the segment: a box's last rows may be somebody else's, NaN for all we know, so those of a short last step
 * are cleared in shared memory, in BOTH operands (0 * NaN is NaN); steps past it are not computed. Such a stage is
 * `landed` first, and `full` when it is cleared.
 */
#include "wgrad_varlen_k.h"

#include "launch.cuh"
#include "tensor_map.h"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_wgmma_shape.cuh"
#include "wgrad_feed.cuh"
#include "wgrad_ring.cuh"
#include "wgrad_wgmma_output.cuh"

static_assert(tile_m == multipliers * group_m && tile_n == ptx_wgmma_n, "a warpgroup, half a tile");

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* ---- Warps 4 to 11: products ------------------------------------------------------------------------------------- */

/* This warp reads the stage no more. */
template <int cluster> static __device__ __forceinline__ void release(uint32_t shared, int stage, int lane)
{
    if (lane < cluster)
        ptx_mbarrier_arrive_cluster(empty_barrier(shared, stage), (uint32_t)lane);
}

/* Starts `steps` steps of one stage. Written out for each number: in a loop ptxas would wait for every wgmma. */
template <int steps>
static __device__ __forceinline__ void multiply_steps(float sum[ptx_wgmma_accumulators], uint64_t dy, uint64_t x)
{
    ptx_wgmma_fence();
#pragma unroll
    for (int step = 0; step < steps; step++)
        ptx_wgmma_m64n256k16_bf16(sum, ptx_wgmma_descriptor_at(dy, step * step_bytes),
                                  ptx_wgmma_descriptor_at(x, step * step_bytes), true);
    ptx_wgmma_commit_group();
}

/* A warpgroup's way through the stages. */
struct reader {
    uint32_t shared;
    struct place place;
    int unfinished; // the stage whose steps may still be under way, or -1
    int group, lane;
};

/* Waits for the next stage and starts its first `steps` steps; lets go of the stage before. */
template <int cluster, int steps>
static __device__ __forceinline__ void multiply_stage(float sum[ptx_wgmma_accumulators], struct reader *reader)
{
    const int stage = reader->place.stage;
    const uint64_t dy = ptx_wgmma_descriptor(dy_box(reader->shared, stage, reader->group), box_bytes);
    const uint64_t x = ptx_wgmma_descriptor(x_box(reader->shared, stage, 0), box_bytes);
    ptx_mbarrier_wait(full_barrier(reader->shared, stage), reader->place.parity);
    multiply_steps<steps>(sum, dy, x);
    ptx_wgmma_wait_group<1>();
    if (reader->unfinished >= 0)
        release<cluster>(reader->shared, reader->unfinished, reader->lane);
    reader->unfinished = stage;
    advance(&reader->place);
}

/* Starts all steps of a warpgroup's 64 x 256 outputs. */
template <int cluster>
static __device__ __forceinline__ void start_tile(float sum[ptx_wgmma_accumulators], struct reader *reader,
                                                  int32_t length)
{
    const int last_steps = (length % tile_k + step_k - 1) / step_k; // of a stage that has not all of them
#pragma unroll
    for (int i = 0; i < ptx_wgmma_accumulators; i++)
        sum[i] = 0;
    for (int s = 0; s < length / tile_k; s++)
        multiply_stage<cluster, tile_k / step_k>(sum, reader);
    if (last_steps == 1)
        multiply_stage<cluster, 1>(sum, reader);
    else if (last_steps == 2)
        multiply_stage<cluster, 2>(sum, reader);
    else if (last_steps == 3)
        multiply_stage<cluster, 3>(sum, reader);
    else if (last_steps == 4)
        multiply_stage<cluster, 4>(sum, reader);
}

/* The sums, as ptx_wgmma_m64n256k16_bf16 lays them out, are there. */
template <int cluster>
static __device__ __forceinline__ void finish_tile(float sum[ptx_wgmma_accumulators], struct reader *reader)
{
    ptx_wgmma_wait_group<0>();
    ptx_wgmma_results(sum);
    if (reader->unfinished >= 0)
        release<cluster>(reader->shared, reader->unfinished, reader->lane);
    reader->unfinished = -1;
}

/* Two warpgroups; warp 0..7 of them. */
template <int cluster, bool onto>
static __device__ __forceinline__ void multiply_tiles(uint32_t shared, const struct call *call, uint32_t first,
                                                      uint32_t step, const CUtensorMap *dw_map, int warp, int lane)
{
    const int group = warp / warps_of_group;
    const struct writer writer = writer_of(shared, call->args, dw_map, group, warp % warps_of_group, lane);
    struct reader reader = {shared, {0, 0}, -1, group, lane};
    struct wgrad_tile next = tile_at<cluster>(call, first < call->tiles ? first : 0);
    for (uint32_t t = first; t < call->tiles; t += step) {
        const struct wgrad_tile tile = next;
        float sum[ptx_wgmma_accumulators];
        start_tile<cluster>(sum, &reader, tile.length);
        if (t + step < call->tiles)
            next = tile_at<cluster>(call, t + step); // while the last steps are under way
        finish_tile<cluster>(sum, &reader);
        if (call->args->out_dtype == SB_F32)
            write_outputs<onto, false>(sum, &writer, &tile);
        else
            write_outputs<onto, true>(sum, &writer, &tile);
    }
    ptx_bulk_wait_group_read<0>(); // a block's shared memory must outlast the copies from it
}

#endif // sm_90a

/* ---- Kernel ------------------------------------------------------------------------------------------------------ */

/* Block b: the tiles of its cluster, see schedule_tile. */
template <bool gather, int cluster, bool onto>
static __global__ void __launch_bounds__(threads, 1)
    wgrad_wgmma(const __grid_constant__ struct sb_wgrad_args args, const struct sb_status *status,
                const __grid_constant__ struct maps maps)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ unsigned char dynamic_shared[];
    if (status->code != SB_OK)
        return;
    struct shared_parts *parts =
        (struct shared_parts *)(((uintptr_t)dynamic_shared + stage_alignment - 1) / stage_alignment * stage_alignment);
    const uint32_t shared = ptx_shared_address(parts);
    const int warp = __shfl_sync(0xFFFFFFFFu, (int)threadIdx.x / 32, 0), lane = (int)threadIdx.x % 32;
    if (args.E <= schedule_experts)
        schedule_experts_by_length(&parts->schedule, &args);
    if (threadIdx.x == 0)
        init_barriers(shared, gather ? 1 + gather_warps : 1, cluster * multipliers * warps_of_group);
    __syncthreads();
    if (cluster > 1)
        ptx_cluster_barrier(); // the other block's barriers are there before anything arrives at them

    struct call call = {&args, &parts->schedule, {}, 0};
    call.grid = {(uint32_t)sb_cdiv(args.M, tile_m * cluster), (uint32_t)sb_cdiv(args.N, tile_n), tile_m * cluster,
                 tile_n};
    call.tiles = (uint32_t)args.E * call.grid.m_tiles * call.grid.n_tiles;
    const uint32_t first = blockIdx.x / cluster, step = gridDim.x / cluster;
    if (warp < warps_of_group) {
        ptx_setmaxnreg_dec<copy_registers(gather)>();
        if (warp == 0 && lane == 0)
            copy_tiles<gather, cluster>(shared, &call, first, step, &maps);
        else if (warp == 1)
            clear_tiles<gather, cluster>(shared, parts, &call, first, step, lane);
        else if (gather && warp >= 2)
            gather_tiles<cluster>(shared, &call, first, step, warp - 2, lane);
    } else {
        ptx_setmaxnreg_inc<multiply_registers(gather)>();
        multiply_tiles<cluster, onto>(shared, &call, first, step, &maps.dw, warp - warps_of_group, lane);
    }
    if (cluster > 1) {
        __syncwarp();
        ptx_cluster_barrier(); // the other block may still write to this one's shared memory
    }
#endif
}

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

static cudaError_t map_call(struct maps *maps, const struct sb_wgrad_args *args, void *dw)
{
    *maps = {};
    cudaError_t error = map_matrix(&maps->dy, args->dy, args->T, args->M, args->ld_dy);
    if (error == cudaSuccess && !args->x_gather_idx)
        error = map_matrix(&maps->x, args->x, args->Tx, args->N, args->ld_x);
    if (error == cudaSuccess)
        error = sb_tensor_map_planes(&maps->dw, dw, args->out_dtype, args->E, args->M, args->N, group_m);
    return error;
}

extern "C" const int sb_dynamic_shared_bytes_wgrad_wgmma; // read from the object by tests/sass.py
const int sb_dynamic_shared_bytes_wgrad_wgmma = (int)shared_bytes;

template <bool gather, int cluster, bool onto>
static cudaError_t launch(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                          cudaStream_t stream)
{
    struct maps maps;
    int major = 0, multiprocessors = 0;
    cudaError_t error = sb_wgrad_ask_device(&major, &multiprocessors);
    if (error == cudaSuccess) // elsewhere the kernel is empty, and would leave dw as it is
        error = major == 9 ? map_call(&maps, args, dw) : cudaErrorNotSupported;
    if (error != cudaSuccess)
        return error;
    const unsigned blocks = (unsigned)(multiprocessors / cluster * cluster);
    return sb_launch_clusters(wgrad_wgmma<gather, cluster, onto>, cluster, dim3(blocks), dim3(threads), shared_bytes,
                              stream, *args, status, maps);
}

/* Clusters where two blocks have tiles side by side and can share what they read. */
template <bool onto>
static cudaError_t launch_for(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                              cudaStream_t stream)
{
    if (args->x_gather_idx)
        return launch<true, 1, onto>(args, dw, status, stream);
    if (args->M <= tile_m)
        return launch<false, 1, onto>(args, dw, status, stream);
    return launch<false, 2, onto>(args, dw, status, stream);
}

static cudaError_t compute(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                           cudaStream_t stream)
{
    return args->main_grad ? launch_for<true>(args, dw, status, stream) : launch_for<false>(args, dw, status, stream);
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k_wgmma(const struct sb_wgrad_args *args, void *dw,
                                                        struct sb_status *status, void *stream)
{
    return sb_wgrad_run(args, dw, status, stream, check_call, compute);
}

/* ---- Adapter ----------------------------------------------------------------------------------------------------- */

extern "C" struct sb_gpu_result sb_run_wgrad_varlen_k_wgmma(const struct sb_gpu_call *call)
{
    return sb_wgrad_run_call(call, check_call, sb_wgrad_varlen_k_wgmma);
}
