/* call_args.h - typed arguments from a call by name, for the adapters of ops that share them. */
#ifndef SAMEBITS_GPU_CALL_ARGS_H
#define SAMEBITS_GPU_CALL_ARGS_H

#include "../ref/scale_pack.h"
#include "topk_metadata.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Inputs topk_idx, topk_prob, tokens_per_expert; scalars N, topk, E, block, counts_align, order. The width of the ids
 * is the tensor's. */
struct sb_topk_args sb_call_topk_args(const struct sb_gpu_call *call);

/* topk_metadata's outputs. The capacities are the shortest of the buffers that TK and TKP govern. */
struct sb_gpu_topk_out sb_call_topk_out(const struct sb_gpu_call *call);

/* Input raw; scalars N, cols, carrier, fill. A tensor's stride of 0 means dense. Without gather: r = n; a caller that
 * has one sets both. */
struct sb_scale_pack_args sb_call_scale_pack_args(const struct sb_gpu_call *call);

#ifdef __cplusplus
}
#endif
#endif
