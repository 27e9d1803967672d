/* metadata_pack.c - topk_metadata and scale_pack in one call. Contract: CONTRACTS.md sections 2 and 3. */
#include "metadata_pack.h"

/* Stands for a gather of no rows: a NULL one would mean the identity. */
static const int32_t no_rows[1] = {0};

/* scale_pack's own checks. The gather's length is not known before the indices are read, so an empty one
 * stands in for it here; its indices are rows of this call and need no check. */
static struct sb_status check_scale_args(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales)
{
    if (scales->n != args->n)
        return sb_reject(SB_BAD_ARGUMENT, 1, scales->n, 0);
    struct sb_scale_pack_args checked = *scales;
    checked.gather = no_rows;
    checked.r = 0;
    return sb_scale_pack_check_args(&checked);
}

struct sb_status sb_ref_metadata_pack(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales,
                                      struct sb_topk_out *out, uint8_t *packed)
{
    struct sb_status status = sb_topk_check_args(args);
    if (status.code == SB_OK)
        status = check_scale_args(args, scales);
    if (status.code == SB_OK)
        status = sb_ref_topk_metadata(args, out);
    if (status.code != SB_OK)
        return status;

    struct sb_scale_pack_args gathered = *scales;
    gathered.gather = out->TKP > 0 ? out->x_gather_idx : no_rows;
    gathered.r = out->TKP;
    (void)sb_ref_scale_pack(&gathered, packed); /* nothing is left that it could reject */
    return status;                              /* with the count of ignored ids */
}
