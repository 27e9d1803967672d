/* wgrad_samples.h - which tiles of dw a sampled case of wgrad_varlen_k holds. */
#ifndef SAMEBITS_GOLDEN_WGRAD_SAMPLES_H
#define SAMEBITS_GOLDEN_WGRAD_SAMPLES_H

#include "op.h"

/* Rows and columns of a tile, less where M or N is less. The tiles that kernels work in are multiples of 64, so that
 * one of ours meets up to four of them; smaller ones would cost the reference more in taking operands apart than in
 * sums. */
enum { SB_WGRAD_SAMPLE_TILE = 64, SB_WGRAD_SAMPLE_LIMIT = 4096 };

/* `sample` tiles of dw: the corners of chosen experts first (see wgrad_samples.c), then places drawn from the case's
 * seed. Nothing where sample=0. */
bool sb_wgrad_samples(const struct sb_case *c, int index, struct sb_samples *s, struct sb_error *err);
/* The same choice of `count` tiles, at least one, whatever the case samples. */
bool sb_wgrad_choose_samples(const struct sb_case *c, int64_t count, struct sb_samples *s, struct sb_error *err);

#endif
