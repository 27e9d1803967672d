/* wgrad_wgmma_ring.cuh - the shape of wgrad_varlen_k_wgmma.cu, and the ring of stages in shared memory that its warps
 * walk together. Included by the parts of that kernel alone. */
#ifndef SAMEBITS_GPU_WGRAD_WGMMA_RING_CUH
#define SAMEBITS_GPU_WGRAD_WGMMA_RING_CUH

#include <stddef.h>

#include "ptx.cuh"
#include "ptx_async.cuh"
#include "ptx_wgmma.cuh"
#include "wgrad_schedule.cuh"

/* ---- Shape ------------------------------------------------------------------------------------------------------- */

constexpr int step_k = 16;
constexpr int tile_k = 64;     // rows of a stage: four steps
constexpr int group_m = 64;    // of a warpgroup: the instruction's
constexpr int multipliers = 2; // warpgroups that multiply
constexpr int tile_m = multipliers * group_m;
constexpr int tile_n = ptx_wgmma_n; // the widest instruction reads the fewest bytes of shared memory an output

constexpr int box_columns = 64; // 128 bytes: the swizzle's width
constexpr int row_bytes = box_columns * 2;
constexpr int box_bytes = tile_k * row_bytes;
constexpr int step_bytes = step_k * row_bytes;
constexpr int chunks = row_bytes / 16; // of a row of a box: what the swizzle moves about
constexpr int dy_boxes = tile_m / box_columns;
constexpr int x_boxes = tile_n / box_columns;
constexpr int stage_bytes = (dy_boxes + x_boxes) * box_bytes; // dy's boxes, then x's
constexpr int stages = 3;

constexpr int warps_of_group = 4;
constexpr int gather_warps = 2;
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

/* dw leaves in boxes too, 128 bytes wide. A warpgroup has room for four, written two at a time. */
constexpr int out_box_bytes = group_m * row_bytes;
constexpr int out_boxes = 4;
constexpr int out_batch = 2;

constexpr int out_barrier = 1; // and the next, a warpgroup each; 0 is __syncthreads'

struct barriers {
    uint64_t full[stages], empty[stages], landed[stages];
};

/* Of the dynamic shared memory; stages begin on a multiple of 1024, where the swizzle's pattern does. */
struct shared_parts {
    unsigned char stage[stages][stage_bytes];
    unsigned char out[multipliers][out_boxes][out_box_bytes];
    struct barriers barriers;
    struct schedule schedule;
};
constexpr size_t stage_alignment = 1024;
constexpr size_t shared_bytes = sizeof(struct shared_parts) + stage_alignment;

static_assert(sizeof(struct shared_parts) + stage_alignment <= 227 * 1024, "fits a block of sm_90");
static_assert(stage_bytes % stage_alignment == 0 && box_bytes % stage_alignment == 0, "every box begins a pattern");

/* ---- The ring of stages ------------------------------------------------------------------------------------------ */

/* .shared addresses of the parts of stage `stage`; `shared` is that of the shared_parts. One number to keep, not four.
 */
static __device__ __forceinline__ uint32_t full_barrier(uint32_t shared, int stage)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, barriers.full) + stage * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t empty_barrier(uint32_t shared, int stage)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, barriers.empty) + stage * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t landed_barrier(uint32_t shared, int stage)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, barriers.landed) + stage * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t dy_box(uint32_t shared, int stage, int box)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, stage) + stage * stage_bytes + box * box_bytes);
}

static __device__ __forceinline__ uint32_t x_box(uint32_t shared, int stage, int box)
{
    return dy_box(shared, stage, dy_boxes + box);
}

/* A place in the ring, which everybody walks the same way, over all tiles. */
struct place {
    int stage;
    uint32_t parity; // of the phase that this round of the ring is
};

static __device__ __forceinline__ void advance(struct place *place)
{
    place->stage++;
    if (place->stage == stages) {
        place->stage = 0;
        place->parity ^= 1;
    }
}

/* One thread. */
static __device__ __forceinline__ void init_barriers(uint32_t shared, uint32_t filling, uint32_t reading)
{
    for (int s = 0; s < stages; s++) {
        ptx_mbarrier_init(full_barrier(shared, s), filling);
        ptx_mbarrier_init(empty_barrier(shared, s), reading);
        ptx_mbarrier_init(landed_barrier(shared, s), 1);
    }
    ptx_fence_mbarrier_init();
}

/* The stage may be written again: in all blocks of the cluster, since copies go to all. The phase before the first is
 * taken for complete. */
static __device__ __forceinline__ void wait_empty(uint32_t shared, const struct place *place)
{
    ptx_mbarrier_wait(empty_barrier(shared, place->stage), place->parity ^ 1);
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

struct call {
    const struct sb_wgrad_args *args;
    const struct schedule *schedule;
    struct tile_grid grid; // of the clusters' tiles
    uint32_t tiles;
};

template <int cluster>
static __device__ __forceinline__ struct wgrad_tile tile_at(const struct call *call, uint32_t index)
{
    struct wgrad_tile tile = schedule_tile(call->schedule, call->args, &call->grid, index);
    if (cluster > 1)
        tile.m0 += (int32_t)ptx_cluster_rank() * tile_m;
    return tile;
}

static __device__ __forceinline__ int stages_of(const struct wgrad_tile *tile)
{
    return (tile->length + tile_k - 1) / tile_k;
}

/* Does the last stage of this tile hold rows of its last step that are not the segment's? */
static __device__ __forceinline__ bool has_short_step(const struct wgrad_tile *tile)
{
    return tile->length % step_k != 0;
}

#endif
