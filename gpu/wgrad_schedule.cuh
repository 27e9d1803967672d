/* wgrad_schedule.cuh - which output tile a persistent block of wgrad_varlen_k computes next.
 *
 * Tiles of the experts with the longest segments come first, and blocks take them in turns: then no block has more work
 * than another by more than the largest tile. Within an expert tiles run in narrow columns, so that those under way at
 * one time share their rows of dy and of x in L2. The order changes no bit: an output is one tile's alone.
 */
#ifndef SAMEBITS_GPU_WGRAD_SCHEDULE_CUH
#define SAMEBITS_GPU_WGRAD_SCHEDULE_CUH

#include "../ref/wgrad_varlen_k.h"
#include "launch.cuh"

/* Experts that are sorted; a call with more takes them as they come. Its shared memory is what limits the number. */
constexpr int schedule_experts = 1024;
/* Width of a column, in tiles. The tiles under way then cover about as many columns of M as of N. */
constexpr int schedule_column = 8;

struct schedule {
    uint64_t key[schedule_experts]; // of a rank: segment length, then the expert's number, bits inverted
    int32_t cu_seqlens[schedule_experts + 1];
};

/* The output tile of a block, and the rows of k that make it. */
struct wgrad_tile {
    int32_t e, m0, n0;
    int32_t begin, length;
};

static __device__ __forceinline__ uint64_t schedule_key(int64_t length, int e)
{
    return (uint64_t)length << 32 | (uint32_t)~e;
}

/* Fills in the schedule; all threads of the block, which meet afterwards at a barrier of their own. */
static __device__ __forceinline__ void schedule_experts_by_length(struct schedule *schedule,
                                                                  const struct sb_wgrad_args *args)
{
    const int thread = (int)threadIdx.x, threads = (int)blockDim.x, experts = (int)args->E;
    int slots = 1; // a power of two for the sorting network
    while (slots < experts)
        slots *= 2;
    for (int e = thread; e <= experts; e += threads)
        schedule->cu_seqlens[e] = args->cu_seqlens[e];
    __syncthreads();
    for (int e = thread; e < slots; e += threads)
        schedule->key[e] = e < experts ? schedule_key(schedule->cu_seqlens[e + 1] - schedule->cu_seqlens[e], e) : 0;
    for (int run = 2; run <= slots; run *= 2) { // bitonic: runs of this length become sorted, every other one upwards
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int i = thread; i < slots / 2; i += threads) {
                const int low = i / distance * distance * 2 + i % distance, high = low + distance;
                const uint64_t a = schedule->key[low], b = schedule->key[high];
                const bool downwards = (low & run) == 0;
                if ((a < b) == downwards) {
                    schedule->key[low] = b;
                    schedule->key[high] = a;
                }
            }
        }
    }
}

/* Sizes of the tiles, and how many there are each way. */
struct tile_grid {
    uint32_t m_tiles, n_tiles;
    int tile_m, tile_n;
};

/* Tile `index` of all, which are fewer than 2^31. */
static __device__ __forceinline__ struct wgrad_tile schedule_tile(const struct schedule *schedule,
                                                                  const struct sb_wgrad_args *args,
                                                                  const struct tile_grid *grid, uint32_t index)
{
    struct wgrad_tile tile;
    const uint32_t of_expert = grid->m_tiles * grid->n_tiles, of_column = grid->m_tiles * schedule_column;
    const uint32_t rank = index / of_expert, in_expert = index % of_expert;
    const uint32_t column = in_expert / of_column, in_column = in_expert % of_column;
    const uint32_t left = grid->n_tiles - column * schedule_column;
    const uint32_t width = left < schedule_column ? left : schedule_column;
    tile.m0 = (int32_t)(in_column / width) * grid->tile_m;
    tile.n0 = (int32_t)(column * schedule_column + in_column % width) * grid->tile_n;
    tile.e = (int32_t)rank;
    const int32_t *cu_seqlens = args->cu_seqlens;
    if (args->E <= schedule_experts) {
        tile.e = (int32_t) ~(uint32_t)schedule->key[rank];
        cu_seqlens = schedule->cu_seqlens;
    }
    tile.begin = cu_seqlens[tile.e];
    tile.length = cu_seqlens[tile.e + 1] - tile.begin;
    return tile;
}

#endif
