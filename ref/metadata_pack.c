/* metadata_pack.c - topk_metadata and scale_pack in one call. Contract: CONTRACTS.md sections 2 and 3. */
#include "metadata_pack.h"

/* Stands where a gather is not there to be read: NULL would mean the identity. */
static const int32_t some_gather[1] = {0};

struct sb_status sb_metadata_pack_check_args(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales)
{
    const struct sb_status status = sb_topk_check_args(args);
    if (status.code != SB_OK)
        return status;
    if (scales->n != args->n)
        return sb_reject(SB_BAD_ARGUMENT, 1, scales->n, 0);
    /* How long the gather is shows only when the indices are read, so the longest stands in for it. */
    struct sb_scale_pack_args longest = *scales;
    longest.gather = some_gather;
    longest.r = INT32_MAX;
    return sb_scale_pack_check_args(&longest);
}

struct sb_status sb_ref_metadata_pack(const struct sb_topk_args *args, const struct sb_scale_pack_args *scales,
                                      struct sb_topk_out *out, uint8_t *packed)
{
    struct sb_status status = sb_metadata_pack_check_args(args, scales);
    if (status.code == SB_OK)
        status = sb_ref_topk_metadata(args, out);
    if (status.code != SB_OK)
        return status;

    struct sb_scale_pack_args gathered = *scales;
    gathered.gather = out->TKP > 0 ? out->x_gather_idx : some_gather;
    gathered.r = out->TKP;
    (void)sb_ref_scale_pack(&gathered, packed); /* nothing is left that it could reject: the indices are rows */
    return status;                              /* with the count of ignored ids */
}
