/* scales.h - raw 1x32 scale tensors in the four carriers, for the ops that pack them. */
#ifndef SAMEBITS_GOLDEN_SCALES_H
#define SAMEBITS_GOLDEN_SCALES_H

#include "distribution.h"
#include "op.h"
#include "../ref/scale_pack.h"

extern const char *const sb_carrier_names[SB_CARRIER_COUNT + 1]; /* NULL-terminated, in the order of enum sb_carrier */

/* Scales a row: cdiv(cols, 32). */
int64_t sb_scale_columns(int64_t cols);

/* Can two logical elements share one place? True also where telling would need more than comparing extents. */
bool sb_strides_may_overlap(int64_t rows, int64_t columns, int64_t row_stride, int64_t col_stride);

/* Allocates and fills `raw` [n, sb_carrier_width]: parameters cols, carrier, row_stride, col_stride and dist of the
 * case. A scale depends on (seed, stream, logical index) alone, or, where strides overlap, on the place in memory in
 * the index's stead. The three upper bytes of an i32 word are random: they are not part of the scale. */
bool sb_raw_scales_generate(const struct sb_case *c, int64_t n, uint64_t stream, struct sb_tensor *raw,
                            struct sb_error *err);

/* The reference's view of raw and of the packing parameters. gather and r are left to the caller. */
struct sb_scale_pack_args sb_scale_pack_args_of(const struct sb_case *c, const struct sb_tensor *raw, int64_t n);

/* packed as shown to users: (1, bytes). Describes it, without data. */
void sb_packed_describe(struct sb_tensor *packed, int64_t r, int64_t cols);

/* Is raw small enough for host memory, strides included, and misalign a place for its elements? False with err. */
bool sb_raw_scales_validate(const struct sb_case *c, int64_t n, struct sb_error *err);

/* The hook sb_op.derived of the ops that pack: S. */
int sb_raw_scales_derived(const struct sb_case *c, struct sb_derived *out, int max);

#endif
