/* fma_peak.h - how many FP32 multiply-adds this processor can do, measured: the ceiling beside which bench sets what
 * the CPU references reach. */
#ifndef SAMEBITS_HARNESS_FMA_PEAK_H
#define SAMEBITS_HARNESS_FMA_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/* The widest instructions that this processor and this build have: "AVX-512 FMA", "AVX2 FMA", "NEON FMA", or "128-bit
 * multiply and add" where one multiply-add takes two instructions. Static storage. */
const char *sb_fma_peak_kind(void);

/* Multiply-adds of one pass on one thread: about 10 ms. */
int64_t sb_fma_peak_macs(void);

/* One pass on each of `threads` threads. False where a lane ended at another value than it must. */
bool sb_fma_peak_pass(int threads);

#endif
