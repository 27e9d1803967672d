/* tc_probe.h - tensor-core instructions one by one: each tile of dot products is computed by exactly one of them.
 *
 *     d[t][m][n] = c[t][m][n] + sum over k = 0..15 of a[t][m][k] * b[t][k][n]
 *
 * Contract: ref/CONTRACTS.md, section "Contract TC", is what they are held to; nothing here rounds on its own. Plain C;
 * the shape of a tile is the instruction's.
 */
#ifndef SAMEBITS_GPU_TC_PROBE_H
#define SAMEBITS_GPU_TC_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory, dense, each array 16-byte aligned. */
struct sb_tc_probe_tiles {
    int64_t tiles;        /* at most INT32_MAX */
    const uint16_t *a;    /* bf16 bits [tiles][rows][16] */
    const uint16_t *b;    /* bf16 bits [tiles][16][cols] */
    const uint32_t *c;    /* f32 bits [tiles][rows][cols] */
    uint32_t *d;          /* the same; written whole where a tile is computed */
    uint32_t *unfinished; /* one word: goes up by one for each tile that was given up, its d left alone, because the
                             instruction did not finish in time or the kernel's image does not hold it */
};

/* Each launches its kernel on the stream (a cudaStream_t), allocates nothing and waits for nothing. Returns the
 * cudaError_t of doing so, 0 for success. */
typedef int (*sb_tc_probe_launch)(const struct sb_tc_probe_tiles *tiles, void *stream);

int sb_tc_probe_mma_sync(const struct sb_tc_probe_tiles *tiles, void *stream); /* 16x8: mma.sync.m16n8k16, sm_80 on */
int sb_tc_probe_wgmma(const struct sb_tc_probe_tiles *tiles, void *stream);    /* 64x256: wgmma m64n256k16, sm_90a */
/* 64x256: the same wgmma with scale-d 0, the way to start a sum without an accumulator. c is not read: d = a * b. */
int sb_tc_probe_wgmma_d0(const struct sb_tc_probe_tiles *tiles, void *stream);
/* 128x256: tcgen05.mma kind::f16 of one block, accumulator in tensor memory; the sm_100 family. */
int sb_tc_probe_tcgen05(const struct sb_tc_probe_tiles *tiles, void *stream);

#ifdef __cplusplus
}
#endif
#endif
