/* e8m0_upcast.c - parameters, inputs and reference call of e8m0_upcast. Contract section 1. */
#include "ops.h"
#include "distribution.h"
#include "scales.h"
#include "../ref/e8m0_upcast.h"

#include <inttypes.h>
#include <string.h>

enum { STREAM_SCALE = 1 };
enum { CHUNK = 256 };
static const int64_t SCALES_LIMIT = (int64_t)1 << 31;

static const char *const semantics_names[] = {"shift", "torch", "cuda", "te", NULL};
static const char *const out_dtype_names[] = {"f32", "bf16", NULL};
/* The numbers reach the implementations: 0 fresh, 1 updated, 2 reused. gpu/e8m0_upcast_hoisted_adapter.cu has an enum
 * in the same order. */
static const char *const history_names[] = {"fresh", "updated", "reused", NULL};

static const struct sb_param_spec params[] = {
    {"shape", SB_PARAM_TEXT, NULL, NULL, 0, 0, "extents such as 64x32, 7, 0x32 or scalar; at most four"},
    {"semantics", SB_PARAM_ENUM, NULL, semantics_names, 0, 0, "whose answer at the bytes 0x00 and 0xFF"},
    {"out_dtype", SB_PARAM_ENUM, "f32", out_dtype_names, 0, 0, "type of out"},
    {"row_stride", SB_PARAM_INT, "0", NULL, 0, INT64_C(1) << 31, "scales from one row to the next; 0: dense"},
    {"dist", SB_PARAM_ENUM, "real", sb_scale_dist_names, 0, 0, "the scale bytes"},
    {"history", SB_PARAM_ENUM, "fresh", history_names, 0, 0,
     "what an earlier upcast saw: nothing, this tensor before an update in place, another tensor at this address"},
    {"misalign", SB_PARAM_INT, "0", NULL, 0, 15, "bytes that scale stands past a 16-byte boundary"},
    {"misalign_out", SB_PARAM_INT, "0", NULL, 0, 15,
     "bytes that out stands past a 16-byte boundary: a multiple of its element's size"},
    {NULL, SB_PARAM_INT, NULL, NULL, 0, 0, NULL},
};

static const struct sb_tensor_spec inputs[] = {
    {"scale", "block scales, one E8M0 byte each: 2^(b - 127)", false},
    {NULL, NULL, false},
};

static const struct sb_tensor_spec outputs[] = {
    {"out", "the scales as FP32 or BF16 bits, dense", false},
    {NULL, NULL, false},
};

/* ---- parameters --------------------------------------------------------------------------------- */

static bool parse_shape(const char *text, int *rank, int64_t shape[SB_MAX_RANK])
{
    *rank = 0;
    if (strcmp(text, "scalar") == 0)
        return true;
    for (;;) {
        if (*rank == SB_MAX_RANK)
            return false;
        text = sb_read_length(text, SCALES_LIMIT, &shape[(*rank)++]);
        if (text == NULL)
            return false;
        if (*text == '\0')
            return true;
        if (*text++ != 'x')
            return false;
    }
}

static enum sb_dtype out_dtype_of(const struct sb_case *c)
{
    static const enum sb_dtype dtypes[] = {SB_F32, SB_BF16};
    return dtypes[sb_case_int(c, "out_dtype")];
}

static int misalign(const struct sb_case *c, bool output, int index)
{
    (void)index; /* one input, one output */
    return (int)sb_case_int(c, output ? "misalign_out" : "misalign");
}

static bool validate(const struct sb_case *c, struct sb_error *err)
{
    int rank;
    int64_t shape[SB_MAX_RANK];
    const char *text = sb_case_text(c, "shape");
    if (!parse_shape(text, &rank, shape))
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "shape=%s: write scalar, or one to four extents without leading zeros, as in 64x32", text);
    const int64_t row_stride = sb_case_int(c, "row_stride");
    if (row_stride != 0 && rank < 2)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "row_stride needs a shape of at least two extents, not %s", text);
    if (sb_case_int(c, "misalign_out") % (int64_t)sb_dtype_size(out_dtype_of(c)) != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "misalign_out=%s: elements of %s start at multiples of %zu bytes",
                       sb_case_text(c, "misalign_out"), sb_case_text(c, "out_dtype"), sb_dtype_size(out_dtype_of(c)));
    int64_t span = 1;
    for (int axis = 0; axis < rank; axis++) {
        const bool last = axis == rank - 1;
        const int64_t step = last && row_stride > shape[axis] ? row_stride : shape[axis];
        if (__builtin_mul_overflow(span, step, &span) || span > SCALES_LIMIT)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "shape=%s spans more than %" PRId64 " scales; choose a smaller one",
                           text, SCALES_LIMIT);
    }
    return true;
}

/* ---- inputs ------------------------------------------------------------------------------------- */

static int64_t last_extent(const struct sb_tensor *t)
{
    return t->rank > 0 ? t->shape[t->rank - 1] : 1;
}

/* Where rows overlap (a call to be rejected) later rows overwrite earlier ones, so they go one after the other. */
static void fill_scales(const struct sb_tensor *scale, enum sb_scale_dist dist, const struct sb_rng *rng)
{
    const int64_t columns = last_extent(scale);
    const int64_t rows = columns > 0 ? sb_tensor_count(scale) / columns : 0;
    const int64_t row_stride = scale->row_stride != 0 ? scale->row_stride : columns;
    uint8_t *bytes = scale->data;
#pragma omp parallel for schedule(static) if (row_stride >= columns && rows * columns >= SB_PARALLEL_FROM)
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column += CHUNK) {
            const int64_t count = columns - column < CHUNK ? columns - column : CHUNK;
            const uint64_t first =
                (uint64_t)(row_stride >= columns ? row * columns + column : row * row_stride + column);
            sb_scale_fill(dist, rng, first, count, &bytes[row * row_stride + column]);
        }
}

static bool generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    int rank;
    int64_t shape[SB_MAX_RANK];
    sb_data_start(d, c->op);
    parse_shape(sb_case_text(c, "shape"), &rank, shape);
    if (!sb_tensor_alloc_strided(&d->in[0], "scale", SB_E8M0, rank, shape, sb_case_int(c, "row_stride"), 0, err))
        return false;
    const struct sb_rng rng = {c->seed, STREAM_SCALE};
    fill_scales(&d->in[0], (enum sb_scale_dist)sb_case_int(c, "dist"), &rng);
    return true;
}

/* ---- reference ---------------------------------------------------------------------------------- */

static bool reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const struct sb_tensor *scale = &d->in[0];
    const enum sb_dtype out_dtype = out_dtype_of(c);
    if (!sb_tensor_alloc(&d->out[0], "out", out_dtype, scale->rank, scale->shape, err))
        return false;
    d->status =
        sb_ref_e8m0_upcast(scale, (enum sb_e8m0_semantics)sb_case_int(c, "semantics"), out_dtype, d->out[0].data);
    if (d->status.code != SB_OK)
        sb_tensors_free(d->out, 1);
    return true;
}

const struct sb_op sb_op_e8m0_upcast = {
    .name = "e8m0_upcast",
    .contract = "e8m0_upcast",
    .contract_version = 1,
    .summary = "E8M0 block scales to FP32 or BF16 bits, under four public semantics",
    .params = params,
    .inputs = inputs,
    .outputs = outputs,
    .cases = sb_cases_e8m0_upcast,
    .validate = validate,
    .generate = generate,
    .reference = reference,
    .misalign = misalign,
};
