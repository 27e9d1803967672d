/* types.c - tables and helpers of types.h. */
#include "types.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[SB_DTYPE_COUNT] = {
    [SB_U8] = {"u8", 1},   [SB_I8] = {"i8", 1},     [SB_I32] = {"i32", 4},   [SB_I64] = {"i64", 8},
    [SB_F32] = {"f32", 4}, [SB_BF16] = {"bf16", 2}, [SB_E8M0] = {"e8m0", 1},
};

static const char *const code_names[SB_CODE_COUNT] = {
    [SB_OK] = "ok",
    [SB_DUPLICATE_EXPERT] = "duplicate_expert",
    [SB_COUNT_MISMATCH] = "count_mismatch",
    [SB_TOO_LARGE] = "too_large",
    [SB_GATHER_RANGE] = "gather_range",
    [SB_SEGMENT_ORDER] = "segment_order",
    [SB_ALIGNMENT] = "alignment",
    [SB_CARRIER_WIDTH] = "carrier_width",
    [SB_BAD_ARGUMENT] = "bad_argument",
};

/* What SB_ALIGNMENT's first number stands for. Pointers come with their address modulo the multiple. */
static const char *const aligned_things[] = {
    "?",
    "M",
    "N",
    "ld_dy",
    "ld_x",
    "the address of dy",
    "the address of x",
    "the address of dw",
    "the address of main_grad",
};

static bool is_dtype(enum sb_dtype dtype)
{
    return (int)dtype >= 0 && dtype < SB_DTYPE_COUNT;
}

size_t sb_dtype_size(enum sb_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].size : 0;
}

const char *sb_dtype_name(enum sb_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : "?";
}

const char *sb_code_name(enum sb_code code)
{
    return (int)code >= 0 && code < SB_CODE_COUNT ? code_names[code] : "?";
}

/* Extents of the last two axes; 1 where the rank has none. */
static int64_t columns(const struct sb_tensor *t)
{
    return t->rank >= 1 ? t->shape[t->rank - 1] : 1;
}

static int64_t rows(const struct sb_tensor *t)
{
    return t->rank >= 2 ? t->shape[t->rank - 2] : 1;
}

int64_t sb_tensor_count(const struct sb_tensor *t)
{
    int64_t count = 1;
    for (int axis = 0; axis < t->rank; axis++)
        count *= t->shape[axis];
    return count;
}

int64_t sb_tensor_offset(const struct sb_tensor *t, int64_t logical)
{
    const int64_t col_stride = t->col_stride != 0 ? t->col_stride : 1;
    const int64_t row_stride = t->row_stride != 0 ? t->row_stride : columns(t) * col_stride;
    const int64_t col = logical % columns(t);
    const int64_t row = logical / columns(t) % rows(t);
    const int64_t plane = logical / columns(t) / rows(t);
    return (plane * rows(t) + row) * row_stride + col * col_stride;
}

int64_t sb_tensor_span(const struct sb_tensor *t)
{
    const int64_t count = sb_tensor_count(t);
    return count == 0 ? 0 : sb_tensor_offset(t, count - 1) + 1;
}

size_t sb_tensor_span_bytes(const struct sb_tensor *t)
{
    return (size_t)sb_tensor_span(t) * sb_dtype_size(t->dtype);
}

/* A descending pair and an end past T look alike here, the number of segments being unknown: one sentence says both. */
static int segment_text(const int64_t where[3], char *buf, size_t size)
{
    if (where[0] == 0 && where[1] < 0)
        return snprintf(buf, size, "cu_seqlens[0] is %" PRId64 ": the first segment must start at 0 or later",
                        where[1]);
    return snprintf(buf, size,
                    "cu_seqlens[%" PRId64 "] is %" PRId64 ", above the %" PRId64
                    " that follows it: offsets must ascend, and the last must not pass the number of rows T",
                    where[0], where[1], where[2]);
}

static int alignment_text(const int64_t where[3], char *buf, size_t size)
{
    const int64_t count = (int64_t)(sizeof aligned_things / sizeof aligned_things[0]);
    const char *thing = where[0] > 0 && where[0] < count ? aligned_things[where[0]] : aligned_things[0];
    if (where[0] >= 5)
        return snprintf(buf, size,
                        "%s lies %" PRId64 " bytes past a multiple of %" PRId64 ": pass a pointer aligned to %" PRId64
                        " bytes",
                        thing, where[1], where[2], where[2]);
    return snprintf(buf, size, "%s is %" PRId64 ": it must be a multiple of %" PRId64, thing, where[1], where[2]);
}

static int too_large_text(const int64_t where[3], char *buf, size_t size)
{
    if (where[1] == INT64_MAX)
        return snprintf(buf, size, "a length is above the limit of %" PRId64 ": 64 bits cannot count it", where[1]);
    return snprintf(buf, size, "a length of %" PRId64 " is above the limit of %" PRId64 ": %s", where[0], where[1],
                    where[1] == INT32_MAX ? "indices have 32 bits; split the call"
                                          : "that is the room there is; pass larger buffers or split the call");
}

static int code_text(const struct sb_status *s, char *buf, size_t size)
{
    const int64_t *w = s->where;
    switch ((enum sb_code)s->code) {
    case SB_OK:
        return snprintf(buf, size, "ok");
    case SB_DUPLICATE_EXPERT:
        return snprintf(buf, size,
                        "row %" PRId64 " of topk_idx names the same expert in slots %" PRId64 " and %" PRId64
                        ": a token may go to an expert once only",
                        w[0], w[1], w[2]);
    case SB_COUNT_MISMATCH:
        return snprintf(buf, size,
                        "tokens_per_expert[%" PRId64 "] is %" PRId64 " but topk_idx holds %" PRId64
                        " slots of that expert: were counts and indices made by the same dispatch, and counts_align "
                        "set to the dispatcher's alignment?",
                        w[0], w[1], w[2]);
    case SB_TOO_LARGE:
        return too_large_text(w, buf, size);
    case SB_GATHER_RANGE:
        return snprintf(buf, size,
                        "the gather index at position %" PRId64 " is %" PRId64
                        ": it must be at least 0 and less than %" PRId64,
                        w[0], w[1], w[2]);
    case SB_SEGMENT_ORDER:
        return segment_text(w, buf, size);
    case SB_ALIGNMENT:
        return alignment_text(w, buf, size);
    case SB_CARRIER_WIDTH:
        return snprintf(buf, size,
                        "rows of %" PRId64 " scales do not fill words of %" PRId64
                        ": use another carrier than i32x4, or a number of columns that is a multiple of 128",
                        w[0], w[1]);
    case SB_BAD_ARGUMENT:
        return snprintf(buf, size,
                        "argument %" PRId64 " has the value %" PRId64
                        ", which the op does not accept: its section of ref/CONTRACTS.md says which number stands for "
                        "which argument",
                        w[0], w[1]);
    case SB_CODE_COUNT:
        break;
    }
    return snprintf(buf, size, "unknown status code %" PRId32, s->code);
}

const char *sb_status_text(const struct sb_status *s, char *buf, size_t size)
{
    if (size == 0)
        return buf;
    const int used = code_text(s, buf, size);
    if (s->ignored != 0 && used >= 0 && (size_t)used < size)
        (void)snprintf(buf + used, size - (size_t)used,
                       "; ids that are neither -1 nor an expert, treated as not routed: %" PRId64, s->ignored);
    return buf;
}
