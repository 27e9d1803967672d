/* wgrad_varlen_k_mma_sync.cu - BF16 grouped weight gradient over a jagged token axis, by mma.sync.
 *
 *     dw[e,m,n] = sum over k = cu_seqlens[e] .. cu_seqlens[e+1]-1 of dy[k,m] * x[row(k),n]
 *
 * with row(k) = x_gather_idx[k], or k. Contract: ref/CONTRACTS.md section 4.
 *
 * Order of rounding: one f32 accumulator per output, +0 at first. k ascends from the segment's own start in steps
 * of 16; each step is one mma.sync.m16n8k16, that is one fused dot product of 16 pairs and the accumulator. Rows of
 * a short last step that lie past the segment are zeros in BOTH operands and are never read: they belong to somebody
 * else and may hold NaN, and 0 * NaN is NaN. Then, once, main_grad + sum in f32; then, once, bf16 to nearest even.
 *
 * Shape: as many blocks as the GPU has multiprocessors, each computing 192 x 256 tiles over whole segments, eight warps
 * of 96 x 64 outputs. Both operands lie in global memory as rows of k, which is also how all threads stage them with
 * cp.async: three stages of 32 rows that run on from tile to tile. ldmatrix.trans turns them into the fragments that
 * mma wants.
 *
 *   wgrad_mma_sync_ring.cuh      the shape, the stages and their barriers
 *   wgrad_mma_sync_feed.cuh      copies into stages
 *   wgrad_mma_sync_output.cuh    dw
 *
 * mma.sync takes its operands from registers, so shared memory's time is what runs short: fragments take half of it,
 * copies the more the smaller the tile is. Hence the large tile, with as many sums a thread as registers hold; hence
 * fragments loaded while others multiply, the next step's in the place of this one's. Only instructions that sm_90 and
 * every Blackwell target have, and the shared memory of sm_120. sm_80 to sm_89 have another dot product: 24 bits, and
 * the 16 pairs in two fused steps of 8.
 */
#include "wgrad_varlen_k.h"

#include "launch.cuh"
#include "ptx.cuh"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_mma_sync_feed.cuh"
#include "wgrad_mma_sync_output.cuh"
#include "wgrad_mma_sync_ring.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* ---- Fragments --------------------------------------------------------------------------------------------------- */

/* The row of k and the 8-column group whose address this lane gives ldmatrix.x4.trans for one fragment load.
 * dy is the mma's A (m16 x k16): its matrices follow as (k 0, m 0), (k 0, m 8), (k 8, m 0), (k 8, m 8).
 * x is B (k16 x n8), two of them a load: (k 0, n 0), (k 8, n 0), (k 0, n 8), (k 8, n 8). */
static __device__ __forceinline__ int dy_lane_row(int lane)
{
    return lane % 8 + 8 * (lane / 16);
}
static __device__ __forceinline__ int dy_lane_chunk(int lane)
{
    return (lane / 8) % 2;
}
static __device__ __forceinline__ int x_lane_row(int lane)
{
    return lane % 8 + 8 * ((lane / 8) % 2);
}
static __device__ __forceinline__ int x_lane_chunk(int lane)
{
    return lane / 16;
}

/* What a warp holds of one step. A fragment of dy meets all those of x and makes room; those of x stay. */
constexpr int dy_buffers = 3;
struct fragments {
    uint32_t dy[dy_buffers][4];
    uint32_t x[n_fragments / 2][4];
};

/* .shared addresses, in the first stage, from which a lane loads: everything else is an offset. */
struct lane_places {
    uint32_t dy, x;
};

static __device__ __forceinline__ struct lane_places places_of(uint32_t shared, int warp, int lane)
{
    struct lane_places places;
    places.dy = shared + staged_byte(dy_lane_row(lane), warp / warps_n * 2 + dy_lane_chunk(lane));
    places.x =
        shared + dy_groups * group_bytes + staged_byte(x_lane_row(lane), warp % warps_n * 2 + x_lane_chunk(lane));
    return places;
}

/* Fragment i of the step at byte `step` of the stages. Two lie in a group, four chunks apart. */
static __device__ __forceinline__ void load_dy(struct fragments *f, const struct lane_places *places, uint32_t step,
                                               int i)
{
    ptx_ldmatrix_x4_trans(f->dy[i % dy_buffers], ((places->dy + step) ^ (uint32_t)(i % 2 * 64)) + i / 2 * group_bytes);
}

static __device__ __forceinline__ void load_x(struct fragments *f, const struct lane_places *places, uint32_t step,
                                              int j)
{
    ptx_ldmatrix_x4_trans(f->x[j], places->x + step + j * group_bytes);
}

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

/* Row i of fragments by 16 columns. */
static __device__ __forceinline__ void multiply(float sum[m_fragments][n_fragments][4], const struct fragments *f,
                                                int i, int j)
{
    const uint32_t *dy = f->dy[i % dy_buffers], *x = f->x[j];
    ptx_mma_m16n8k16_bf16(sum[i][j * 2], dy, x[0], x[1]);
    ptx_mma_m16n8k16_bf16(sum[i][j * 2 + 1], dy, x[2], x[3]);
}

/* A step is all its rows but the last two, and then these two together: as its fragments of x have their last use, the
 * next step's take their place, and their loads spread over two rows' time. */
constexpr int last_rows = 2;
constexpr int first_rows = m_fragments - last_rows;

/* Row i of the first rows, of the step at `step`. The first fragment of dy and those of x are loaded before. */
static __device__ __forceinline__ void multiply_row(float sum[m_fragments][n_fragments][4], struct fragments *f,
                                                    const struct lane_places *places, uint32_t step, int i)
{
    if (i == 0)
        load_dy(f, places, step, 1);
    load_dy(f, places, step, i + 2);
#pragma unroll
    for (int j = 0; j < n_fragments / 2; j++)
        multiply(sum, f, i, j);
}

static __device__ __forceinline__ void multiply_last_rows(float sum[m_fragments][n_fragments][4], struct fragments *f,
                                                          const struct lane_places *places, uint32_t next_step)
{
    load_dy(f, places, next_step, 0);
#pragma unroll
    for (int j = 0; j < n_fragments / 2; j++) {
#pragma unroll
        for (int i = first_rows; i < m_fragments; i++)
            multiply(sum, f, i, j);
        load_x(f, places, next_step, j);
    }
}

/* `count` stages, of two steps each or of one. With `whole` as many stages are copied on the way, of which every row
 * and column is there. `to`: this thread's chunk of the first stage. */
template <bool gather>
static __device__ __forceinline__ void
multiply_stages(float sum[m_fragments][n_fragments][4], struct fragments *f, const struct lane_places *places,
                struct ring *ring, struct feed<gather> *feed, uint32_t to, const struct sb_wgrad_args *args, int count,
                bool two_steps, bool whole, int lane)
{
    for (; count > 0; count--) {
        const uint32_t first = ring->offset, second = first + step_bytes;
#pragma unroll
        for (int i = 0; i < first_rows; i++)
            multiply_row(sum, f, places, first, i);
        if (two_steps) {
            multiply_last_rows(sum, f, places, second);
            wait_empty(ring); // half a stage after this warp went on
            const uint32_t stage = to + offset_to_write(ring);
#pragma unroll
            for (int i = 0; i < first_rows; i++) {
                multiply_row(sum, f, places, second, i);
#pragma unroll
                for (int group = i * 2; group < i * 2 + 2 && group < dy_groups + x_groups; group++)
                    if (whole)
                        copy_group(feed, stage, args, true, group);
            }
            if (whole)
                advance_rows(feed, args);
        }
        tell_written(ring);
        advance(ring);
        multiply_last_rows(sum, f, places, ring->offset);
        tell_read(ring, lane);
    }
}

/* The whole segment. Loads of a step that follows the last find another tile's, or nothing, and are not used. */
template <bool gather>
static __device__ __forceinline__ void
multiply_segment(float sum[m_fragments][n_fragments][4], const struct lane_places *places, struct ring *ring,
                 struct feed<gather> *feed, uint32_t to, const struct call *call, int32_t length, int lane)
{
    struct fragments f;
    load_dy(&f, places, ring->offset, 0);
#pragma unroll
    for (int j = 0; j < n_fragments / 2; j++)
        load_x(&f, places, ring->offset, j);
    for (int32_t left = length; left > 0;) {
        seek_next_rows(feed, call);
        const int to_multiply = left / tile_k + (left % tile_k > step_k); // stages of two steps
        const int to_copy = whole_stages(feed, call->args);
        const bool two_steps = to_multiply > 0, whole = two_steps && to_copy > 0;
        if (!whole) {
            wait_empty(ring);
            start_stage(feed, to + offset_to_write(ring), call->args);
        }
        int count = 1;
        if (whole)
            count = to_multiply < to_copy ? to_multiply : to_copy;
        left -= count * tile_k;
        multiply_stages(sum, &f, places, ring, feed, to, call->args, count, two_steps, whole, lane);
    }
}

#endif // sm_90 and later

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* Block b: tiles b, b + blocks, ..., see schedule_tile. */
template <bool gather, bool onto>
static __global__ void __launch_bounds__(threads, 1)
    wgrad_mma_sync(const __grid_constant__ struct sb_wgrad_args args, void *dw, const struct sb_status *status)
{
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(1024) unsigned char dynamic_shared[];
    if (status->code != SB_OK)
        return;
    struct shared_parts *parts = (struct shared_parts *)dynamic_shared;
    const int warp = __shfl_sync(0xFFFFFFFFu, (int)threadIdx.x / 32, 0), lane = (int)threadIdx.x % 32;
    struct ring ring = {ptx_shared_address(parts), 0, 0, 0};
    if (args.E <= schedule_experts)
        schedule_experts_by_length(&parts->schedule, &args);
    if (threadIdx.x == 0)
        init_barriers(ring.shared);
    __syncthreads();

    struct call call = {&args, &parts->schedule, {}, 0};
    call.grid = {(uint32_t)sb_cdiv(args.M, tile_m), (uint32_t)sb_cdiv(args.N, tile_n), tile_m, tile_n};
    call.tiles = (uint32_t)args.E * call.grid.m_tiles * call.grid.n_tiles;
    const struct lane_places places = places_of(ring.shared, warp, lane);
    const uint32_t to = ring.shared + staged_byte(thread_row(), thread_chunk());

    struct feed<gather> feed = {
    };
    feed.tile = blockIdx.x;
    seek_rows(&feed, &call);
    for (int s = 0; s < stages - 1; s++) {
        start_stage(&feed, to + s * stage_bytes, &args);
        ptx_cp_async_mbarrier_arrive(full_barrier(ring.shared, s));
        seek_next_rows(&feed, &call);
    }
    ptx_mbarrier_wait(full_barrier(ring.shared, 0), 0);
    constexpr int batch = onto ? gather ? 2 : 4 : 1; // as registers allow
    for (uint32_t t = blockIdx.x; t < call.tiles; t += gridDim.x) {
        float sum[m_fragments][n_fragments][4] = {}; // +0
        multiply_segment(sum, &places, &ring, &feed, to, &call, tile_at(&call, t).length, lane);
        const struct wgrad_tile tile = tile_at(&call, t); // looked up again rather than kept: registers are short
        if (args.out_dtype == SB_F32)
            store_tile<onto, false, batch>(sum, &args, dw, &tile, warp, lane);
        else
            store_tile<onto, true, batch>(sum, &args, dw, &tile, warp, lane);
    }
#else
    __trap(); // an image for a GPU whose mma.sync keeps another contract
#endif
}

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* Everything that needs no device. */
static struct sb_status check_call(const struct sb_wgrad_args *args, const void *dw)
{
    return sb_wgrad_check_tiles(args, dw, tile_m, tile_n);
}

extern "C" const int sb_dynamic_shared_bytes_wgrad_mma_sync; // read from the object by tests/sass.py
const int sb_dynamic_shared_bytes_wgrad_mma_sync = (int)sizeof(struct shared_parts);

template <bool gather, bool onto>
static cudaError_t launch(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                          cudaStream_t stream)
{
    int major = 0, multiprocessors = 0;
    const cudaError_t error = sb_wgrad_ask_device(&major, &multiprocessors);
    if (error != cudaSuccess)
        return error;
    return sb_launch_large(wgrad_mma_sync<gather, onto>, dim3((unsigned)multiprocessors), dim3(threads),
                           sizeof(struct shared_parts), stream, *args, dw, status);
}

template <bool onto>
static cudaError_t launch_for(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                              cudaStream_t stream)
{
    return args->x_gather_idx ? launch<true, onto>(args, dw, status, stream)
                              : launch<false, onto>(args, dw, status, stream);
}

static cudaError_t compute(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                           cudaStream_t stream)
{
    return args->main_grad ? launch_for<true>(args, dw, status, stream) : launch_for<false>(args, dw, status, stream);
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k_mma_sync(const struct sb_wgrad_args *args, void *dw,
                                                           struct sb_status *status, void *stream)
{
    return sb_wgrad_run(args, dw, status, stream, check_call, compute);
}

/* ---- Adapter ----------------------------------------------------------------------------------------------------- */

extern "C" struct sb_gpu_result sb_run_wgrad_varlen_k_mma_sync(const struct sb_gpu_call *call)
{
    return sb_wgrad_run_call(call, check_call, sb_wgrad_varlen_k_mma_sync);
}

extern "C" const char *sb_cannot_wgrad_varlen_k_mma_sync(const struct sb_gpu_call *, int compute_capability)
{
    if (compute_capability < 90)
        return "mma.sync before sm_90 keeps 24 bits and fuses 8 pairs: contract TC is 25 bits and 16 pairs";
    return NULL;
}
