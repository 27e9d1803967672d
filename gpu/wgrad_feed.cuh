/* wgrad_feed.cuh - the four warps that fill the stages of wgrad_ring.cuh: 0 to 3 of a block. Each walks all tiles and
 * returns true, or false where a wait was given up. */
#ifndef SAMEBITS_GPU_WGRAD_FEED_CUH
#define SAMEBITS_GPU_WGRAD_FEED_CUH

#include "wgrad_ring.cuh"

/* ---- Warp 0: copies ---------------------------------------------------------------------------------------------- */

template <bool gather, int cluster>
static __device__ __forceinline__ void start_stage(uint32_t shared, int stage, uint32_t barrier,
                                                   const CUtensorMap *dy_map, const CUtensorMap *x_map,
                                                   const struct wgrad_tile *tile, int32_t row)
{
    const int arriving = dy_boxes + (gather ? 0 : x_boxes); // whoever starts their copies
    ptx_mbarrier_arrive_expect_tx(barrier, arriving * box_bytes);
#pragma unroll
    for (int box = 0; box < dy_boxes; box++)
        ptx_bulk_load_2d(dy_box(shared, stage, box), dy_map, tile->m0 + box * box_columns, row, barrier);
    if (gather)
        return;
    const int mine = x_boxes / cluster, first = cluster > 1 ? (int)ptx_cluster_rank() * mine : 0;
#pragma unroll
    for (int i = 0; i < mine; i++) {
        const int box = first + i;
        const int32_t column = tile->n0 + box * box_columns;
        if (cluster > 1)
            ptx_bulk_load_2d_multicast(x_box(shared, stage, box), x_map, column, row, barrier, (1 << cluster) - 1);
        else
            ptx_bulk_load_2d(x_box(shared, stage, box), x_map, column, row, barrier);
    }
}

/* One thread. */
template <bool gather, int cluster>
static __device__ __forceinline__ bool copy_tiles(uint32_t shared, const struct call *call, uint32_t first,
                                                  uint32_t step, const struct maps *maps)
{
    struct place place = {0, 0};
    for (uint32_t t = first; t < call->tiles; t += step) {
        const struct wgrad_tile tile = tile_at<cluster>(call, t);
        const int count = stages_of(&tile);
        for (int s = 0; s < count; s++, advance(&place)) {
            const bool to_clear = s == count - 1 && has_short_step(&tile);
            if (!wait_empty(shared, &place))
                return false;
            start_stage<gather, cluster>(
                shared, place.stage, to_clear ? landed_barrier(shared, place.stage) : full_barrier(shared, place.stage),
                &maps->dy, &maps->x, &tile, tile.begin + s * tile_k);
        }
    }
    return true;
}

/* ---- Warp 1: rows past the end
 * -------------------------------------------------------------------------------- */

/* The rows of the stage that its last step reads and the segment has not, in the first `boxes` boxes. A row of a box is
 * one line of 128 bytes, so the swizzle does not matter. */
static __device__ __forceinline__ void clear_rows(unsigned char *stage, int boxes, int rows_left, int lane)
{
    const int end = (rows_left + step_k - 1) / step_k * step_k;
    for (int i = lane; i < (end - rows_left) * boxes * chunks; i += 32) {
        const int chunk = i % chunks, box = i / chunks % boxes, row = rows_left + i / chunks / boxes;
        *(uint4 *)(stage + box * box_bytes + row * row_bytes + chunk * 16) = make_uint4(0, 0, 0, 0);
    }
    ptx_fence_proxy_async(); // the tensor core reads what was written here, and the next copy overwrites it
    __syncwarp();
}

/* One warp. */
template <bool gather, int cluster>
static __device__ __forceinline__ bool clear_tiles(uint32_t shared, struct shared_parts *parts, const struct call *call,
                                                   uint32_t first, uint32_t step, int lane)
{
    uint32_t before = 0;        // stages of the tiles before
    uint32_t landed_parity = 0; // a bit a stage: its barrier's phases are counted in short steps
    for (uint32_t t = first; t < call->tiles; t += step) {
        const struct wgrad_tile tile = tile_at<cluster>(call, t);
        const int count = stages_of(&tile);
        before += count;
        if (!has_short_step(&tile))
            continue;
        const int stage = (int)((before - 1) % stages);
        if (!warp_wait_for(shared, landed_barrier(shared, stage), landed_parity >> stage & 1))
            return false;
        landed_parity ^= 1u << stage;
        clear_rows(parts->stage[stage], gather ? dy_boxes : dy_boxes + x_boxes, tile.length - (count - 1) * tile_k,
                   lane);
        if (lane == 0)
            ptx_mbarrier_arrive(full_barrier(shared, stage));
    }
    return true;
}

/* ---- Warps 2 and 3: gathered rows of x
 * ------------------------------------------------------------------------ */

/* A copy brings 128 bytes each of four rows, 16 a lane: a lane has one chunk of every fourth row, of all boxes. */
constexpr int rows_at_once = 32 / chunks;
constexpr int gather_rows = tile_k / gather_warps; // of a stage, a warp's
constexpr int lane_rows = gather_rows / rows_at_once;
static_assert(rows_at_once * 2 == 8 && gather_rows % 8 == 0,
              "a lane's rows alternate between two places of the swizzle");

/* The rows of x that a lane copies for the stage beginning at row k of the segment; -1 past its end. */
static __device__ __forceinline__ void find_rows(int32_t x_row[lane_rows], const struct sb_wgrad_args *args,
                                                 const struct wgrad_tile *tile, int k)
{
#pragma unroll
    for (int i = 0; i < lane_rows; i++) {
        const int row = k + i * rows_at_once;
        x_row[i] = row < tile->length ? args->x_gather_idx[tile->begin + row] : -1;
    }
}

/* Starts this lane's copies of a stage. `whole`: all its rows and columns are there; of others those that are not
 * become zeros. */
template <bool whole>
static __device__ __forceinline__ void gather_stage(uint32_t first_box, const struct sb_wgrad_args *args,
                                                    const struct wgrad_tile *tile, const int32_t x_row[lane_rows],
                                                    int first_row, int chunk)
{
    const int32_t column = tile->n0 + chunk * 8;
    const uint16_t *x = args->x + column;
#pragma unroll
    for (int i = 0; i < lane_rows; i++) {
        const int row = first_row + i * rows_at_once;
        const uint32_t to = first_box + (uint32_t)(row * row_bytes + (chunk ^ row % 8) * 16);
        const uint16_t *from = x + x_row[i] * args->ld_x;
#pragma unroll
        for (int box = 0; box < x_boxes; box++) {
            const bool there = whole || (x_row[i] >= 0 && column + box * box_columns < args->N);
            ptx_cp_async_16(to + box * box_bytes, there ? from + box * box_columns : args->x, there);
        }
    }
    ptx_cp_async_commit_group();
}

/* This warp's part of that stage has arrived. */
static __device__ __forceinline__ void tell_gathered(uint32_t shared, int stage, int lane)
{
    ptx_fence_proxy_async();
    __syncwarp();
    if (lane == 0)
        ptx_mbarrier_arrive(full_barrier(shared, stage));
}

/* One warp, of gather_warps. A stage is told when the one after it is under way. */
template <int cluster>
static __device__ __forceinline__ bool gather_tiles(uint32_t shared, const struct call *call, uint32_t first,
                                                    uint32_t step, int warp, int lane)
{
    struct place place = {0, 0};
    int untold = -1;
    const int chunk = lane % chunks, first_row = warp * gather_rows + lane / chunks;
    for (uint32_t t = first; t < call->tiles; t += step) {
        const struct wgrad_tile tile = tile_at<cluster>(call, t);
        const int count = stages_of(&tile);
        int32_t x_row[lane_rows]; // of the stage to start next: its indices are fetched one stage before
        find_rows(x_row, call->args, &tile, first_row);
        for (int s = 0; s < count; s++, advance(&place)) {
            if (!warp_wait_empty(shared, &place))
                return false;
            const uint32_t box = x_box(shared, place.stage, 0);
            if ((s + 1) * tile_k <= tile.length && tile.n0 + tile_n <= call->args->N)
                gather_stage<true>(box, call->args, &tile, x_row, first_row, chunk);
            else
                gather_stage<false>(box, call->args, &tile, x_row, first_row, chunk);
            find_rows(x_row, call->args, &tile, (s + 1) * tile_k + first_row);
            if (untold >= 0) {
                ptx_cp_async_wait_group<1>();
                tell_gathered(shared, untold, lane);
            }
            untold = place.stage;
        }
    }
    if (untold >= 0) {
        ptx_cp_async_wait_group<0>();
        tell_gathered(shared, untold, lane);
    }
    return true;
}

#endif
