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
 * Shape: a block computes one 128 x 128 tile of one expert over the whole segment. Both operands lie in global
 * memory as rows of k, which is also how they are staged (cp.async, three stages of 32 rows); ldmatrix.trans turns
 * them into the fragments that mma wants. Only instructions that sm_90 and every Blackwell target have. sm_80 to sm_89
 * have them too, but their mma.sync is another dot product: 24 bits, and the 16 pairs in two fused steps of 8.
 */
#include "wgrad_varlen_k.h"

#include "launch.cuh"
#include "ptx.cuh"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_output.cuh"

/* ---- Tile shape -------------------------------------------------------------------------------------------- */

constexpr int step_k = 16;   // the contract's step, and the k of the mma
constexpr int tile_k = 32;   // rows of a stage: two steps, so that a barrier is paid every second one
constexpr int tile_mn = 128; // columns of a staged row, M and N alike
constexpr int stages = 3;    // 3 x 16 KB = 48 KB: needs no opt-in, and two blocks fit the 100 KB of an sm_120 SM

constexpr int warp_mn = 64; // a warp's share: each fragment loaded feeds four or eight mma
constexpr int warps_n = tile_mn / warp_mn;
constexpr int threads = warps_n * warps_n * 32;
constexpr int m_fragments = warp_mn / 16;
constexpr int n_fragments = warp_mn / 8;

constexpr int chunk_elements = 8; // 16 bytes: what cp.async copies and ldmatrix reads; M and N are multiples of it
constexpr int row_chunks = tile_mn / chunk_elements;
constexpr int row_bytes = tile_mn * 2;
constexpr int operand_bytes = tile_k * row_bytes;
constexpr int stage_bytes = 2 * operand_bytes; // dy rows, then x rows

constexpr int copy_rows = threads / row_chunks; // rows that all threads together copy at a time
constexpr int thread_rows = tile_k / copy_rows; // rows of a stage that one thread takes part in

static_assert(tile_k % step_k == 0 && tile_k % copy_rows == 0 && copy_rows % 8 == 0, "the stage divides evenly");

/* ---- Where things lie ------------------------------------------------------------------------------------------ */

/* Byte of 16-byte chunk `chunk` of row `row` in a staged operand. The chunk number is XORed with the row's low three
 * bits: a row is 256 bytes, so the 8 consecutive rows that one ldmatrix phase reads at one chunk would otherwise
 * share their banks; eight neighbouring chunks of one row, as cp.async writes them, stay spread over all banks. */
static __device__ __forceinline__ uint32_t staged_byte(int row, int chunk)
{
    return (uint32_t)(row * row_bytes + ((chunk ^ (row & 7)) * 16));
}

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

/* The output tile of a block: n fastest, so that blocks running together share rows of dy and x in L2. */
struct output_tile {
    int64_t e, m0, n0;
};

static __device__ __forceinline__ struct output_tile locate_tile(int64_t block, int64_t M, int64_t N)
{
    int64_t above, m_tile, n_tile;
    struct output_tile tile;
    sb_split(block, sb_cdiv(N, tile_mn), &above, &n_tile);
    sb_split(above, sb_cdiv(M, tile_mn), &tile.e, &m_tile);
    tile.m0 = m_tile * tile_mn;
    tile.n0 = n_tile * tile_mn;
    return tile;
}

/* The rows of k that one expert owns. */
struct segment {
    int64_t begin, length;
};

/* ---- Staging ------------------------------------------------------------------------------------------------- */

/* What one thread copies: 16-byte chunk `chunk` of rows `row`, row + copy_rows, ... of each stage. */
struct copy_share {
    int row, chunk;
    bool dy_inside, x_inside; // whether the chunk lies within M, within N
};

static __device__ __forceinline__ struct copy_share copy_share_of(int thread, const struct sb_wgrad_args *args,
                                                                  const struct output_tile *tile)
{
    struct copy_share share;
    share.row = thread / row_chunks;
    share.chunk = thread % row_chunks;
    share.dy_inside = tile->m0 + share.chunk * chunk_elements < args->M;
    share.x_inside = tile->n0 + share.chunk * chunk_elements < args->N;
    return share;
}

/* The rows of x that a thread copies for the stage starting at k0 of the segment; -1 past the segment's end. */
static __device__ __forceinline__ void find_x_rows(int32_t x_row[thread_rows], const struct sb_wgrad_args *args,
                                                   struct segment segment, int64_t k0, int first_row)
{
#pragma unroll
    for (int i = 0; i < thread_rows; i++) {
        const int64_t k = k0 + first_row + i * copy_rows;
        x_row[i] = -1;
        if (k < segment.length) // a checked cu_seqlens keeps begin + k within i32
            x_row[i] = args->x_gather_idx ? args->x_gather_idx[segment.begin + k] : (int32_t)(segment.begin + k);
    }
}

/* Starts this thread's copies of the stage whose rows begin at k0 of the segment. Whatever lies past the segment, past
 * M or past N is written as zeros and not read. */
static __device__ __forceinline__ void start_stage(uint32_t stage, const struct sb_wgrad_args *args,
                                                   const struct output_tile *tile, struct segment segment, int64_t k0,
                                                   const struct copy_share *share, const int32_t x_row[thread_rows])
{
    const int64_t column = share->chunk * chunk_elements;
#pragma unroll
    for (int i = 0; i < thread_rows; i++) {
        const int row = share->row + i * copy_rows;
        const bool in_segment = x_row[i] >= 0;
        const bool copy_dy = in_segment && share->dy_inside;
        const bool copy_x = in_segment && share->x_inside;
        const uint16_t *dy = args->dy + (segment.begin + k0 + row) * args->ld_dy + tile->m0 + column;
        const uint16_t *x = args->x + x_row[i] * args->ld_x + tile->n0 + column;
        const uint32_t to = stage + staged_byte(row, share->chunk);
        ptx_cp_async_16(to, copy_dy ? dy : args->dy, copy_dy);
        ptx_cp_async_16(to + operand_bytes, copy_x ? x : args->x, copy_x);
    }
}

/* ---- Arithmetic ------------------------------------------------------------------------------------------------ */

/* One step of the contract for a warp's 64 x 64 outputs: rows 16*step .. +15 of the stage. */
static __device__ __forceinline__ void multiply_step(float sum[m_fragments][n_fragments][4], uint32_t stage, int step,
                                                     int warp_m, int warp_n, int lane)
{
    const int k = step * step_k;
    uint32_t a[m_fragments][4];
    uint32_t b[n_fragments / 2][4];
#pragma unroll
    for (int i = 0; i < m_fragments; i++) {
        const int chunk = (warp_m + i * 16) / chunk_elements + dy_lane_chunk(lane);
        ptx_ldmatrix_x4_trans(a[i], stage + staged_byte(k + dy_lane_row(lane), chunk));
    }
#pragma unroll
    for (int j = 0; j < n_fragments / 2; j++) {
        const int chunk = (warp_n + j * 16) / chunk_elements + x_lane_chunk(lane);
        ptx_ldmatrix_x4_trans(b[j], stage + operand_bytes + staged_byte(k + x_lane_row(lane), chunk));
    }
#pragma unroll
    for (int i = 0; i < m_fragments; i++) {
#pragma unroll
        for (int j = 0; j < n_fragments; j++)
            ptx_mma_m16n8k16_bf16(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

/* All steps of one stage that hold a row of the segment; `rows` of it remain, at least one. */
static __device__ __forceinline__ void multiply_stage(float sum[m_fragments][n_fragments][4], uint32_t stage,
                                                      int64_t rows, int warp_m, int warp_n, int lane)
{
    if (rows > tile_k - step_k) { // without a branch between the steps: the second one's loads overlap the first
#pragma unroll
        for (int step = 0; step < tile_k / step_k; step++)
            multiply_step(sum, stage, step, warp_m, warp_n, lane);
        return;
    }
    for (int step = 0; step * step_k < rows; step++)
        multiply_step(sum, stage, step, warp_m, warp_n, lane);
}

/* The whole segment: sum[i][j] of each lane as ptx_mma_m16n8k16_bf16 lays d out. */
static __device__ __forceinline__ void multiply_segment(float sum[m_fragments][n_fragments][4], uint32_t shared,
                                                        const struct sb_wgrad_args *args,
                                                        const struct output_tile *tile, struct segment segment,
                                                        int warp_m, int warp_n)
{
    const int thread = (int)threadIdx.x;
    const struct copy_share share = copy_share_of(thread, args, tile);
    const int64_t k_tiles = sb_cdiv(segment.length, tile_k);
    int32_t x_row[thread_rows]; // of the stage to start next: a gather index is fetched one stage before it is used

    find_x_rows(x_row, args, segment, 0, share.row);
#pragma unroll
    for (int s = 0; s < stages - 1; s++) {
        if (s < k_tiles) {
            start_stage(shared + s * stage_bytes, args, tile, segment, s * tile_k, &share, x_row);
            find_x_rows(x_row, args, segment, (s + 1) * tile_k, share.row);
        }
        ptx_cp_async_commit_group();
    }

    int reading = 0;
    int writing = stages - 1;
    for (int64_t t = 0; t < k_tiles; t++) {
        ptx_cp_async_wait_group<stages - 2>();
        __syncthreads(); // every thread's part of stage t has landed, and nobody reads stage t - 1 any more
        const int64_t next = t + stages - 1;
        if (next < k_tiles) {
            start_stage(shared + writing * stage_bytes, args, tile, segment, next * tile_k, &share, x_row);
            find_x_rows(x_row, args, segment, (next + 1) * tile_k, share.row);
        }
        ptx_cp_async_commit_group(); // empty at the end, so that the wait above always counts the same
        multiply_stage(sum, shared + reading * stage_bytes, segment.length - t * tile_k, warp_m, warp_n, thread % 32);
        reading = reading + 1 == stages ? 0 : reading + 1;
        writing = writing + 1 == stages ? 0 : writing + 1;
    }
}

/* ---- Output ---------------------------------------------------------------------------------------------------- */

/* N is a multiple of 8, so an n8 fragment lies wholly inside or outside; rows of M are tested one by one. */
static __device__ __forceinline__ void store_tile(const float sum[m_fragments][n_fragments][4],
                                                  const struct sb_wgrad_args *args, void *dw, bool empty, int64_t e,
                                                  int64_t first_m, int64_t first_n, int lane)
{
#pragma unroll
    for (int i = 0; i < m_fragments; i++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t m = first_m + i * 16 + half * 8 + lane / 4;
#pragma unroll
            for (int j = 0; j < n_fragments; j++) {
                const int64_t n = first_n + j * 8 + lane % 4 * 2;
                if (m < args->M && n < args->N)
                    sb_wgrad_store_pair(args, dw, empty, (e * args->M + m) * args->N + n,
                                        __float_as_uint(sum[i][j][half * 2]), __float_as_uint(sum[i][j][half * 2 + 1]));
            }
        }
    }
}

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

/* Block b: output tile b, see locate_tile. */
static __global__ void __launch_bounds__(threads, 2)
    wgrad_mma_sync(const struct sb_wgrad_args args, void *dw, const struct sb_status *status)
{
    __shared__ __align__(128) unsigned char shared[stages * stage_bytes];
    if (status->code != SB_OK)
        return;
    const struct output_tile tile = locate_tile(blockIdx.x, args.M, args.N);
    struct segment segment;
    segment.begin = args.cu_seqlens[tile.e];
    segment.length = args.cu_seqlens[tile.e + 1] - segment.begin;

    const int warp = (int)threadIdx.x / 32;
    const int warp_m = warp / warps_n * warp_mn;
    const int warp_n = warp % warps_n * warp_mn;
    float sum[m_fragments][n_fragments][4] = {}; // +0
    multiply_segment(sum, ptx_shared_address(shared), &args, &tile, segment, warp_m, warp_n);
    store_tile(sum, &args, dw, segment.length == 0, tile.e, tile.m0 + warp_m, tile.n0 + warp_n, (int)threadIdx.x % 32);
}

/* ---- Launch --------------------------------------------------------------------------------------------------- */

/* INT64_MAX if the count does not fit. */
static int64_t count_tiles(const struct sb_wgrad_args *args)
{
    int64_t tiles;
    if (__builtin_mul_overflow(args->E, sb_cdiv(args->M, tile_mn), &tiles) ||
        __builtin_mul_overflow(tiles, sb_cdiv(args->N, tile_mn), &tiles))
        return INT64_MAX;
    return tiles;
}

/* Everything that needs no device. */
static struct sb_status check_call(const struct sb_wgrad_args *args, const void *dw)
{
    const struct sb_status status = sb_wgrad_check_args(args, dw);
    if (status.code != SB_OK)
        return status;
    const int64_t tiles = count_tiles(args);
    return tiles > INT32_MAX ? sb_reject(SB_TOO_LARGE, tiles, INT32_MAX, 0) : status;
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k_mma_sync(const struct sb_wgrad_args *args, void *dw,
                                                           struct sb_status *status, void *stream)
{
    const struct sb_status checked = check_call(args, dw);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);

    const cudaStream_t on = (cudaStream_t)stream;
    const cudaError_t error = sb_wgrad_launch_check(args, status, on);
    if (error != cudaSuccess)
        return sb_result_of(error);
    return sb_result_of(
        sb_launch(wgrad_mma_sync, dim3((unsigned)count_tiles(args)), dim3(threads), 0, on, *args, dw, status));
}

/* ---- Adapter --------------------------------------------------------------------------------------------------- */

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
