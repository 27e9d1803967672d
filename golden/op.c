/* op.c - tensors in host memory and small facts of an op. See op.h. */
#include "op.h"

#include "samples.h"

#include <stdlib.h>
#include <string.h>

void sb_tensors_free(struct sb_tensor *t, int n)
{
    for (int i = 0; i < n; i++) {
        free(t[i].data);
        t[i].data = NULL;
    }
}

void sb_data_start(struct sb_data *d, const struct sb_op *op)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; op->inputs[i].name != NULL; i++)
        d->in[i].name = op->inputs[i].name;
}

void sb_data_free_outputs(struct sb_data *d)
{
    sb_tensors_free(d->out, SB_MAX_TENSORS);
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        sb_samples_free(&d->samples[i]);
}

void sb_data_free(struct sb_data *d)
{
    sb_tensors_free(d->in, SB_MAX_TENSORS);
    sb_data_free_outputs(d);
}

void sb_tensor_describe(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape)
{
    struct sb_tensor described = {.name = name, .dtype = dtype, .rank = rank};
    for (int axis = 0; axis < rank; axis++) /* aside: `shape` may be t's own */
        described.shape[axis] = shape[axis];
    *t = described;
}

static bool allocate(struct sb_tensor *t, struct sb_error *err)
{
    const size_t bytes = sb_tensor_span_bytes(t);
    t->data = malloc(bytes > 0 ? bytes : 1);
    if (t->data == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s: no memory for %zu bytes; choose a smaller case", t->name, bytes);
    return true;
}

bool sb_tensor_alloc(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape,
                     struct sb_error *err)
{
    sb_tensor_describe(t, name, dtype, rank, shape);
    return allocate(t, err);
}

bool sb_tensor_alloc_strided(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape,
                             int64_t row_stride, int64_t col_stride, struct sb_error *err)
{
    sb_tensor_describe(t, name, dtype, rank, shape);
    t->row_stride = row_stride;
    t->col_stride = col_stride;
    if (!allocate(t, err))
        return false;
    if (row_stride != 0 || col_stride != 0)
        memset(t->data, SB_GAP_BYTE, sb_tensor_span_bytes(t));
    return true;
}

static int tensor_count(const struct sb_tensor_spec *spec)
{
    int n = 0;
    while (spec[n].name != NULL)
        n++;
    return n;
}

int sb_op_input_count(const struct sb_op *op)
{
    return tensor_count(op->inputs);
}

int sb_op_output_count(const struct sb_op *op)
{
    return tensor_count(op->outputs);
}
