/* wgrad_mma_sync_feed.cuh - how the threads of wgrad_varlen_k_mma_sync.cu copy rows of dy and x into stages. */
#ifndef SAMEBITS_GPU_WGRAD_MMA_SYNC_FEED_CUH
#define SAMEBITS_GPU_WGRAD_MMA_SYNC_FEED_CUH

#include "wgrad_mma_sync_ring.cuh"

/* Where a thread stands in the stages that it helps to copy, which run on from tile to tile, two stages ahead of those
 * that are read. Of every stage it copies one chunk of each group, all in one row. */
template <bool gather> struct feed {
    const uint16_t *dy, *x; // without gather: its first chunks of the next stage
    int32_t x_row;          // with gather: its row of x in the next stage, fetched a stage ahead
    uint32_t k;             // the next stage's first row
    int32_t rows;           // of the tile that are still to copy
    int32_t m0, n0;         // of the tile
    uint32_t tile;
};

static __device__ __forceinline__ int thread_row()
{
    return (int)threadIdx.x / group_chunks;
}

static __device__ __forceinline__ int thread_chunk()
{
    return (int)threadIdx.x % group_chunks;
}

/* The first column that a thread copies of those from column `first` on. */
static __device__ __forceinline__ int32_t thread_column(int32_t first)
{
    return first + thread_chunk() * chunk_elements;
}

template <bool gather>
static __device__ __forceinline__ void find_x_row(struct feed<gather> *feed, const struct sb_wgrad_args *args)
{
    if (gather && thread_row() < feed->rows)
        feed->x_row = args->x_gather_idx[feed->k + (uint32_t)thread_row()];
}

/* Goes to the first tile from feed->tile on that has rows; there are none left to copy otherwise. */
template <bool gather>
static __device__ __forceinline__ void seek_rows(struct feed<gather> *feed, const struct call *call)
{
    const struct sb_wgrad_args *args = call->args;
    feed->rows = 0;
    for (; feed->tile < call->tiles; feed->tile += gridDim.x) {
        const struct wgrad_tile tile = tile_at(call, feed->tile);
        if (tile.length == 0)
            continue;
        feed->k = (uint32_t)tile.begin;
        feed->rows = tile.length;
        feed->m0 = tile.m0;
        feed->n0 = tile.n0;
        if (!gather) {
            const int64_t row = (int64_t)tile.begin + thread_row();
            feed->dy = args->dy + (row * args->ld_dy + thread_column(tile.m0));
            feed->x = args->x + (row * args->ld_x + thread_column(tile.n0));
        }
        find_x_row(feed, args);
        return;
    }
}

/* Goes to the next tile when the rows of this one are all under way. */
template <bool gather>
static __device__ __forceinline__ void seek_next_rows(struct feed<gather> *feed, const struct call *call)
{
    if (feed->rows <= 0 && feed->tile < call->tiles) {
        feed->tile += gridDim.x;
        seek_rows(feed, call);
    }
}

template <bool gather>
static __device__ __forceinline__ const uint16_t *next_dy(const struct feed<gather> *feed,
                                                          const struct sb_wgrad_args *args)
{
    return gather ? args->dy + (((int64_t)feed->k + thread_row()) * args->ld_dy + thread_column(feed->m0)) : feed->dy;
}

template <bool gather>
static __device__ __forceinline__ const uint16_t *next_x(const struct feed<gather> *feed,
                                                         const struct sb_wgrad_args *args)
{
    return gather ? args->x + (feed->x_row * args->ld_x + thread_column(feed->n0)) : feed->x;
}

/* The next stage has been started. */
template <bool gather>
static __device__ __forceinline__ void advance_rows(struct feed<gather> *feed, const struct sb_wgrad_args *args)
{
    feed->rows -= tile_k;
    if (gather) {
        feed->k += tile_k;
        find_x_row(feed, args);
    } else {
        feed->dy += tile_k * args->ld_dy;
        feed->x += tile_k * args->ld_x;
    }
}

/* Stages to come of which every row and column is there. */
template <bool gather>
static __device__ __forceinline__ int whole_stages(const struct feed<gather> *feed, const struct sb_wgrad_args *args)
{
    const bool inside = feed->m0 + tile_m <= args->M && feed->n0 + tile_n <= args->N;
    return inside ? feed->rows / tile_k : 0;
}

/* Starts the copy of this thread's chunk of group `group` of the next stage, or writes zeros there and reads nothing.
 * `to`: the chunk's place in the stage's first group. */
template <bool gather>
static __device__ __forceinline__ void copy_group(const struct feed<gather> *feed, uint32_t to,
                                                  const struct sb_wgrad_args *args, bool there, int group)
{
    const uint16_t *const from = group < dy_groups ? next_dy(feed, args) + group * group_columns
                                                   : next_x(feed, args) + (group - dy_groups) * group_columns;
    ptx_cp_async_16(to + group * group_bytes, from, there);
}

/* Starts the next stage, if there is one: any stage, with rows past the segment, or columns past M or N. */
template <bool gather>
static __device__ __forceinline__ void start_stage(struct feed<gather> *feed, uint32_t to,
                                                   const struct sb_wgrad_args *args)
{
    if (feed->rows <= 0)
        return;
#pragma unroll
    for (int group = 0; group < dy_groups + x_groups; group++) {
        const bool column_there = group < dy_groups
                                      ? thread_column(feed->m0 + group * group_columns) < args->M
                                      : thread_column(feed->n0 + (group - dy_groups) * group_columns) < args->N;
        copy_group(feed, to, args, thread_row() < feed->rows && column_there, group);
    }
    advance_rows(feed, args);
}

#endif
