/* wgrad_ring.cuh - the tiles of the wgrad_varlen_k kernels that multiply out of shared memory (wgmma, tcgen05), and the
 * ring of stages there that their warps walk together. Included by the parts of such a kernel alone, after its shape:
 * `stages`, their number; `out_bytes` of room for outputs on their way to dw; `bounded_waits`, see wait_for. */
#ifndef SAMEBITS_GPU_WGRAD_RING_CUH
#define SAMEBITS_GPU_WGRAD_RING_CUH

#include <stddef.h>

#include "launch.cuh"
#include "ptx.cuh"
#include "ptx_async.cuh"
#include "tensor_map.h"
#include "wgrad_schedule.cuh"

/* ---- Shape ------------------------------------------------------------------------------------------------------- */

constexpr int step_k = 16;
constexpr int tile_k = 64; // rows of a stage: four steps
constexpr int tile_m = 128;
constexpr int tile_n = 256; // the widest instruction reads the fewest bytes of shared memory an output

constexpr int box_columns = 64; // 128 bytes: the swizzle's width
constexpr int row_bytes = box_columns * 2;
constexpr int box_bytes = tile_k * row_bytes;
constexpr int step_bytes = step_k * row_bytes;
constexpr int chunks = row_bytes / 16; // of a row of a box: what the swizzle moves about
constexpr int dy_boxes = tile_m / box_columns;
constexpr int x_boxes = tile_n / box_columns;
constexpr int stage_bytes = (dy_boxes + x_boxes) * box_bytes; // dy's boxes, then x's

constexpr int gather_warps = 2;

/* What bulk copies go by; dw where outputs leave that way, too. */
struct maps {
    CUtensorMap dy, x, dw;
};

struct barriers {
    uint64_t full[stages], empty[stages], landed[stages];
};

/* Of the dynamic shared memory; stages begin on a multiple of 1024, where the swizzle's pattern does. */
struct shared_parts {
    unsigned char stage[stages][stage_bytes];
    unsigned char out[out_bytes];
    struct barriers barriers;
    struct schedule schedule;
    long long deadline; // of bounded waits, on this multiprocessor's clock
};
constexpr size_t stage_alignment = 1024;
constexpr size_t shared_bytes = sizeof(struct shared_parts) + stage_alignment;

static_assert(sizeof(struct shared_parts) + stage_alignment <= 227 * 1024, "fits a block of sm_90 and of sm_100");
static_assert(stage_bytes % stage_alignment == 0 && box_bytes % stage_alignment == 0, "every box begins a pattern");

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

/* One thread waits at a barrier. False: the kernel's waits are bounded, and the deadline has passed. Then the caller
 * returns, as every other will whose wait has no end. */
static __device__ __forceinline__ bool wait_for(uint32_t shared, uint32_t barrier, uint32_t parity)
{
    if constexpr (bounded_waits) {
        const long long *deadline =
            (const long long *)__cvta_shared_to_generic(shared + offsetof(struct shared_parts, deadline));
        while (!ptx_mbarrier_try_wait(barrier, parity))
            if (clock64() >= *deadline)
                return false;
    } else {
        ptx_mbarrier_wait(barrier, parity);
    }
    return true;
}

/* The same by a whole warp, which hears one answer. */
static __device__ __forceinline__ bool warp_wait_for(uint32_t shared, uint32_t barrier, uint32_t parity)
{
    const bool done = wait_for(shared, barrier, parity);
    return bounded_waits ? __all_sync(0xFFFFFFFFu, done) != 0 : done;
}

/* The stage may be written again when this barrier has completed this phase: in all blocks of the cluster, since copies
 * go to all. The phase before the first is taken for complete. */
static __device__ __forceinline__ bool wait_empty(uint32_t shared, const struct place *place)
{
    return wait_for(shared, empty_barrier(shared, place->stage), place->parity ^ 1);
}

static __device__ __forceinline__ bool warp_wait_empty(uint32_t shared, const struct place *place)
{
    return warp_wait_for(shared, empty_barrier(shared, place->stage), place->parity ^ 1);
}

/* ---- Host -------------------------------------------------------------------------------------------------------- */

/* Everything that needs no device. */
static struct sb_status check_call(const struct sb_wgrad_args *args, const void *dw)
{
    const int64_t most_rows = INT32_MAX - tile_k; // a segment's, rounded up to whole stages, are counted in 32 bits
    const struct sb_status status = sb_wgrad_check_tiles(args, dw, tile_m, tile_n);
    return status.code == SB_OK && args->T > most_rows ? sb_reject(SB_TOO_LARGE, args->T, most_rows, 0) : status;
}

/* A map of a matrix without rows is refused, and without rows no copy is made: then it is of nothing. */
static cudaError_t map_matrix(CUtensorMap *map, const uint16_t *matrix, int64_t rows, int64_t columns, int64_t stride)
{
    return rows > 0 ? sb_tensor_map_bf16(map, matrix, rows, columns, stride, tile_k) : cudaSuccess;
}

#endif
