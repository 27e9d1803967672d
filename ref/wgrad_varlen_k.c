/* wgrad_varlen_k.c - BF16 grouped weight gradient over a jagged token axis. Contract: CONTRACTS.md section 4. */
#include "wgrad_varlen_k.h"

#include "f32_round.h"
#include "tc_bf16_k16_f25.h"

#include <string.h>

/* Outputs of one task: its rows of dy and columns of x are taken apart once a step and used by all of them. */
enum { TILE_M = 32, TILE_N = 32 };

enum { MULTIPLE = 8, POINTER_ALIGNMENT = 16 };

static int64_t address_excess(const void *pointer)
{
    return (int64_t)((uintptr_t)pointer % POINTER_ALIGNMENT);
}

static struct sb_status check_sizes(const struct sb_wgrad_args *args)
{
    if (args->T < 0)
        return sb_reject(SB_BAD_ARGUMENT, 1, args->T, 0);
    if (args->Tx < 0 || (args->x_gather_idx == NULL && args->Tx < args->T))
        return sb_reject(SB_BAD_ARGUMENT, 2, args->Tx, 0);
    if (args->M < MULTIPLE)
        return sb_reject(SB_BAD_ARGUMENT, 3, args->M, 0);
    if (args->N < MULTIPLE)
        return sb_reject(SB_BAD_ARGUMENT, 4, args->N, 0);
    if (args->E < 1)
        return sb_reject(SB_BAD_ARGUMENT, 5, args->E, 0);
    if (args->ld_dy < args->M)
        return sb_reject(SB_BAD_ARGUMENT, 6, args->ld_dy, 0);
    if (args->ld_x < args->N)
        return sb_reject(SB_BAD_ARGUMENT, 7, args->ld_x, 0);
    if (args->out_dtype != SB_F32 && args->out_dtype != SB_BF16)
        return sb_reject(SB_BAD_ARGUMENT, 8, args->out_dtype, 0);
    return sb_status_ok();
}

struct sb_status sb_wgrad_check_args(const struct sb_wgrad_args *args, const void *dw)
{
    const struct sb_status status = check_sizes(args);
    if (status.code != SB_OK)
        return status;

    const int64_t sizes[] = {args->M, args->N, args->ld_dy, args->ld_x};
    for (int i = 0; i < 4; i++)
        if (sizes[i] % MULTIPLE != 0)
            return sb_reject(SB_ALIGNMENT, 1 + i, sizes[i], MULTIPLE);
    const void *const pointers[] = {args->dy, args->x, dw, args->main_grad}; /* an absent one is aligned */
    for (int i = 0; i < 4; i++)
        if (address_excess(pointers[i]) != 0)
            return sb_reject(SB_ALIGNMENT, 5 + i, address_excess(pointers[i]), POINTER_ALIGNMENT);
    return sb_status_ok();
}

static struct sb_status check_segments(const struct sb_wgrad_args *args)
{
    const int32_t *cu = args->cu_seqlens;
    if (cu[0] < 0)
        return sb_reject(SB_SEGMENT_ORDER, 0, cu[0], 0);
    for (int64_t e = 0; e < args->E; e++)
        if (cu[e] > cu[e + 1])
            return sb_reject(SB_SEGMENT_ORDER, e, cu[e], cu[e + 1]);
    if (cu[args->E] > args->T)
        return sb_reject(SB_SEGMENT_ORDER, args->E, cu[args->E], args->T);
    return sb_status_ok();
}

/* Inside the segments only: elsewhere the indices are nobody's business. */
static struct sb_status check_gather(const struct sb_wgrad_args *args)
{
    const int32_t *cu = args->cu_seqlens;
    for (int64_t k = cu[0]; args->x_gather_idx != NULL && k < cu[args->E]; k++)
        if (args->x_gather_idx[k] < 0 || args->x_gather_idx[k] >= args->Tx)
            return sb_reject(SB_GATHER_RANGE, k, args->x_gather_idx[k], args->Tx);
    return sb_status_ok();
}

/* One task: outputs m0..m1-1 by n0..n1-1 of expert e. */
struct tile {
    int64_t e, m0, m1, n0, n1;
};

/* The operands of one step, k = k0 .. k0 + length - 1; a short step is filled with zeros. Rows outside the step are
 * not read: they may belong to another expert and hold anything. */
static void decode_dy(const struct sb_wgrad_args *args, int64_t m, int64_t k0, int64_t length,
                      struct sb_tc_operands *operands)
{
    uint16_t values[SB_TC_K] = {0};
    for (int64_t i = 0; i < length; i++)
        values[i] = args->dy[(k0 + i) * args->ld_dy + m];
    sb_tc_decode(values, operands);
}

static void decode_x(const struct sb_wgrad_args *args, int64_t n, int64_t k0, int64_t length,
                     struct sb_tc_operands *operands)
{
    uint16_t values[SB_TC_K] = {0};
    for (int64_t i = 0; i < length; i++) {
        const int64_t row = args->x_gather_idx != NULL ? args->x_gather_idx[k0 + i] : k0 + i;
        values[i] = args->x[row * args->ld_x + n];
    }
    sb_tc_decode(values, operands);
}

/* sum[m][n] for the whole segment: accumulators from +0, k ascending from the segment's own start, 16 at a time. */
static void accumulate(const struct sb_wgrad_args *args, const struct tile *t, uint32_t sum[TILE_M][TILE_N])
{
    struct sb_tc_operands a[TILE_M], b[TILE_N];
    memset(sum, 0, TILE_M * sizeof sum[0]);
    const int64_t end = args->cu_seqlens[t->e + 1];
    for (int64_t k0 = args->cu_seqlens[t->e]; k0 < end; k0 += SB_TC_K) {
        const int64_t length = end - k0 < SB_TC_K ? end - k0 : SB_TC_K;
        for (int64_t m = t->m0; m < t->m1; m++)
            decode_dy(args, m, k0, length, &a[m - t->m0]);
        for (int64_t n = t->n0; n < t->n1; n++)
            decode_x(args, n, k0, length, &b[n - t->n0]);
        for (int64_t m = 0; m < t->m1 - t->m0; m++)
            for (int64_t n = 0; n < t->n1 - t->n0; n++)
                sum[m][n] = sb_tc_step(sum[m][n], &a[m], &b[n]);
    }
}

/* After the sum: main_grad + sum in one rounded addition, and the output type. An empty segment adds nothing, so
 * main_grad passes unchanged, a NaN's payload and a -0 included. */
static void store(const struct sb_wgrad_args *args, const struct tile *t, uint32_t sum[TILE_M][TILE_N], void *dw)
{
    uint32_t *dw_f32 = dw;
    uint16_t *dw_bf16 = dw;
    const bool empty = args->cu_seqlens[t->e] == args->cu_seqlens[t->e + 1];
    for (int64_t m = t->m0; m < t->m1; m++)
        for (int64_t n = t->n0; n < t->n1; n++) {
            const int64_t place = (t->e * args->M + m) * args->N + n;
            uint32_t value = sum[m - t->m0][n - t->n0];
            if (args->main_grad != NULL)
                value = empty ? args->main_grad[place] : sb_f32_add_rne(args->main_grad[place], value);
            if (args->out_dtype == SB_F32)
                dw_f32[place] = value;
            else
                dw_bf16[place] = sb_bf16_rne(value);
        }
}

static struct tile tile_at(const struct sb_wgrad_args *args, int64_t index)
{
    const int64_t across = sb_cdiv(args->N, TILE_N), down = sb_cdiv(args->M, TILE_M);
    struct tile t = {.e = index / across / down, .m0 = index / across % down * TILE_M, .n0 = index % across * TILE_N};
    t.m1 = t.m0 + TILE_M < args->M ? t.m0 + TILE_M : args->M;
    t.n1 = t.n0 + TILE_N < args->N ? t.n0 + TILE_N : args->N;
    return t;
}

struct sb_status sb_ref_wgrad_varlen_k(const struct sb_wgrad_args *args, void *dw)
{
    struct sb_status status = sb_wgrad_check_args(args, dw);
    if (status.code == SB_OK)
        status = check_segments(args);
    if (status.code == SB_OK)
        status = check_gather(args);
    if (status.code != SB_OK)
        return status;

    const int64_t tiles = args->E * sb_cdiv(args->M, TILE_M) * sb_cdiv(args->N, TILE_N);
#pragma omp parallel for schedule(dynamic)
    for (int64_t index = 0; index < tiles; index++) {
        uint32_t sum[TILE_M][TILE_N];
        const struct tile t = tile_at(args, index);
        accumulate(args, &t, sum);
        store(args, &t, sum, dw);
    }
    return status;
}
