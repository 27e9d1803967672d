/* ops.h - the rows of the op table that golden/ defines, one file an op. */
#ifndef SAMEBITS_GOLDEN_OPS_H
#define SAMEBITS_GOLDEN_OPS_H

#include "op.h"

extern const struct sb_op sb_op_e8m0_upcast;
extern const struct sb_op sb_op_topk_metadata;
extern const struct sb_op sb_op_scale_pack;
extern const struct sb_op sb_op_metadata_pack;
extern const struct sb_op sb_op_wgrad_varlen_k;

/* Their case lists, in files of their own: OP_cases.c. Each ends with call == NULL. */
extern const struct sb_case_row sb_cases_e8m0_upcast[];
extern const struct sb_case_row sb_cases_topk_metadata[];
extern const struct sb_case_row sb_cases_scale_pack[];
extern const struct sb_case_row sb_cases_metadata_pack[];
extern const struct sb_case_row sb_cases_wgrad_varlen_k[];

#endif
