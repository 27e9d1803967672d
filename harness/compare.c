/* compare.c - the judge. Nothing here knows tolerances: two elements are equal if their bits are. */
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../golden/digest.h"

static uint64_t bits8(const unsigned char *p)
{
    return *p;
}

static uint64_t bits16(const unsigned char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t bits32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t bits64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t bits_at(const unsigned char *p, size_t size)
{
    return size == 1 ? bits8(p) : size == 2 ? bits16(p) : size == 4 ? bits32(p) : bits64(p);
}

uint64_t sb_element_bits(const struct sb_tensor *t, int64_t logical)
{
    const size_t size = sb_dtype_size(t->dtype);
    const bool dense = t->row_stride == 0 && t->col_stride == 0; /* no divisions: there may be a thousand million */
    const int64_t offset = dense ? logical : sb_tensor_offset(t, logical);
    return bits_at((const unsigned char *)t->data + (size_t)offset * size, size);
}

static bool shapes_agree(const struct sb_tensor *a, const struct sb_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static void shape_text(const struct sb_tensor *t, char *buf, size_t size)
{
    int used = snprintf(buf, size, "%s (", sb_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        used += snprintf(buf + used, size - (size_t)used, "%s%" PRId64, i > 0 ? ", " : "", t->shape[i]);
    snprintf(buf + used, size - (size_t)used, ")");
}

static int64_t count_mismatches(const struct sb_tensor *expected, const struct sb_tensor *actual, int64_t n)
{
    const size_t size = sb_dtype_size(expected->dtype);
    if (sb_tensor_is_dense(expected) && sb_tensor_is_dense(actual) &&
        memcmp(expected->data, actual->data, (size_t)n * size) == 0)
        return 0;
    int64_t equal = 0;
#pragma omp parallel for schedule(static) reduction(+ : equal) if (n >= SB_PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++)
        equal += sb_element_bits(expected, i) == sb_element_bits(actual, i);
    return n - equal;
}

bool sb_compare(const struct sb_tensor *expected, const struct sb_tensor *actual, const struct sb_compare_hints *hints,
                struct sb_difference *d)
{
    static const struct sb_compare_hints no_hints = {.poison = SB_NO_POISON};
    memset(d, 0, sizeof *d);
    const char *name = expected->name != NULL ? expected->name : "tensor";
    if (expected->data == NULL || actual->data == NULL) {
        const bool both_absent = expected->data == NULL && actual->data == NULL;
        d->same_dtype = d->same_shape = both_absent;
        if (!both_absent)
            snprintf(d->text, sizeof d->text, "%s is %s", name,
                     actual->data == NULL ? "missing" : "there, but should be absent");
        return both_absent;
    }
    d->same_dtype = expected->dtype == actual->dtype;
    d->same_shape = shapes_agree(expected, actual);
    if (!(d->same_dtype && d->same_shape)) {
        char want[120], have[120];
        shape_text(expected, want, sizeof want);
        shape_text(actual, have, sizeof have);
        snprintf(d->text, sizeof d->text, "%s has another %s: expected %s, actual %s", name,
                 d->same_dtype ? "shape" : "type", want, have);
        return false;
    }
    d->elements = sb_tensor_count(expected);
    d->mismatches = count_mismatches(expected, actual, d->elements);
    const bool equal = d->mismatches == 0;
    if (!equal)
        sb_describe(expected, actual, hints != NULL ? hints : &no_hints, d);
    return equal;
}
