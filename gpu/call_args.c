/* call_args.c - typed arguments from a call by name. */
#include "call_args.h"

struct sb_topk_args sb_call_topk_args(const struct sb_gpu_call *call)
{
    const struct sb_tensor *topk_idx = sb_call_in(call, "topk_idx");
    struct sb_topk_args args = {
        .topk_idx = topk_idx->data,
        /* A call too large to have inputs is rejected by its size alone: any index type will do. */
        .idx_dtype = topk_idx->data != NULL ? topk_idx->dtype : SB_I64,
        .topk_prob = sb_call_in(call, "topk_prob")->data,
        .tokens_per_expert = sb_call_in(call, "tokens_per_expert")->data,
        .counts_align = sb_call_int(call, "counts_align"),
        .n = sb_call_int(call, "N"),
        .topk = sb_call_int(call, "topk"),
        .experts = sb_call_int(call, "E"),
        .block = sb_call_int(call, "block"),
        .order = (enum sb_topk_order)sb_call_int(call, "order"),
    };
    return args;
}

static int64_t shortest(int64_t length, const struct sb_tensor *t)
{
    const int64_t other = sb_tensor_count(t);
    return other < length ? other : length;
}

struct sb_gpu_topk_out sb_call_topk_out(const struct sb_gpu_call *call)
{
    const struct sb_tensor *x_gather_idx = sb_call_out(call, "x_gather_idx");
    const struct sb_tensor *s_scatter_idx = sb_call_out(call, "s_scatter_idx");
    const struct sb_tensor *topk_score = sb_call_out(call, "topk_score");
    const struct sb_tensor *s_reverse_scatter_idx = sb_call_out(call, "s_reverse_scatter_idx");
    const struct sb_tensor *score_src_idx = sb_call_out(call, "score_src_idx");
    struct sb_gpu_topk_out out = {
        .expert_offset = sb_call_out(call, "expert_offset")->data,
        .x_gather_idx = x_gather_idx->data,
        .s_scatter_idx = s_scatter_idx->data,
        .s_reverse_scatter_idx = s_reverse_scatter_idx->data,
        .token_offset = sb_call_out(call, "token_offset")->data,
        .topk_score = topk_score->data,
        .score_src_idx = score_src_idx->data,
        .TK = sb_call_out(call, "TK")->data,
        .TKP = sb_call_out(call, "TKP")->data,
        .pad_rows = sb_call_out(call, "pad_rows")->data,
        .TK_capacity = shortest(sb_tensor_count(s_reverse_scatter_idx), score_src_idx),
        .TKP_capacity = shortest(shortest(sb_tensor_count(x_gather_idx), s_scatter_idx), topk_score),
    };
    return out;
}

struct sb_scale_pack_args sb_call_scale_pack_args(const struct sb_gpu_call *call)
{
    const struct sb_tensor *raw = sb_call_in(call, "raw");
    struct sb_scale_pack_args args = {
        .raw = raw->data,
        .carrier = (enum sb_carrier)sb_call_int(call, "carrier"),
        .n = sb_call_int(call, "N"),
        .cols = sb_call_int(call, "cols"),
        .col_stride = raw->col_stride != 0 ? raw->col_stride : 1,
        .fill = (uint8_t)sb_call_int(call, "fill"),
    };
    const int64_t width = raw->rank > 0 ? raw->shape[raw->rank - 1] : 1; /* rank 0: absent, as above */
    args.row_stride = raw->row_stride != 0 ? raw->row_stride : width * args.col_stride;
    args.r = args.n;
    return args;
}
