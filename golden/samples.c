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

/* ---- what several blocks share counts once ------------------------------------------------------- */

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_plane_and_row(const void *a, const void *b)
{
    const struct sb_block *const x = a, *const y = b;
    return x->plane != y->plane ? compare_i64(x->plane, y->plane) : compare_i64(x->row, y->row);
}

/* Blocks that cross the line of a sweep down one plane, in order of their columns. */
struct crossing {
    const struct sb_block **block;
    int64_t count;
};

static void enter(struct crossing *x, const struct sb_block *b)
{
    int64_t at = x->count++;
    for (; at > 0 && x->block[at - 1]->column > b->column; at--)
        x->block[at] = x->block[at - 1];
    x->block[at] = b;
}

/* Those that end at `row` go. */
static void leave(struct crossing *x, int64_t row)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < x->count; i++)
        if (x->block[i]->row_end > row)
            x->block[kept++] = x->block[i];
    x->count = kept;
}

static int64_t first_end(const struct crossing *x)
{
    int64_t end = x->block[0]->row_end;
    for (int64_t i = 1; i < x->count; i++)
        end = x->block[i]->row_end < end ? x->block[i]->row_end : end;
    return end;
}

/* Columns that any of them holds. */
static int64_t held_columns(const struct crossing *x)
{
    int64_t held = 0, end = 0;
    for (int64_t i = 0; i < x->count; i++) {
        const struct sb_block *const b = x->block[i];
        const int64_t start = b->column > end ? b->column : end;
        if (b->column_end > start) {
            held += b->column_end - start;
            end = b->column_end;
        }
    }
    return held;
}

/* Of sorted blocks: from one row at which a block begins or ends to the next, the same columns are held. */
static int64_t sweep(const struct sb_block *sorted, int64_t count, struct crossing *x)
{
    int64_t elements = 0, next = 0, row = 0;
    while (next < count || x->count > 0) {
        const int64_t plane = x->count > 0 ? x->block[0]->plane : sorted[next].plane;
        row = x->count > 0 ? row : sorted[next].row;
        while (next < count && sorted[next].plane == plane && sorted[next].row == row)
            enter(x, &sorted[next++]);
        int64_t until = first_end(x);
        if (next < count && sorted[next].plane == plane && sorted[next].row < until)
            until = sorted[next].row;
        elements += held_columns(x) * (until - row);
        leave(x, until);
        row = until;
    }
    return elements;
}

int64_t sb_samples_elements(const struct sb_samples *s)
{
    const size_t count = (size_t)s->count;
    int64_t elements = 0;
    struct sb_block *const sorted = malloc((count + 1) * sizeof *sorted);
    struct crossing x = {calloc(count + 1, sizeof(const struct sb_block *)), 0};
    if (sorted != NULL && x.block != NULL && count > 0) {
        memcpy(sorted, s->block, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_plane_and_row);
        elements = sweep(sorted, s->count, &x);
    }
    free(sorted);
    free(x.block);
    return elements;
}

const char *sb_samples_text(const struct sb_samples *s, char *buf, size_t size)
{
    const double share = 100.0 * (double)sb_samples_elements(s) / (double)sb_tensor_count(&s->whole);
    snprintf(buf, size, "%" PRId64 " tile%s of %" PRId64 "x%" PRId64 ", %.3g %% of %s", s->count,
             s->count == 1 ? "" : "s", rows_of(s), columns_of(s), share, s->whole.name);
    return buf;
}
