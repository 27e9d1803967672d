/* probe_impl.h - arithmetics that can be held to contract TC: tensor-core instructions, this processor's paths, models.
 * One row each; a new one is a row with a function that computes a batch of tiles. */
#ifndef SAMEBITS_HARNESS_PROBE_IMPL_H
#define SAMEBITS_HARNESS_PROBE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../golden/error.h"
#include "../ref/tc_bf16_k16_f25.h"

/* Tiles of dot products: d[t][m][n] = c[t][m][n] + sum over k of a[t][m][k] * b[t][k][n]. Host memory. */
struct sb_probe_batch {
    int64_t tiles;
    int rows, cols;
    const uint16_t *a; /* bf16 bits [tiles][rows][16] */
    const uint16_t *b; /* bf16 bits [tiles][16][cols] */
    const uint32_t *c; /* f32 bits [tiles][rows][cols] */
};

int64_t sb_probe_dots(const struct sb_probe_batch *batch);
/* The operands of dot product (m, n) of tile t. */
void sb_probe_operands(const struct sb_probe_batch *batch, int64_t t, int m, int n, uint32_t *c, uint16_t a[SB_TC_K],
                       uint16_t b[SB_TC_K]);

enum sb_probe_kind {
    SB_PROBE_YARDSTICK,   /* what the others are held to */
    SB_PROBE_TENSOR_CORE, /* one instruction of a GPU */
    SB_PROBE_CPU,         /* a path that production code takes on this processor */
    SB_PROBE_MODEL,       /* ref/tc_model.h; run only when named */
};

struct sb_probe_impl {
    const char *name;
    const char *summary; /* one line */
    enum sb_probe_kind kind;
    int rows, cols;   /* of the tiles it takes */
    int number;       /* of the path or variant */
    bool zero_c;      /* it has no accumulator: its tiles are made with every c +0 */
    const char *note; /* what a pass of it is worth less for, one line; or NULL */
    /* Can it run here? `text`: on which device, or why not. */
    bool (*available)(const struct sb_probe_impl *impl, char *text, size_t size);
    /* Writes d [tiles][rows][cols], and skipped = 1 for each dot product that it has no way to compute. False with err
     * where it did not finish. */
    bool (*run)(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d, uint8_t *skipped,
                struct sb_error *err);
};

enum { SB_PROBE_MAX_IMPLS = 64 };

/* All of them; the yardstick is the first. Static storage; call it from one thread. */
const struct sb_probe_impl *sb_probe_impls(int *count);

#endif
