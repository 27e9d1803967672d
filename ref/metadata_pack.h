/* metadata_pack.h - topk_metadata and scale_pack in one call. Contract: CONTRACTS.md sections 2 and 3. */
#ifndef SAMEBITS_REF_METADATA_PACK_H
#define SAMEBITS_REF_METADATA_PACK_H

#include "scale_pack.h"
#include "topk_metadata.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checks that read no array: sb_topk_check_args', then scales->n other than args->n (SB_BAD_ARGUMENT 1 and
 * scales->n), then sb_scale_pack_check_args' with a gather of INT32_MAX rows, the most that TKP can be.
 * `scales->gather` and `scales->r` are ignored. Host-side code of the kernels calls it too. */
struct sb_status sb_metadata_pack_check_args(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales);

/* Exactly sb_ref_topk_metadata followed by sb_ref_scale_pack with gather = out->x_gather_idx and r = TKP.
 * `scales->gather` and `scales->r` are ignored. Rejects what sb_metadata_pack_check_args rejects, then what
 * sb_ref_topk_metadata finds in its arrays. Padding rows carry row 0's scales.
 * packed[sb_scale_pack_bytes(TKP, cols)]. On rejection nothing is written. */
struct sb_status sb_ref_metadata_pack(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales,
                                      struct sb_topk_out *out, uint8_t *packed);

#ifdef __cplusplus
}
#endif
#endif
