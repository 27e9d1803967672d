/* probe_impl.c - the table of arithmetics, the yardstick, and the models. */
#include "probe_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/tc_vectors.h"
#include "../ref/tc_model.h"
#include "probe_gpu.h"
#include "probe_wgrad.h"

enum { ROWS = 16, COLS = 8 }; /* the tile of mma.sync.m16n8k16 */

int64_t sb_probe_dots(const struct sb_probe_batch *batch)
{
    return batch->tiles * batch->rows * batch->cols;
}

/* Column n of tile t's B. */
static void column(const struct sb_probe_batch *batch, int64_t t, int n, uint16_t b[SB_TC_K])
{
    const uint16_t *const tile = batch->b + t * SB_TC_K * batch->cols;
    for (int k = 0; k < SB_TC_K; k++)
        b[k] = tile[k * batch->cols + n];
}

void sb_probe_operands(const struct sb_probe_batch *batch, int64_t t, int m, int n, uint32_t *c, uint16_t a[SB_TC_K],
                       uint16_t b[SB_TC_K])
{
    *c = batch->c[(t * batch->rows + m) * batch->cols + n];
    memcpy(a, batch->a + (t * batch->rows + m) * SB_TC_K, SB_TC_K * sizeof a[0]);
    column(batch, t, n, b);
}

/* ---- the yardstick ---------------------------------------------------------------------------- */

static void plain_tile(const struct sb_probe_batch *batch, int64_t t, uint32_t *d)
{
    struct sb_tc_operands row, columns[SB_TC_MAX_TILE];
    for (int n = 0; n < batch->cols; n++) {
        uint16_t b[SB_TC_K];
        column(batch, t, n, b);
        sb_tc_decode(b, &columns[n]);
    }
    for (int m = 0; m < batch->rows; m++) {
        const int64_t first = (t * batch->rows + m) * batch->cols;
        sb_tc_decode(batch->a + (t * batch->rows + m) * SB_TC_K, &row);
        for (int n = 0; n < batch->cols; n++)
            d[first + n] = sb_tc_step(batch->c[first + n], &row, &columns[n]);
    }
}

static bool plain_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                      uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)skipped, (void)err;
#pragma omp parallel for schedule(dynamic) if (batch->tiles > 1)
    for (int64_t t = 0; t < batch->tiles; t++)
        plain_tile(batch, t, d);
    return true;
}

static bool on_cpu(const struct sb_probe_impl *impl, char *text, size_t size)
{
    (void)impl;
    snprintf(text, size, "cpu");
    return true;
}

/* ---- models ----------------------------------------------------------------------------------- */

enum { CONTRACT = -1 }; /* impl->number of the contract's own rules */

static bool model_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                      uint8_t *skipped, struct sb_error *err)
{
    (void)skipped, (void)err;
    const struct sb_tc_rules rules = impl->number == CONTRACT ? sb_tc_contract() : sb_tc_variant(impl->number).rules;
#pragma omp parallel for schedule(dynamic) if (batch->tiles > 1)
    for (int64_t t = 0; t < batch->tiles; t++)
        for (int m = 0; m < batch->rows; m++)
            for (int n = 0; n < batch->cols; n++) {
                uint32_t c;
                uint16_t a[SB_TC_K], b[SB_TC_K];
                sb_probe_operands(batch, t, m, n, &c, a, b);
                d[(t * batch->rows + m) * batch->cols + n] = sb_tc_model(&rules, c, a, b);
            }
    return true;
}

/* ---- the table -------------------------------------------------------------------------------- */

/* See plain_step in ref/wgrad_vector.inc. */
static const char of_wgrad[] =
    "CPU paths: a step with a NaN or an infinity among its block's operands is done by the plain model itself, so the "
    "comparison is of the yardstick with itself mostly in nan-and-inf and infinities and half in any-bits; steps of "
    "finite operands are computed by vectors";

static const char of_wgmma_d0[] =
    "wgmma_d0: an instruction without an accumulator; c is +0 in all of its dot products, in every class";

static const struct sb_probe_impl fixed[] = {
    {.name = "plain",
     .summary = "the reference's scalar steps",
     .kind = SB_PROBE_YARDSTICK,
     .rows = ROWS,
     .cols = COLS,
     .available = on_cpu,
     .run = plain_run},
    {.name = "mma_sync",
     .summary = "mma.sync.m16n8k16",
     .kind = SB_PROBE_TENSOR_CORE,
     .rows = 16,
     .cols = 8,
     .number = SB_PROBE_MMA_SYNC,
     .available = sb_probe_gpu_available,
     .run = sb_probe_gpu_run},
    {.name = "wgmma",
     .summary = "wgmma.mma_async m64n256k16",
     .kind = SB_PROBE_TENSOR_CORE,
     .rows = 64,
     .cols = 256,
     .number = SB_PROBE_WGMMA,
     .available = sb_probe_gpu_available,
     .run = sb_probe_gpu_run},
    {.name = "wgmma_d0",
     .summary = "wgmma.mma_async m64n256k16, scale-d 0",
     .kind = SB_PROBE_TENSOR_CORE,
     .rows = 64,
     .cols = 256,
     .number = SB_PROBE_WGMMA_D0,
     .zero_c = true,
     .note = of_wgmma_d0,
     .available = sb_probe_gpu_available,
     .run = sb_probe_gpu_run},
    {.name = "tcgen05",
     .summary = "tcgen05.mma m128n256k16",
     .kind = SB_PROBE_TENSOR_CORE,
     .rows = 128,
     .cols = 256,
     .number = SB_PROBE_TCGEN05,
     .available = sb_probe_gpu_available,
     .run = sb_probe_gpu_run},
    {.name = "wgrad-avx2",
     .summary = "wgrad_varlen_k's AVX2 path",
     .kind = SB_PROBE_CPU,
     .rows = SB_PROBE_WGRAD_ROWS,
     .cols = SB_PROBE_WGRAD_COLS,
     .number = SB_WGRAD_AVX2,
     .note = of_wgrad,
     .available = sb_probe_wgrad_available,
     .run = sb_probe_wgrad_run},
    {.name = "wgrad-avx512",
     .summary = "wgrad_varlen_k's AVX-512 path",
     .kind = SB_PROBE_CPU,
     .rows = SB_PROBE_WGRAD_ROWS,
     .cols = SB_PROBE_WGRAD_COLS,
     .number = SB_WGRAD_AVX512,
     .note = of_wgrad,
     .available = sb_probe_wgrad_available,
     .run = sb_probe_wgrad_run},
    {.name = "model",
     .summary = "the contract's rules, written a second time",
     .kind = SB_PROBE_MODEL,
     .rows = ROWS,
     .cols = COLS,
     .number = CONTRACT,
     .available = on_cpu,
     .run = model_run},
};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

const struct sb_probe_impl *sb_probe_impls(int *count)
{
    static struct sb_probe_impl impl[SB_PROBE_MAX_IMPLS];
    static char name[SB_PROBE_MAX_IMPLS][48];
    static int impls;
    if (impls == 0) {
        if (FIXED + sb_tc_variants() > SB_PROBE_MAX_IMPLS)
            abort(); /* none is left out: make the limit larger */
        memcpy(impl, fixed, sizeof fixed);
        impls = FIXED;
        for (int i = 0; i < sb_tc_variants(); i++, impls++) {
            const struct sb_tc_variant v = sb_tc_variant(i);
            snprintf(name[impls], sizeof name[impls], "model:%s", v.name);
            impl[impls] = (struct sb_probe_impl){.name = name[impls],
                                                 .summary = v.reason,
                                                 .kind = SB_PROBE_MODEL,
                                                 .rows = ROWS,
                                                 .cols = COLS,
                                                 .number = i,
                                                 .available = on_cpu,
                                                 .run = model_run};
        }
    }
    *count = impls;
    return impl;
}
