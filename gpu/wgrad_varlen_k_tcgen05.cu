/* wgrad_varlen_k_tcgen05.cu - BF16 grouped weight gradient over a jagged token axis, by tcgen05.mma: the sm_100 family
 * (B200, B300). Compiled, not yet executed.
 *
 *     dw[e,m,n] = sum over k = cu_seqlens[e] .. cu_seqlens[e+1]-1 of dy[k,m] * x[row(k),n]
 *
 * with row(k) = x_gather_idx[k], or k. Contract: ref/CONTRACTS.md section 4.
 *
 * Order of rounding: one f32 accumulator per output, in tensor memory, +0 at first. k ascends from the segment's own
 * start in steps of 16; each step is one tcgen05.mma kind::f16, that is one fused dot product of 16 pairs and the
 * accumulator. Then, once, main_grad + sum in f32; then, once, bf16 to nearest even.
 *
 * The +0 is written there, by tcgen05.st, and every instruction accumulates. One that does not (D = A * B) would spare
 * the write, but its sum has one term less, and nothing published says that its bits are those of c = +0 (no term at
 * all against a zero, whose exponent might count). The write hides behind the products of another tile.
 *
 * Shape: as many blocks as the GPU has multiprocessors, each computing 128 x 256 tiles over whole segments. Both
 * operands lie in global memory as rows of k; bulk tensor copies bring boxes of 64 rows x 64 columns into shared memory
 * as they are, swizzled, and tcgen05.mma takes them with M and N fastest. A segment may begin at any row. Four stages
 * of 64 rows. Tensor memory holds the sums of two tiles: one is written to dw while the other is computed.
 *
 *   warps 0-3     fill stages: copies, rows past the end, gathered rows of x          wgrad_feed.cuh
 *   warps 4-7     write dw, 32 rows of a tile each, and zero its sums for the next    here
 *   warp 8        one thread starts all products                                      here
 *
 * Rows past the segment are cleared in BOTH operands where a step reads them; see wgrad_feed.cuh.
 *
 * Who waits for whom, each at barriers of shared memory, a phase a use:
 *
 *   full, empty, landed (a stage)     the feeding warps and warp 8; tcgen05.commit empties
 *   ready (an accumulator)            the writing warps have zeroed it: warp 8 begins a tile
 *   done (an accumulator)             tcgen05.commit: all products of the tile are in it
 *
 * A tile without rows has no part in any of them.
 *
 * Nothing here has met a GPU, so whoever uses it asks sb_wgrad_tcgen05_fallback() first: a self-check
 * (wgrad_self_check.cuh), in which every wait gives up after a second or so and says so. It runs the same kernel; in
 * other calls the deadline never comes.
 */
#include "wgrad_varlen_k.h"

#include "ptx_tcgen05.cuh"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_output.cuh"
#include "wgrad_self_check.cuh"

/* ---- Shape ------------------------------------------------------------------------------------------------------- */

constexpr int stages = 4;
constexpr bool bounded_waits = true;

constexpr int first_writer =
    4;                     // a multiple of 4: warp w reaches lanes 32 * (w % 4) and up of tensor memory, 32 of them
constexpr int writers = 4; // warps
constexpr int multiplier = first_writer + writers;
constexpr int threads = (multiplier + 1) * 32;

/* A writing warp's outputs change hands in boxes of 32 rows by 32 f32, 16-byte chunks XORed with the row: what a lane
 * has of tensor memory is a row's, and rows of dw are to be written by eight lanes together. */
constexpr int batch = 32;                   // columns of a box
constexpr int batch_bytes = 32 * batch * 4; // rows of 128 bytes
constexpr int out_bytes = writers * batch_bytes;

#include "wgrad_feed.cuh" // after the shape
#include "wgrad_ring.cuh"

static_assert(tile_m == writers * 32, "a lane of tensor memory is a row of the tile");
static_assert(batch * 4 == row_bytes && tile_n % batch == 0, "a row of a box is 128 bytes");

#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100
#define HAS_TCGEN05 1
#endif

#ifdef HAS_TCGEN05

/* ---- Accumulators ------------------------------------------------------------------------------------------------ */

constexpr int accumulators = 2;
constexpr int tensor_columns = accumulators * tile_n; // all that there are: a block has its multiprocessor for itself

struct accumulator_parts {
    uint64_t ready[accumulators], done[accumulators]; // barriers
    uint32_t tensor_memory;                           // the address of the first
};

/* What of a block its warps share. */
struct block {
    uint32_t shared; // .shared addresses: of the shared_parts,
    uint32_t ready, done;
    uint32_t tensor_memory;
};

/* Whose turn it is: both sides take accumulators in turns, over all tiles that have rows. */
struct turn {
    int accumulator;
    uint32_t parity; // of the phase that this turn is
};

static __device__ __forceinline__ void advance(struct turn *turn)
{
    turn->accumulator++;
    if (turn->accumulator == accumulators) {
        turn->accumulator = 0;
        turn->parity ^= 1;
    }
}

static __device__ __forceinline__ uint32_t ready_barrier(const struct block *block, int accumulator)
{
    return block->ready + (uint32_t)(accumulator * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t done_barrier(const struct block *block, int accumulator)
{
    return block->done + (uint32_t)(accumulator * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t accumulator_at(const struct block *block, int accumulator)
{
    return block->tensor_memory + (uint32_t)(accumulator * tile_n);
}

/* ---- Warp 8: products -------------------------------------------------------------------------------------------- */

/* Starts `steps` steps of one stage. */
static __device__ __forceinline__ void multiply_stage(uint32_t sums, uint32_t shared, int stage, int steps)
{
    const uint64_t dy = ptx_tcgen05_descriptor(dy_box(shared, stage, 0), box_bytes);
    const uint64_t x = ptx_tcgen05_descriptor(x_box(shared, stage, 0), box_bytes);
    for (int step = 0; step < steps; step++)
        ptx_tcgen05_mma_f16(sums, ptx_tcgen05_descriptor_at(dy, step * step_bytes),
                            ptx_tcgen05_descriptor_at(x, step * step_bytes),
                            ptx_tcgen05_bf16_descriptor(tile_m, tile_n));
}

/* One thread; false where a wait was given up. */
static __device__ __forceinline__ bool multiply_tiles(const struct block *block, const struct call *call)
{
    struct place place = {0, 0};
    struct turn turn = {0, 0};
    for (uint32_t t = blockIdx.x; t < call->tiles; t += gridDim.x) {
        const struct wgrad_tile tile = tile_at<1>(call, t);
        const int count = stages_of(&tile);
        if (count == 0)
            continue;
        if (!wait_for(block->shared, ready_barrier(block, turn.accumulator), turn.parity))
            return false;
        ptx_tcgen05_fence_after(); // the zeros
        for (int s = 0; s < count; s++, advance(&place)) {
            const int steps = (min(tile.length - s * tile_k, tile_k) + step_k - 1) / step_k;
            if (!wait_for(block->shared, full_barrier(block->shared, place.stage), place.parity))
                return false;
            ptx_tcgen05_fence_after();
            multiply_stage(accumulator_at(block, turn.accumulator), block->shared, place.stage, steps);
            ptx_tcgen05_commit(empty_barrier(block->shared, place.stage));
        }
        ptx_tcgen05_commit(done_barrier(block, turn.accumulator));
        advance(&turn);
    }
    for (int s = 0; s < stages; s++, advance(&place)) // the last arrivals, while there are barriers to arrive at
        if (!wait_empty(block->shared, &place))
            return false;
    return true;
}

/* ---- Warps 4 to 7: outputs --------------------------------------------------------------------------------------- */

/* One of these warps. */
struct writer {
    uint32_t lanes;     // in bits 31-16: its first lane of tensor memory, which is its first row of a tile
    unsigned char *box; // its own
    int first_row, lane;
};

/* Zeros in this warp's lanes of the accumulator are there, and what it read before has been read. All threads arrive,
 * so that none answers for another's order. */
static __device__ __forceinline__ void tell_ready(const struct block *block, int accumulator)
{
    ptx_tcgen05_wait_st();
    ptx_tcgen05_fence_before();
    ptx_mbarrier_arrive(ready_barrier(block, accumulator));
}

static __device__ __forceinline__ void zero_accumulators(const struct block *block, const struct writer *writer)
{
    for (int i = 0; i < accumulators; i++) {
        for (int column = 0; column < tile_n; column += batch)
            ptx_tcgen05_st_zeros_32x32b_x32(accumulator_at(block, i) + writer->lanes + column);
        tell_ready(block, i);
    }
}

/* A lane's outputs of a batch: four columns of every fourth row. `at`: in dw, of the first; `step` to the next. */
constexpr int lane_columns = 4;
constexpr int quarter_rows = 32 / (batch / lane_columns); // of a warp, that it writes at once
constexpr int out_rows = 32 / quarter_rows;

struct outputs {
    int64_t at, step;
    int rows; // that there are
};

static __device__ __forceinline__ struct outputs
outputs_of(const struct sb_wgrad_args *args, const struct wgrad_tile *tile, const struct writer *writer, int column)
{
    const int64_t m = tile->m0 + writer->first_row + writer->lane / chunks;
    const int64_t n = tile->n0 + column + writer->lane % chunks * lane_columns;
    const int64_t below = n < args->N && m < args->M ? args->M - m : 0; // rows, this one included
    struct outputs out;
    out.at = (tile->e * args->M + m) * args->N + n;
    out.step = quarter_rows * args->N;
    out.rows = below < 32 ? (int)((below + quarter_rows - 1) / quarter_rows) : out_rows;
    return out;
}

/* Place of 16-byte chunk `chunk` of row `row` in a box. */
static __device__ __forceinline__ uint4 *box_at(unsigned char *box, int row, int chunk)
{
    return (uint4 *)(box + row * row_bytes + (chunk ^ row % 8) * 16);
}

/* From rows a lane to rows a quarter of a warp, by way of the box, which nobody reads any more. */
static __device__ __forceinline__ void exchange(uint4 fours[out_rows], const uint32_t sum[batch],
                                                const struct writer *writer)
{
#pragma unroll
    for (int chunk = 0; chunk < chunks; chunk++)
        *box_at(writer->box, writer->lane, chunk) =
            make_uint4(sum[chunk * 4], sum[chunk * 4 + 1], sum[chunk * 4 + 2], sum[chunk * 4 + 3]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < out_rows; i++)
        fours[i] = *box_at(writer->box, i * quarter_rows + writer->lane / chunks, writer->lane % chunks);
}

/* This warp's 32 x 256 outputs of a tile. */
template <bool onto, bool narrow>
static __device__ __forceinline__ void write_tile(const struct block *block, const struct sb_wgrad_args *args, void *dw,
                                                  const struct wgrad_tile *tile, const struct writer *writer,
                                                  int accumulator)
{
    const bool empty = tile->length == 0;
    const uint32_t sums = accumulator_at(block, accumulator) + writer->lanes;
    for (int column = 0; column < tile_n; column += batch) {
        const struct outputs out = outputs_of(args, tile, writer, column);
        uint4 was[out_rows], fours[out_rows];
        uint32_t sum[batch] = {};
#pragma unroll
        for (int i = 0; onto && i < out_rows; i++)
            was[i] = i < out.rows ? __ldcs((const uint4 *)(args->main_grad + out.at + i * out.step))
                                  : make_uint4(0, 0, 0, 0);
        __syncwarp(); // whole again, as tensor memory wants it; and all of the batch before has been read
        if (!empty) {
            ptx_tcgen05_ld_32x32b_x32(sum, sums + column);
            ptx_tcgen05_st_zeros_32x32b_x32(sums + column);
            if (column + batch == tile_n)
                tell_ready(block, accumulator);
        }
        exchange(fours, sum, writer);
#pragma unroll
        for (int i = 0; i < out_rows; i++) {
            if (i >= out.rows)
                continue;
            const uint4 four = onto ? sb_wgrad_onto_four(was[i], empty, fours[i]) : fours[i];
            sb_wgrad_store_four<narrow>((unsigned char *)dw + (out.at + i * out.step) * (narrow ? 2 : 4), four);
        }
    }
}

/* One warp; false where a wait was given up. */
template <bool onto>
static __device__ __forceinline__ bool write_tiles(const struct block *block, const struct call *call, void *dw,
                                                   const struct writer *writer)
{
    struct turn turn = {0, 0};
    zero_accumulators(block, writer);
    for (uint32_t t = blockIdx.x; t < call->tiles; t += gridDim.x) {
        const struct wgrad_tile tile = tile_at<1>(call, t);
        if (tile.length > 0) {
            if (!warp_wait_for(block->shared, done_barrier(block, turn.accumulator), turn.parity))
                return false;
            ptx_tcgen05_fence_after();
        }
        if (call->args->out_dtype == SB_F32)
            write_tile<onto, false>(block, call->args, dw, &tile, writer, turn.accumulator);
        else
            write_tile<onto, true>(block, call->args, dw, &tile, writer, turn.accumulator);
        if (tile.length > 0)
            advance(&turn);
    }
    return true;
}

/* ---- The block --------------------------------------------------------------------------------------------------- */

constexpr long long patience = 1LL << 31; // clock cycles: about a second

/* This warp's part; false where a wait was given up. */
template <bool gather, bool onto>
static __device__ __forceinline__ bool do_part(const struct block *block, struct shared_parts *parts,
                                               const struct call *call, void *dw, const struct maps *maps, int warp,
                                               int lane)
{
    const uint32_t first = blockIdx.x, step = gridDim.x;
    bool finished = true;
    if (warp == 0 && lane == 0) {
        finished = copy_tiles<gather, 1>(block->shared, call, first, step, maps);
    } else if (warp == 1) {
        finished = clear_tiles<gather, 1>(block->shared, parts, call, first, step, lane);
    } else if (gather && (warp == 2 || warp == 3)) {
        finished = gather_tiles<1>(block->shared, call, first, step, warp - 2, lane);
    } else if (warp >= first_writer && warp < first_writer + writers) {
        const int w = warp - first_writer;
        const struct writer writer = {(uint32_t)(w * 32) << 16, parts->out + w * batch_bytes, w * 32, lane};
        finished = write_tiles<onto>(block, call, dw, &writer);
    } else if (warp == multiplier && lane == 0) {
        finished = multiply_tiles(block, call);
    }
    return finished;
}

/* Barriers and tensor memory, and all of the latter back at the end: kept, the next block would wait for it for ever.
 */
static __device__ __forceinline__ void open_block(struct block *block, struct accumulator_parts *sums, uint32_t filling,
                                                  int warp)
{
    block->ready = ptx_shared_address(sums->ready);
    block->done = ptx_shared_address(sums->done);
    if (threadIdx.x == 0) {
        for (int i = 0; i < accumulators; i++) {
            ptx_mbarrier_init(ready_barrier(block, i), writers * 32);
            ptx_mbarrier_init(done_barrier(block, i), 1);
        }
        init_barriers(block->shared, filling, 1);
    }
    if (warp == multiplier) {
        __syncwarp();
        ptx_tcgen05_alloc(ptx_shared_address(&sums->tensor_memory), tensor_columns);
        ptx_tcgen05_relinquish_alloc_permit();
    }
    ptx_tcgen05_fence_before();
    __syncthreads();
    ptx_tcgen05_fence_after();
    block->tensor_memory = sums->tensor_memory;
}

static __device__ __forceinline__ void close_block(const struct block *block, int warp)
{
    __syncwarp(); // one lane of some warps was busy
    ptx_tcgen05_fence_before();
    __syncthreads();
    if (warp == multiplier) {
        ptx_tcgen05_fence_after();
        ptx_tcgen05_dealloc(block->tensor_memory, tensor_columns);
    }
}

#endif // HAS_TCGEN05

/* ---- Kernel ------------------------------------------------------------------------------------------------------ */

/* Block b: tiles b, b + blocks, ..., see schedule_tile. `gave_up`: NULL, or a count of the threads that waited in vain;
 * then waits end. */
template <bool gather, bool onto>
static __global__ void __launch_bounds__(threads, 1)
    wgrad_tcgen05(const __grid_constant__ struct sb_wgrad_args args, void *dw, const struct sb_status *status,
                  const __grid_constant__ struct maps maps, uint32_t *gave_up)
{
#ifdef HAS_TCGEN05
    extern __shared__ unsigned char dynamic_shared[];
    __shared__ struct accumulator_parts sums;
    if (status->code != SB_OK)
        return;
    struct shared_parts *parts =
        (struct shared_parts *)(((uintptr_t)dynamic_shared + stage_alignment - 1) / stage_alignment * stage_alignment);
    const int warp = __shfl_sync(0xFFFFFFFFu, (int)threadIdx.x / 32, 0), lane = (int)threadIdx.x % 32;
    if (args.E <= schedule_experts)
        schedule_experts_by_length(&parts->schedule, &args);
    if (threadIdx.x == 0)
        parts->deadline = gave_up ? clock64() + patience : INT64_MAX;
    struct block block = {ptx_shared_address(parts), 0, 0, 0};
    open_block(&block, &sums, gather ? 1 + gather_warps : 1, warp);

    struct call call = {&args, &parts->schedule, {}, 0};
    call.grid = {(uint32_t)sb_cdiv(args.M, tile_m), (uint32_t)sb_cdiv(args.N, tile_n), tile_m, tile_n};
    call.tiles = (uint32_t)args.E * call.grid.m_tiles * call.grid.n_tiles;
    if (!do_part<gather, onto>(&block, parts, &call, dw, &maps, warp, lane))
        atomicAdd(gave_up, 1u);
    close_block(&block, warp);
#else
    if (gave_up)
        atomicAdd(gave_up, 1u);
#endif
}

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* Drivers may set bit 85 wrongly on Blackwell in maps of matrices whose memory is below 128 KiB and whose rows leave
 * gaps. The release notes of NVIDIA's driver 595.71.05 have it cleared by whoever makes such a map. */
static void mend_map(CUtensorMap *map, int64_t rows, int64_t columns, int64_t stride)
{
    const int64_t elements = (rows - 1) * stride + columns; // of memory: the last row has no gap
    if (columns != stride && elements * (int64_t)sizeof(uint16_t) < 128 * 1024)
        map->opaque[1] &= ~(UINT64_C(1) << 21);
}

static cudaError_t map_call(struct maps *maps, const struct sb_wgrad_args *args)
{
    *maps = {};
    cudaError_t error = map_matrix(&maps->dy, args->dy, args->T, args->M, args->ld_dy);
    mend_map(&maps->dy, args->T, args->M, args->ld_dy);
    if (error == cudaSuccess && !args->x_gather_idx) {
        error = map_matrix(&maps->x, args->x, args->Tx, args->N, args->ld_x);
        mend_map(&maps->x, args->Tx, args->N, args->ld_x);
    }
    return error;
}

extern "C" const int sb_dynamic_shared_bytes_wgrad_tcgen05; // read from the object by tests/sass.py
const int sb_dynamic_shared_bytes_wgrad_tcgen05 = (int)shared_bytes;

template <bool gather, bool onto>
static cudaError_t launch(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                          cudaStream_t stream, int most_blocks, uint32_t *gave_up)
{
    struct maps maps;
    int major = 0, multiprocessors = 0;
    cudaError_t error = sb_wgrad_ask_device(&major, &multiprocessors);
    if (error == cudaSuccess)
        error = major == 10 ? map_call(&maps, args) : cudaErrorNotSupported;
    if (error != cudaSuccess)
        return error;
    const int blocks = multiprocessors < most_blocks ? multiprocessors : most_blocks;
    return sb_launch_clusters(wgrad_tcgen05<gather, onto>, 1, dim3((unsigned)blocks), dim3(threads), shared_bytes,
                              stream, *args, dw, status, maps, gave_up);
}

static struct sb_gpu_result run(const struct sb_wgrad_args *args, void *dw, struct sb_status *status, void *stream,
                                int most_blocks, uint32_t *gave_up)
{
    const struct sb_status checked = check_call(args, dw);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);

    const cudaStream_t on = (cudaStream_t)stream;
    const cudaError_t error = sb_wgrad_launch_check(args, status, on);
    if (error != cudaSuccess)
        return sb_result_of(error);
    if (args->x_gather_idx)
        return sb_result_of(args->main_grad ? launch<true, true>(args, dw, status, on, most_blocks, gave_up)
                                            : launch<true, false>(args, dw, status, on, most_blocks, gave_up));
    return sb_result_of(args->main_grad ? launch<false, true>(args, dw, status, on, most_blocks, gave_up)
                                        : launch<false, false>(args, dw, status, on, most_blocks, gave_up));
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k_tcgen05(const struct sb_wgrad_args *args, void *dw,
                                                          struct sb_status *status, void *stream)
{
    return run(args, dw, status, stream, INT32_MAX, NULL);
}

/* ---- Self-check -------------------------------------------------------------------------------------------------- */

/* Few blocks, so that each has many tiles: accumulators and stages come round again. Three, because an expert has two
 * tiles each way: then each accumulator of each block gets every kind of tile in turn. */
static struct sb_gpu_result run_watched(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                        void *stream, uint32_t *gave_up)
{
    return run(args, dw, status, stream, 3, gave_up);
}

extern "C" const char *sb_wgrad_tcgen05_fallback(void)
{
    static struct sb_wgrad_self_checks checks;
    return sb_wgrad_self_check(&checks, run_watched);
}

/* ---- Adapter ----------------------------------------------------------------------------------------------------- */

extern "C" struct sb_gpu_result sb_run_wgrad_varlen_k_tcgen05(const struct sb_gpu_call *call)
{
    return sb_wgrad_run_call(call, check_call, sb_wgrad_varlen_k_tcgen05);
}

extern "C" const char *sb_cannot_wgrad_varlen_k_tcgen05(const struct sb_gpu_call *, int compute_capability)
{
    if (compute_capability / 10 != 10)
        return "tcgen05 is of the sm_100 family alone";
    return sb_wgrad_tcgen05_fallback();
}
