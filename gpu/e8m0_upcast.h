/* e8m0_upcast.h - E8M0 block scales to FP32 or BF16 bits, on the device. Contract: ref/CONTRACTS.md section 1.
 * Plain C; reference: ref/e8m0_upcast.h.
 *
 * Common to all: `scale` describes a u8 or e8m0 tensor of rank 0..4 in device memory, whose rows may be strided
 * (row_stride in elements, 0 for dense) and whose base may have any alignment. `out` and every copy are dense, in
 * logical order, u32 bits (SB_F32) or u16 bits (SB_BF16) an element, aligned to at least one element; 16-byte
 * alignment makes the stores wide. Memory is the caller's and stays alive until `stream` (a cudaStream_t) has passed
 * the call. The original is only read. No host synchronisation, no allocation. An empty tensor launches nothing.
 *
 * Rejections: those of sb_e8m0_check_args, with nothing launched and nothing written. Nothing depends on the array's
 * content, so there is no status word.
 */
#ifndef SAMEBITS_GPU_E8M0_UPCAST_H
#define SAMEBITS_GPU_E8M0_UPCAST_H

#include "../ref/e8m0_upcast.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One launch: each byte is read once and its bits written once. */
struct sb_gpu_result sb_e8m0_upcast_fused(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                          enum sb_dtype out_dtype, void *out, void *stream);

/* Two launches, as the per-call path does it: a widening copy to i32, then the shift. For f32 the second works in
 * place in `out` and needs no workspace; for bf16 the widened copy lies in `workspace` (garbage at entry, 16-byte
 * aligned): four bytes an element. A workspace that is too small is cudaErrorInvalidValue. */
struct sb_gpu_result sb_e8m0_upcast_two_pass(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                             enum sb_dtype out_dtype, void *out, void *workspace,
                                             size_t workspace_bytes, void *stream);
size_t sb_e8m0_upcast_two_pass_workspace(const struct sb_tensor *scale, enum sb_dtype out_dtype);

/* ---- hoisted: one launch when the tensor is loaded, none per call -----------------------------------------------
 *
 * A cache is a member of whatever owns the scale tensor and lives exactly as long:
 *
 *     create   when the tensor is there       -> unfilled
 *     hoist    once its content is there      -> current     (one launch)
 *     get      per call                                      (no launch; refuses unless current)
 *     updated  after every in-place write     -> stale       (get refuses until hoisted again)
 *     release  when the tensor goes away      -> released    (get refuses for good)
 *
 * No cache is ever looked up by address: a tensor that comes to lie where a freed one was has a cache of its own,
 * which starts unfilled, so it cannot be served the other's copy. One thread at a time. */
enum sb_e8m0_cache_state { SB_E8M0_CACHE_UNFILLED, SB_E8M0_CACHE_CURRENT, SB_E8M0_CACHE_STALE, SB_E8M0_CACHE_RELEASED };

struct sb_e8m0_cache {
    struct sb_tensor scale; /* the original; its device memory is the owner's */
    enum sb_e8m0_semantics semantics;
    enum sb_dtype out_dtype;
    void *storage; /* the copy; device memory of the owner */
    enum sb_e8m0_cache_state state;
};

/* Bytes of storage a cache of this tensor needs. */
size_t sb_e8m0_cache_bytes(const struct sb_tensor *scale, enum sb_dtype out_dtype);

/* Sets `cache` up, whatever it held before. Rejects what the upcast would reject, then SB_TOO_LARGE {bytes needed,
 * storage_bytes}; a rejected cache is released. Touches no device memory. */
struct sb_status sb_e8m0_cache_create(struct sb_e8m0_cache *cache, const struct sb_tensor *scale,
                                      enum sb_e8m0_semantics semantics, enum sb_dtype out_dtype, void *storage,
                                      size_t storage_bytes);

/* Upcasts the original into the storage: one launch. Consumers of the copy must be ordered after it, by the stream
 * or by an event. The cache is current only if that worked. Hoisting a released cache is cudaErrorInvalidValue. */
struct sb_gpu_result sb_e8m0_cache_hoist(struct sb_e8m0_cache *cache, void *stream);

/* The copy, or false and NULL where there is none that belongs to the tensor as it is now. */
bool sb_e8m0_cache_get(const struct sb_e8m0_cache *cache, const void **copy);

/* The original's bytes have changed or are about to. */
void sb_e8m0_cache_updated(struct sb_e8m0_cache *cache);

/* The original is going away; its address and the storage may be used for something else from here on. */
void sb_e8m0_cache_release(struct sb_e8m0_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
