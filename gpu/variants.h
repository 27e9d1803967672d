/* variants.h - the adapters of every implementation, for the table in harness/ops.c.
 *
 * sb_run_OP_VARIANT unpacks a call, which carries the contract's tensors and the case's parameters by name, and makes
 * the typed call of gpu/OP.h. sb_workspace_OP_VARIANT, for those that want any, says how many bytes of workspace that
 * call wants; 0 where the call will be rejected before it needs any. sb_cannot_OP_VARIANT, for those that some GPUs or
 * shapes are beyond, says why, or NULL. Defined only in a build with CUDA.
 */
#ifndef SAMEBITS_GPU_VARIANTS_H
#define SAMEBITS_GPU_VARIANTS_H

#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sb_gpu_result sb_run_e8m0_upcast_two_pass(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_e8m0_upcast_fused(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_e8m0_upcast_hoisted(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_topk_metadata_scan(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_scale_pack_gather(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_scale_pack_tile(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_scale_pack_scatter(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_scale_pack_rowmajor(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_metadata_pack_chained(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_wgrad_varlen_k_mma_sync(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_wgrad_varlen_k_judge(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_wgrad_varlen_k_wgmma(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_wgrad_varlen_k_tcgen05(const struct sb_gpu_call *call);
struct sb_gpu_result sb_run_wgrad_varlen_k_auto(const struct sb_gpu_call *call);

size_t sb_workspace_e8m0_upcast_two_pass(const struct sb_gpu_call *call);
size_t sb_workspace_e8m0_upcast_hoisted(const struct sb_gpu_call *call);
size_t sb_workspace_topk_metadata_scan(const struct sb_gpu_call *call);
size_t sb_workspace_scale_pack(const struct sb_gpu_call *call); /* any of the four */
size_t sb_workspace_metadata_pack_chained(const struct sb_gpu_call *call);

const char *sb_cannot_wgrad_varlen_k_mma_sync(const struct sb_gpu_call *call, int compute_capability);
const char *sb_cannot_wgrad_varlen_k_tcgen05(const struct sb_gpu_call *call, int compute_capability);
const char *sb_cannot_wgrad_varlen_k_auto(const struct sb_gpu_call *call, int compute_capability);

#ifdef __cplusplus
}
#endif
#endif
