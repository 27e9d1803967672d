/* scale_pack.h - raw 1x32 scales, gathered, into the 128x4 tile layout, on the device.
 * Contract: ref/CONTRACTS.md section 3. Plain C; reference: ref/scale_pack.h.
 *
 * Common to all: the arrays of `args`, `packed`, `workspace` and `status` are device memory of the caller, alive and
 * the inputs unchanged until `stream` (a cudaStream_t) has passed the call. raw is aligned to its carrier's element,
 * packed to 16 bytes (else cudaErrorInvalidValue) and it overlaps no input. packed[sb_scale_pack_bytes(r, cols)],
 * every byte written. No host synchronisation, no allocation.
 *
 * Rejections that need no array come back at once, with nothing launched and *status untouched: those of
 * sb_scale_pack_check_args, then SB_TOO_LARGE {bytes, capacity} where `packed` is smaller than the result. A gather
 * index outside [0, n) stands in *status once the stream has run, SB_GATHER_RANGE with the lowest position, and then
 * every byte of packed is as it was. *status is written by every call that is not rejected at once.
 */
#ifndef SAMEBITS_GPU_SCALE_PACK_H
#define SAMEBITS_GPU_SCALE_PACK_H

#include "../ref/scale_pack.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of workspace (256-byte aligned, garbage at entry) for any of the four: none without gather. A workspace that
 * is too small is cudaErrorInvalidValue. */
size_t sb_scale_pack_workspace(const struct sb_scale_pack_args *args);

/* A thread makes one 16-byte chunk of a tile (4 rows by 4 scales) from its sources: all stores are contiguous. */
struct sb_gpu_result sb_scale_pack_gather(const struct sb_scale_pack_args *args, uint8_t *packed, int64_t capacity,
                                          void *workspace, size_t workspace_bytes, struct sb_status *status,
                                          void *stream);

/* A block stages 128 rows by up to 128 scales in shared memory: loads along the rows, stores along the tiles. */
struct sb_gpu_result sb_scale_pack_tile(const struct sb_scale_pack_args *args, uint8_t *packed, int64_t capacity,
                                        void *workspace, size_t workspace_bytes, struct sb_status *status,
                                        void *stream);

/* A first kernel writes fill over the last row tile where rows are missing; then threads walk the r rows and each
 * scatters four scales. */
struct sb_gpu_result sb_scale_pack_scatter(const struct sb_scale_pack_args *args, uint8_t *packed, int64_t capacity,
                                           void *workspace, size_t workspace_bytes, struct sb_status *status,
                                           void *stream);

/* Threads walk the packed rows row by row, missing rows included, four scale columns each. */
struct sb_gpu_result sb_scale_pack_rowmajor(const struct sb_scale_pack_args *args, uint8_t *packed, int64_t capacity,
                                            void *workspace, size_t workspace_bytes, struct sb_status *status,
                                            void *stream);

/* For a caller whose number of rows is made on the device: packs *rows_device rows, at most args->r, by the form of
 * sb_scale_pack_gather. One kernel; does nothing if *status is a rejection when it runs, and never writes *status.
 * args->gather must be there, and its first *rows_device indices inside [0, n): they are not checked. Rejects at once
 * what sb_scale_pack_check_args rejects. */
struct sb_gpu_result sb_scale_pack_gather_device_rows(const struct sb_scale_pack_args *args, const int64_t *rows_device,
                                                      uint8_t *packed, const struct sb_status *status, void *stream);

#ifdef __cplusplus
}
#endif
#endif
