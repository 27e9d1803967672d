/* wgrad_parts.h - what the plain model and the vector paths of wgrad_varlen_k share. Internal to ref/. */
#ifndef SAMEBITS_REF_WGRAD_PARTS_H
#define SAMEBITS_REF_WGRAD_PARTS_H

#include "wgrad_varlen_k_fast.h"

/* Outputs of one task of the plain model, each way: its rows of dy and columns of x are taken apart once a step and
 * used by all of them. */
enum { SB_WGRAD_PLAIN_TILE = 32 };

/* Every check of a call. */
struct sb_status sb_wgrad_check_call(const struct sb_wgrad_args *args, const void *dw);

/* Task `index` where dw is cut into tiles of rows x columns, expert by expert, row by row. */
struct sb_wgrad_tile sb_wgrad_tile_at(const struct sb_wgrad_args *args, int64_t index, int64_t rows, int64_t columns);

/* sum[m - m0][n - n0], f32 bits in rows ld_sum apart, goes on by rows k0 .. k1-1 of the segment, in steps of 16 from
 * k0; the last may be short. At most SB_WGRAD_PLAIN_TILE outputs each way. */
void sb_wgrad_plain_steps(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, int64_t k0, int64_t k1,
                          uint32_t *sum, int64_t ld_sum);

/* After the sum: main_grad + sum in one rounded addition, and the output type. An empty segment adds nothing, so
 * main_grad passes unchanged, a NaN's payload and a -0 included. out[m - m0][n - n0] in rows ld_out apart. */
void sb_wgrad_store(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, const uint32_t *sum,
                    int64_t ld_sum, void *out, int64_t ld_out);

/* Where the tile's first output stands in dw[E, M, N]. */
void *sb_wgrad_at(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, void *dw);

#endif
