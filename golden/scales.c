/* scales.c - see scales.h. */
#include "scales.h"

#include <inttypes.h>
#include <string.h>

const char *const sb_carrier_names[SB_CARRIER_COUNT + 1] = {"u8", "i8", "i32", "i32x4", NULL};

enum { CHUNK = 64 };                               /* carrier elements drawn at a time */
static const uint64_t GARBAGE_STREAM = 1ull << 32; /* added to a tensor's stream: bytes that are not scales */
static const int64_t RAW_LIMIT = (int64_t)1 << 33; /* bytes: beyond, a typing mistake is likelier than a wish */

int64_t sb_scale_columns(int64_t cols)
{
    return sb_cdiv(cols, SB_SCALE_COLS);
}

bool sb_strides_may_overlap(int64_t rows, int64_t columns, int64_t row_stride, int64_t col_stride)
{
    if (rows <= 1 || columns <= 1)
        return (rows > 1 && row_stride == 0) || (columns > 1 && col_stride == 0);
    const bool rows_apart = row_stride > (columns - 1) * col_stride;
    const bool columns_apart = col_stride > (rows - 1) * row_stride;
    return !(rows_apart && col_stride > 0) && !(columns_apart && row_stride > 0);
}

static int64_t carrier_lanes(enum sb_carrier carrier)
{
    return carrier == SB_CARRIER_I32X4 ? 4 : 1;
}

/* ---- filling ------------------------------------------------------------------------------------ */

struct raw_source {
    enum sb_carrier carrier;
    enum sb_scale_dist dist;
    struct sb_rng scales, garbage;
};

static uint32_t carrier_word(const struct raw_source *s, const uint8_t *lanes, uint64_t index)
{
    if (s->carrier == SB_CARRIER_I32)
        return (sb_rng_u32(&s->garbage, index) & 0xFFFFFF00u) | lanes[0];
    return (uint32_t)lanes[3] << 24 | (uint32_t)lanes[2] << 16 | (uint32_t)lanes[1] << 8 | lanes[0];
}

/* `count` successive elements of the stream, from element `index` on, to data[offset + j * step]. */
static void put_elements(const struct raw_source *s, void *data, uint64_t index, int64_t count, int64_t offset,
                         int64_t step)
{
    const int64_t lanes = carrier_lanes(s->carrier);
    uint8_t scale[CHUNK * 4];
    sb_scale_fill(s->dist, &s->scales, index * (uint64_t)lanes, count * lanes, scale);
    for (int64_t j = 0; j < count; j++) {
        const int64_t place = offset + j * step;
        if (sb_carrier_dtype(s->carrier) == SB_I32)
            ((uint32_t *)data)[place] = carrier_word(s, &scale[j * lanes], index + (uint64_t)j);
        else
            ((uint8_t *)data)[place] = scale[j];
    }
}

static void fill_row(const struct raw_source *s, const struct sb_tensor *raw, int64_t row)
{
    const int64_t width = raw->shape[1];
    for (int64_t column = 0; column < width; column += CHUNK) {
        const int64_t count = width - column < CHUNK ? width - column : CHUNK;
        put_elements(s, raw->data, (uint64_t)(row * width + column), count,
                     row * raw->row_stride + column * raw->col_stride, raw->col_stride);
    }
}

/* One place may be several elements: all draw the same value, one after the other. */
static void fill_overlapping(const struct raw_source *s, const struct sb_tensor *raw)
{
    for (int64_t row = 0; row < raw->shape[0]; row++)
        for (int64_t column = 0; column < raw->shape[1]; column++) {
            const int64_t offset = row * raw->row_stride + column * raw->col_stride;
            put_elements(s, raw->data, (uint64_t)offset, 1, offset, 1);
        }
}

/* ---- the parameters ----------------------------------------------------------------------------- */

static enum sb_carrier carrier_of(const struct sb_case *c)
{
    return (enum sb_carrier)sb_case_int(c, "carrier");
}

static int64_t width_of(const struct sb_case *c)
{
    return sb_carrier_width(carrier_of(c), sb_scale_columns(sb_case_int(c, "cols")));
}

static void strides_of(const struct sb_case *c, int64_t *row_stride, int64_t *col_stride)
{
    *col_stride = sb_case_int(c, "col_stride");
    *row_stride = sb_case_int(c, "row_stride");
    if (*row_stride == 0) /* rows that touch */
        *row_stride = width_of(c) * *col_stride;
}

bool sb_raw_scales_validate(const struct sb_case *c, int64_t n, struct sb_error *err)
{
    const size_t size = sb_dtype_size(sb_carrier_dtype(carrier_of(c)));
    if ((size_t)sb_case_int(c, "misalign") % size != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "misalign=%s: elements of %s start at multiples of %zu bytes",
                       sb_case_text(c, "misalign"), sb_case_text(c, "carrier"), size);
    int64_t row_stride, col_stride, rows, span;
    strides_of(c, &row_stride, &col_stride);
    if (__builtin_mul_overflow(n, row_stride, &rows) || __builtin_add_overflow(rows, width_of(c) * col_stride, &span) ||
        span > RAW_LIMIT / (int64_t)size)
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "raw would span more than %" PRId64 " GiB; choose smaller N, cols or strides", RAW_LIMIT >> 30);
    return true;
}

bool sb_raw_scales_generate(const struct sb_case *c, int64_t n, uint64_t stream, struct sb_tensor *raw,
                            struct sb_error *err)
{
    const int64_t shape[2] = {n, width_of(c)};
    int64_t row_stride, col_stride;
    strides_of(c, &row_stride, &col_stride);
    if (!sb_tensor_alloc_strided(raw, "raw", sb_carrier_dtype(carrier_of(c)), 2, shape, row_stride, col_stride, err))
        return false;
    const struct raw_source source = {
        .carrier = carrier_of(c),
        .dist = (enum sb_scale_dist)sb_case_int(c, "dist"),
        .scales = {c->seed, stream},
        .garbage = {c->seed, stream + GARBAGE_STREAM},
    };
    if (sb_strides_may_overlap(n, shape[1], row_stride, col_stride)) {
        fill_overlapping(&source, raw);
        return true;
    }
#pragma omp parallel for schedule(static) if (n * shape[1] >= SB_PARALLEL_FROM)
    for (int64_t row = 0; row < n; row++)
        fill_row(&source, raw, row);
    return true;
}

struct sb_scale_pack_args sb_scale_pack_args_of(const struct sb_case *c, const struct sb_tensor *raw, int64_t n)
{
    struct sb_scale_pack_args args = {
        .raw = raw->data,
        .carrier = carrier_of(c),
        .n = n,
        .cols = sb_case_int(c, "cols"),
        .fill = (uint8_t)sb_case_int(c, "fill"),
    };
    strides_of(c, &args.row_stride, &args.col_stride);
    return args;
}

int sb_raw_scales_derived(const struct sb_case *c, struct sb_derived *out, int max)
{
    if (max < 1)
        return 0;
    out[0] = (struct sb_derived){"S", sb_scale_columns(sb_case_int(c, "cols"))};
    return 1;
}

void sb_packed_describe(struct sb_tensor *packed, int64_t r, int64_t cols)
{
    const int64_t shape[2] = {1, sb_scale_pack_bytes(r, cols)};
    sb_tensor_describe(packed, "packed", SB_U8, 2, shape);
}
