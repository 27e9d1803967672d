/* variant.h - how the harness calls a kernel: one uniform call, in plain C.
 *
 * A call carries tensors in device memory by the contract's names, integer parameters by name, a workspace, a
 * status word and a stream. Each gpu/OP*.cu has typed launch functions for people who use the kernels, and below
 * them one small adapter per implementation that unpacks a call. harness/ops.c lists the adapters.
 * Knows nothing of HDF5, cases or reports.
 */
#ifndef SAMEBITS_GPU_VARIANT_H
#define SAMEBITS_GPU_VARIANT_H

#include "../ref/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sb_scalar {
    const char *name;
    int64_t value; /* enum parameters: the value of the reference's enum */
};

struct sb_gpu_call {
    const struct sb_tensor *in; /* device pointers; absent optional tensors have data == NULL */
    int n_in;
    const struct sb_tensor *out; /* device buffers of exactly the right size (capacity, where a call may be rejected) */
    int n_out;
    const struct sb_scalar *scalar;
    int n_scalar;
    void *workspace; /* 256-byte aligned, holds garbage: a kernel that needs zeros writes them */
    size_t workspace_bytes;
    struct sb_status *status; /* device memory; written, SB_OK included, unless the call is rejected on the host */
    void *stream;             /* cudaStream_t */
};

/* Lookups by name. A name the call lacks is a mistake in an adapter: abort() with the name. */
const struct sb_tensor *sb_call_in(const struct sb_gpu_call *call, const char *name);
const struct sb_tensor *sb_call_out(const struct sb_gpu_call *call, const char *name);
int64_t sb_call_int(const struct sb_gpu_call *call, const char *name);

/* What a launch function returns. A rejection that needs no device (arguments, alignment, sizes) comes back in
 * `status` with nothing launched and the device status word untouched; one that depends on array contents is in the
 * device status word after the stream has run. */
struct sb_gpu_result {
    int cuda_error; /* cudaError_t; 0 is success */
    struct sb_status status;
};

struct sb_variant {
    const char *name;    /* "fused", "two_pass", "mma_sync" */
    const char *targets; /* "any", or the targets it is written for: "sm_90a", "sm_100f" */
    const char *summary; /* one line */
    /* Computes without what the other variants are about (no tensor core), however slowly: where a reference on a CPU
     * has samples alone, its outputs, held to those, are what the others are compared with. One an op at most. */
    bool judge;
    /* NULL in a build without CUDA. */
    struct sb_gpu_result (*run)(const struct sb_gpu_call *call);
    /* Bytes of workspace for this call; NULL: none. */
    size_t (*workspace)(const struct sb_gpu_call *call);
    /* Reason why this device or shape cannot be served (static text), or NULL if it can. NULL pointer: always can. */
    const char *(*cannot)(const struct sb_gpu_call *call, int compute_capability);
};

/* Kernels launched by this process so far (memsets and copies are not kernels). The launch helper counts. */
int64_t sb_gpu_launches(void);

/* cudaSuccess if the fat binary holds an image that the current device can run, else the CUDA error
 * (no kernel image, unsupported PTX, ...). */
int sb_gpu_image_check(void);

#ifdef __cplusplus
}
#endif
#endif
