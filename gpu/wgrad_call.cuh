/* wgrad_call.cuh - what all paths of wgrad_varlen_k share around their kernels: the check of the call's arrays on the
 * device, and the adapter from a call to typed arguments. */
#ifndef SAMEBITS_GPU_WGRAD_CALL_CUH
#define SAMEBITS_GPU_WGRAD_CALL_CUH

#include <cuda_runtime.h>

#include "../ref/wgrad_varlen_k.h"
#include "variant.h"

/* Launches the check of cu_seqlens and of x_gather_idx inside the segments, which writes *status (device memory):
 * SB_OK, or the reference's rejection. What follows on the stream reads the word and leaves dw alone unless it is
 * SB_OK. */
cudaError_t sb_wgrad_launch_check(const struct sb_wgrad_args *args, struct sb_status *status, cudaStream_t stream);

/* A path's checks that need no device: sb_wgrad_check_args and whatever the path adds. */
typedef struct sb_status sb_wgrad_check(const struct sb_wgrad_args *args, const void *dw);
/* A path's kernel, launched on a call that passed them. */
typedef cudaError_t sb_wgrad_compute(const struct sb_wgrad_args *args, void *dw, const struct sb_status *status,
                                     cudaStream_t stream);

/* What a path's typed launch function comes to: `check`, the check of the arrays, `compute`. */
struct sb_gpu_result sb_wgrad_run(const struct sb_wgrad_args *args, void *dw, struct sb_status *status, void *stream,
                                  sb_wgrad_check *check, sb_wgrad_compute *compute);

/* Output tiles of this size; INT64_MAX if their number does not fit. */
int64_t sb_wgrad_count_tiles(const struct sb_wgrad_args *args, int64_t tile_m, int64_t tile_n);

/* For a path that counts its tiles and columns in 32 bits: sb_wgrad_check_args, then SB_TOO_LARGE {M or N, 2^30 - 1},
 * where the most columns leave room for one tile past the last, and {tiles, INT32_MAX}, where the most tiles leave room
 * for one block's step past the last. */
struct sb_status sb_wgrad_check_tiles(const struct sb_wgrad_args *args, const void *dw, int64_t tile_m, int64_t tile_n);

/* The major compute capability and the multiprocessors of the current device. */
cudaError_t sb_wgrad_ask_device(int *major, int *multiprocessors);

/* A path's typed launch function. */
typedef struct sb_gpu_result sb_wgrad_launch(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                             void *stream);

/* A call of the op's adapter: tensors by name into arguments, `in_place` acted out, then `launch`. */
struct sb_gpu_result sb_wgrad_run_call(const struct sb_gpu_call *call, sb_wgrad_check *check, sb_wgrad_launch *launch);

#endif
