/* topk_metadata.h - DeepEP dispatch result to SonicMoE routing metadata, on the device.
 * Contract: ref/CONTRACTS.md section 2. Plain C; reference: ref/topk_metadata.h.
 */
#ifndef SAMEBITS_GPU_TOPK_METADATA_H
#define SAMEBITS_GPU_TOPK_METADATA_H

#include "../ref/topk_metadata.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Outputs in device memory, each aligned to its element; no two share storage with each other or with an input. TK
 * and TKP depend on the content of topk_idx, so the caller says how much room there is: never more than
 * TK_capacity or TKP_capacity elements are written. n * topk is always enough for TK, and for TKP
 * n * topk + experts * (block - 1). */
struct sb_gpu_topk_out {
    int32_t *expert_offset;         /* [experts + 1] */
    int32_t *x_gather_idx;          /* [TKP_capacity] */
    int32_t *s_scatter_idx;         /* [TKP_capacity] */
    int32_t *s_reverse_scatter_idx; /* [TK_capacity] */
    int32_t *token_offset;          /* [n + 1] */
    uint32_t *topk_score;           /* [TKP_capacity] f32 as bits */
    int32_t *score_src_idx;         /* [TK_capacity] */
    int64_t *TK, *TKP, *pad_rows;   /* one i64 each */
    int64_t TK_capacity, TKP_capacity;
};

/* Bytes of workspace: about (experts + 2) * n / 32 of them. 0 for arguments that are rejected. */
size_t sb_topk_metadata_scan_workspace(const struct sb_topk_args *args);

/* Count, scan, place: five kernels on `stream` (a cudaStream_t), no host synchronisation, no allocation, no kernel
 * that waits for another block.
 *
 * The arrays of `args` and `out`, `workspace` (256-byte aligned, garbage at entry) and `status` are device memory of
 * the caller, alive and the inputs unchanged until the stream has passed the call.
 *
 * Rejections that need no array come back at once, with nothing launched and *status untouched: those of
 * sb_topk_check_args. Those that depend on content stand in *status once the stream has run, and then every output
 * keeps its bytes: a duplicate expert, a count mismatch and TKP > INT32_MAX as in sb_ref_topk_metadata; after these
 * SB_TOO_LARGE {TKP, TKP_capacity} and {TK, TK_capacity}. *status is written in any case, `ignored` included.
 * A workspace that is too small is cudaErrorInvalidValue. */
struct sb_gpu_result sb_topk_metadata_scan(const struct sb_topk_args *args, const struct sb_gpu_topk_out *out,
                                           void *workspace, size_t workspace_bytes, struct sb_status *status,
                                           void *stream);

#ifdef __cplusplus
}
#endif
#endif
