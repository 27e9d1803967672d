/* wgrad_varlen_k.c - parameters, inputs and reference call of wgrad_varlen_k. Contract section 4. */
#include "ops.h"
#include "distribution.h"
#include "gather.h"
#include "samples.h"
#include "wgrad_args.h"
#include "wgrad_samples.h"
#include "wgrad_segments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_DY = 1, STREAM_X = 2, STREAM_GATHER = 3, STREAM_GRAD = 4 };
enum { IN_DY, IN_X, IN_CU_SEQLENS, IN_X_GATHER_IDX, IN_MAIN_GRAD };
static const int64_t ELEMENTS_LIMIT = INT64_C(1) << 30; /* of one tensor, in host memory */

/* In the order of enum sb_gather. */
static const char *const gather_names[SB_GATHER_COUNT + 1] = {"none",   "identity", "random", "reverse",
                                                              "repeat", "row0",     NULL};

/* How a call is made wrong. What sizes alone make wrong needs no entry: M=12 is wrong as it stands. */
enum break_kind {
    BREAK_NONE,
    BREAK_DESCENDING,      /* expert E/2 ends before it starts */
    BREAK_NEGATIVE_START,  /* cu_seqlens[0] = -1 */
    BREAK_PAST_END,        /* cu_seqlens[E] = T + 1 */
    BREAK_GATHER_HIGH,     /* Tx in the middle, INT32_MAX at the end */
    BREAK_GATHER_NEGATIVE, /* -1 in the middle, INT32_MIN at the end */
    BREAK_MISALIGNED_DY,   /* 8 bytes past a 16-byte boundary, as the next three */
    BREAK_MISALIGNED_X,
    BREAK_MISALIGNED_DW,
    BREAK_MISALIGNED_MAIN_GRAD,
};
static const char *const break_names[] = {"none",
                                          "descending",
                                          "negative_start",
                                          "past_end",
                                          "gather_high",
                                          "gather_negative",
                                          "misaligned_dy",
                                          "misaligned_x",
                                          "misaligned_dw",
                                          "misaligned_main_grad",
                                          NULL};
enum { MISALIGNED_BY = 8 };

static const char *const out_dtype_names[] = {"f32", "bf16", NULL};
static const char *const outside_names[] = {"nan", "normal", NULL};

static const struct sb_param_spec params[] = {
    {"M", SB_PARAM_INT, NULL, NULL, 0, 1 << 17, "columns of dy; a call takes multiples of 8"},
    {"N", SB_PARAM_INT, NULL, NULL, 0, 1 << 17, "columns of x; a call takes multiples of 8"},
    {"E", SB_PARAM_INT, NULL, NULL, 1, SB_SEGMENTS_LIMIT, "experts: segments of the token axis"},
    {"counts", SB_PARAM_TEXT, NULL, NULL, 0, 0,
     "segment lengths such as 162+0+2577, or a pattern for tokens: equal, skewed, hot, ends_empty, empty"},
    {"tokens", SB_PARAM_INT, "0", NULL, 0, 1 << 24, "sum of the segments, where counts is a pattern"},
    {"first", SB_PARAM_INT, "0", NULL, 0, 1 << 24, "rows before the first segment: cu_seqlens[0]"},
    {"tail", SB_PARAM_INT, "0", NULL, 0, 1 << 24, "rows after the last segment"},
    {"x_rows", SB_PARAM_INT, "-1", NULL, -1, 1 << 24, "Tx, the rows of x; -1: T"},
    {"gather", SB_PARAM_ENUM, "none", gather_names, 0, 0, "row of x for each row of dy"},
    {"accumulate", SB_PARAM_INT, "0", NULL, 0, 1, "1: main_grad is added"},
    {"in_place", SB_PARAM_INT, "0", NULL, 0, 1,
     "1: an implementation is called with dw in the memory of main_grad; the result is the same"},
    {"out_dtype", SB_PARAM_ENUM, "f32", out_dtype_names, 0, 0, "type of dw"},
    {"ld_dy", SB_PARAM_INT, "0", NULL, 0, 1 << 20, "elements from row to row of dy; 0: M"},
    {"ld_x", SB_PARAM_INT, "0", NULL, 0, 1 << 20, "elements from row to row of x; 0: N"},
    {"dist", SB_PARAM_ENUM, "normal", sb_bf16_dist_names, 0, 0, "the values of dy and x"},
    {"outside", SB_PARAM_ENUM, "nan", outside_names, 0, 0, "what rows that belong to no segment hold"},
    {"grad", SB_PARAM_ENUM, "normal", sb_f32_dist_names, 0, 0, "the bits of main_grad"},
    {"break", SB_PARAM_ENUM, "none", break_names, 0, 0, "how the call is made wrong, to be rejected"},
    {"repeat", SB_PARAM_INT, "1", NULL, 1, 1000, "how often an implementation runs the call: the same bits every time"},
    {"sample", SB_PARAM_INT, "0", NULL, 0, SB_WGRAD_SAMPLE_LIMIT,
     "number of 64x64 tiles of dw that are compared, corners first, the rest drawn from the seed; 0: all of dw"},
    {NULL, SB_PARAM_INT, NULL, NULL, 0, 0, NULL},
};

static const struct sb_tensor_spec inputs[] = {
    {"dy", "gradient of the output [T, M], one row a routed token", false},
    {"x", "layer input [Tx, N]", false},
    {"cu_seqlens", "first row of each expert's segment [E + 1]; the last is one past the end", false},
    {"x_gather_idx", "row of x for each row of dy [T]; meaningless outside the segments", true},
    {"main_grad", "gradient so far [E, M, N], added after the sum", true},
    {NULL, NULL, false},
};

static const struct sb_tensor_spec outputs[] = {
    {"dw", "weight gradient [E, M, N]", false},
    {NULL, NULL, false},
};

/* ---- parameters --------------------------------------------------------------------------------- */

static int64_t or_dense(int64_t stride, int64_t columns)
{
    return stride != 0 ? stride : columns;
}

static void resolve(struct sb_case *c)
{
    struct sb_segments s;
    struct sb_error ignored; /* validate() says it again */
    for (int i = 0; params[i].name != NULL; i++)
        if (strcmp(params[i].name, "x_rows") == 0 && c->param[i].value < 0 && sb_segments_make(c, &s, &ignored))
            c->param[i].value = s.T;
}

static bool validate_break(const struct sb_case *c, const struct sb_segments *s, struct sb_error *err)
{
    const enum break_kind kind = (enum break_kind)sb_case_int(c, "break");
    if (kind == BREAK_DESCENDING && (s->E < 2 || s->cu[s->E / 2] < 1))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "break=descending needs E of at least 2 and a row before expert E/2");
    const bool of_gather = kind == BREAK_GATHER_HIGH || kind == BREAK_GATHER_NEGATIVE;
    if (of_gather && (sb_case_int(c, "gather") == SB_GATHER_NONE || s->tokens < 1))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "break=%s needs a gather and at least one token", break_names[kind]);
    if (kind == BREAK_MISALIGNED_MAIN_GRAD && sb_case_int(c, "accumulate") == 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "break=misaligned_main_grad needs accumulate=1");
    return true;
}

static bool validate_in_place(const struct sb_case *c, struct sb_error *err)
{
    if (sb_case_int(c, "in_place") != 0 &&
        (sb_case_int(c, "accumulate") == 0 || strcmp(sb_case_text(c, "out_dtype"), "f32") != 0))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "in_place=1 needs accumulate=1 and out_dtype=f32");
    return true;
}

/* Samples are computed without a whole dw, so there is no address of it to be wrong. */
static bool validate_sample(const struct sb_case *c, struct sb_error *err)
{
    if (sb_case_int(c, "sample") != 0 && sb_case_int(c, "break") == BREAK_MISALIGNED_DW)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "break=misaligned_dw needs sample=0");
    return true;
}

static bool is_misaligned(const struct sb_case *c, enum break_kind kind)
{
    return (enum break_kind)sb_case_int(c, "break") == kind;
}

static int misalign(const struct sb_case *c, bool output, int index)
{
    const bool misaligned = output ? is_misaligned(c, BREAK_MISALIGNED_DW)
                                   : (index == IN_DY && is_misaligned(c, BREAK_MISALIGNED_DY)) ||
                                         (index == IN_X && is_misaligned(c, BREAK_MISALIGNED_X)) ||
                                         (index == IN_MAIN_GRAD && is_misaligned(c, BREAK_MISALIGNED_MAIN_GRAD));
    return misaligned ? MISALIGNED_BY : 0;
}

static bool validate(const struct sb_case *c, struct sb_error *err)
{
    struct sb_segments s;
    if (!sb_segments_make(c, &s, err))
        return false;
    const int64_t m = sb_case_int(c, "M"), n = sb_case_int(c, "N");
    const int64_t ld_dy = or_dense(sb_case_int(c, "ld_dy"), m), ld_x = or_dense(sb_case_int(c, "ld_x"), n);
    if (s.T * ld_dy > ELEMENTS_LIMIT || sb_case_int(c, "x_rows") * ld_x > ELEMENTS_LIMIT ||
        m * n > ELEMENTS_LIMIT / s.E)
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "a tensor would have more than %" PRId64 " elements; choose smaller sizes", ELEMENTS_LIMIT);
    return validate_in_place(c, err) && validate_sample(c, err) && validate_break(c, &s, err);
}

static int derived(const struct sb_case *c, struct sb_derived *out, int max)
{
    struct sb_segments s;
    struct sb_error ignored; /* validate() has seen to it */
    if (max < 2 || !sb_segments_make(c, &s, &ignored))
        return 0;
    out[0] = (struct sb_derived){"T", s.T};
    out[1] = (struct sb_derived){"Tx", sb_case_int(c, "x_rows")};
    return 2;
}

/* ---- inputs ------------------------------------------------------------------------------------- */

/* What nobody may read: NaN of two payloads and both infinities, so that a zeroed partner does not hide it. */
static uint16_t poison(int64_t row, int64_t column)
{
    static const uint16_t bits[4] = {0x7FFF, 0x7F80, 0xFFC1, 0xFF80};
    return bits[(row + column) & 3];
}

struct matrix_source {
    struct sb_rng rng;
    enum sb_bf16_dist dist;
    bool negate; /* see sb_bf16_draw_along_k */
    bool poison_outside;
    const uint8_t *owned; /* [rows]: 1 where some segment reads the row */
};

static void fill_row(const struct matrix_source *s, int64_t row, int64_t columns, uint16_t *values)
{
    const bool owned = s->owned[row] != 0;
    const enum sb_bf16_dist dist = owned ? s->dist : SB_DIST_NORMAL;
    if (!owned && s->poison_outside)
        for (int64_t column = 0; column < columns; column++)
            values[column] = poison(row, column);
    else if (!sb_bf16_depends_on_k(dist))
        sb_bf16_fill(dist, &s->rng, (uint64_t)(row * columns), columns, values);
    else
        for (int64_t column = 0; column < columns; column++)
            values[column] = sb_bf16_draw_along_k(dist, &s->rng, row, column, columns, s->negate);
}

/* Where rows overlap (a call to be rejected) later rows overwrite earlier ones, so they go one after the other. */
static void fill_matrix(const struct matrix_source *s, const struct sb_tensor *t)
{
    const int64_t rows = t->shape[0], columns = t->shape[1];
    const int64_t stride = or_dense(t->row_stride, columns);
    uint16_t *values = t->data;
#pragma omp parallel for schedule(static) if (stride >= columns && rows * columns >= SB_PARALLEL_FROM)
    for (int64_t row = 0; row < rows; row++)
        fill_row(s, row, columns, values + row * stride);
}

/* Outside the segments the index is somebody else's and may be anything. */
static int32_t foreign_index(int64_t k, int64_t tx)
{
    const int32_t bad[4] = {INT32_MAX, -1, (int32_t)tx, INT32_MIN};
    return bad[k & 3];
}

static void spoil_gather(enum break_kind kind, const struct sb_segments *s, int64_t tx, int32_t *gather)
{
    const int64_t middle = s->first + s->tokens / 2, last = s->first + s->tokens - 1;
    if (kind == BREAK_GATHER_HIGH)
        sb_gather_spoil(gather, middle, (int32_t)tx, last, INT32_MAX);
    if (kind == BREAK_GATHER_NEGATIVE)
        sb_gather_spoil(gather, middle, -1, last, INT32_MIN);
}

static bool generate_gather(const struct sb_case *c, const struct sb_segments *s, struct sb_tensor *t,
                            struct sb_error *err)
{
    const enum sb_gather kind = (enum sb_gather)sb_case_int(c, "gather");
    const struct sb_rng rng = {c->seed, STREAM_GATHER};
    const int64_t tx = sb_case_int(c, "x_rows");
    if (!sb_tensor_alloc(t, "x_gather_idx", SB_I32, 1, &s->T, err))
        return false;
    int32_t *gather = t->data;
    for (int64_t k = 0; k < s->T; k++)
        gather[k] = sb_segments_own(s, k) ? sb_gather_row(kind, &rng, k, k - s->first, tx) : foreign_index(k, tx);
    return true;
}

static bool generate_cu_seqlens(const struct sb_case *c, const struct sb_segments *s, struct sb_tensor *t,
                                struct sb_error *err)
{
    const enum break_kind kind = (enum break_kind)sb_case_int(c, "break");
    const int64_t length = s->E + 1;
    if (!sb_tensor_alloc(t, "cu_seqlens", SB_I32, 1, &length, err))
        return false;
    int32_t *cu = t->data;
    for (int64_t e = 0; e < length; e++)
        cu[e] = (int32_t)s->cu[e];
    if (kind == BREAK_DESCENDING)
        cu[s->E / 2 + 1] = cu[s->E / 2] - 1;
    if (kind == BREAK_NEGATIVE_START)
        cu[0] = -1;
    if (kind == BREAK_PAST_END)
        cu[s->E] = (int32_t)s->T + 1;
    return true;
}

static bool generate_main_grad(const struct sb_case *c, struct sb_tensor *t, struct sb_error *err)
{
    const int64_t shape[3] = {sb_case_int(c, "E"), sb_case_int(c, "M"), sb_case_int(c, "N")};
    const enum sb_f32_dist dist = (enum sb_f32_dist)sb_case_int(c, "grad");
    const struct sb_rng rng = {c->seed, STREAM_GRAD};
    if (!sb_tensor_alloc(t, "main_grad", SB_F32, 3, shape, err))
        return false;
    const int64_t count = sb_tensor_count(t);
    uint32_t *bits = t->data;
#pragma omp parallel for schedule(static) if (count >= SB_PARALLEL_FROM)
    for (int64_t i = 0; i < count; i++)
        bits[i] = sb_f32_draw(dist, &rng, (uint64_t)i);
    return true;
}

/* Which rows of a matrix some segment reads: of dy and of an x without gather the segments' own, else those named. */
static uint8_t *owned_rows(const struct sb_segments *s, int64_t rows, const int32_t *gather)
{
    uint8_t *owned = calloc((size_t)rows + 1, 1);
    for (int64_t k = s->first; owned != NULL && k < s->first + s->tokens; k++) {
        const int64_t row = gather != NULL ? gather[k] : k;
        if (row < rows)
            owned[row] = 1;
    }
    return owned;
}

static bool generate_matrix(const struct sb_case *c, const struct sb_segments *s, int index, const int32_t *gather,
                            struct sb_tensor *t, struct sb_error *err)
{
    const bool is_dy = index == IN_DY;
    const int64_t shape[2] = {is_dy ? s->T : sb_case_int(c, "x_rows"), sb_case_int(c, is_dy ? "M" : "N")};
    const int64_t row_stride = sb_case_int(c, is_dy ? "ld_dy" : "ld_x");
    if (!sb_tensor_alloc_strided(t, inputs[index].name, SB_BF16, 2, shape, row_stride, 0, err))
        return false;
    const enum sb_bf16_dist dist = (enum sb_bf16_dist)sb_case_int(c, "dist");
    uint8_t *owned = owned_rows(s, shape[0], gather);
    if (owned == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s: no memory for %" PRId64 " row marks", t->name, shape[0]);
    const struct matrix_source source = {
        .rng = {c->seed, is_dy ? STREAM_DY : STREAM_X},
        /* The product of two subnormals vanishes: the other factor is ordinary, so that the output shows the first. */
        .dist = dist == SB_DIST_SUBNORMAL && !is_dy ? SB_DIST_NORMAL : dist,
        .negate = is_dy,
        .poison_outside = sb_case_int(c, "outside") == 0,
        .owned = owned,
    };
    fill_matrix(&source, t);
    free(owned);
    return true;
}

static bool generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    struct sb_segments s;
    sb_data_start(d, c->op);
    if (!sb_segments_make(c, &s, err) || !generate_cu_seqlens(c, &s, &d->in[IN_CU_SEQLENS], err))
        return false;
    if (sb_case_int(c, "gather") != SB_GATHER_NONE && !generate_gather(c, &s, &d->in[IN_X_GATHER_IDX], err))
        return false;
    if (!generate_matrix(c, &s, IN_DY, NULL, &d->in[IN_DY], err) ||
        !generate_matrix(c, &s, IN_X, d->in[IN_X_GATHER_IDX].data, &d->in[IN_X], err))
        return false;
    if (d->in[IN_X_GATHER_IDX].data != NULL)
        spoil_gather((enum break_kind)sb_case_int(c, "break"), &s, sb_case_int(c, "x_rows"),
                     d->in[IN_X_GATHER_IDX].data);
    return sb_case_int(c, "accumulate") == 0 || generate_main_grad(c, &d->in[IN_MAIN_GRAD], err);
}

/* ---- reference ---------------------------------------------------------------------------------- */

/* Where an implementation would find the tensor: malloc's memory is aligned, a misaligned one is moved in name only,
 * because the call is rejected before anything is read or written there. */
static void *address(const struct sb_case *c, bool output, int index, void *data)
{
    return data == NULL ? NULL : (void *)((uintptr_t)data + (uintptr_t)misalign(c, output, index));
}

struct sb_wgrad_args sb_wgrad_args_of(const struct sb_case *c, const struct sb_data *d)
{
    static const enum sb_dtype dtypes[] = {SB_F32, SB_BF16};
    const int64_t m = sb_case_int(c, "M"), n = sb_case_int(c, "N");
    return (struct sb_wgrad_args){
        .dy = address(c, false, IN_DY, d->in[IN_DY].data),
        .x = address(c, false, IN_X, d->in[IN_X].data),
        .cu_seqlens = d->in[IN_CU_SEQLENS].data,
        .x_gather_idx = d->in[IN_X_GATHER_IDX].data,
        .main_grad = address(c, false, IN_MAIN_GRAD, d->in[IN_MAIN_GRAD].data),
        .T = d->in[IN_DY].shape[0],
        .Tx = d->in[IN_X].shape[0],
        .M = m,
        .N = n,
        .E = sb_case_int(c, "E"),
        .ld_dy = or_dense(sb_case_int(c, "ld_dy"), m),
        .ld_x = or_dense(sb_case_int(c, "ld_x"), n),
        .out_dtype = dtypes[sb_case_int(c, "out_dtype")],
    };
}

static bool compute_samples(const struct sb_wgrad_args *args, struct sb_data *d, struct sb_error *err)
{
    const struct sb_samples *s = &d->samples[0];
    const struct sb_tensor layout = sb_samples_layout(s);
    struct sb_wgrad_tile *tiles = malloc((size_t)s->count * sizeof *tiles);
    const bool ok =
        (tiles != NULL || sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for %" PRId64 " samples", s->count)) &&
        sb_tensor_alloc(&d->out[0], "dw", layout.dtype, layout.rank, layout.shape, err);
    for (int64_t i = 0; ok && i < s->count; i++)
        tiles[i] = sb_wgrad_tile_of(&s->block[i]);
    if (ok)
        d->status = sb_ref_wgrad_varlen_k_tiles(args, sb_wgrad_best_path(), tiles, s->count, d->out[0].data);
    free(tiles);
    return ok;
}

static bool reference_block(const struct sb_case *c, const struct sb_data *d, int index, const struct sb_block *block,
                            void *packed, struct sb_error *err)
{
    (void)index; /* dw is the only output */
    char why[160];
    const struct sb_wgrad_args args = sb_wgrad_args_of(c, d);
    const struct sb_wgrad_tile tile = sb_wgrad_tile_of(block);
    const struct sb_status status = sb_ref_wgrad_varlen_k_tiles(&args, sb_wgrad_best_path(), &tile, 1, packed);
    return status.code == SB_OK || sb_fail(err, SB_EXIT_BAD_INPUT, "%s", sb_status_text(&status, why, sizeof why));
}

static bool compute_whole(const struct sb_case *c, const struct sb_wgrad_args *args, const int64_t shape[3],
                          struct sb_data *d, struct sb_error *err)
{
    if (!sb_tensor_alloc(&d->out[0], "dw", args->out_dtype, 3, shape, err))
        return false;
    d->status = sb_ref_wgrad_varlen_k_by(args, sb_wgrad_best_path(), address(c, true, 0, d->out[0].data));
    return true;
}

static bool reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const struct sb_wgrad_args args = sb_wgrad_args_of(c, d);
    const int64_t shape[3] = {args.E, args.M, args.N};
    if (!sb_case_samples(c, 0, &d->samples[0], err) ||
        !(d->samples[0].count > 0 ? compute_samples(&args, d, err) : compute_whole(c, &args, shape, d, err)))
        return false;
    if (d->status.code != SB_OK) {
        sb_data_free_outputs(d);
        sb_tensor_describe(&d->out[0], "dw", args.out_dtype, 3, shape);
    }
    return true;
}

const struct sb_op sb_op_wgrad_varlen_k = {
    .name = "wgrad_varlen_k",
    .contract = "wgrad_varlen_k/tc-bf16-k16-f25",
    .contract_version = 1,
    .summary = "BF16 grouped weight gradient over a jagged token axis, with the tensor core's own rounding",
    .params = params,
    .inputs = inputs,
    .outputs = outputs,
    .cases = sb_cases_wgrad_varlen_k,
    .validate = validate,
    .generate = generate,
    .reference = reference,
    .samples = sb_wgrad_samples,
    .reference_block = reference_block,
    .resolve = resolve,
    .derived = derived,
    .misalign = misalign,
};
