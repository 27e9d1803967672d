/* samples.h - outputs of which the data hold blocks alone: from packed blocks to places of the whole, and back. */
#ifndef SAMEBITS_GOLDEN_SAMPLES_H
#define SAMEBITS_GOLDEN_SAMPLES_H

#include "op.h"

/* A row of the table that a golden file keeps: plane, row, row_end, column, column_end. */
enum { SB_BLOCK_FIELDS = 5 };

void sb_samples_free(struct sb_samples *s);

/* The samples of output `index` that an accepted call's data hold; all zero where they hold the whole. */
bool sb_case_samples(const struct sb_case *c, int index, struct sb_samples *s, struct sb_error *err);
/* Is any output of this case sampled? */
bool sb_case_is_sampled(const struct sb_case *c);

/* The output as an implementation writes it. */
const struct sb_tensor *sb_output_whole(const struct sb_data *d, int index);

/* The packed blocks as a tensor without data: [count, rows, columns]. Needs at least one block. */
struct sb_tensor sb_samples_layout(const struct sb_samples *s);

/* The blocks as a tensor i64 [count, SB_BLOCK_FIELDS]; the memory stays that of `s`. */
struct sb_tensor sb_samples_table(const struct sb_samples *s);

/* Place in the whole (row-major) of element `i` of the packed blocks, and the block that it is of. */
int64_t sb_samples_place(const struct sb_samples *s, int64_t i, int64_t *block);

/* Copies the blocks out of the whole output, dense, to packed memory. */
void sb_samples_gather(const struct sb_samples *s, const void *whole, void *packed);

/* How many elements of the whole the blocks hold: one that several blocks share counts once. 0 where memory for a copy
 * of the table is short: less is claimed then than was compared, never more. */
int64_t sb_samples_elements(const struct sb_samples *s);

/* "128 tiles of 64x64, 0.26 % of dw". Returns buf. */
const char *sb_samples_text(const struct sb_samples *s, char *buf, size_t size);

#endif
