/* wgrad_varlen_k_fast.h - the bits of sb_ref_wgrad_varlen_k, computed with the processor's vector instructions, whole
 * or in chosen tiles. The plain model in wgrad_varlen_k.c stays the definition; these are held to it. */
#ifndef SAMEBITS_REF_WGRAD_VARLEN_K_FAST_H
#define SAMEBITS_REF_WGRAD_VARLEN_K_FAST_H

#include "wgrad_varlen_k.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the sums are computed, slowest first. Each gives the same bits on every input. */
enum sb_wgrad_path {
    SB_WGRAD_PLAIN,  /* one output after the other, on any machine: the definition */
    SB_WGRAD_AVX2,   /* eight outputs a vector */
    SB_WGRAD_AVX512, /* sixteen outputs a vector: AVX-512 F and BW */
    SB_WGRAD_PATHS
};

/* "plain", "avx2", "avx512". Static storage. */
const char *sb_wgrad_path_name(enum sb_wgrad_path path);

/* Was it compiled in, and has this processor what it needs? */
bool sb_wgrad_path_runs(enum sb_wgrad_path path);

/* The fastest that runs here. */
enum sb_wgrad_path sb_wgrad_best_path(void);

/* sb_ref_wgrad_varlen_k by a path that runs here. The same arguments, checks, statuses and bytes. */
struct sb_status sb_ref_wgrad_varlen_k_by(const struct sb_wgrad_args *args, enum sb_wgrad_path path, void *dw);

/* Outputs m0 .. m1-1 by n0 .. n1-1 of expert e. */
struct sb_wgrad_tile {
    int64_t e, m0, m1, n0, n1;
};

/* The same bits of a few tiles only, over the whole of K. `out` holds tile after tile, each dense and row-major
 * [m1-m0, n1-n0], in args->out_dtype; main_grad is read at the outputs' own places in [E, M, N]. The statuses are those
 * of the whole call; besides, a tile outside [E, M, N] is SB_BAD_ARGUMENT at place 9 with its index. */
struct sb_status sb_ref_wgrad_varlen_k_tiles(const struct sb_wgrad_args *args, enum sb_wgrad_path path,
                                             const struct sb_wgrad_tile *tiles, int64_t count, void *out);

#ifdef __cplusplus
}
#endif
#endif
