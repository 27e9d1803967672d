/* ops.h - the table that joins everything: one row an op, its golden side and its implementations on a GPU. */
#ifndef SAMEBITS_HARNESS_OPS_H
#define SAMEBITS_HARNESS_OPS_H

#include "../golden/op.h"
#include "../gpu/variant.h"

struct sb_op_row {
    const struct sb_op *op;
    const struct sb_variant *variants; /* ends with name == NULL; run == NULL in a build without CUDA */
};

struct sb_op_table {
    const struct sb_op_row *row;
    struct sb_op_list list; /* the same ops, for golden/; list.count rows */
};

const struct sb_op_table *sb_op_table(void);

const struct sb_op_row *sb_op_row_find(const struct sb_op_table *table, const char *op);
const struct sb_variant *sb_variant_find(const struct sb_op_row *row, const char *variant);
/* The variant that vouches for outputs too large for the reference; NULL: the op has none. */
const struct sb_variant *sb_variant_judge(const struct sb_op_row *row);

#endif
