/* topk_metadata.c - DeepEP dispatch result to SonicMoE routing metadata. Contract: CONTRACTS.md section 2. */
#include "topk_metadata.h"

#include <string.h>

/* The id in row t, slot s, in 64 bits whatever its stored width: an i64 id with high bits set is "not valid",
 * never an expert by truncation. */
static int64_t id_at(const struct sb_topk_args *args, int64_t t, int64_t s)
{
    if (args->idx_dtype == SB_I64)
        return ((const int64_t *)args->topk_idx)[t * args->topk + s];
    return ((const int32_t *)args->topk_idx)[t * args->topk + s];
}

static bool is_valid(const struct sb_topk_args *args, int64_t id)
{
    return id >= 0 && id < args->experts;
}

static bool is_power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

struct sb_status sb_topk_check_args(const struct sb_topk_args *args)
{
    if (args->n < 0)
        return sb_reject(SB_BAD_ARGUMENT, 1, args->n, 0);
    if (args->topk < 1 || args->topk > SB_TOPK_MAX)
        return sb_reject(SB_BAD_ARGUMENT, 2, args->topk, 0);
    if (args->experts < 1 || args->experts > SB_EXPERTS_MAX)
        return sb_reject(SB_BAD_ARGUMENT, 3, args->experts, 0);
    if (!is_power_of_two(args->block) || args->block > SB_BLOCK_MAX)
        return sb_reject(SB_BAD_ARGUMENT, 4, args->block, 0);
    if (args->counts_align < 1 || args->counts_align > INT32_MAX)
        return sb_reject(SB_BAD_ARGUMENT, 5, args->counts_align, 0);
    if (args->idx_dtype != SB_I32 && args->idx_dtype != SB_I64)
        return sb_reject(SB_BAD_ARGUMENT, 6, args->idx_dtype, 0);
    if (args->order != SB_ORDER_EXPERT && args->order != SB_ORDER_SLOT)
        return sb_reject(SB_BAD_ARGUMENT, 7, args->order, 0);
    if (args->n > INT32_MAX / args->topk) {
        const int64_t slots = args->n > INT64_MAX / args->topk ? INT64_MAX : args->n * args->topk;
        return sb_reject(SB_TOO_LARGE, slots, INT32_MAX, 0);
    }
    return sb_status_ok();
}

int64_t sb_topk_padded_offsets(const int64_t *count, int64_t experts, int64_t block, int64_t *offset)
{
    offset[0] = 0;
    for (int64_t e = 0; e < experts; e++)
        offset[e + 1] = offset[e] + block * sb_cdiv(count[e], block);
    return offset[experts];
}

/* The smallest (row, a, b), a < b, whose valid ids are the same expert. */
static struct sb_status find_duplicate(const struct sb_topk_args *args)
{
    for (int64_t t = 0; t < args->n; t++)
        for (int64_t a = 0; a < args->topk; a++)
            for (int64_t b = a + 1; b < args->topk; b++)
                if (is_valid(args, id_at(args, t, a)) && id_at(args, t, a) == id_at(args, t, b))
                    return sb_reject(SB_DUPLICATE_EXPERT, t, a, b);
    return sb_status_ok();
}

/* c[e]: the valid slots of each expert. Returns how many ids are neither -1 nor an expert. */
static int64_t count_slots(const struct sb_topk_args *args, int64_t *c)
{
    int64_t ignored = 0;
    for (int64_t e = 0; e < args->experts; e++)
        c[e] = 0;
    for (int64_t t = 0; t < args->n; t++)
        for (int64_t s = 0; s < args->topk; s++) {
            const int64_t id = id_at(args, t, s);
            if (is_valid(args, id))
                c[id]++;
            else if (id != -1)
                ignored++;
        }
    return ignored;
}

static int64_t total(const int64_t *c, int64_t experts)
{
    int64_t sum = 0;
    for (int64_t e = 0; e < experts; e++)
        sum += c[e];
    return sum;
}

static struct sb_status find_count_mismatch(const struct sb_topk_args *args, const int64_t *c)
{
    for (int64_t e = 0; args->tokens_per_expert != NULL && e < args->experts; e++)
        if (args->tokens_per_expert[e] != args->counts_align * sb_cdiv(c[e], args->counts_align))
            return sb_reject(SB_COUNT_MISMATCH, e, args->tokens_per_expert[e], c[e]);
    return sb_status_ok();
}

struct sb_status sb_ref_topk_count(const struct sb_topk_args *args, int64_t *count, int64_t *TK, int64_t *TKP)
{
    int64_t c[SB_EXPERTS_MAX], offset[SB_EXPERTS_MAX + 1];
    struct sb_status status = sb_topk_check_args(args);
    if (status.code != SB_OK)
        return status;

    const int64_t ignored = count_slots(args, c);
    const int64_t padded = sb_topk_padded_offsets(c, args->experts, args->block, offset);
    status = find_duplicate(args);
    if (status.code == SB_OK)
        status = find_count_mismatch(args, c);
    if (status.code == SB_OK && padded > INT32_MAX)
        status = sb_reject(SB_TOO_LARGE, padded, INT32_MAX, 0);
    status.ignored = ignored;
    if (status.code != SB_OK)
        return status;

    if (count != NULL)
        memcpy(count, c, (size_t)args->experts * sizeof c[0]);
    *TK = total(c, args->experts);
    *TKP = padded;
    return status;
}

/* What stands at every place that no routed slot writes: the padding rows, and the scores from TK on. */
static void write_padding(const struct sb_topk_args *args, const int64_t *c, const int64_t *offset,
                          struct sb_topk_out *out)
{
    int64_t next = out->TK;
    for (int64_t e = 0; e < args->experts; e++)
        for (int64_t p = offset[e] + c[e]; p < offset[e + 1]; p++) {
            out->x_gather_idx[p] = 0;
            out->s_scatter_idx[p] = (int32_t)(args->order == SB_ORDER_SLOT ? next++ : out->TK);
        }
    for (int64_t p = out->TK; p < out->TKP; p++)
        out->topk_score[p] = 0; /* +0 */
}

/* How many of row t's valid slots come before slot s in the order asked for. */
static int64_t slots_before(const struct sb_topk_args *args, int64_t t, int64_t s)
{
    int64_t before = 0;
    for (int64_t other = 0; other < args->topk; other++)
        if (is_valid(args, id_at(args, t, other)))
            before += args->order == SB_ORDER_SLOT ? other < s : id_at(args, t, other) < id_at(args, t, s);
    return before;
}

struct sb_status sb_ref_topk_metadata(const struct sb_topk_args *args, struct sb_topk_out *out)
{
    int64_t c[SB_EXPERTS_MAX], offset[SB_EXPERTS_MAX + 1], rank[SB_EXPERTS_MAX] = {0};
    int64_t TK, TKP;
    const struct sb_status status = sb_ref_topk_count(args, c, &TK, &TKP);
    if (status.code != SB_OK)
        return status;

    out->TK = TK;
    out->TKP = TKP;
    out->pad_rows = TKP - TK;
    (void)sb_topk_padded_offsets(c, args->experts, args->block, offset);
    for (int64_t e = 0; e <= args->experts; e++)
        out->expert_offset[e] = (int32_t)offset[e];
    write_padding(args, c, offset, out);

    out->token_offset[0] = 0;
    for (int64_t t = 0; t < args->n; t++) { /* ascending: rank[e] counts the earlier tokens of expert e */
        int32_t valid_here = 0;
        for (int64_t s = 0; s < args->topk; s++) {
            const int64_t e = id_at(args, t, s);
            if (!is_valid(args, e))
                continue;
            const int64_t padded = offset[e] + rank[e]++;
            const int64_t token_major = out->token_offset[t] + slots_before(args, t, s);
            out->x_gather_idx[padded] = (int32_t)t;
            out->s_scatter_idx[padded] = (int32_t)token_major;
            out->s_reverse_scatter_idx[token_major] = (int32_t)padded;
            out->topk_score[token_major] = args->topk_prob[t * args->topk + s];
            out->score_src_idx[token_major] = (int32_t)(t * args->topk + s);
            valid_here++;
        }
        out->token_offset[t + 1] = out->token_offset[t] + valid_here;
    }
    return status;
}
