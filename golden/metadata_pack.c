/* metadata_pack.c - parameters, inputs and reference call of metadata_pack. Contract sections 2 and 3. */
#include "ops.h"
#include "routing.h"
#include "scales.h"
#include "../ref/metadata_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_RAW = 1 };
enum { IN_RAW = SB_ROUTING_INPUTS, OUT_PACKED = SB_ROUTING_OUTPUTS };

static const struct sb_param_spec params[] = {
#include "routing_params.inc"
    {"cols", SB_PARAM_INT, NULL, NULL, 0, INT64_C(1) << 31,
     "columns of the scaled matrix: 32 a scale; a call takes 1 or more"},
    {"carrier", SB_PARAM_ENUM, "u8", sb_carrier_names, 0, 0, "how the scale bytes lie in memory"},
    {"fill", SB_PARAM_INT, "1", NULL, 0, 255, "the byte where packed has no scale"},
#include "scales_params.inc"
    {NULL, SB_PARAM_INT, NULL, NULL, 0, 0, NULL},
};

static const struct sb_tensor_spec inputs[] = {
#include "routing_inputs.inc"
    {"raw", "scales [N, S] as carrier elements; i32x4 holds four in a word, [N, S / 4]", true},
    {NULL, NULL, false},
};

static const struct sb_tensor_spec outputs[] = {
#include "routing_outputs.inc"
    {"packed", "scales in 128x4 tiles of 512 bytes, in the order of x_gather_idx, shown as (1, bytes)", false},
    {NULL, NULL, false},
};

static int misalign(const struct sb_case *c, bool output, int index)
{
    return !output && index == IN_RAW ? (int)sb_case_int(c, "misalign") : 0;
}

static bool validate(const struct sb_case *c, struct sb_error *err)
{
    if (!sb_routing_validate(c, err))
        return false;
    const int64_t after = sb_case_int(c, "after"), n = sb_case_int(c, "N");
    return sb_routing_oversized(c) || sb_raw_scales_validate(c, after > n ? after : n, err);
}

static bool generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    sb_data_start(d, c->op);
    if (sb_routing_oversized(c))
        return true;
    return sb_routing_generate(c, d->in, err) &&
           sb_raw_scales_generate(c, sb_case_int(c, "N"), STREAM_RAW, &d->in[IN_RAW], err);
}

static void describe_largest(const struct sb_case *c, struct sb_data *d)
{
    const int64_t TKP = sb_routing_describe_largest(c, d->out);
    sb_packed_describe(&d->out[OUT_PACKED], TKP, sb_case_int(c, "cols"));
}

/* Sizes first, from the routing alone. What is allocated for a call that turns out to be rejected is freed again. */
static bool reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const struct sb_topk_args args = sb_routing_args(c, d->in);
    const struct sb_scale_pack_args scales = sb_scale_pack_args_of(c, &d->in[IN_RAW], args.n);
    int64_t TK = 0, TKP = 0;
    d->status = sb_metadata_pack_check_args(&args, &scales);
    if (d->status.code != SB_OK) { /* no array may be read */
        describe_largest(c, d);
        return true;
    }
    const struct sb_status counted = sb_ref_topk_count(&args, NULL, &TK, &TKP);
    if (counted.code != SB_OK)
        TK = TKP = 0;
    struct sb_tensor *packed = &d->out[OUT_PACKED];
    sb_packed_describe(packed, TKP, scales.cols);
    if (!sb_routing_alloc(c, d->out, TK, TKP, err) ||
        !sb_tensor_alloc(packed, packed->name, packed->dtype, packed->rank, packed->shape, err))
        return false;
    struct sb_topk_out out = sb_routing_out(d->out);
    d->status = sb_ref_metadata_pack(&args, &scales, &out, packed->data);
    if (d->status.code == SB_OK) {
        sb_routing_store_sizes(d->out, &out);
        return true;
    }
    sb_tensors_free(d->out, SB_MAX_TENSORS);
    describe_largest(c, d);
    return true;
}

/* Packed scales follow the candidate's own x_gather_idx. */
static bool packed_follows_gather(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out,
                                  char *why, size_t why_size)
{
    struct sb_scale_pack_args scales = sb_scale_pack_args_of(c, &d->in[IN_RAW], sb_case_int(c, "N"));
    scales.gather = out[SB_OUT_X_GATHER_IDX].data;
    scales.r = out[SB_OUT_X_GATHER_IDX].shape[0];
    const size_t bytes = sb_tensor_span_bytes(&out[OUT_PACKED]);
    uint8_t *expected = malloc(bytes > 0 ? bytes : 1);
    if (expected == NULL) {
        snprintf(why, why_size, "no memory to pack the scales again");
        return false;
    }
    const bool packs = sb_ref_scale_pack(&scales, expected).code == SB_OK;
    const bool equal = packs && memcmp(expected, out[OUT_PACKED].data, bytes) == 0;
    free(expected);
    if (!equal)
        snprintf(why, why_size, "packed does not hold the scales of the rows that x_gather_idx names");
    return equal;
}

static bool relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why,
                      size_t why_size)
{
    return sb_routing_relations(c, d, out, SB_ROUTING_OUTPUTS + 1, why, why_size) &&
           packed_follows_gather(c, d, out, why, why_size);
}

const struct sb_op sb_op_metadata_pack = {
    .name = "metadata_pack",
    .contract = "metadata_pack",
    .contract_version = 1,
    .summary = "topk_metadata and scale_pack in one call: raw scales follow x_gather_idx",
    .params = params,
    .inputs = inputs,
    .outputs = outputs,
    .cases = sb_cases_metadata_pack,
    .validate = validate,
    .generate = generate,
    .reference = reference,
    .relations = relations,
    .prelude = sb_routing_prelude,
    .derived = sb_raw_scales_derived,
    .misalign = misalign,
};
