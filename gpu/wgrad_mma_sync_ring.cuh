/* wgrad_mma_sync_ring.cuh - the shape of wgrad_varlen_k_mma_sync.cu, and the ring of stages in shared memory that its
 * warps fill and read together. Included by the parts of that kernel alone. */
#ifndef SAMEBITS_GPU_WGRAD_MMA_SYNC_RING_CUH
#define SAMEBITS_GPU_WGRAD_MMA_SYNC_RING_CUH

#include <stddef.h>

#include "ptx.cuh"
#include "ptx_async.cuh"
#include "wgrad_schedule.cuh"

/* ---- Shape ------------------------------------------------------------------------------------------------------- */

constexpr int step_k = 16; // the contract's step, and the k of the mma
constexpr int tile_k = 32; // rows of a stage: two steps

/* A warp's share of the tile. The fewer fragments are loaded for an mma the better, and 192 sums a thread are what the
 * registers hold beside them. Warps take turns in M and in N: fragment i of all warps lies side by side. */
constexpr int m_fragments = 6; // of 16 rows
constexpr int n_fragments = 8; // of 8 columns
constexpr int warps_m = 2;
constexpr int warps_n = 4;
constexpr int warps = warps_m * warps_n;
constexpr int threads = warps * 32;
constexpr int tile_m = warps_m * m_fragments * 16;
constexpr int tile_n = warps_n * n_fragments * 8;

/* A staged row is cut into groups of 64 columns, which are stored one after the other, all rows of a group together. */
constexpr int chunk_elements = 8; // 16 bytes: what cp.async copies and ldmatrix reads; M and N are multiples of it
constexpr int group_columns = 64;
constexpr int group_chunks = group_columns / chunk_elements;
constexpr int row_bytes = group_columns * 2;
constexpr int group_bytes = tile_k * row_bytes;
constexpr int step_bytes = step_k * row_bytes;
constexpr int dy_groups = tile_m / group_columns;
constexpr int x_groups = tile_n / group_columns;
constexpr int stage_bytes = (dy_groups + x_groups) * group_bytes; // dy's groups, then x's
constexpr int stages = 3;

static_assert(threads == tile_k * group_chunks, "a thread copies one chunk of every group");
static_assert(warps_m * 16 == 32 && warps_n * 16 == group_columns, "load_dy and load_x go by it");

struct shared_parts {
    unsigned char stage[stages][stage_bytes];
    struct schedule schedule;
    uint64_t full[stages], empty[stages];
};
static_assert(sizeof(struct shared_parts) <= 99 * 1024, "fits a block of sm_120");

/* Byte, in a group, of 16-byte chunk `chunk` of row `row`. The chunk number is XORed with the row's low three bits: a
 * row is 128 bytes, so the 8 consecutive rows that one ldmatrix phase reads at one chunk would otherwise share their
 * banks. */
static __device__ __forceinline__ uint32_t staged_byte(int row, int chunk)
{
    return (uint32_t)(row * row_bytes + ((chunk ^ (row & 7)) * 16));
}

/* ---- The ring of stages ------------------------------------------------------------------------------------------ */

/* Where a warp reads. All walk the ring the same way, over all tiles, and two stages ahead of it they write: into the
 * stage that was read before. The two kinds of barriers let warps drift apart by half a stage, so that they do not all
 * want fragments from shared memory at the same time: one barrier of all threads a stage costs 5%. */
struct ring {
    uint32_t shared; // .shared address of the shared_parts
    uint32_t offset; // of the stage
    int stage;
    uint32_t parity; // of the phase that this round of the ring is
};

/* .shared addresses of a stage's barriers. `full`: every thread's copies have landed. `empty`: every warp has read
 * it. */
static __device__ __forceinline__ uint32_t full_barrier(uint32_t shared, int stage)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, full) + stage * sizeof(uint64_t));
}

static __device__ __forceinline__ uint32_t empty_barrier(uint32_t shared, int stage)
{
    return shared + (uint32_t)(offsetof(struct shared_parts, empty) + stage * sizeof(uint64_t));
}

/* One thread, before a barrier of all. */
static __device__ __forceinline__ void init_barriers(uint32_t shared)
{
    for (int s = 0; s < stages; s++) {
        ptx_mbarrier_init(full_barrier(shared, s), threads);
        ptx_mbarrier_init(empty_barrier(shared, s), warps);
    }
    ptx_fence_mbarrier_init();
}

static __device__ __forceinline__ int stage_before(const struct ring *ring)
{
    return ring->stage == 0 ? stages - 1 : ring->stage - 1;
}

/* Of the stage to write, in bytes. */
static __device__ __forceinline__ uint32_t offset_to_write(const struct ring *ring)
{
    return ring->offset == 0 ? (stages - 1) * stage_bytes : ring->offset - stage_bytes;
}

/* All warps have read that stage. The phase before the first is taken for complete. */
static __device__ __forceinline__ void wait_empty(const struct ring *ring)
{
    ptx_mbarrier_wait(empty_barrier(ring->shared, stage_before(ring)), ring->parity ^ (ring->stage == 0));
}

/* This thread has started its copies into that stage, if there were any: the phase must complete in any case. */
static __device__ __forceinline__ void tell_written(const struct ring *ring)
{
    ptx_cp_async_mbarrier_arrive(full_barrier(ring->shared, stage_before(ring)));
}

/* Goes on to the next stage when it is full. */
static __device__ __forceinline__ void advance(struct ring *ring)
{
    ring->offset += stage_bytes;
    ring->stage++;
    if (ring->stage == stages) {
        ring->offset = 0;
        ring->stage = 0;
        ring->parity ^= 1;
    }
    ptx_mbarrier_wait(full_barrier(ring->shared, ring->stage), ring->parity);
}

/* This warp, gone on already, reads the stage before no more. */
static __device__ __forceinline__ void tell_read(const struct ring *ring, int lane)
{
    __syncwarp();
    if (lane == 0)
        ptx_mbarrier_arrive(empty_barrier(ring->shared, stage_before(ring)));
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

struct call {
    const struct sb_wgrad_args *args;
    const struct schedule *schedule;
    struct tile_grid grid;
    uint32_t tiles;
};

static __device__ __forceinline__ struct wgrad_tile tile_at(const struct call *call, uint32_t index)
{
    return schedule_tile(call->schedule, call->args, &call->grid, index);
}

#endif
