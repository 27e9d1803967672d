/* wgrad_varlen_k.h - BF16 grouped weight gradient over a jagged token axis. Contract: CONTRACTS.md section 4. */
#ifndef SAMEBITS_REF_WGRAD_VARLEN_K_H
#define SAMEBITS_REF_WGRAD_VARLEN_K_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sb_wgrad_args {
    const uint16_t *dy;          /* bf16 [T, M], rows ld_dy apart */
    const uint16_t *x;           /* bf16 [Tx, N], rows ld_x apart */
    const int32_t *cu_seqlens;   /* [E + 1], ascending, first >= 0, last <= T */
    const int32_t *x_gather_idx; /* [T] row of x for row k of dy, or NULL: row k (then Tx >= T) */
    const uint32_t *main_grad;   /* f32 bits [E, M, N] dense, or NULL. dw may be main_grad itself (f32 output) */
    int64_t T, Tx, M, N, E;
    int64_t ld_dy, ld_x;     /* in elements, >= M and >= N, multiples of 8 */
    enum sb_dtype out_dtype; /* SB_F32 or SB_BF16 */
};

/* The checks that read no array. SB_BAD_ARGUMENT: where = 1 T, 2 Tx, 3 M, 4 N, 5 E, 6 ld_dy, 7 ld_x,
 * 8 out_dtype, and the value; then SB_ALIGNMENT of M, N, ld_dy, ld_x (8), then of the pointers dy, x (16 bytes)
 * and, where present, dw and main_grad (16 bytes). T, Tx >= 0; M, N >= 8; E >= 1. */
struct sb_status sb_wgrad_check_args(const struct sb_wgrad_args *args, const void *dw);

/* dw[E, M, N] dense, f32 or bf16. Reads cu_seqlens (SB_SEGMENT_ORDER: negative start first, then the lowest
 * descending e, then the end) and, inside segments only, x_gather_idx (SB_GATHER_RANGE, lowest k). Rows outside
 * every segment are never read. On rejection nothing is written. */
struct sb_status sb_ref_wgrad_varlen_k(const struct sb_wgrad_args *args, void *dw);

#ifdef __cplusplus
}
#endif
#endif
