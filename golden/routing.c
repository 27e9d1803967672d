/* routing.c - inputs of a routing call and the reference's view of its data. See routing.h. */
#include "routing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const sb_counts_names[SB_COUNTS_COUNT + 1] = {"none", "exact", "aligned", "wrong", "short", NULL};
const char *const sb_idx_names[3] = {"i64", "i32", NULL};
const char *const sb_order_names[3] = {"expert", "slot", NULL};

enum { STREAM_PROB = 18 };
static const int64_t SLOTS_LIMIT = INT64_C(1) << 28; /* what a host holds; the op's own limit is INT32_MAX */

/* ---- parameters --------------------------------------------------------------------------------- */

static enum sb_counts counts_of(const struct sb_case *c)
{
    return (enum sb_counts)sb_case_int(c, "counts");
}

bool sb_routing_oversized(const struct sb_case *c)
{
    return sb_case_int(c, "N") * sb_case_int(c, "topk") > INT32_MAX;
}

static bool validate_counts(const struct sb_case *c, struct sb_error *err)
{
    const int64_t align = sb_case_int(c, "counts_align");
    const enum sb_counts counts = counts_of(c);
    if (counts == SB_COUNTS_ALIGNED && align < 2)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=aligned needs counts_align of at least 2");
    if (counts == SB_COUNTS_EXACT && align > 1)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=exact leaves no room for counts_align; write counts=aligned");
    if (counts == SB_COUNTS_SHORT && align > 1)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=short is about exact counts; leave counts_align away");
    return true;
}

bool sb_routing_validate(const struct sb_case *c, struct sb_error *err)
{
    const int64_t n = sb_case_int(c, "N"), topk = sb_case_int(c, "topk"), after = sb_case_int(c, "after");
    if (after != 0 && after <= n)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "after=%" PRId64 " must exceed N: it is the larger call made first",
                       after);
    if ((n * topk > SLOTS_LIMIT && !sb_routing_oversized(c)) || after * topk > SLOTS_LIMIT)
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "N * topk above %" PRId64 " needs more memory than a case may take; choose a smaller N",
                       SLOTS_LIMIT);
    return validate_counts(c, err) && sb_route_validate(c, err);
}

/* ---- inputs ------------------------------------------------------------------------------------- */

static int64_t id_at(const struct sb_tensor *topk_idx, int64_t i)
{
    return topk_idx->dtype == SB_I64 ? ((const int64_t *)topk_idx->data)[i] : ((const int32_t *)topk_idx->data)[i];
}

static void count_tokens(const struct sb_tensor *topk_idx, int64_t experts, int32_t *count)
{
    memset(count, 0, (size_t)experts * sizeof *count);
    const int64_t slots = sb_tensor_count(topk_idx);
    for (int64_t i = 0; i < slots; i++) {
        const int64_t id = id_at(topk_idx, i);
        if (id >= 0 && id < experts)
            count[id]++;
    }
}

/* From true counts to what the case hands over. */
static void restate_counts(const struct sb_case *c, int64_t experts, int32_t *count)
{
    const int32_t align = (int32_t)sb_case_int(c, "counts_align");
    for (int64_t e = 0; e < experts && align > 1; e++)
        count[e] = (count[e] + align - 1) / align * align;
    if (counts_of(c) == SB_COUNTS_WRONG && experts > 0) {
        count[experts / 2]++;
        count[experts - 1]++;
    }
    if (counts_of(c) == SB_COUNTS_SHORT) {
        int64_t e = experts - 1;
        while (e > 0 && count[e] == 0)
            e--;
        if (e >= 0)
            count[e]--;
    }
}

static bool generate_counts(const struct sb_case *c, struct sb_tensor *in, struct sb_error *err)
{
    const int64_t experts = sb_case_int(c, "E");
    struct sb_tensor *counts = &in[SB_IN_TOKENS_PER_EXPERT];
    if (!sb_tensor_alloc(counts, "tokens_per_expert", SB_I32, 1, &experts, err))
        return false;
    count_tokens(&in[SB_IN_TOPK_IDX], experts, counts->data);
    restate_counts(c, experts, counts->data);
    return true;
}

static void generate_probs(const struct sb_case *c, struct sb_tensor *prob)
{
    const struct sb_rng rng = {c->seed, STREAM_PROB};
    const enum sb_f32_dist dist = (enum sb_f32_dist)sb_case_int(c, "prob");
    const int64_t slots = sb_tensor_count(prob);
    uint32_t *bits = prob->data;
#pragma omp parallel for schedule(static) if (slots >= SB_PARALLEL_FROM)
    for (int64_t i = 0; i < slots; i++)
        bits[i] = sb_f32_draw(dist, &rng, (uint64_t)i);
}

bool sb_routing_generate(const struct sb_case *c, struct sb_tensor *in, struct sb_error *err)
{
    const int64_t shape[2] = {sb_case_int(c, "N"), sb_case_int(c, "topk")};
    const enum sb_dtype idx_dtype = sb_case_int(c, "idx") == 0 ? SB_I64 : SB_I32;
    if (sb_routing_oversized(c))
        return true;
    if (!sb_tensor_alloc(&in[SB_IN_TOPK_IDX], "topk_idx", idx_dtype, 2, shape, err) ||
        !sb_tensor_alloc(&in[SB_IN_TOPK_PROB], "topk_prob", SB_F32, 2, shape, err))
        return false;
    sb_route_all(c, &in[SB_IN_TOPK_IDX]);
    generate_probs(c, &in[SB_IN_TOPK_PROB]);
    return counts_of(c) == SB_COUNTS_NONE || generate_counts(c, in, err);
}

/* ---- the reference's view ----------------------------------------------------------------------- */

struct sb_topk_args sb_routing_args(const struct sb_case *c, const struct sb_tensor *in)
{
    const struct sb_topk_args args = {
        .topk_idx = in[SB_IN_TOPK_IDX].data,
        .idx_dtype = sb_case_int(c, "idx") == 0 ? SB_I64 : SB_I32,
        .topk_prob = in[SB_IN_TOPK_PROB].data,
        .tokens_per_expert = in[SB_IN_TOKENS_PER_EXPERT].data,
        .counts_align = sb_case_int(c, "counts_align"),
        .n = sb_case_int(c, "N"),
        .topk = sb_case_int(c, "topk"),
        .experts = sb_case_int(c, "E"),
        .block = sb_case_int(c, "block"),
        .order = (enum sb_topk_order)sb_case_int(c, "order"),
    };
    return args;
}

static int64_t scalar_of(const struct sb_tensor *t)
{
    int64_t value = 0;
    if (t->data != NULL)
        memcpy(&value, t->data, sizeof value);
    return value;
}

struct sb_topk_out sb_routing_out(const struct sb_tensor *out)
{
    const struct sb_topk_out view = {
        .expert_offset = out[SB_OUT_EXPERT_OFFSET].data,
        .x_gather_idx = out[SB_OUT_X_GATHER_IDX].data,
        .s_scatter_idx = out[SB_OUT_S_SCATTER_IDX].data,
        .s_reverse_scatter_idx = out[SB_OUT_S_REVERSE_SCATTER_IDX].data,
        .token_offset = out[SB_OUT_TOKEN_OFFSET].data,
        .topk_score = out[SB_OUT_TOPK_SCORE].data,
        .score_src_idx = out[SB_OUT_SCORE_SRC_IDX].data,
        .TK = scalar_of(&out[SB_OUT_TK]),
        .TKP = scalar_of(&out[SB_OUT_TKP]),
        .pad_rows = scalar_of(&out[SB_OUT_PAD_ROWS]),
    };
    return view;
}

/* Name, dtype and shape of every output for these sizes. */
static void describe(const struct sb_case *c, struct sb_tensor *out, int64_t n, int64_t TK, int64_t TKP)
{
    const int64_t experts_1 = sb_case_int(c, "E") + 1, n_1 = n + 1;
    sb_tensor_describe(&out[SB_OUT_EXPERT_OFFSET], "expert_offset", SB_I32, 1, &experts_1);
    sb_tensor_describe(&out[SB_OUT_X_GATHER_IDX], "x_gather_idx", SB_I32, 1, &TKP);
    sb_tensor_describe(&out[SB_OUT_S_SCATTER_IDX], "s_scatter_idx", SB_I32, 1, &TKP);
    sb_tensor_describe(&out[SB_OUT_S_REVERSE_SCATTER_IDX], "s_reverse_scatter_idx", SB_I32, 1, &TK);
    sb_tensor_describe(&out[SB_OUT_TOKEN_OFFSET], "token_offset", SB_I32, 1, &n_1);
    sb_tensor_describe(&out[SB_OUT_TOPK_SCORE], "topk_score", SB_F32, 1, &TKP);
    sb_tensor_describe(&out[SB_OUT_SCORE_SRC_IDX], "score_src_idx", SB_I32, 1, &TK);
    sb_tensor_describe(&out[SB_OUT_TK], "TK", SB_I64, 0, NULL);
    sb_tensor_describe(&out[SB_OUT_TKP], "TKP", SB_I64, 0, NULL);
    sb_tensor_describe(&out[SB_OUT_PAD_ROWS], "pad_rows", SB_I64, 0, NULL);
}

bool sb_routing_alloc(const struct sb_case *c, struct sb_tensor *out, int64_t TK, int64_t TKP, struct sb_error *err)
{
    describe(c, out, sb_case_int(c, "N"), TK, TKP);
    for (int i = 0; i < SB_ROUTING_OUTPUTS; i++)
        if (!sb_tensor_alloc(&out[i], out[i].name, out[i].dtype, out[i].rank, out[i].shape, err))
            return false;
    return true;
}

void sb_routing_store_sizes(struct sb_tensor *out, const struct sb_topk_out *result)
{
    memcpy(out[SB_OUT_TK].data, &result->TK, sizeof result->TK);
    memcpy(out[SB_OUT_TKP].data, &result->TKP, sizeof result->TKP);
    memcpy(out[SB_OUT_PAD_ROWS].data, &result->pad_rows, sizeof result->pad_rows);
}

int64_t sb_routing_describe_largest(const struct sb_case *c, struct sb_tensor *out)
{
    const int64_t experts = sb_case_int(c, "E"), block = sb_case_int(c, "block");
    if (sb_routing_oversized(c)) { /* rejected before a size is known: nothing could have been written */
        describe(c, out, 0, 0, 0);
        return 0;
    }
    const int64_t n = sb_case_int(c, "N");
    const int64_t TK = n * sb_case_int(c, "topk");
    const int64_t segments = TK < experts ? TK : experts;
    const int64_t TKP = TK + (block > 1 ? segments * (block - 1) : 0);
    describe(c, out, n, TK, TKP);
    return TKP;
}

/* Do the candidate's outputs have data and the shapes of `expected`? Otherwise says which does not. */
static bool same_shapes(const struct sb_tensor *expected, const struct sb_tensor *out, int n, char *why,
                        size_t why_size)
{
    for (int i = 0; i < n; i++) {
        const bool same = out[i].data != NULL && out[i].dtype == expected[i].dtype && out[i].rank == expected[i].rank &&
                          memcmp(out[i].shape, expected[i].shape, (size_t)expected[i].rank * sizeof(int64_t)) == 0;
        if (!same) {
            snprintf(why, why_size, "%s is missing or has another type or shape (%" PRId64 " elements expected)",
                     expected[i].name, sb_tensor_count(&expected[i]));
            return false;
        }
    }
    return true;
}

bool sb_routing_relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, int n,
                          char *why, size_t why_size)
{
    if (d->status.code != SB_OK) {
        snprintf(why, why_size, "the call is rejected: it has no outputs to relate");
        return false;
    }
    if (!same_shapes(d->out, out, n, why, why_size))
        return false;
    const struct sb_topk_args args = sb_routing_args(c, d->in);
    const struct sb_topk_out view = sb_routing_out(out);
    return sb_topk_relations(&args, &view, why, why_size);
}

const char *sb_routing_prelude(const struct sb_case *c, char *id, size_t size)
{
    const int64_t after = sb_case_int(c, "after");
    if (after == 0)
        return NULL;
    struct sb_case first = *c;
    for (int i = 0; c->op->params[i].name != NULL; i++) {
        if (strcmp(c->op->params[i].name, "N") == 0)
            snprintf(first.param[i].text, sizeof first.param[i].text, "%" PRId64, after);
        if (strcmp(c->op->params[i].name, "after") == 0)
            snprintf(first.param[i].text, sizeof first.param[i].text, "0");
    }
    return sb_case_print(&first, id, size) ? id : NULL;
}
