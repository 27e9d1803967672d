/* topk_metadata.c - parameters, inputs and reference call of topk_metadata. Contract section 2. */
#include "ops.h"
#include "routing.h"

static const struct sb_param_spec params[] = {
#include "routing_params.inc"
    {NULL, SB_PARAM_INT, NULL, NULL, 0, 0, NULL},
};

static const struct sb_tensor_spec inputs[] = {
#include "routing_inputs.inc"
    {NULL, NULL, false},
};

static const struct sb_tensor_spec outputs[] = {
#include "routing_outputs.inc"
    {NULL, NULL, false},
};

static bool generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    sb_data_start(d, c->op);
    return sb_routing_generate(c, d->in, err);
}

static bool reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const struct sb_topk_args args = sb_routing_args(c, d->in);
    int64_t TK = 0, TKP = 0;
    d->status = sb_ref_topk_count(&args, NULL, &TK, &TKP);
    if (d->status.code != SB_OK) {
        sb_routing_describe_largest(c, d->out);
        return true;
    }
    if (!sb_routing_alloc(c, d->out, TK, TKP, err))
        return false;
    struct sb_topk_out out = sb_routing_out(d->out);
    d->status = sb_ref_topk_metadata(&args, &out);
    sb_routing_store_sizes(d->out, &out);
    return true;
}

static bool relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why,
                      size_t why_size)
{
    return sb_routing_relations(c, d, out, SB_ROUTING_OUTPUTS, why, why_size);
}

const struct sb_op sb_op_topk_metadata = {
    .name = "topk_metadata",
    .contract = "topk_metadata",
    .contract_version = 1,
    .summary = "DeepEP dispatch result to SonicMoE routing metadata",
    .params = params,
    .inputs = inputs,
    .outputs = outputs,
    .cases = sb_cases_topk_metadata,
    .validate = sb_routing_validate,
    .generate = generate,
    .reference = reference,
    .relations = relations,
    .prelude = sb_routing_prelude,
};
