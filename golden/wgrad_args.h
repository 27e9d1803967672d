/* wgrad_args.h - a case of wgrad_varlen_k as the call of its reference. */
#ifndef SAMEBITS_GOLDEN_WGRAD_ARGS_H
#define SAMEBITS_GOLDEN_WGRAD_ARGS_H

#include "../ref/wgrad_varlen_k_fast.h"
#include "op.h"

/* The call on these inputs, with pointers and sizes wrong where the case says so. */
struct sb_wgrad_args sb_wgrad_args_of(const struct sb_case *c, const struct sb_data *d);

/* The tile of dw that this block of samples is. */
static inline struct sb_wgrad_tile sb_wgrad_tile_of(const struct sb_block *b)
{
    return (struct sb_wgrad_tile){b->plane, b->row, b->row_end, b->column, b->column_end};
}

#endif
