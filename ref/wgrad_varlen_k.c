/* wgrad_varlen_k.c - BF16 grouped weight gradient over a jagged token axis. Contract: CONTRACTS.md section 4. */
#include "wgrad_varlen_k.h"

#include "f32_round.h"
#include "tc_bf16_k16_f25.h"
#include "wgrad_parts.h"

#include <string.h>

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

struct sb_status sb_wgrad_check_call(const struct sb_wgrad_args *args, const void *dw)
{
    struct sb_status status = sb_wgrad_check_args(args, dw);
    if (status.code == SB_OK)
        status = check_segments(args);
    if (status.code == SB_OK)
        status = check_gather(args);
    return status;
}

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

void sb_wgrad_plain_steps(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, int64_t k0, int64_t k1,
                          uint32_t *sum, int64_t ld_sum)
{
    struct sb_tc_operands a[SB_WGRAD_PLAIN_TILE], b[SB_WGRAD_PLAIN_TILE];
    for (; k0 < k1; k0 += SB_TC_K) {
        const int64_t length = k1 - k0 < SB_TC_K ? k1 - k0 : SB_TC_K;
        for (int64_t m = t->m0; m < t->m1; m++)
            decode_dy(args, m, k0, length, &a[m - t->m0]);
        for (int64_t n = t->n0; n < t->n1; n++)
            decode_x(args, n, k0, length, &b[n - t->n0]);
        for (int64_t m = 0; m < t->m1 - t->m0; m++)
            for (int64_t n = 0; n < t->n1 - t->n0; n++)
                sum[m * ld_sum + n] = sb_tc_step(sum[m * ld_sum + n], &a[m], &b[n]);
    }
}

void sb_wgrad_store(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, const uint32_t *sum,
                    int64_t ld_sum, void *out, int64_t ld_out)
{
    uint32_t *out_f32 = out;
    uint16_t *out_bf16 = out;
    const bool empty = args->cu_seqlens[t->e] == args->cu_seqlens[t->e + 1];
    for (int64_t m = t->m0; m < t->m1; m++)
        for (int64_t n = t->n0; n < t->n1; n++) {
            const int64_t place = (m - t->m0) * ld_out + n - t->n0;
            uint32_t value = sum[(m - t->m0) * ld_sum + n - t->n0];
            if (args->main_grad != NULL) {
                const uint32_t before = args->main_grad[(t->e * args->M + m) * args->N + n];
                value = empty ? before : sb_f32_add_rne(before, value);
            }
            if (args->out_dtype == SB_F32)
                out_f32[place] = value;
            else
                out_bf16[place] = sb_bf16_rne(value);
        }
}

void *sb_wgrad_at(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, void *dw)
{
    const int64_t element = (t->e * args->M + t->m0) * args->N + t->n0;
    return (char *)dw + (size_t)element * (args->out_dtype == SB_F32 ? sizeof(uint32_t) : sizeof(uint16_t));
}

struct sb_wgrad_tile sb_wgrad_tile_at(const struct sb_wgrad_args *args, int64_t index, int64_t rows, int64_t columns)
{
    const int64_t across = sb_cdiv(args->N, columns), down = sb_cdiv(args->M, rows);
    struct sb_wgrad_tile t = {
        .e = index / across / down, .m0 = index / across % down * rows, .n0 = index % across * columns};
    t.m1 = t.m0 + rows < args->M ? t.m0 + rows : args->M;
    t.n1 = t.n0 + columns < args->N ? t.n0 + columns : args->N;
    return t;
}

/* One tile: accumulators from +0, k ascending from the segment's own start, 16 at a time. */
static void plain_tile(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, void *dw)
{
    uint32_t sum[SB_WGRAD_PLAIN_TILE * SB_WGRAD_PLAIN_TILE] = {0};
    sb_wgrad_plain_steps(args, t, args->cu_seqlens[t->e], args->cu_seqlens[t->e + 1], sum, SB_WGRAD_PLAIN_TILE);
    sb_wgrad_store(args, t, sum, SB_WGRAD_PLAIN_TILE, sb_wgrad_at(args, t, dw), args->N);
}

struct sb_status sb_ref_wgrad_varlen_k(const struct sb_wgrad_args *args, void *dw)
{
    const struct sb_status status = sb_wgrad_check_call(args, dw);
    if (status.code != SB_OK)
        return status;
    const int64_t tiles = args->E * sb_cdiv(args->M, SB_WGRAD_PLAIN_TILE) * sb_cdiv(args->N, SB_WGRAD_PLAIN_TILE);
#pragma omp parallel for schedule(dynamic)
    for (int64_t index = 0; index < tiles; index++) {
        const struct sb_wgrad_tile t = sb_wgrad_tile_at(args, index, SB_WGRAD_PLAIN_TILE, SB_WGRAD_PLAIN_TILE);
        plain_tile(args, &t, dw);
    }
    return status;
}
