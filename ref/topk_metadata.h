/* topk_metadata.h - DeepEP dispatch result to SonicMoE routing metadata. Contract: CONTRACTS.md section 2. */
#ifndef SAMEBITS_REF_TOPK_METADATA_H
#define SAMEBITS_REF_TOPK_METADATA_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a token's slots stand in token-major order: by ascending expert id (the fused kernel), or by
 * slot, left to right (the older fallback path). */
enum sb_topk_order { SB_ORDER_EXPERT, SB_ORDER_SLOT };

enum { SB_TOPK_MAX = 32, SB_EXPERTS_MAX = 1024, SB_BLOCK_MAX = 1024 };

struct sb_topk_args {
    const void *topk_idx;      /* [n, topk] i32 or i64: local expert id; anything outside 0..experts-1 is not routed */
    enum sb_dtype idx_dtype;   /* SB_I32 or SB_I64 */
    const uint32_t *topk_prob; /* [n, topk] f32 as bits */
    const int32_t *tokens_per_expert; /* [experts], or NULL */
    int64_t counts_align;             /* 1: counts are exact; a > 1: rounded up to a multiple of a */
    int64_t n, topk, experts, block;  /* topk 1..32, experts 1..1024, block a power of two 1..1024 */
    enum sb_topk_order order;
};

/* Sizes: TK and TKP as sb_ref_topk_count gives them. No two arrays share storage. */
struct sb_topk_out {
    int32_t *expert_offset;         /* [experts + 1] */
    int32_t *x_gather_idx;          /* [TKP] */
    int32_t *s_scatter_idx;         /* [TKP] */
    int32_t *s_reverse_scatter_idx; /* [TK] */
    int32_t *token_offset;          /* [n + 1] */
    uint32_t *topk_score;           /* [TKP] f32 as bits */
    int32_t *score_src_idx;         /* [TK] */
    int64_t TK, TKP, pad_rows;
};

/* The checks that need only the arguments, in this order: n, topk, experts, block, counts_align, idx_dtype, order
 * (SB_BAD_ARGUMENT, where = 1 n, 2 topk, 3 experts, 4 block, 5 counts_align, 6 idx_dtype, 7 order; and the
 * value), then n * topk > INT32_MAX (SB_TOO_LARGE). Reads no array; host-side code of the kernels calls it too. */
struct sb_status sb_topk_check_args(const struct sb_topk_args *args);

/* Exclusive prefix sum of the padded counts: offset[e] for e = 0..experts. Returns TKP as i64 even where it
 * does not fit i32 (the caller rejects). */
int64_t sb_topk_padded_offsets(const int64_t *count, int64_t experts, int64_t block, int64_t *offset);

/* Validates everything and finds the sizes. Precedence: arguments, then the lowest duplicate, then the lowest
 * count mismatch, then TKP > INT32_MAX. status.ignored is filled in for SB_OK as for a rejection found after
 * the indices were read. `count` (may be NULL) receives valid slots per expert. On rejection count, TK and TKP
 * keep the values they had. */
struct sb_status sb_ref_topk_count(const struct sb_topk_args *args, int64_t *count, int64_t *TK, int64_t *TKP);

/* The op. `out` arrays are the caller's, sized by sb_ref_topk_count. On rejection nothing is written. */
struct sb_status sb_ref_topk_metadata(const struct sb_topk_args *args, struct sb_topk_out *out);

/* The relations that every right result satisfies, whatever its order of slots inside a token and of tokens inside
 * an expert: tells a candidate that is right in another order from one that is wrong. True if all hold; otherwise
 * `why` (NUL-terminated) names the first violation. `out` is not trusted: any value in it is safe, sizes
 * included; its arrays must have the sizes that sb_ref_topk_count gives for `args`. */
bool sb_topk_relations(const struct sb_topk_args *args, const struct sb_topk_out *out, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
