/* launch.cuh - the one way kernels are launched, and the few index helpers all of them use.
 *
 * Every launch goes through sb_launch(): it is checked, and it is counted (sb_gpu_launches). */
#ifndef SAMEBITS_GPU_LAUNCH_CUH
#define SAMEBITS_GPU_LAUNCH_CUH

#include <cuda_runtime.h>

#include "variant.h"

/* Adds one to sb_gpu_launches(). Any thread. */
extern "C" void sb_count_launch(void);

/* Launches kernel(args...) and returns the error of doing so; counts it if it was launched. Arguments are converted
 * to the kernel's own parameter types. Errors of the kernel's execution appear at the next synchronisation. */
template <typename... Params, typename... Args>
inline cudaError_t sb_launch_config(void (*kernel)(Params...), const cudaLaunchConfig_t *config, Args... args)
{
    const cudaError_t error = cudaLaunchKernelEx(config, kernel, static_cast<Params>(args)...);
    if (error == cudaSuccess)
        sb_count_launch();
    return error;
}

template <typename... Params, typename... Args>
inline cudaError_t sb_launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                             Args... args)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return sb_launch_config(kernel, &config, args...);
}

/* The same with dynamic shared memory of any size that the GPU has: past 48 KB a kernel must have asked for it. */
template <typename... Params, typename... Args>
inline cudaError_t sb_launch_large(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes,
                                   cudaStream_t stream, Args... args)
{
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    return error != cudaSuccess ? error : sb_launch(kernel, grid, block, shared_bytes, stream, args...);
}

/* The same in clusters of `cluster` blocks in a row, with dynamic shared memory of any size that the GPU has. */
template <typename... Params, typename... Args>
inline cudaError_t sb_launch_clusters(void (*kernel)(Params...), unsigned cluster, dim3 grid, dim3 block,
                                      size_t shared_bytes, cudaStream_t stream, Args... args)
{
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (error != cudaSuccess)
        return error;
    cudaLaunchAttribute in_clusters;
    in_clusters.id = cudaLaunchAttributeClusterDimension;
    in_clusters.val.clusterDim.x = cluster;
    in_clusters.val.clusterDim.y = 1;
    in_clusters.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &in_clusters;
    config.numAttrs = 1;
    return sb_launch_config(kernel, &config, args...);
}

/* ---- Results ------------------------------------------------------------------------------------------------- */

inline struct sb_gpu_result sb_result_of(cudaError_t error)
{
    return {(int)error, sb_status_ok()};
}

inline struct sb_gpu_result sb_result_rejected(struct sb_status status)
{
    return {(int)cudaSuccess, status};
}

inline bool sb_result_is_ok(struct sb_gpu_result result)
{
    return result.cuda_error == (int)cudaSuccess && result.status.code == SB_OK;
}

/* For adapters of ops whose content is never rejected: an accepted call's status word is ok, which is all zeros. */
inline struct sb_gpu_result sb_result_with_ok_status(const struct sb_gpu_call *call, struct sb_gpu_result result)
{
    if (!sb_result_is_ok(result))
        return result;
    return sb_result_of(cudaMemsetAsync(call->status, 0, sizeof *call->status, (cudaStream_t)call->stream));
}

/* ---- Indices ------------------------------------------------------------------------------------------------- */

/* quotient and remainder of a >= 0 by b > 0; a 32-bit division where both fit, which is several times cheaper. */
static inline __host__ __device__ void sb_split(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if ((a | b) >> 32 == 0) {
        *quotient = (uint32_t)a / (uint32_t)b;
        *remainder = (uint32_t)a % (uint32_t)b;
    } else {
        *quotient = a / b;
        *remainder = a % b;
    }
}

/* `bytes` rounded up to the alignment that the parts of a workspace have. */
static inline size_t sb_workspace_part(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static inline __host__ __device__ bool sb_is_aligned(const void *pointer, size_t bytes)
{
    return (uintptr_t)pointer % bytes == 0;
}

/* The grid of a kernel whose threads stride over `items` (sb_first_item, sb_item_step): a thread an item, as far as
 * a grid reaches. The stride takes care of the rest, so no item is ever left out. */
inline dim3 sb_stride_grid(int64_t items, int threads)
{
    const int64_t blocks = sb_cdiv(items, threads);
    return dim3((unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX));
}

static __device__ __forceinline__ int64_t sb_first_item()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ int64_t sb_item_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

#endif
