/* scale_pack.c - parameters, inputs and reference call of scale_pack. Contract section 3. */
#include "ops.h"
#include "gather.h"
#include "scales.h"

#include <inttypes.h>
#include <string.h>

enum { STREAM_RAW = 1, STREAM_GATHER = 2 };
enum { IN_RAW, IN_GATHER };
static const int64_t PACKED_LIMIT = INT64_C(1) << 32; /* bytes of host memory for one output */

/* Patterns of this op alone. All are random but for the indices named, and rejected. */
enum {
    GATHER_OUTSIDE = SB_GATHER_COUNT, /* N in the middle, INT32_MIN at the end */
    GATHER_NEGATIVE,                  /* -1 in the middle, INT32_MAX at the end */
    GATHER_OUTSIDE_LAST,              /* N at the very end */
};
static const char *const gather_names[] = {"none", "identity", "random",   "reverse",      "repeat",
                                           "row0", "outside",  "negative", "outside_last", NULL};

static const struct sb_param_spec params[] = {
    {"N", SB_PARAM_INT, NULL, NULL, 0, INT64_C(1) << 31, "rows of raw"},
    {"cols", SB_PARAM_INT, NULL, NULL, 0, INT64_C(1) << 31,
     "columns of the scaled matrix: 32 a scale; a call takes 1 or more"},
    {"R", SB_PARAM_INT, "-1", NULL, -1, INT32_MAX, "packed rows; -1: N"},
    {"carrier", SB_PARAM_ENUM, "u8", sb_carrier_names, 0, 0, "how the scale bytes lie in memory"},
    {"fill", SB_PARAM_INT, "1", NULL, 0, 255, "the byte where packed has no scale"},
    {"gather", SB_PARAM_ENUM, "none", gather_names, 0, 0, "source row of each packed row"},
#include "scales_params.inc"
    {NULL, SB_PARAM_INT, NULL, NULL, 0, 0, NULL},
};

static const struct sb_tensor_spec inputs[] = {
    {"raw", "scales [N, S] as carrier elements; i32x4 holds four in a word, [N, S / 4]", false},
    {"gather", "row of raw for each packed row [R]", true},
    {NULL, NULL, false},
};

static const struct sb_tensor_spec outputs[] = {
    {"packed", "scales in 128x4 tiles of 512 bytes, shown as (1, bytes)", false},
    {NULL, NULL, false},
};

static void resolve(struct sb_case *c)
{
    for (int i = 0; params[i].name != NULL; i++)
        if (strcmp(params[i].name, "R") == 0 && c->param[i].value < 0)
            c->param[i].value = sb_case_int(c, "N");
}

static int misalign(const struct sb_case *c, bool output, int index)
{
    return !output && index == IN_RAW ? (int)sb_case_int(c, "misalign") : 0;
}

static bool validate(const struct sb_case *c, struct sb_error *err)
{
    const int64_t r = sb_case_int(c, "R"), cols = sb_case_int(c, "cols");
    int64_t bytes;
    if (__builtin_mul_overflow(sb_cdiv(r, 128) * 512, sb_cdiv(cols, 128), &bytes) || bytes > PACKED_LIMIT)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "packed would take more than %" PRId64 " GiB; choose smaller R or cols",
                       PACKED_LIMIT >> 30);
    return sb_raw_scales_validate(c, sb_case_int(c, "N"), err);
}

/* ---- inputs ------------------------------------------------------------------------------------- */

static void spoil_gather(int kind, int64_t n, int64_t r, int32_t *gather)
{
    const int32_t limit = (int32_t)(n < INT32_MAX ? n : INT32_MAX);
    if (kind == GATHER_OUTSIDE)
        sb_gather_spoil(gather, r / 2, limit, r - 1, INT32_MIN);
    if (kind == GATHER_NEGATIVE)
        sb_gather_spoil(gather, r / 2, -1, r - 1, INT32_MAX);
    if (kind == GATHER_OUTSIDE_LAST)
        gather[r - 1] = limit;
}

static bool generate_gather(const struct sb_case *c, struct sb_tensor *gather, struct sb_error *err)
{
    const enum sb_gather kind = (enum sb_gather)sb_case_int(c, "gather");
    const int64_t n = sb_case_int(c, "N"), r = sb_case_int(c, "R");
    const struct sb_rng rng = {c->seed, STREAM_GATHER};
    if (!sb_tensor_alloc(gather, "gather", SB_I32, 1, &r, err))
        return false;
    int32_t *rows = gather->data;
#pragma omp parallel for schedule(static) if (r >= SB_PARALLEL_FROM)
    for (int64_t i = 0; i < r; i++)
        rows[i] = sb_gather_row(kind, &rng, i, i, n);
    if (r > 0)
        spoil_gather((int)kind, n, r, rows);
    return true;
}

static bool generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    sb_data_start(d, c->op);
    return sb_raw_scales_generate(c, sb_case_int(c, "N"), STREAM_RAW, &d->in[IN_RAW], err) &&
           (sb_case_int(c, "gather") == SB_GATHER_NONE || generate_gather(c, &d->in[IN_GATHER], err));
}

/* ---- reference ---------------------------------------------------------------------------------- */

static bool reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    struct sb_scale_pack_args args = sb_scale_pack_args_of(c, &d->in[IN_RAW], sb_case_int(c, "N"));
    args.gather = d->in[IN_GATHER].data;
    args.r = sb_case_int(c, "R");
    struct sb_tensor *packed = &d->out[0];
    sb_packed_describe(packed, args.r, args.cols);
    if (!sb_tensor_alloc(packed, packed->name, packed->dtype, packed->rank, packed->shape, err))
        return false;
    d->status = sb_ref_scale_pack(&args, packed->data);
    if (d->status.code != SB_OK)
        sb_tensors_free(packed, 1);
    return true;
}

const struct sb_op sb_op_scale_pack = {
    .name = "scale_pack",
    .contract = "scale_pack",
    .contract_version = 1,
    .summary = "raw 1x32 scales, gathered, into the 128x4 tile layout",
    .params = params,
    .inputs = inputs,
    .outputs = outputs,
    .cases = sb_cases_scale_pack,
    .validate = validate,
    .generate = generate,
    .reference = reference,
    .resolve = resolve,
    .derived = sb_raw_scales_derived,
    .misalign = misalign,
};
