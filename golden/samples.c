/* samples.c - see samples.h. */
#include "samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sb_block) == SB_BLOCK_FIELDS * sizeof(int64_t), "a block is a row of the stored table");

void sb_samples_free(struct sb_samples *s)
{
    free(s->block);
    *s = (struct sb_samples){0};
}

bool sb_case_samples(const struct sb_case *c, int index, struct sb_samples *s, struct sb_error *err)
{
    *s = (struct sb_samples){0};
    return c->op->samples == NULL || c->op->samples(c, index, s, err);
}

bool sb_case_is_sampled(const struct sb_case *c)
{
    bool sampled = false;
    for (int i = 0; !sampled && i < sb_op_output_count(c->op); i++) {
        struct sb_samples s;
        struct sb_error ignored = {0}; /* memory for a few blocks: the reference says it again */
        sampled = sb_case_samples(c, i, &s, &ignored) && s.count > 0;
        sb_samples_free(&s);
    }
    return sampled;
}

const struct sb_tensor *sb_output_whole(const struct sb_data *d, int index)
{
    return d->samples[index].count > 0 ? &d->samples[index].whole : &d->out[index];
}

static int64_t rows_of(const struct sb_samples *s)
{
    return s->block[0].row_end - s->block[0].row;
}

static int64_t columns_of(const struct sb_samples *s)
{
    return s->block[0].column_end - s->block[0].column;
}

struct sb_tensor sb_samples_layout(const struct sb_samples *s)
{
    struct sb_tensor t;
    sb_tensor_describe(&t, s->whole.name, s->whole.dtype, 3, (int64_t[]){s->count, rows_of(s), columns_of(s)});
    return t;
}

struct sb_tensor sb_samples_table(const struct sb_samples *s)
{
    struct sb_tensor t;
    sb_tensor_describe(&t, s->whole.name, SB_I64, 2, (int64_t[]){s->count, SB_BLOCK_FIELDS});
    t.data = s->block;
    return t;
}

/* Of the whole's element at row `row` and column `column` of one plane. */
static int64_t place_of(const struct sb_tensor *whole, int64_t plane, int64_t row, int64_t column)
{
    const int64_t *extent = whole->shape + whole->rank - 2;
    return (plane * extent[0] + row) * extent[1] + column;
}

int64_t sb_samples_place(const struct sb_samples *s, int64_t i, int64_t *block)
{
    const int64_t columns = columns_of(s), elements = rows_of(s) * columns;
    const struct sb_block *b = &s->block[i / elements];
    *block = i / elements;
    return place_of(&s->whole, b->plane, b->row + i % elements / columns, b->column + i % columns);
}

void sb_samples_gather(const struct sb_samples *s, const void *whole, void *packed)
{
    const size_t element = sb_dtype_size(s->whole.dtype), bytes = (size_t)columns_of(s) * element;
    char *to = packed;
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t row = s->block[i].row; row < s->block[i].row_end; row++, to += bytes)
            memcpy(to,
                   (const char *)whole +
                       (size_t)place_of(&s->whole, s->block[i].plane, row, s->block[i].column) * element,
                   bytes);
}

static bool holds(const struct sb_block *b, int64_t row, int64_t column)
{
    return row >= b->row && row < b->row_end && column >= b->column && column < b->column_end;
}

static bool overlap(const struct sb_block *a, const struct sb_block *b)
{
    return a->plane == b->plane && a->row < b->row_end && b->row < a->row_end && a->column < b->column_end &&
           b->column < a->column_end;
}

/* Elements of block `i` that no block before it holds. */
static int64_t new_elements(const struct sb_samples *s, int64_t i)
{
    const struct sb_block *b = &s->block[i];
    bool alone = true;
    for (int64_t k = 0; k < i; k++)
        alone = alone && !overlap(&s->block[k], b);
    if (alone)
        return rows_of(s) * columns_of(s);
    int64_t fresh = 0;
    for (int64_t row = b->row; row < b->row_end; row++)
        for (int64_t column = b->column; column < b->column_end; column++) {
            bool held = false;
            for (int64_t k = 0; !held && k < i; k++)
                held = s->block[k].plane == b->plane && holds(&s->block[k], row, column);
            fresh += !held;
        }
    return fresh;
}

int64_t sb_samples_elements(const struct sb_samples *s)
{
    int64_t elements = 0;
    for (int64_t i = 0; i < s->count; i++)
        elements += new_elements(s, i);
    return elements;
}

const char *sb_samples_text(const struct sb_samples *s, char *buf, size_t size)
{
    const double share = 100.0 * (double)sb_samples_elements(s) / (double)sb_tensor_count(&s->whole);
    snprintf(buf, size, "%" PRId64 " tile%s of %" PRId64 "x%" PRId64 ", %.3g %% of %s", s->count,
             s->count == 1 ? "" : "s", rows_of(s), columns_of(s), share, s->whole.name);
    return buf;
}
