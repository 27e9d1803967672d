/* topk_metadata_relations.c - is this routing metadata right in some order? Contract: CONTRACTS.md section 2.
 *
 * Works from the outputs back to the indices, with nothing of topk_metadata.c but the sizes: a second opinion on the
 * reference as well as a judge of candidates. Reads every output through a bounds check first. */
#include "topk_metadata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct check {
    const struct sb_topk_args *args;
    const struct sb_topk_out *out;
    int64_t TK, TKP;               /* what they must be */
    int64_t count[SB_EXPERTS_MAX]; /* valid slots of each expert */
    char *why;
    size_t why_size;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
violated(const struct check *k, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (k->why_size > 0)
        (void)vsnprintf(k->why, k->why_size, format, values);
    va_end(values);
    return false;
}

static int64_t id_of(const struct sb_topk_args *args, int64_t flat)
{
    return args->idx_dtype == SB_I64 ? ((const int64_t *)args->topk_idx)[flat]
                                     : ((const int32_t *)args->topk_idx)[flat];
}

static bool sizes_hold(const struct check *k)
{
    if (k->out->TK != k->TK)
        return violated(k, "TK is %" PRId64 ", expected %" PRId64, k->out->TK, k->TK);
    if (k->out->TKP != k->TKP)
        return violated(k, "TKP is %" PRId64 ", expected %" PRId64, k->out->TKP, k->TKP);
    if (k->out->pad_rows != k->TKP - k->TK)
        return violated(k, "pad_rows is %" PRId64 ", expected %" PRId64, k->out->pad_rows, k->TKP - k->TK);
    return true;
}

/* expert_offset[e + 1] - expert_offset[e] is c[e] rounded up to whole blocks. */
static bool expert_offsets_hold(const struct check *k)
{
    int64_t expected = 0;
    for (int64_t e = 0; e <= k->args->experts; e++) {
        if (k->out->expert_offset[e] != expected)
            return violated(k, "expert_offset[%" PRId64 "] is %" PRId32 ", expected %" PRId64, e,
                            k->out->expert_offset[e], expected);
        if (e < k->args->experts)
            expected += (k->count[e] + k->args->block - 1) / k->args->block * k->args->block;
    }
    return true;
}

static bool token_offsets_hold(const struct check *k)
{
    int64_t expected = 0;
    for (int64_t t = 0; t <= k->args->n; t++) {
        if (k->out->token_offset[t] != expected)
            return violated(k, "token_offset[%" PRId64 "] is %" PRId32 ", expected %" PRId64, t,
                            k->out->token_offset[t], expected);
        for (int64_t s = 0; t < k->args->n && s < k->args->topk; s++) {
            const int64_t id = id_of(k->args, t * k->args->topk + s);
            expected += id >= 0 && id < k->args->experts;
        }
    }
    return true;
}

/* One real row p of expert e: the routed slot that it names must exist, belong to its token and expert, and carry
 * its probability; and the two scatter maps must be each other's inverse there. */
static bool real_row_holds(const struct check *k, int64_t e, int64_t p)
{
    const struct sb_topk_args *args = k->args;
    const struct sb_topk_out *out = k->out;
    const int64_t token = out->x_gather_idx[p], place = out->s_scatter_idx[p];
    if (token < 0 || token >= args->n)
        return violated(k, "x_gather_idx[%" PRId64 "] is %" PRId64 ", not a row", p, token);
    if (place < out->token_offset[token] || place >= out->token_offset[token + 1])
        return violated(k, "s_scatter_idx[%" PRId64 "] is %" PRId64 ", not a position of token %" PRId64, p, place,
                        token);
    if (out->s_reverse_scatter_idx[place] != p)
        return violated(
            k, "s_reverse_scatter_idx[%" PRId64 "] is %" PRId32 ", but s_scatter_idx[%" PRId64 "] points there", place,
            out->s_reverse_scatter_idx[place], p);

    const int64_t source = out->score_src_idx[place];
    if (source < token * args->topk || source >= (token + 1) * args->topk)
        return violated(k, "score_src_idx[%" PRId64 "] is %" PRId64 ", not a slot of token %" PRId64, place, source,
                        token);
    if (id_of(args, source) != e)
        return violated(k, "score_src_idx[%" PRId64 "] is %" PRId64 ", whose expert is %" PRId64 ", expected %" PRId64,
                        place, source, id_of(args, source), e);
    if (out->topk_score[place] != args->topk_prob[source])
        return violated(k, "topk_score[%" PRId64 "] is 0x%08" PRIX32 ", expected 0x%08" PRIX32, place,
                        out->topk_score[place], args->topk_prob[source]);
    return true;
}

/* Every real row holds, and so every routed slot is there once: there are as many real rows of expert e as slots
 * routed to it, no two share a token-major position (the reverse map names one row for each), and no token has two
 * slots of one expert. */
static bool real_rows_hold(const struct check *k)
{
    for (int64_t e = 0; e < k->args->experts; e++)
        for (int64_t r = 0; r < k->count[e]; r++)
            if (!real_row_holds(k, e, k->out->expert_offset[e] + r))
                return false;
    return true;
}

/* Padding rows gather row 0 and scatter past the real positions: all to TK, or to TK, TK + 1, ... in turn. */
static bool padding_holds(const struct check *k)
{
    bool constant = true, running = true;
    int64_t next = k->TK;
    for (int64_t e = 0; e < k->args->experts; e++)
        for (int64_t p = k->out->expert_offset[e] + k->count[e]; p < k->out->expert_offset[e + 1]; p++) {
            const int64_t place = k->out->s_scatter_idx[p];
            if (k->out->x_gather_idx[p] != 0)
                return violated(k, "x_gather_idx[%" PRId64 "] is %" PRId32 ", expected 0: a padding row", p,
                                k->out->x_gather_idx[p]);
            constant = constant && place == k->TK;
            running = running && place == next++;
            if (!constant && !running)
                return violated(k,
                                "s_scatter_idx[%" PRId64 "] is %" PRId64
                                ": padding rows hold neither TK throughout nor TK, TK + 1, ...",
                                p, place);
        }
    for (int64_t i = k->TK; i < k->TKP; i++)
        if (k->out->topk_score[i] != 0)
            return violated(k, "topk_score[%" PRId64 "] is 0x%08" PRIX32 ", expected +0: past TK", i,
                            k->out->topk_score[i]);
    return true;
}

bool sb_topk_relations(const struct sb_topk_args *args, const struct sb_topk_out *out, char *why, size_t why_size)
{
    struct check k = {.args = args, .out = out, .why = why, .why_size = why_size};
    if (why_size > 0)
        why[0] = '\0';
    const struct sb_status status = sb_ref_topk_count(args, k.count, &k.TK, &k.TKP);
    if (status.code != SB_OK)
        return violated(&k, "the input is rejected (%s): there is no right output",
                        sb_code_name((enum sb_code)status.code));
    return sizes_hold(&k) && expert_offsets_hold(&k) && token_offsets_hold(&k) && real_rows_hold(&k) &&
           padding_holds(&k);
}
