/* metadata_pack.h - topk_metadata and scale_pack in one call, on the device. Contract: ref/CONTRACTS.md sections 2
 * and 3. Plain C; reference: ref/metadata_pack.h.
 */
#ifndef SAMEBITS_GPU_METADATA_PACK_H
#define SAMEBITS_GPU_METADATA_PACK_H

#include "../ref/metadata_pack.h"
#include "topk_metadata.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sb_topk_metadata_scan, then the gather form of scale_pack with gather = out->x_gather_idx, on the same stream: TKP
 * goes from one to the other in device memory, with no host synchronisation in between. Padding rows carry row 0's
 * scales; rows from TKP to the end of the last tile hold the fill.
 *
 * Memory as in topk_metadata.h and scale_pack.h. `scales->gather` and `scales->r` are ignored; scales->n must equal
 * args->n. packed holds `packed_capacity` bytes, of which sb_scale_pack_bytes(TKP, cols) are written.
 *
 * Rejections at once: sb_metadata_pack_check_args'. In *status: topk_metadata's, with TKP limited also by the rows for
 * which packed has room (SB_TOO_LARGE {TKP, rows}). A rejected call writes nothing but its status. */
struct sb_gpu_result sb_metadata_pack_chained(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales,
                                              const struct sb_gpu_topk_out *out, uint8_t *packed,
                                              int64_t packed_capacity, void *workspace, size_t workspace_bytes,
                                              struct sb_status *status, void *stream);

/* topk_metadata's: packing needs none. 0 for arguments that are rejected. */
size_t sb_metadata_pack_chained_workspace(const struct sb_topk_args *args);

#ifdef __cplusplus
}
#endif
#endif
