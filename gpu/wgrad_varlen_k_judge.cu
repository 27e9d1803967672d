/* wgrad_varlen_k_judge.cu - BF16 grouped weight gradient over a jagged token axis, without tensor cores.
 *
 *     dw[e,m,n] = sum over k = cu_seqlens[e] .. cu_seqlens[e+1]-1 of dy[k,m] * x[row(k),n]
 *
 * with row(k) = x_gather_idx[k], or k. Contract: ref/CONTRACTS.md section 4.
 *
 * The fused dot product of contract TC is computed from its definition, in integers and f32 multiplications
 * (tc_step.h): the same bits on every GPU, whatever its tensor core does. It is there to judge the kernels that use
 * one, where the reference on a CPU would take too long.
 *
 * Order of rounding: one f32 accumulator per output, +0 at first. k ascends from the segment's own start in steps of
 * 16, a short last one filled up with pairs of zeros; rows past the segment are never read. Then, once, main_grad + sum
 * in f32; then, once, bf16 to nearest even.
 *
 * Shape: a block computes one 128 x 128 tile of one expert over the whole segment, a thread 4 x 8 outputs of it. Each
 * step's operands are taken apart on their way into shared memory, once for the 128 outputs that use them; the next
 * step's are on their way to registers meanwhile. Whether the whole tile's step qualifies for the fast step is decided
 * there, too.
 *
 * Budget of the fast step, for one pair of one output on sm_90: 2 multiplications (128 lanes of an SM a clock), 1
 * conversion to i32 (16 where it is slowest, and then the limit: everything else below takes half of its time), half a
 * three-way addition and half a packed add-and-maximum (64), a sixth of a shared-memory load. For one output and step,
 * so a sixteenth of it a pair: one more such conversion and about ten other instructions. Staging: half an instruction
 * a pair.
 */
#include "wgrad_varlen_k.h"

#include "launch.cuh"
#include "tc_step.h"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_output.cuh"

/* ---- Tile shape -------------------------------------------------------------------------------------------- */

constexpr int step_k = SB_TC_PAIRS;
constexpr int tile_mn = 128;         // columns of a staged row, M and N alike
constexpr int chunk_elements = 8;    // 16 bytes: what a thread copies at a time; M and N are multiples of it
constexpr int operand_threads = 256; // that stage one operand, a chunk each
constexpr int threads = 2 * operand_threads;
constexpr int warp_mn = 32; // a warp's outputs each way
constexpr int warps_n = tile_mn / warp_mn;
constexpr int outputs = SB_TC_ROWS * SB_TC_COLUMNS; // of a thread

static_assert(step_k * tile_mn == operand_threads * chunk_elements, "a chunk a thread");
static_assert(warp_mn * warp_mn == 32 * outputs && tile_mn * tile_mn == threads * outputs, "the tile divides evenly");
static_assert(SB_TC_ROWS == 4 && SB_TC_COLUMNS == 8, "load_rows and load_columns");

/* ---- Where things lie -------------------------------------------------------------------------------------- */

/* Words of a staged row. Four more than it holds: eight threads that write 16 bytes each at one place of eight
 * consecutive rows then reach all banks. */
constexpr int value_pitch = tile_mn + 4;
constexpr int exponent_pitch = tile_mn / 2 + 4;

/* The 16 rows of one operand in one step. */
struct operand {
    __align__(16) uint32_t value[step_k][value_pitch];       // f32 bits
    __align__(16) uint32_t exponent[step_k][exponent_pitch]; // two i16 a word: sb_tc_exponent_of_a, _of_b
};

struct stage {
    struct operand dy, x;
};

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

/* The rows of k that one expert owns: i32 in a checked cu_seqlens, so k a step or two past the end fits, too. */
struct segment {
    uint32_t begin, length;
};

/* ---- Staging ----------------------------------------------------------------------------------------------- */

/* What one thread copies in every step: one chunk of row `row` of one operand. */
struct copy_share {
    const uint16_t *column; // the chunk in row 0
    const int32_t *index;   // of the operand's rows, or NULL
    int64_t ld;
    int row, chunk;
    bool is_dy, inside; // inside: the chunk lies within M, within N
};

/* Rows are dealt to the lanes of half a warp: there the 16 values of one column meet (fractions_are_light). */
static __device__ __forceinline__ struct copy_share copy_share_of(int thread, const struct sb_wgrad_args *args,
                                                                  const struct output_tile *tile)
{
    struct copy_share share;
    share.is_dy = thread < operand_threads;
    share.row = thread % step_k;
    share.chunk = thread % operand_threads / step_k;
    const int64_t column = (share.is_dy ? tile->m0 : tile->n0) + share.chunk * chunk_elements;
    share.inside = column < (share.is_dy ? args->M : args->N);
    share.column = (share.is_dy ? args->dy : args->x) + column;
    share.index = share.is_dy ? NULL : args->x_gather_idx;
    share.ld = share.is_dy ? args->ld_dy : args->ld_x;
    return share;
}

/* The row of the operand that a thread copies for the step starting at k0 of the segment; -1 past the segment's end. */
static __device__ __forceinline__ int32_t find_row(const struct copy_share *share, struct segment segment, uint32_t k0)
{
    const uint32_t k = k0 + share->row;
    if (k >= segment.length)
        return -1;
    return share->index ? share->index[segment.begin + k] : (int32_t)(segment.begin + k);
}

/* Zeros for what lies past the segment, past M or past N: it is not read. */
static __device__ __forceinline__ uint4 read_chunk(const struct copy_share *share, int32_t row)
{
    if (row < 0 || !share->inside)
        return make_uint4(0, 0, 0, 0);
    return *(const uint4 *)(share->column + row * share->ld);
}

/* Condition b of the fast step for the chunk's columns, 16 lanes having a row each. */
static __device__ __forceinline__ bool fractions_are_light(const uint32_t pair[chunk_elements / 2])
{
    bool light = true;
#pragma unroll
    for (int i = 0; i < chunk_elements / 2; i++) {
        uint32_t sum = pair[i] & 0x007F007Fu;
#pragma unroll
        for (int distance = 1; distance < step_k; distance *= 2)
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
        light = light && (sum & 0xFFFFu) < SB_TC_HEAVY && sum >> 16 < SB_TC_HEAVY;
    }
    return light;
}

/* Takes the chunk apart. True: as far as it goes, the step is one for the fast step. All threads of a warp. */
static __device__ __forceinline__ bool stage_chunk(struct stage *stage, const struct copy_share *share, uint4 chunk)
{
    const uint32_t pair[chunk_elements / 2] = {chunk.x, chunk.y, chunk.z, chunk.w};
    struct operand *const operand = share->is_dy ? &stage->dy : &stage->x;
    uint32_t exponent[chunk_elements / 2];
    bool fast = true;
#pragma unroll
    for (int i = 0; i < chunk_elements / 2; i++) {
        const uint32_t low = pair[i] & 0xFFFFu, high = pair[i] >> 16;
        fast = fast && sb_tc_is_fast(low) && sb_tc_is_fast(high);
        exponent[i] = share->is_dy ? sb_tc_exponent_of_a(low) | sb_tc_exponent_of_a(high) << 16
                                   : sb_tc_exponent_of_b(low) | sb_tc_exponent_of_b(high) << 16;
    }
    uint4 *const value = (uint4 *)&operand->value[share->row][share->chunk * chunk_elements];
    value[0] = make_uint4(pair[0] << 16, pair[0] & 0xFFFF0000u, pair[1] << 16, pair[1] & 0xFFFF0000u);
    value[1] = make_uint4(pair[2] << 16, pair[2] & 0xFFFF0000u, pair[3] << 16, pair[3] & 0xFFFF0000u);
    *(uint4 *)&operand->exponent[share->row][share->chunk * chunk_elements / 2] =
        make_uint4(exponent[0], exponent[1], exponent[2], exponent[3]);
    /* Asked by all lanes of a warp, which are of one operand, whatever `fast` is: they exchange their fractions. */
    const bool light = !share->is_dy || fractions_are_light(pair);
    return fast && light;
}

/* ---- Arithmetic -------------------------------------------------------------------------------------------- */

/* Exponents, then values, of one k for a thread's rows and columns. */
static __device__ __forceinline__ void load_exponents(uint32_t a[SB_TC_ROWS / 2], uint32_t b[SB_TC_COLUMNS / 2],
                                                      const struct stage *stage, int k, int m, int n)
{
    const uint2 rows = *(const uint2 *)&stage->dy.exponent[k][m / 2];
    const uint4 columns = *(const uint4 *)&stage->x.exponent[k][n / 2];
    a[0] = rows.x, a[1] = rows.y;
    b[0] = columns.x, b[1] = columns.y, b[2] = columns.z, b[3] = columns.w;
}

static __device__ __forceinline__ void load_values(float a[SB_TC_ROWS], float b[SB_TC_COLUMNS],
                                                   const struct stage *stage, int k, int m, int n)
{
    const float4 rows = *(const float4 *)&stage->dy.value[k][m];
    const float4 left = *(const float4 *)&stage->x.value[k][n], right = *(const float4 *)&stage->x.value[k][n + 4];
    a[0] = rows.x, a[1] = rows.y, a[2] = rows.z, a[3] = rows.w;
    b[0] = left.x, b[1] = left.y, b[2] = left.z, b[3] = left.w;
    b[4] = right.x, b[5] = right.y, b[6] = right.z, b[7] = right.w;
}

/* The outputs whose first one is (m, n) of the tile. */
static __device__ __forceinline__ void fast_step(uint32_t sum[outputs], const struct stage *stage, int m, int n)
{
    struct sb_tc_exponents e_max;
    sb_tc_exponents_start(&e_max);
#pragma unroll 4
    for (int k = 0; k < step_k; k++) {
        uint32_t a[SB_TC_ROWS / 2], b[SB_TC_COLUMNS / 2];
        load_exponents(a, b, stage, k, m, n);
        sb_tc_exponents_add(&e_max, a, b);
    }
    struct sb_tc_sums sums;
    sb_tc_sums_start(&sums, &e_max, sum);
#pragma unroll 2 // the integer addition takes two terms at once; four need more registers than there are on sm_100
    for (int k = 0; k < step_k; k++) {
        float a[SB_TC_ROWS], b[SB_TC_COLUMNS];
        load_values(a, b, stage, k, m, n);
        sb_tc_sums_add(&sums, a, b);
    }
    sb_tc_sums_finish(&sums, sum);
}

/* One output after the other. The sums move through sum[0], so that registers can hold them: their places are
 * constants. */
static __device__ __forceinline__ void general_step(uint32_t sum[outputs], const struct stage *stage, int m, int n)
{
#pragma unroll 1
    for (int i = 0; i < outputs; i++) {
        const uint32_t *const a = &stage->dy.value[0][m + i / SB_TC_COLUMNS];
        const uint32_t *const b = &stage->x.value[0][n + i % SB_TC_COLUMNS];
        const uint32_t next = sb_tc_general_step(sum[0], a, b, value_pitch);
#pragma unroll
        for (int j = 0; j < outputs - 1; j++)
            sum[j] = sum[j + 1];
        sum[outputs - 1] = next;
    }
}

/* Condition c of the fast step. */
static __device__ __forceinline__ bool all_are_ordinary(const uint32_t sum[outputs])
{
    bool ordinary = true;
#pragma unroll
    for (int i = 0; i < outputs; i++)
        ordinary = ordinary && sb_tc_is_ordinary(sum[i]);
    return ordinary;
}

/* The whole segment. sum[i]: output (m + i / SB_TC_COLUMNS, n + i % SB_TC_COLUMNS) of the tile. */
static __device__ __forceinline__ void multiply_segment(uint32_t sum[outputs], struct stage *stage,
                                                        const struct copy_share *share, struct segment segment, int m,
                                                        int n)
{
    bool known = true; // condition c holds: sums start at zero
    uint4 chunk = read_chunk(share, find_row(share, segment, 0));
    int32_t row = find_row(share, segment, step_k); // an index is fetched one step before it is used
    for (uint32_t k0 = 0; k0 < segment.length; k0 += step_k) {
        const bool qualifies = stage_chunk(stage, share, chunk);
        const bool fast = __syncthreads_or(!qualifies) == 0; // every thread's chunk is there, besides
        chunk = read_chunk(share, row);
        row = find_row(share, segment, k0 + 2 * step_k);
        known = known || all_are_ordinary(sum);
        if (fast && known) {
            fast_step(sum, stage, m, n);
        } else {
            general_step(sum, stage, m, n);
            known = false;
        }
        __syncthreads(); // nobody reads the step any more
    }
}

/* ---- Output ------------------------------------------------------------------------------------------------ */

/* N is a multiple of a thread's columns, which lie wholly inside or outside; rows of M are tested one by one. */
static __device__ __forceinline__ void store_block(const uint32_t sum[outputs], const struct sb_wgrad_args *args,
                                                   void *dw, bool empty, int64_t e, int64_t first_m, int64_t first_n)
{
    if (first_n >= args->N)
        return;
#pragma unroll
    for (int i = 0; i < outputs; i += 2) {
        const int64_t m = first_m + i / SB_TC_COLUMNS, n = first_n + i % SB_TC_COLUMNS;
        if (m < args->M)
            sb_wgrad_store_pair(args, dw, empty, (e * args->M + m) * args->N + n, sum[i], sum[i + 1]);
    }
}

/* ---- Kernels ----------------------------------------------------------------------------------------------- */

/* Block b: output tile b, see locate_tile. */
static __global__ void __launch_bounds__(threads, 1)
    wgrad_judge(const struct sb_wgrad_args args, void *dw, const struct sb_status *status)
{
    __shared__ struct stage stage;
    if (status->code != SB_OK)
        return;
    const struct output_tile tile = locate_tile(blockIdx.x, args.M, args.N);
    struct segment segment;
    segment.begin = (uint32_t)args.cu_seqlens[tile.e];
    segment.length = (uint32_t)args.cu_seqlens[tile.e + 1] - segment.begin;

    /* Eight lanes along M, four along N: eight lanes that load together read 128 bytes of dy and the same of x. */
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int m = warp / warps_n * warp_mn + lane % 8 * SB_TC_ROWS;
    const int n = warp % warps_n * warp_mn + lane / 8 * SB_TC_COLUMNS;
    const struct copy_share share = copy_share_of(thread, &args, &tile);
    uint32_t sum[outputs] = {}; // +0
    multiply_segment(sum, &stage, &share, segment, m, n);
    store_block(sum, &args, dw, segment.length == 0, tile.e, tile.m0 + m, tile.n0 + n);
}

/* ---- Launch ------------------------------------------------------------------------------------------------ */

/* Everything that needs no device. */
static struct sb_status check_call(const struct sb_wgrad_args *args, const void *dw)
{
    return sb_wgrad_check_tiles(args, dw, tile_mn, tile_mn);
}

static cudaError_t compute(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                           cudaStream_t stream)
{
    const dim3 grid((unsigned)sb_wgrad_count_tiles(args, tile_mn, tile_mn));
    return sb_launch(wgrad_judge, grid, dim3(threads), 0, stream, *args, dw, status);
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k_judge(const struct sb_wgrad_args *args, void *dw,
                                                        struct sb_status *status, void *stream)
{
    return sb_wgrad_run(args, dw, status, stream, check_call, compute);
}

/* ---- Adapter ----------------------------------------------------------------------------------------------- */

extern "C" struct sb_gpu_result sb_run_wgrad_varlen_k_judge(const struct sb_gpu_call *call)
{
    return sb_wgrad_run_call(call, check_call, sb_wgrad_varlen_k_judge);
}
