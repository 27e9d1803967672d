/* wgrad_varlen_k_auto.cu - wgrad_varlen_k by the path that is made for the GPU, or by mma.sync where that path's
 * self-check failed. */
#include "wgrad_varlen_k.h"

#include "launch.cuh"
#include "variants.h"
#include "wgrad_call.cuh"
#include "wgrad_self_check.cuh"

/* Its kernel's waits have no end, so it has none to count. */
static struct sb_gpu_result run_wgmma(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                      void *stream, uint32_t *)
{
    return sb_wgrad_varlen_k_wgmma(args, dw, status, stream);
}

/* Why mma.sync serves instead; NULL if wgmma does. A build for plain sm_90 has a kernel without it. */
static const char *wgmma_fallback(void)
{
    static struct sb_wgrad_self_checks checks;
    return sb_wgrad_self_check(&checks, run_wgmma);
}

/* The path made for the current device, NULL where mma.sync is that, and why it does not serve. */
static sb_wgrad_launch *find_path(const char **fallback)
{
    int device = 0, major = 0, minor = 0;
    *fallback = NULL;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
        return NULL; // the launch meets the same error, and says so
    if (major == 9 && minor == 0) {
        *fallback = wgmma_fallback();
        return sb_wgrad_varlen_k_wgmma;
    }
    if (major == 10) {
        *fallback = sb_wgrad_tcgen05_fallback();
        return sb_wgrad_varlen_k_tcgen05;
    }
    return NULL;
}

extern "C" const char *sb_wgrad_varlen_k_fallback(void)
{
    const char *fallback;
    find_path(&fallback);
    return fallback;
}

extern "C" struct sb_gpu_result sb_wgrad_varlen_k(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                                  void *stream)
{
    const struct sb_status checked = sb_wgrad_check_args(args, dw);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked); // with nothing launched: no self-check either
    const char *fallback;
    sb_wgrad_launch *const path = find_path(&fallback);
    return path && !fallback ? path(args, dw, status, stream) : sb_wgrad_varlen_k_mma_sync(args, dw, status, stream);
}

/* ---- Adapter ----------------------------------------------------------------------------------------------------- */

extern "C" struct sb_gpu_result sb_run_wgrad_varlen_k_auto(const struct sb_gpu_call *call)
{
    return sb_wgrad_run_call(call, sb_wgrad_check_args, sb_wgrad_varlen_k);
}

/* The self-check is made here, so that its launches are not counted as a call's. */
extern "C" const char *sb_cannot_wgrad_varlen_k_auto(const struct sb_gpu_call *call, int compute_capability)
{
    sb_wgrad_varlen_k_fallback();
    return sb_cannot_wgrad_varlen_k_mma_sync(call, compute_capability);
}
