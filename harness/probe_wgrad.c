/* probe_wgrad.c - a batch of dot products as one call of wgrad_varlen_k: a tile is an expert.
 *
 * The op's sums start at +0, so c has to be summed up first, in two steps of 16 that give it exactly. Its 24 bits are
 * cut into three bf16 numbers; column n of the tile needs one row of x for each, zero but in column n:
 *
 *   rows of the segment   dy[row][m]                           x[row][n]
 *   0..7                  the upper 16 bits of c[m][row]       1 where n = row
 *   8..15                 the next 8 bits, times 2^8           2^-8 where n = row - 8
 *   16..23                the last 8 bits, times 2^16          2^-16 where n = row - 16
 *   24..31                0                                    0
 *   32..47                a[m][row - 32]                       b[row - 32][n]
 *
 * The three have distinct places within 24 bits, so no cut of contract TC reaches them; the scaling keeps what is left
 * of a subnormal c within bf16's range. */
#include "probe_wgrad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/tc_vectors.h"
#include "../ref/f32_round.h"

enum {
    ROWS = SB_PROBE_WGRAD_ROWS,
    COLS = SB_PROBE_WGRAD_COLS,
    LEAD = 2 * SB_TC_K,      /* rows that make c */
    SEGMENT = LEAD + SB_TC_K /* rows of an expert */
};

static const uint16_t power[3] = {0x3F80, 0x3B80, 0x3780}; /* 1, 2^-8, 2^-16 */

bool sb_probe_wgrad_available(const struct sb_probe_impl *impl, char *text, size_t size)
{
    const bool runs = sb_wgrad_path_runs((enum sb_wgrad_path)impl->number);
    snprintf(text, size, "%s", runs ? "cpu" : "this processor, or this build, has no such instructions");
    return runs;
}

/* Can c be summed up from bf16 products? */
static bool can_be_made(uint32_t c)
{
    return !sb_f32_is_nan(c) && !sb_f32_is_inf(c) && c != sb_f32_sign;
}

/* Exact: of any exponent of an f32. */
static uint16_t part_of(uint32_t c, int part)
{
    if (part == 0)
        return (uint16_t)((c & 0x7FFF0000) != 0 ? c >> 16 : 0);
    return sb_tc_bf16((c & sb_f32_sign) != 0, part == 1 ? c >> 8 & 0xFF : c & 0xFF, sb_f32_exponent(c));
}

static void fill_segment(const struct sb_probe_batch *batch, int64_t t, uint16_t *dy, uint16_t *x, uint8_t *skipped)
{
    memset(dy, 0, SEGMENT * ROWS * sizeof dy[0]);
    memset(x, 0, SEGMENT * COLS * sizeof x[0]);
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < COLS; n++) {
            const int64_t at = (t * ROWS + m) * COLS + n;
            const bool made = can_be_made(batch->c[at]);
            skipped[at] = !made;
            for (int part = 0; part < 3; part++)
                dy[(part * COLS + n) * ROWS + m] = made ? part_of(batch->c[at], part) : 0;
        }
    for (int part = 0; part < 3; part++)
        for (int n = 0; n < COLS; n++)
            x[(part * COLS + n) * COLS + n] = power[part];
    for (int k = 0; k < SB_TC_K; k++)
        for (int m = 0; m < ROWS; m++)
            dy[(LEAD + k) * ROWS + m] = batch->a[(t * ROWS + m) * SB_TC_K + k];
    memcpy(x + LEAD * COLS, batch->b + t * SB_TC_K * COLS, SB_TC_K * COLS * sizeof x[0]);
}

static bool run_call(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint16_t *dy, uint16_t *x,
                     int32_t *cu_seqlens, void *dw, uint8_t *skipped, struct sb_error *err)
{
#pragma omp parallel for if (batch->tiles > 1)
    for (int64_t t = 0; t < batch->tiles; t++)
        fill_segment(batch, t, dy + t * SEGMENT * ROWS, x + t * SEGMENT * COLS, skipped);
    for (int64_t t = 0; t <= batch->tiles; t++)
        cu_seqlens[t] = (int32_t)(t * SEGMENT);
    const int64_t rows = batch->tiles * SEGMENT;
    const struct sb_wgrad_args args = {.dy = dy,
                                       .x = x,
                                       .cu_seqlens = cu_seqlens,
                                       .T = rows,
                                       .Tx = rows,
                                       .M = ROWS,
                                       .N = COLS,
                                       .E = batch->tiles,
                                       .ld_dy = ROWS,
                                       .ld_x = COLS,
                                       .out_dtype = SB_F32};
    const struct sb_status status = sb_ref_wgrad_varlen_k_by(&args, (enum sb_wgrad_path)impl->number, dw);
    char text[256];
    return status.code == SB_OK || sb_fail(err, SB_EXIT_BAD_INPUT, "%s: the call was rejected: %s", impl->name,
                                           sb_status_text(&status, text, sizeof text));
}

static void *aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

bool sb_probe_wgrad_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                        uint8_t *skipped, struct sb_error *err)
{
    const size_t rows = (size_t)batch->tiles * SEGMENT, bytes = (size_t)sb_probe_dots(batch) * sizeof d[0];
    uint16_t *const dy = aligned(rows * ROWS * sizeof dy[0]), *const x = aligned(rows * COLS * sizeof x[0]);
    int32_t *const cu_seqlens = aligned(((size_t)batch->tiles + 1) * sizeof cu_seqlens[0]);
    uint32_t *const dw = aligned(bytes); /* d itself need not be aligned as the op wants it */
    bool ok = (dy != NULL && x != NULL && cu_seqlens != NULL && dw != NULL) ||
              sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", impl->name);
    if (ok)
        memcpy(dw, d, bytes); /* what the op leaves unwritten stays as it was in d */
    ok = ok && run_call(impl, batch, dy, x, cu_seqlens, dw, skipped, err);
    if (ok)
        memcpy(d, dw, bytes);
    free(dy);
    free(x);
    free(cu_seqlens);
    free(dw);
    return ok;
}
