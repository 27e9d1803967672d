/* metadata_pack.cu - topk_metadata and scale_pack in one call. Contract: ref/CONTRACTS.md sections 2 and 3.
 *
 * Equal to the two ops one after the other, byte for byte, because it is the two ops one after the other. The packing
 * kernel reads TKP and the status where the metadata kernels left them. */
#include "metadata_pack.h"

#include "call_args.h"
#include "launch.cuh"
#include "scale_pack.h"
#include "variants.h"

/* How many rows can be packed into `bytes`: those of whole tiles. */
static int64_t rows_that_fit(int64_t bytes, int64_t cols)
{
    return bytes / SB_TILE_BYTES / sb_cdiv(cols, SB_TILE_COLS) * SB_TILE_ROWS;
}

extern "C" size_t sb_metadata_pack_chained_workspace(const struct sb_topk_args *args)
{
    return sb_topk_metadata_scan_workspace(args);
}

extern "C" struct sb_gpu_result sb_metadata_pack_chained(const struct sb_topk_args *args,
                                                         const struct sb_scale_pack_args *scales,
                                                         const struct sb_gpu_topk_out *out, uint8_t *packed,
                                                         int64_t packed_capacity, void *workspace,
                                                         size_t workspace_bytes, struct sb_status *status, void *stream)
{
    const struct sb_status checked = sb_metadata_pack_check_args(args, scales);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);
    if (!sb_is_aligned(packed, 16))
        return sb_result_of(cudaErrorInvalidValue); /* before anything runs, not after the metadata */

    struct sb_gpu_topk_out limited = *out;
    const int64_t rows = rows_that_fit(packed_capacity, scales->cols);
    if (limited.TKP_capacity > rows)
        limited.TKP_capacity = rows;
    const struct sb_gpu_result metadata =
        sb_topk_metadata_scan(args, &limited, workspace, workspace_bytes, status, stream);
    if (!sb_result_is_ok(metadata) || limited.TKP_capacity == 0)
        return metadata;

    struct sb_scale_pack_args gathered = *scales;
    gathered.gather = out->x_gather_idx;
    gathered.r = limited.TKP_capacity;
    return sb_scale_pack_gather_device_rows(&gathered, out->TKP, packed, status, stream);
}

/* ---- Adapter ---------------------------------------------------------------------------------------------------- */

extern "C" size_t sb_workspace_metadata_pack_chained(const struct sb_gpu_call *call)
{
    const struct sb_topk_args args = sb_call_topk_args(call);
    return sb_metadata_pack_chained_workspace(&args);
}

extern "C" struct sb_gpu_result sb_run_metadata_pack_chained(const struct sb_gpu_call *call)
{
    const struct sb_topk_args args = sb_call_topk_args(call);
    const struct sb_scale_pack_args scales = sb_call_scale_pack_args(call);
    const struct sb_gpu_topk_out out = sb_call_topk_out(call);
    const struct sb_tensor *packed = sb_call_out(call, "packed");
    return sb_metadata_pack_chained(&args, &scales, &out, (uint8_t *)packed->data, sb_tensor_count(packed),
                                    call->workspace, call->workspace_bytes, call->status, call->stream);
}
