/* routing.h - what topk_metadata and metadata_pack share: routing patterns, their inputs, the reference's view.
 *
 * Both ops take the same parameters and tensors first and metadata_pack adds its own behind them. C cannot join two
 * constant tables, so the shared rows stand in routing_params.inc, routing_inputs.inc and routing_outputs.inc, lists of
 * initialisers that each op includes in the middle of its table; scales_params.inc is the same for the ops that pack.
 */
#ifndef SAMEBITS_GOLDEN_ROUTING_H
#define SAMEBITS_GOLDEN_ROUTING_H

#include "distribution.h"
#include "op.h"
#include "../ref/topk_metadata.h"

/* Wider than a call may be, so that cases can ask for what has to be rejected. */
enum { SB_ROUTE_TOPK_LIMIT = 64, SB_ROUTE_EXPERTS_LIMIT = 2048 };

/* Which experts the tokens go to. A row's experts are distinct except under the duplicate patterns; where E < topk,
 * the slots left over are -1. */
enum sb_route {
    SB_ROUTE_UNIFORM,          /* every slot valid, experts in random order */
    SB_ROUTE_HOLES,            /* uniform, half of the slots -1, anywhere in the row */
    SB_ROUTE_NONE,             /* all -1: TK = 0 */
    SB_ROUTE_ONE_EXPERT,       /* every token to one expert, the other slots -1 */
    SB_ROUTE_ENDS_EMPTY,       /* nothing to experts 0, E/2 and E-1 */
    SB_ROUTE_ALL_EXPERTS,      /* topk = E: every token to every expert */
    SB_ROUTE_EXACT_BLOCK,      /* some expert has a multiple of block tokens */
    SB_ROUTE_BLOCK_MINUS,      /* one less */
    SB_ROUTE_BLOCK_PLUS,       /* one more */
    SB_ROUTE_SKEWED,           /* low experts take most */
    SB_ROUTE_HOT,              /* every token to one expert, its other slots uniform */
    SB_ROUTE_INVALID,          /* uniform, a third of the ids outside -1..E-1 */
    SB_ROUTE_DUPLICATE,        /* an expert twice in the middle row and in the last: rejected */
    SB_ROUTE_DUPLICATE_LAST,   /* an expert in the first and last slot of the last row: rejected */
    SB_ROUTE_TAIL_INVALID,     /* holes; the last three eighths of the rows all -1 */
    SB_ROUTE_DESCENDING,       /* uniform, each row's experts descending */
    SB_ROUTE_ASCENDING,        /* uniform, each row's experts ascending */
    SB_ROUTE_DUPLICATE_NESTED, /* middle row: an expert in the first and last slot, a lower one in between: rejected */
    SB_ROUTE_DUPLICATE_ADJACENT, /* middle row: an expert in the two slots in the middle: rejected */
    SB_ROUTE_COUNT
};

enum sb_counts {
    SB_COUNTS_NONE,    /* tokens_per_expert absent */
    SB_COUNTS_EXACT,   /* the true counts */
    SB_COUNTS_ALIGNED, /* each rounded up to counts_align */
    SB_COUNTS_WRONG,   /* one too many at experts E/2 and E-1: rejected */
    SB_COUNTS_SHORT,   /* one too few at the last expert that has tokens: rejected */
    SB_COUNTS_COUNT
};

extern const char *const sb_route_names[SB_ROUTE_COUNT + 1];
extern const char *const sb_counts_names[SB_COUNTS_COUNT + 1];
extern const char *const sb_idx_names[3];   /* i64, i32 */
extern const char *const sb_order_names[3]; /* in the order of enum sb_topk_order */

enum sb_routing_input { SB_IN_TOPK_IDX, SB_IN_TOPK_PROB, SB_IN_TOKENS_PER_EXPERT, SB_ROUTING_INPUTS };
enum sb_routing_output {
    SB_OUT_EXPERT_OFFSET,
    SB_OUT_X_GATHER_IDX,
    SB_OUT_S_SCATTER_IDX,
    SB_OUT_S_REVERSE_SCATTER_IDX,
    SB_OUT_TOKEN_OFFSET,
    SB_OUT_TOPK_SCORE,
    SB_OUT_SCORE_SRC_IDX,
    SB_OUT_TK,
    SB_OUT_TKP,
    SB_OUT_PAD_ROWS,
    SB_ROUTING_OUTPUTS
};

/* Is N * topk beyond i32? Such a call is rejected before anything is read, so its inputs are absent. */
bool sb_routing_oversized(const struct sb_case *c);

bool sb_routing_validate(const struct sb_case *c, struct sb_error *err);

/* Expert ids of one row of the case: ids[topk]. Depends on (seed, row) alone. */
void sb_route_row(const struct sb_case *c, int64_t row, int64_t ids[SB_ROUTE_TOPK_LIMIT]);

/* All rows of the case into topk_idx [N, topk], i32 or i64. */
void sb_route_all(const struct sb_case *c, struct sb_tensor *topk_idx);
/* Can this pattern be made with these sizes? */
bool sb_route_validate(const struct sb_case *c, struct sb_error *err);

/* in[SB_ROUTING_INPUTS]. */
bool sb_routing_generate(const struct sb_case *c, struct sb_tensor *in, struct sb_error *err);

/* The reference's arguments; pointers go into `in`. */
struct sb_topk_args sb_routing_args(const struct sb_case *c, const struct sb_tensor *in);

/* Output arrays as the reference's struct; pointers go into `out`, TK, TKP and pad_rows are read where there. */
struct sb_topk_out sb_routing_out(const struct sb_tensor *out);

/* Allocates out[SB_ROUTING_OUTPUTS] for these sizes. */
bool sb_routing_alloc(const struct sb_case *c, struct sb_tensor *out, int64_t TK, int64_t TKP, struct sb_error *err);
/* Writes TK, TKP and pad_rows into their scalars. */
void sb_routing_store_sizes(struct sb_tensor *out, const struct sb_topk_out *result);

/* Describes outputs large enough for any routing of these parameters, without data. Returns that TKP. */
int64_t sb_routing_describe_largest(const struct sb_case *c, struct sb_tensor *out);

/* The hook sb_op.relations, as far as the first SB_ROUTING_OUTPUTS outputs go. All `n` outputs must have data and the
 * shapes that the reference gave them. */
bool sb_routing_relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, int n,
                          char *why, size_t why_size);

/* The id of the call with N = after, or NULL. */
const char *sb_routing_prelude(const struct sb_case *c, char *id, size_t size);

#endif
