/* wgrad_varlen_k.h - BF16 grouped weight gradient over a jagged token axis, on the device.
 * Contract: ref/CONTRACTS.md section 4. Plain C; reference: ref/wgrad_varlen_k.h.
 */
#ifndef SAMEBITS_GPU_WGRAD_VARLEN_K_H
#define SAMEBITS_GPU_WGRAD_VARLEN_K_H

#include "../ref/wgrad_varlen_k.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dw[E, M, N] (dense, args->out_dtype) by mma.sync.m16n8k16: GPUs from sm_90 on for which an image was built. In an
 * image for sm_80 to sm_89 the kernel stops with an error: mma.sync there keeps 24 bits and takes the 16 pairs in two
 * fused steps of 8, which is another contract.
 *
 * All pointers in `args`, `dw` and `status` are device memory owned by the caller, who keeps them alive and the
 * inputs unchanged until `stream` (a cudaStream_t) has passed the call. `dw` may be `args->main_grad` itself (f32
 * output, exactly in place) and must not overlap any input otherwise.
 *
 * Two launches, no workspace, no host synchronisation: one checks cu_seqlens and x_gather_idx and writes *status,
 * the other computes, or leaves every byte of dw alone if the first rejected. Rows of dy and x outside every
 * segment are never read.
 *
 * Returns sb_wgrad_check_args' rejections, then SB_TOO_LARGE {M or N, largest} past 2^30 - 1 and {tiles, INT32_MAX} for
 * more 192 x 256 output tiles than that, with nothing launched and *status untouched; cuda_error of the launches
 * otherwise. */
struct sb_gpu_result sb_wgrad_varlen_k_mma_sync(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                                void *stream);

/* The same call, with the same memory, launches and rejections, in integers and f32 multiplications on ordinary cores:
 * the contract's bits on any GPU for which an image was built, whatever its tensor core computes, at a small part of
 * the speed. It is slower still by a large factor where, in 16 rows of a 128 x 128 tile, an operand that is not zero
 * has an exponent outside -50 .. 40. Its tiles are of 128 x 128. */
struct sb_gpu_result sb_wgrad_varlen_k_judge(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                             void *stream);

/* The same by wgmma and bulk tensor copies: sm_90a alone (H100, H200). Rows of dy and x that follow a segment may be
 * read, up to 63 of them and inside the tensors, but have no part in the result.
 *
 * Two launches, no workspace, no host synchronisation. Returns sb_wgrad_check_args' rejections, then SB_TOO_LARGE {M or
 * N, 2^30 - 1}, {tiles, INT32_MAX} for more 128 x 256 output tiles than that and {T, largest} for more rows than 32
 * bits count; cuda_error of the launches and of describing dy and x to the copy engine otherwise, on another GPU
 * cudaErrorNotSupported. */
struct sb_gpu_result sb_wgrad_varlen_k_wgmma(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                             void *stream);

/* The same by tcgen05.mma and bulk tensor copies: the sm_100 family alone (B200, B300; cudaErrorNotSupported
 * elsewhere). Compiled, not yet executed: ask sb_wgrad_tcgen05_fallback() before it is used. Rows of dy and x that
 * follow a segment may be read, as by wgmma; launches, memory and rejections are the same, too. */
struct sb_gpu_result sb_wgrad_varlen_k_tcgen05(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                               void *stream);

/* Why sb_wgrad_varlen_k_tcgen05 is not to be used on the current device, or NULL. The first question a device and
 * process runs a self-check: a few small calls by it and by the judge, waits bounded, all bits compared. That allocates
 * about 4 MB of device memory and frees it, and waits for the device, 30 seconds at most; a few milliseconds where all
 * is well. A program asks when it starts: memory that is not to be had then is a failure, too. The text stays valid. */
const char *sb_wgrad_tcgen05_fallback(void);

/* The same call by whichever of these is fastest on the current device: wgmma on sm_90, tcgen05 on the sm_100 family,
 * mma_sync elsewhere and wherever the self-check of the other two failed. That check is part of the first call on a
 * device, unless the question below came before; all calls after it have no workspace and do not wait. Returns what the
 * chosen one returns. */
struct sb_gpu_result sb_wgrad_varlen_k(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                       void *stream);

/* Why sb_wgrad_varlen_k is served by mma_sync on the current device and not by the path made for it; NULL if that path
 * serves, or mma_sync is it. Makes the self-check if it has not been made. */
const char *sb_wgrad_varlen_k_fallback(void);

#ifdef __cplusplus
}
#endif
#endif
