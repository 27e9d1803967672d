/* wgrad_vector.h - one tile of wgrad_varlen_k with vector instructions: what the paths and the dispatcher agree on.
 * Internal to ref/. */
#ifndef SAMEBITS_REF_WGRAD_VECTOR_H
#define SAMEBITS_REF_WGRAD_VECTOR_H

#include "wgrad_parts.h"

/* Outputs of one task, each way at most: large enough that taking the operands apart costs little, small enough that
 * the sums and a chunk of operands stay in a core's second-level cache. */
enum { SB_WGRAD_VECTOR_TILE = 128 };

/* sum[m - m0][n - n0], f32 bits, rows SB_WGRAD_VECTOR_TILE apart, over the whole segment. False, with nothing
 * computed, where memory for the operands is short. */
typedef bool (*sb_wgrad_tile_fn)(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t,
                                 uint32_t sum[SB_WGRAD_VECTOR_TILE * SB_WGRAD_VECTOR_TILE]);

/* NULL where the compiler does not know the instructions. */
extern const sb_wgrad_tile_fn sb_wgrad_tile_avx2, sb_wgrad_tile_avx512;

#endif
