/* describe.c - how two tensors differ: the first few elements, and which shape the difference has. */
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../golden/digest.h"
#include "../golden/samples.h"
#include "../reports/text.h"
#include "text.h"

/* ---- one element ---------------------------------------------------------------------------------- */

static float f32_value(uint64_t bits)
{
    const uint32_t b = (uint32_t)bits;
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
}

/* Widens bf16 to f32 bits; other types unchanged. */
static uint32_t float_bits(enum sb_dtype dtype, uint64_t bits)
{
    return dtype == SB_BF16 ? (uint32_t)bits << 16 : (uint32_t)bits;
}

static bool bits_are_nan(uint32_t bits)
{
    return (bits & 0x7FFFFFFFU) > 0x7F800000U;
}

static bool both_zero(uint32_t a, uint32_t b)
{
    return ((a | b) & 0x7FFFFFFFU) == 0;
}

/* Places floats on a line: neighbours differ by one, -0 and +0 share a place. */
static int64_t float_place(uint32_t bits)
{
    const int64_t magnitude = (int64_t)(bits & 0x7FFFFFFFU);
    return (bits >> 31) != 0 ? -magnitude : magnitude;
}

void sb_ulp_text(enum sb_dtype dtype, uint64_t expected, uint64_t actual, char *buf, size_t size)
{
    buf[0] = '\0';
    if (dtype != SB_F32 && dtype != SB_BF16)
        return;
    const uint32_t e = float_bits(dtype, expected), a = float_bits(dtype, actual);
    if (bits_are_nan(e) && bits_are_nan(a)) {
        snprintf(buf, size, "NaN payload");
    } else if (bits_are_nan(e) || bits_are_nan(a)) {
        snprintf(buf, size, "NaN");
    } else if (both_zero(e, a)) {
        snprintf(buf, size, "sign of zero");
    } else {
        enum { STILL_NEAR_ZERO = 1000 };
        const int64_t unit = dtype == SB_BF16 ? 1 << 16 : 1;
        const int64_t way = (float_place(a) - float_place(e)) / unit, distance = way < 0 ? -way : way;
        if (((e ^ a) >> 31) != 0 && distance > STILL_NEAR_ZERO)
            snprintf(buf, size, "other sign"); /* how many floats lie between the two says nothing */
        else
            snprintf(buf, size, "%" PRId64, distance);
    }
}

void sb_value_text(enum sb_dtype dtype, uint64_t bits, char *buf, size_t size)
{
    const int digits = (int)sb_dtype_size(dtype) * 2;
    if (dtype == SB_F32 || dtype == SB_BF16) {
        const uint32_t b = float_bits(dtype, bits);
        if (bits_are_nan(b))
            snprintf(buf, size, "0x%0*" PRIx64 " (NaN)", digits, bits);
        else
            snprintf(buf, size, "0x%0*" PRIx64 " (%.9g)", digits, bits, (double)f32_value(b));
        return;
    }
    const int64_t value = dtype == SB_I8    ? (int64_t)(int8_t)bits
                          : dtype == SB_I32 ? (int64_t)(int32_t)bits
                                            : (int64_t)bits;
    snprintf(buf, size, "0x%0*" PRIx64 " (%" PRId64 ")", digits, bits, value);
}

/* ---- places --------------------------------------------------------------------------------------- */

static void unravel(const struct sb_tensor *t, int64_t logical, int64_t index[SB_MAX_RANK])
{
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        const int64_t extent = t->shape[axis];
        index[axis] = logical % extent;
        logical /= extent;
    }
}

/* The tensor in which places are named, and the place of element `i` in it. */
static const struct sb_tensor *place_of(const struct sb_tensor *t, const struct sb_compare_hints *hints, int64_t i,
                                        int64_t index[SB_MAX_RANK])
{
    int64_t block;
    const struct sb_tensor *whole = hints->samples != NULL ? &hints->samples->whole : t;
    unravel(whole, hints->samples != NULL ? sb_samples_place(hints->samples, i, &block) : i, index);
    return whole;
}

/* Letters of the axes, as the contracts write them. */
static const char *axis_name(const struct sb_tensor *t, int axis)
{
    if (t->name != NULL && strcmp(t->name, "dw") == 0 && t->rank == 3)
        return axis == 0 ? "e" : axis == 1 ? "m" : "n";
    static const char *const general[] = {"i", "j", "k", "l"};
    return general[axis];
}

static bool is_packed(const struct sb_tensor *t, const struct sb_compare_hints *hints)
{
    return hints->packed_cols > 0 && t->rank == 2 && t->shape[0] == 1 && sb_dtype_size(t->dtype) == 1;
}

/* Row and scale column of a byte of the 128x4 tile layout: the inverse of the contract's formula. */
static void packed_place(int64_t byte, int64_t cols, int64_t *row, int64_t *scale)
{
    const int64_t tiles = sb_cdiv(cols, 128), tile = byte / 512, inside = byte % 512;
    *row = tile / tiles * 128 + inside % 16 / 4 * 32 + inside / 16;
    *scale = tile % tiles * 4 + inside % 4;
}

static bool has_segments(const struct sb_tensor *t, const struct sb_compare_hints *hints)
{
    return hints->segment != NULL && hints->segments > 0 && t->rank == 1 && t->shape[0] > 0 &&
           hints->segment[hints->segments] == t->shape[0];
}

/* The segment that holds `position`: the last e with segment[e] <= position. */
static int64_t segment_of(const struct sb_compare_hints *hints, int64_t position)
{
    int64_t low = 0, high = hints->segments;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (hints->segment[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void sb_index_text(const struct sb_tensor *t, const struct sb_compare_hints *hints, int64_t logical, char *buf,
                   size_t size)
{
    int64_t index[SB_MAX_RANK], block;
    const struct sb_tensor *whole = place_of(t, hints, logical, index);
    snprintf(buf, size, "[");
    if (is_packed(t, hints)) {
        int64_t row, scale;
        packed_place(logical, hints->packed_cols, &row, &scale);
        sb_append(buf, size, "%" PRId64 "] = row %" PRId64 ", scale %" PRId64, logical, row, scale);
        return;
    }
    if (whole->rank == 1)
        sb_append(buf, size, "%" PRId64, index[0]);
    else
        for (int axis = 0; axis < whole->rank; axis++)
            sb_append(buf, size, "%s%s=%" PRId64, axis > 0 ? ", " : "", axis_name(whole, axis), index[axis]);
    sb_append(buf, size, "]");
    if (hints->samples != NULL) {
        sb_samples_place(hints->samples, logical, &block);
        sb_append(buf, size, " of sample %" PRId64, block);
    }
    if (has_segments(t, hints)) {
        const int64_t e = segment_of(hints, logical);
        sb_append(buf, size, " = e %" PRId64 ", row %" PRId64, e, logical - hints->segment[e]);
    }
}

/* ---- the shape of a difference --------------------------------------------------------------------- */

struct survey {
    int64_t count, first, last;
    int64_t low[SB_MAX_RANK], high[SB_MAX_RANK]; /* bounding box, inclusive */
    int64_t poison;                              /* how many hold the poison */
    int64_t from_left, from_right;               /* how many hold the expected value of a neighbour */
    int64_t zero_sign, nan_payload;
    bool one_expected_value, one_actual_value;
    uint64_t expected_value, actual_value;
    int64_t swapped;                   /* how many hold the expected bytes in reverse order */
    uint64_t expected_sum, actual_sum; /* order-free digests of these elements on both sides */
};

/* Mixes one value so that a sum over a tensor does not depend on the order but on every value. */
static uint64_t mix(uint64_t v)
{
    v += 0x9E3779B97F4A7C15U;
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9U;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBU;
    return v ^ (v >> 31);
}

static uint64_t poison_bits(enum sb_dtype dtype, int poison)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < sb_dtype_size(dtype); i++)
        bits = bits << 8 | (uint64_t)(poison & 0xFF);
    return bits;
}

static uint64_t reversed_bytes(uint64_t bits, size_t size)
{
    uint64_t reversed = 0;
    for (size_t i = 0; i < size; i++)
        reversed = reversed << 8 | ((bits >> (8 * i)) & 0xFF);
    return reversed;
}

static void survey_mismatch(struct survey *s, const struct sb_tensor *expected, const struct sb_compare_hints *hints,
                            int64_t i, uint64_t e, uint64_t a)
{
    int64_t index[SB_MAX_RANK];
    const struct sb_tensor *whole = place_of(expected, hints, i, index);
    for (int axis = 0; axis < whole->rank; axis++) {
        if (s->count == 0 || index[axis] < s->low[axis])
            s->low[axis] = index[axis];
        if (s->count == 0 || index[axis] > s->high[axis])
            s->high[axis] = index[axis];
    }
    if (s->count == 0) {
        s->first = i;
        s->expected_value = e;
        s->one_expected_value = true;
        s->actual_value = a;
        s->one_actual_value = true;
    }
    s->one_actual_value = s->one_actual_value && s->actual_value == a;
    s->swapped += a == reversed_bytes(e, sb_dtype_size(expected->dtype));
    s->one_expected_value = s->one_expected_value && s->expected_value == e;
    s->last = i;
    s->count++;
    s->poison += hints->poison != SB_NO_POISON && a == poison_bits(expected->dtype, hints->poison);
    if (expected->dtype == SB_F32 || expected->dtype == SB_BF16) {
        const uint32_t eb = float_bits(expected->dtype, e), ab = float_bits(expected->dtype, a);
        s->zero_sign += both_zero(eb, ab);
        s->nan_payload += bits_are_nan(eb) && bits_are_nan(ab);
    }
}

/* Elements `from` to `end`. Only what differs is looked at: equal elements add the same to both sums. */
static struct survey survey_stretch(const struct sb_tensor *expected, const struct sb_tensor *actual,
                                    const struct sb_compare_hints *hints, int64_t from, int64_t end)
{
    struct survey s = {0};
    const int64_t n = sb_tensor_count(expected);
    const size_t size = sb_dtype_size(expected->dtype);
    if (sb_tensor_is_dense(expected) && sb_tensor_is_dense(actual) &&
        memcmp((const char *)expected->data + (size_t)from * size, (const char *)actual->data + (size_t)from * size,
               (size_t)(end - from) * size) == 0)
        return s;
    for (int64_t i = from; i < end; i++) {
        const uint64_t e = sb_element_bits(expected, i), a = sb_element_bits(actual, i);
        if (e == a)
            continue;
        s.expected_sum += mix(e);
        s.actual_sum += mix(a);
        survey_mismatch(&s, expected, hints, i, e, a);
        s.from_left += i > 0 && a == sb_element_bits(expected, i - 1);
        s.from_right += i + 1 < n && a == sb_element_bits(expected, i + 1);
    }
    return s;
}

/* `s` and the survey of a later stretch as one. */
static void join(struct survey *s, const struct survey *later, int rank)
{
    if (later->count == 0)
        return;
    if (s->count == 0) {
        *s = *later;
        return;
    }
    for (int axis = 0; axis < rank; axis++) {
        s->low[axis] = later->low[axis] < s->low[axis] ? later->low[axis] : s->low[axis];
        s->high[axis] = later->high[axis] > s->high[axis] ? later->high[axis] : s->high[axis];
    }
    s->one_expected_value =
        s->one_expected_value && later->one_expected_value && s->expected_value == later->expected_value;
    s->one_actual_value = s->one_actual_value && later->one_actual_value && s->actual_value == later->actual_value;
    s->last = later->last;
    s->count += later->count;
    s->poison += later->poison;
    s->from_left += later->from_left;
    s->from_right += later->from_right;
    s->zero_sign += later->zero_sign;
    s->nan_payload += later->nan_payload;
    s->swapped += later->swapped;
    s->expected_sum += later->expected_sum;
    s->actual_sum += later->actual_sum;
}

static void take_samples(const struct sb_tensor *expected, const struct sb_tensor *actual,
                         const struct sb_compare_hints *hints, const struct survey *s, struct sb_difference *d)
{
    for (int64_t i = s->first; s->count > 0 && i <= s->last && d->samples < SB_MAX_SAMPLES; i++) {
        const uint64_t e = sb_element_bits(expected, i), a = sb_element_bits(actual, i);
        if (e == a)
            continue;
        struct sb_sample *sample = &d->sample[d->samples++];
        sb_index_text(expected, hints, i, sample->index, sizeof sample->index);
        sb_value_text(expected->dtype, e, sample->expected, sizeof sample->expected);
        sb_value_text(expected->dtype, a, sample->actual, sizeof sample->actual);
        sb_ulp_text(expected->dtype, e, a, sample->distance, sizeof sample->distance);
    }
}

/* Stretch by stretch, on all processors: nobody waits a minute for the description of a gigabyte of wrong elements. */
static struct survey survey_all(const struct sb_tensor *expected, const struct sb_tensor *actual,
                                const struct sb_compare_hints *hints, struct sb_difference *d)
{
    enum { STRETCHES = 256 };
    struct survey part[STRETCHES];
    struct survey s = {0};
    const int64_t n = d->elements, step = sb_cdiv(n, STRETCHES);
    const int rank = hints->samples != NULL ? hints->samples->whole.rank : expected->rank;
#pragma omp parallel for schedule(dynamic) if (n >= SB_PARALLEL_FROM)
    for (int k = 0; k < STRETCHES; k++)
        part[k] = survey_stretch(expected, actual, hints, k * step < n ? k * step : n,
                                 (k + 1) * step < n ? (k + 1) * step : n);
    for (int k = 0; k < STRETCHES; k++)
        join(&s, &part[k], rank);
    take_samples(expected, actual, hints, &s, d);
    return s;
}

/* Do all differences lie in one row, one column, one plane or one tile of a matrix? */
static bool place_in_matrix(const struct sb_tensor *t, const struct survey *s, char *buf, size_t size)
{
    const int row = t->rank - 2, column = t->rank - 1;
    bool one_plane = true;
    char plane[64] = "";
    for (int axis = 0; axis < row; axis++) {
        one_plane = one_plane && s->low[axis] == s->high[axis];
        sb_append(plane, sizeof plane, "%s=%" PRId64 " ", axis_name(t, axis), s->low[axis]);
    }
    if (!one_plane)
        return false;
    if (s->low[row] == s->high[row] && t->shape[row] > 1) {
        snprintf(buf, size, "one row: %s%s=%" PRId64, plane, axis_name(t, row), s->low[row]);
        return true;
    }
    if (s->low[column] == s->high[column] && t->shape[column] > 1) {
        snprintf(buf, size, "one column: %s%s=%" PRId64, plane, axis_name(t, column), s->low[column]);
        return true;
    }
    for (int64_t edge = 8; edge <= 256; edge *= 2) {
        if (s->low[row] / edge != s->high[row] / edge || s->low[column] / edge != s->high[column] / edge)
            continue;
        if (edge >= t->shape[row] && edge >= t->shape[column])
            break; /* the whole matrix is no larger */
        snprintf(buf, size, "one %" PRId64 "x%" PRId64 " tile: %s%s %" PRId64 "..%" PRId64 ", %s %" PRId64 "..%" PRId64,
                 edge, edge, plane, axis_name(t, row), s->low[row], s->high[row], axis_name(t, column), s->low[column],
                 s->high[column]);
        return true;
    }
    if (plane[0] != '\0' && t->shape[0] > 1) {
        snprintf(buf, size, "only in %s", plane);
        buf[strlen(buf) - 1] = '\0'; /* the blank after the last axis */
        return true;
    }
    return false;
}

/* Elements of samples have no order of their own that says anything: rectangles of the whole do. */
static void place_in_samples(const struct sb_samples *samples, const struct survey *s, int64_t elements, char *buf,
                             size_t size)
{
    if (s->count == elements)
        snprintf(buf, size, "every element of the samples");
    else if (s->count == 1)
        snprintf(buf, size, "one element of the samples");
    else
        place_in_matrix(&samples->whole, s, buf, size);
}

static bool place_in_segments(const struct sb_compare_hints *hints, const struct survey *s, char *buf, size_t size)
{
    const int64_t e = segment_of(hints, s->first);
    if (segment_of(hints, s->last) != e)
        return false;
    const bool tail = s->last + 1 == hints->segment[e + 1] && s->count == s->last - s->first + 1;
    snprintf(buf, size, "%s segment e=%" PRId64 ", from its row %" PRId64, tail ? "the tail of" : "only in", e,
             s->first - hints->segment[e]);
    return true;
}

static void place_text(const struct sb_tensor *t, const struct sb_compare_hints *hints, const struct survey *s,
                       int64_t elements, char *buf, size_t size)
{
    buf[0] = '\0';
    if (hints->samples != NULL) {
        place_in_samples(hints->samples, s, elements, buf, size);
    } else if (s->count == elements) {
        snprintf(buf, size, elements == 1 ? "the only element" : "every element");
    } else if (s->count == 1) {
        snprintf(buf, size, "one element%s", s->first + 1 == elements ? ", the last" : "");
    } else if (is_packed(t, hints) && s->first / 512 == s->last / 512) {
        const int64_t tiles = sb_cdiv(hints->packed_cols, 128), tile = s->first / 512;
        snprintf(buf, size, "one 128x4 tile: row tile %" PRId64 ", column tile %" PRId64, tile / tiles, tile % tiles);
    } else if (t->rank >= 2 && !is_packed(t, hints) && place_in_matrix(t, s, buf, size)) {
        return;
    } else if (has_segments(t, hints) && place_in_segments(hints, s, buf, size)) {
        return;
    } else if (s->last + 1 == elements && s->count == elements - s->first) {
        snprintf(buf, size, "the tail, from element %" PRId64 " on", s->first);
    } else if (s->first == 0 && s->count == s->last + 1) {
        snprintf(buf, size, "the head, up to element %" PRId64, s->last);
    }
}

static const char *value_of(enum sb_dtype dtype, uint64_t bits, char *buf, size_t size)
{
    sb_value_text(dtype, bits, buf, size);
    return buf;
}

static void value_pattern(const struct sb_tensor *t, const struct sb_compare_hints *hints, const struct survey *s,
                          char *buf, size_t size)
{
    char value[64];
    buf[0] = '\0';
    if (s->poison == s->count)
        snprintf(buf, size, "never written (still the poison 0x%02X)", (unsigned)hints->poison & 0xFFU);
    else if (s->poison > 0)
        snprintf(buf, size, "%" PRId64 " never written (still the poison 0x%02X)", s->poison,
                 (unsigned)hints->poison & 0xFFU);
    else if (s->zero_sign == s->count)
        snprintf(buf, size, "only signs of zero");
    else if (s->nan_payload == s->count)
        snprintf(buf, size, "only NaN payloads");
    else if (s->swapped == s->count)
        snprintf(buf, size, "the expected bytes in reverse order (byte order?)");
    else if (s->count > 2 && (s->from_left == s->count || (s->first == 0 && s->from_left == s->count - 1)))
        snprintf(buf, size, "shifted by one toward the end");
    else if (s->count > 2 && (s->from_right == s->count || (s->from_right == s->count - 1)))
        snprintf(buf, size, "shifted by one toward the start");
    else if (s->count > 1 && s->expected_sum == s->actual_sum)
        snprintf(buf, size, "the right values in another order");
    else if (s->count > 1 && s->one_expected_value)
        snprintf(buf, size, "only where %s is expected (padding?)",
                 value_of(t->dtype, s->expected_value, value, sizeof value));
    else if (s->count > 1 && s->one_actual_value)
        snprintf(buf, size, "the candidate holds one value, %s, at all of them",
                 value_of(t->dtype, s->actual_value, value, sizeof value));
}

void sb_describe(const struct sb_tensor *expected, const struct sb_tensor *actual, const struct sb_compare_hints *hints,
                 struct sb_difference *d)
{
    const struct survey s = survey_all(expected, actual, hints, d);
    char place[128], value[128];
    place_text(expected, hints, &s, d->elements, place, sizeof place);
    value_pattern(expected, hints, &s, value, sizeof value);
    snprintf(d->pattern, sizeof d->pattern, "%.*s%s%.*s", 78, place, place[0] != '\0' && value[0] != '\0' ? "; " : "",
             78, value);
    const double share = 100.0 * (double)d->mismatches / (double)d->elements;
    snprintf(d->text, sizeof d->text, "%s: %s of %s %selements differ (%.3g %%), the first at %s",
             expected->name != NULL ? expected->name : "tensor", sb_count(d->mismatches).text,
             sb_count(d->elements).text, hints->samples != NULL ? "sampled " : "", share,
             d->samples > 0 ? d->sample[0].index : "?");
}
