/* topk_metadata.cu - DeepEP dispatch result to SonicMoE routing metadata. Contract: ref/CONTRACTS.md section 2.
 *
 * Stable counting sort of the valid slots by expert, in groups of 128 rows. Five kernels, named topk_... :
 *
 *     count    per group of 128 rows: slots per expert, valid slots, ignored ids; the lowest duplicate of all
 *     scan     per expert: exclusive prefix sum over the groups, and the total (the same for the other two counts)
 *     finish   expert offsets, TK, TKP; checks counts and sizes; writes the status
 *     place    per group: every valid slot to its padded and its token-major position
 *     pad      per expert: the padding rows, and the zeros at the end of topk_score
 *
 * finish, place and pad write no output if the status is a rejection. Positions come from prefix sums and bit counts
 * alone, never from the order in which atomics happen, so every run gives the same bytes. No block ever waits for
 * another one: a grid may be larger than what the device holds at once.
 */
#include "topk_metadata.h"

#include "call_args.h"
#include "launch.cuh"
#include "variants.h"

constexpr int group_rows = 128; // rows a block takes, a thread each; four 32-bit words of a bitmap over rows
constexpr int group_words = group_rows / 32;
constexpr int scan_threads = 256;
constexpr int finish_threads = SB_EXPERTS_MAX; // a thread an expert, in one block
constexpr int pad_threads = 128;

constexpr unsigned long long no_duplicate = ~0ull; // what a memset to 0xFF leaves

/* ---- Workspace -------------------------------------------------------------------------------------------------- */

/* In this order, each part 256-byte aligned. Written before it is read, whatever the workspace held.
 *
 * group_count has a row per expert, then one for valid slots, then one for ignored ids; a row has an entry per group
 * of 128 rows. Every entry and sum is at most n * topk, which fits i32. */
struct workspace {
    unsigned long long *first_duplicate; /* [1] packed place of the lowest duplicate, or no_duplicate */
    int32_t *group_count;                /* [experts + 2][groups]: counts, then their exclusive prefix sums */
    int32_t *total;                      /* [experts + 2] */
    int32_t *slots_before;               /* [experts] valid slots of all smaller experts */
    int64_t groups;
};

static __device__ __forceinline__ int valid_row(int experts)
{
    return experts;
}

static __device__ __forceinline__ int ignored_row(int experts)
{
    return experts + 1;
}

static inline int count_rows(int experts)
{
    return experts + 2;
}

/* Where the parts begin, in bytes, and how many bytes they take together. */
struct workspace_layout {
    size_t group_count, total, slots_before, bytes;
};

static int64_t groups_of(const struct sb_topk_args *args)
{
    return sb_cdiv(args->n, group_rows);
}

static struct workspace_layout layout_of(const struct sb_topk_args *args)
{
    const size_t rows = (size_t)count_rows((int)args->experts);
    struct workspace_layout at;
    at.group_count = sb_workspace_part(sizeof(unsigned long long));
    at.total = at.group_count + sb_workspace_part(rows * (size_t)groups_of(args) * sizeof(int32_t));
    at.slots_before = at.total + sb_workspace_part(rows * sizeof(int32_t));
    at.bytes = at.slots_before + sb_workspace_part((size_t)args->experts * sizeof(int32_t));
    return at;
}

static struct workspace parts_of(const struct sb_topk_args *args, void *workspace)
{
    const struct workspace_layout at = layout_of(args);
    uint8_t *base = (uint8_t *)workspace;
    struct workspace parts;
    parts.first_duplicate = (unsigned long long *)base;
    parts.group_count = (int32_t *)(base + at.group_count);
    parts.total = (int32_t *)(base + at.total);
    parts.slots_before = (int32_t *)(base + at.slots_before);
    parts.groups = groups_of(args);
    return parts;
}

/* ---- One group of rows in shared memory ------------------------------------------------------------------------- */

/* The ids of a group as i16, -1 for every slot that is not routed: experts are at most 1024. An odd pitch spreads
 * the column that the threads of a warp read at a time over the banks. */
static inline __host__ __device__ int id_pitch(int topk)
{
    return topk | 1;
}

static inline __host__ __device__ size_t ids_bytes(int topk)
{
    return (size_t)group_rows * id_pitch(topk) * sizeof(int16_t);
}

static __device__ __forceinline__ int rows_in_group(int64_t n)
{
    const int64_t left = n - (int64_t)blockIdx.x * group_rows;
    return left < group_rows ? (int)left : group_rows;
}

/* Reads the block's ids, coalesced. Ids are compared in 64 bits whatever their width. Returns how many of those this
 * thread read are neither -1 nor an expert. The caller synchronises. */
template <typename Index>
static __device__ int stage_ids(const Index *topk_idx, int rows, int topk, int experts, int16_t *ids)
{
    const Index *group = topk_idx + (int64_t)blockIdx.x * group_rows * topk;
    int ignored = 0;
    for (int i = threadIdx.x; i < rows * topk; i += group_rows) {
        const int64_t id = group[i];
        const bool valid = id >= 0 && id < experts;
        ignored += !valid && id != -1;
        ids[i / topk * id_pitch(topk) + i % topk] = valid ? (int16_t)id : (int16_t)-1;
    }
    return ignored;
}

/* Exclusive prefix sum over the threads of a block, and the sum of all. Every thread of the block calls it. */
template <typename T, int threads> static __device__ T block_exclusive_scan(T value, T *sum)
{
    __shared__ T warp_sum[threads / 32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    T inclusive = value;
    for (int distance = 1; distance < 32; distance *= 2) {
        const T left = __shfl_up_sync(0xFFFFFFFFu, inclusive, distance);
        if (lane >= distance)
            inclusive += left;
    }
    if (lane == 31)
        warp_sum[warp] = inclusive;
    __syncthreads();
    T before = 0;
    *sum = 0;
    for (int other = 0; other < threads / 32; other++) {
        if (other < warp)
            before += warp_sum[other];
        *sum += warp_sum[other];
    }
    __syncthreads(); // the next scan writes warp_sum again
    return before + inclusive - value;
}

/* ---- count ------------------------------------------------------------------------------------------------------ */

/* (row, a, b) in one number that orders as the triple does: topk is at most 32, so a slot takes five bits. */
static __device__ __forceinline__ unsigned long long duplicate_key(int64_t row, int a, int b)
{
    return (unsigned long long)row << 10 | (unsigned long long)a << 5 | (unsigned long long)b;
}

static __device__ __forceinline__ struct sb_status duplicate_status(unsigned long long key)
{
    return {SB_DUPLICATE_EXPERT, 0, {(int64_t)(key >> 10), (int64_t)(key >> 5 & 31), (int64_t)(key & 31)}, 0};
}

/* The lowest pair of slots with the same expert in one row of staged ids, or no_duplicate. */
static __device__ unsigned long long find_duplicate(const int16_t *row_ids, int topk, int64_t row)
{
    for (int a = 0; a < topk; a++)
        for (int b = a + 1; b < topk; b++)
            if (row_ids[a] >= 0 && row_ids[a] == row_ids[b])
                return duplicate_key(row, a, b);
    return no_duplicate;
}

static inline size_t count_shared_bytes(int experts, int topk)
{
    return (size_t)experts * sizeof(int32_t) + ids_bytes(topk);
}

/* Counts one row's valid slots in the group's histogram, and returns how many they are. */
static __device__ __forceinline__ int count_row(const int16_t *row_ids, int topk, int32_t *histogram)
{
    int valid = 0;
    for (int slot = 0; slot < topk; slot++)
        if (row_ids[slot] >= 0) {
            atomicAdd(&histogram[row_ids[slot]], 1);
            valid++;
        }
    return valid;
}

/* This group's entry in every row of group_count. */
static __device__ __forceinline__ void store_group_counts(struct workspace work, int experts, const int32_t *histogram,
                                                          int32_t valid_slots, int32_t ignored_ids)
{
    int32_t *entry = work.group_count + blockIdx.x; // in the first row
    for (int e = threadIdx.x; e < experts; e += group_rows)
        entry[e * work.groups] = histogram[e];
    if (threadIdx.x == 0) {
        entry[valid_row(experts) * work.groups] = valid_slots;
        entry[ignored_row(experts) * work.groups] = ignored_ids;
    }
}

template <typename Index>
static __global__ void __launch_bounds__(group_rows)
    topk_count(const Index *topk_idx, int64_t n, int topk, int experts, struct workspace work)
{
    extern __shared__ int32_t shared[];
    int32_t *histogram = shared; // [experts]
    int16_t *ids = (int16_t *)(histogram + experts);
    __shared__ int32_t valid_slots, ignored_ids;
    __shared__ unsigned long long duplicate;

    const int rows = rows_in_group(n);
    const int row = threadIdx.x;
    for (int e = threadIdx.x; e < experts; e += group_rows)
        histogram[e] = 0;
    if (threadIdx.x == 0) {
        valid_slots = 0;
        ignored_ids = 0;
        duplicate = no_duplicate;
    }
    const int ignored = stage_ids(topk_idx, rows, topk, experts, ids);
    __syncthreads();

    atomicAdd(&ignored_ids, ignored);
    if (row < rows) {
        const int16_t *row_ids = ids + row * id_pitch(topk);
        atomicAdd(&valid_slots, count_row(row_ids, topk, histogram));
        const unsigned long long key = find_duplicate(row_ids, topk, (int64_t)blockIdx.x * group_rows + row);
        if (key != no_duplicate)
            atomicMin(&duplicate, key);
    }
    __syncthreads();

    store_group_counts(work, experts, histogram, valid_slots, ignored_ids);
    if (threadIdx.x == 0 && duplicate != no_duplicate)
        atomicMin(work.first_duplicate, duplicate);
}

/* ---- scan ------------------------------------------------------------------------------------------------------- */

/* A block a row of group_count: turns it into its exclusive prefix sums, in place, and writes the total. */
static __global__ void __launch_bounds__(scan_threads) topk_scan(struct workspace work)
{
    int32_t *row = work.group_count + blockIdx.x * work.groups;
    int32_t before = 0;
    for (int64_t first = 0; first < work.groups; first += scan_threads) {
        const int64_t group = first + threadIdx.x;
        int32_t sum;
        const int32_t prefix = block_exclusive_scan<int32_t, scan_threads>(group < work.groups ? row[group] : 0, &sum);
        if (group < work.groups)
            row[group] = before + prefix;
        before += sum;
    }
    if (threadIdx.x == 0)
        work.total[blockIdx.x] = before;
}

/* ---- finish ----------------------------------------------------------------------------------------------------- */

struct finish_args {
    const int32_t *tokens_per_expert; /* or NULL */
    int64_t counts_align;
    int64_t n, block;
    int experts;
};

/* `count` rounded up to what a dispatcher with this alignment reports. */
static __device__ __forceinline__ int64_t reported_count(int64_t count, int64_t align)
{
    return sb_cdiv(count, align) * align;
}

/* The verdict, by the contract's precedence. `mismatch` is the lowest expert whose given count is wrong, or experts. */
static __device__ struct sb_status verdict(const struct finish_args &args, const struct sb_gpu_topk_out &out,
                                           const struct workspace &work, int mismatch, int64_t TK, int64_t TKP)
{
    struct sb_status status = {SB_OK, 0, {0, 0, 0}, 0};
    if (*work.first_duplicate != no_duplicate)
        status = duplicate_status(*work.first_duplicate);
    else if (mismatch < args.experts)
        status = {SB_COUNT_MISMATCH, 0, {mismatch, args.tokens_per_expert[mismatch], work.total[mismatch]}, 0};
    else if (TKP > INT32_MAX)
        status = {SB_TOO_LARGE, 0, {TKP, INT32_MAX, 0}, 0};
    else if (TKP > out.TKP_capacity)
        status = {SB_TOO_LARGE, 0, {TKP, out.TKP_capacity, 0}, 0};
    else if (TK > out.TK_capacity)
        status = {SB_TOO_LARGE, 0, {TK, out.TK_capacity, 0}, 0};
    status.ignored = work.total[ignored_row(args.experts)];
    return status;
}

/* One block, a thread an expert. */
static __global__ void __launch_bounds__(finish_threads)
    topk_finish(struct finish_args args, struct workspace work, struct sb_gpu_topk_out out, struct sb_status *status)
{
    __shared__ int mismatch;
    __shared__ bool accepted;
    const int e = threadIdx.x;
    const int64_t slots = e < args.experts ? work.total[e] : 0;
    int64_t TK, TKP;
    const int64_t slots_before = block_exclusive_scan<int64_t, finish_threads>(slots, &TK);
    const int64_t offset = block_exclusive_scan<int64_t, finish_threads>(sb_cdiv(slots, args.block) * args.block, &TKP);

    if (e == 0)
        mismatch = args.experts;
    __syncthreads();
    if (args.tokens_per_expert != NULL && e < args.experts &&
        args.tokens_per_expert[e] != reported_count(slots, args.counts_align))
        atomicMin(&mismatch, e);
    __syncthreads();
    if (e == 0) {
        const struct sb_status result = verdict(args, out, work, mismatch, TK, TKP);
        accepted = result.code == SB_OK;
        *status = result;
    }
    __syncthreads();
    if (!accepted)
        return;

    if (e < args.experts) {
        out.expert_offset[e] = (int32_t)offset;
        work.slots_before[e] = (int32_t)slots_before;
    }
    if (e == 0) {
        out.expert_offset[args.experts] = (int32_t)TKP;
        out.token_offset[args.n] = (int32_t)TK;
        *out.TK = TK;
        *out.TKP = TKP;
        *out.pad_rows = TKP - TK;
    }
}

/* ---- place ------------------------------------------------------------------------------------------------------ */

/* How many of the group's rows before `row` go to an expert, given its bitmap of the 128 rows, words `experts` apart.
 */
static __device__ __forceinline__ int earlier_rows(const uint32_t *rows_of_expert, int experts, int row)
{
    int earlier = __popc(rows_of_expert[row / 32 * experts] & ((1u << row % 32) - 1));
    for (int word = 0; word < row / 32; word++)
        earlier += __popc(rows_of_expert[word * experts]);
    return earlier;
}

/* How many of the row's valid slots stand before `slot` in token-major order. */
static __device__ __forceinline__ int slots_in_front(const int16_t *row_ids, int topk, int slot, bool by_expert)
{
    int in_front = 0;
    for (int other = 0; other < topk; other++)
        in_front += row_ids[other] >= 0 && (by_expert ? row_ids[other] < row_ids[slot] : other < slot);
    return in_front;
}

/* Marks one row in the bitmap of each of its experts, [group_words][experts], and returns how many they are. */
static __device__ __forceinline__ int mark_row(const int16_t *row_ids, int topk, int row, int experts,
                                               uint32_t *row_bitmap)
{
    int valid = 0;
    for (int slot = 0; slot < topk; slot++)
        if (row_ids[slot] >= 0) {
            atomicOr(&row_bitmap[row / 32 * experts + row_ids[slot]], 1u << row % 32);
            valid++;
        }
    return valid;
}

/* Everything that one valid slot decides. `source` is its place in topk_idx and topk_prob. */
static __device__ __forceinline__ void place_slot(const struct sb_gpu_topk_out &out, int token, int padded,
                                                  int token_major, int64_t source, uint32_t prob)
{
    out.x_gather_idx[padded] = token;
    out.s_scatter_idx[padded] = token_major;
    out.s_reverse_scatter_idx[token_major] = padded;
    out.topk_score[token_major] = prob;
    out.score_src_idx[token_major] = (int32_t)source;
}

static inline size_t place_shared_bytes(int experts, int topk)
{
    return (size_t)group_words * experts * sizeof(uint32_t) + ids_bytes(topk);
}

template <typename Index>
static __global__ void __launch_bounds__(group_rows)
    topk_place(const Index *topk_idx, const uint32_t *topk_prob, int64_t n, int topk, int experts, bool by_expert,
               struct workspace work, struct sb_gpu_topk_out out, const struct sb_status *status)
{
    extern __shared__ int32_t shared[];
    uint32_t *row_bitmap = (uint32_t *)shared; // [group_words][experts]
    int16_t *ids = (int16_t *)(row_bitmap + group_words * experts);
    __shared__ int32_t row_position[group_rows]; // token-major position of each row's first slot
    if (status->code != SB_OK)
        return;

    const int64_t first_row = (int64_t)blockIdx.x * group_rows;
    const int rows = rows_in_group(n);
    const int row = threadIdx.x;
    for (int i = threadIdx.x; i < group_words * experts; i += group_rows)
        row_bitmap[i] = 0;
    (void)stage_ids(topk_idx, rows, topk, experts, ids);
    __syncthreads();

    const int valid = row < rows ? mark_row(ids + row * id_pitch(topk), topk, row, experts, row_bitmap) : 0;
    int all_valid;
    const int valid_before = block_exclusive_scan<int, group_rows>(valid, &all_valid);
    if (row < rows) {
        row_position[row] = work.group_count[valid_row(experts) * work.groups + blockIdx.x] + valid_before;
        out.token_offset[first_row + row] = row_position[row];
    }
    __syncthreads();

    /* A thread a slot, in memory order: reads of topk_prob are coalesced, token-major writes nearly so. */
    for (int i = threadIdx.x; i < rows * topk; i += group_rows) {
        const int r = i / topk;
        const int slot = i % topk;
        const int16_t *row_ids = ids + r * id_pitch(topk);
        const int e = row_ids[slot];
        if (e < 0)
            continue;
        const int rank = work.group_count[e * work.groups + blockIdx.x] + earlier_rows(row_bitmap + e, experts, r);
        const int token_major = row_position[r] + slots_in_front(row_ids, topk, slot, by_expert);
        const int64_t source = first_row * topk + i;
        place_slot(out, (int)(first_row + r), out.expert_offset[e] + rank, token_major, source, topk_prob[source]);
    }
}

/* ---- pad -------------------------------------------------------------------------------------------------------- */

/* A block an expert: the rows from its last token to the next expert's offset. There are as many padding rows as
 * scores from TK on, so the same loop writes those zeros too. */
static __global__ void __launch_bounds__(pad_threads)
    topk_pad(bool by_expert, struct workspace work, struct sb_gpu_topk_out out, const struct sb_status *status)
{
    if (status->code != SB_OK)
        return;
    const int e = blockIdx.x;
    const int32_t TK = (int32_t)*out.TK;
    const int64_t first = (int64_t)out.expert_offset[e] + work.total[e];
    const int64_t slots_to_here = (int64_t)work.slots_before[e] + work.total[e];
    for (int64_t padded = first + threadIdx.x; padded < out.expert_offset[e + 1]; padded += pad_threads) {
        const int32_t number = (int32_t)(padded - slots_to_here); // of this padding row among all, in position order
        out.x_gather_idx[padded] = 0;
        out.s_scatter_idx[padded] = by_expert ? TK : TK + number;
        out.topk_score[TK + number] = 0;
    }
}

/* ---- Host side -------------------------------------------------------------------------------------------------- */

template <typename Index>
static cudaError_t launch_count(const struct sb_topk_args *args, struct workspace work, cudaStream_t stream)
{
    if (work.groups == 0)
        return cudaSuccess;
    const int topk = (int)args->topk, experts = (int)args->experts;
    return sb_launch(topk_count<Index>, dim3((unsigned)work.groups), dim3(group_rows),
                     count_shared_bytes(experts, topk), stream, (const Index *)args->topk_idx, args->n, topk, experts,
                     work);
}

template <typename Index>
static cudaError_t launch_place(const struct sb_topk_args *args, const struct sb_gpu_topk_out *out,
                                struct workspace work, const struct sb_status *status, cudaStream_t stream)
{
    if (work.groups == 0)
        return cudaSuccess;
    const int topk = (int)args->topk, experts = (int)args->experts;
    const bool by_expert = args->order == SB_ORDER_EXPERT;
    const cudaError_t error = sb_launch(topk_place<Index>, dim3((unsigned)work.groups), dim3(group_rows),
                                        place_shared_bytes(experts, topk), stream, (const Index *)args->topk_idx,
                                        args->topk_prob, args->n, topk, experts, by_expert, work, *out, status);
    if (error != cudaSuccess)
        return error;
    return sb_launch(topk_pad, dim3((unsigned)experts), dim3(pad_threads), 0, stream, by_expert, work, *out, status);
}

static cudaError_t launch_all(const struct sb_topk_args *args, const struct sb_gpu_topk_out *out, struct workspace work,
                              struct sb_status *status, cudaStream_t stream)
{
    const bool wide = args->idx_dtype == SB_I64;
    const int experts = (int)args->experts;
    cudaError_t error = cudaMemsetAsync(work.first_duplicate, 0xFF, sizeof *work.first_duplicate, stream);
    if (error == cudaSuccess)
        error = wide ? launch_count<int64_t>(args, work, stream) : launch_count<int32_t>(args, work, stream);
    if (error == cudaSuccess)
        error = sb_launch(topk_scan, dim3((unsigned)count_rows(experts)), dim3(scan_threads), 0, stream, work);
    if (error == cudaSuccess) {
        const struct finish_args finish_these = {args->tokens_per_expert, args->counts_align, args->n, args->block,
                                                 experts};
        error = sb_launch(topk_finish, dim3(1), dim3(finish_threads), 0, stream, finish_these, work, *out, status);
    }
    if (error == cudaSuccess)
        error = wide ? launch_place<int64_t>(args, out, work, status, stream)
                     : launch_place<int32_t>(args, out, work, status, stream);
    return error;
}

extern "C" size_t sb_topk_metadata_scan_workspace(const struct sb_topk_args *args)
{
    return sb_topk_check_args(args).code == SB_OK ? layout_of(args).bytes : 0;
}

extern "C" struct sb_gpu_result sb_topk_metadata_scan(const struct sb_topk_args *args,
                                                      const struct sb_gpu_topk_out *out, void *workspace,
                                                      size_t workspace_bytes, struct sb_status *status, void *stream)
{
    const struct sb_status checked = sb_topk_check_args(args);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);
    if (workspace_bytes < layout_of(args).bytes)
        return sb_result_of(cudaErrorInvalidValue);
    return sb_result_of(launch_all(args, out, parts_of(args, workspace), status, (cudaStream_t)stream));
}

/* ---- Adapter ---------------------------------------------------------------------------------------------------- */

extern "C" size_t sb_workspace_topk_metadata_scan(const struct sb_gpu_call *call)
{
    const struct sb_topk_args args = sb_call_topk_args(call);
    return sb_topk_metadata_scan_workspace(&args);
}

extern "C" struct sb_gpu_result sb_run_topk_metadata_scan(const struct sb_gpu_call *call)
{
    const struct sb_topk_args args = sb_call_topk_args(call);
    const struct sb_gpu_topk_out out = sb_call_topk_out(call);
    return sb_topk_metadata_scan(&args, &out, call->workspace, call->workspace_bytes, call->status, call->stream);
}
