/* bench_compare.h - the judge's verdict on one output, as an error that says where it differs. */
#ifndef SAMEBITS_HARNESS_BENCH_COMPARE_H
#define SAMEBITS_HARNESS_BENCH_COMPARE_H

#include "compare.h"

/* True if all elements have the same bits. Else false with err (SB_EXIT_MISMATCH): how many differ, the first of them,
 * and what helps to say where. `poison` is the byte that `actual` was filled with before, or SB_NO_POISON. */
bool sb_bench_compare(const struct sb_tensor *expected, const struct sb_tensor *actual, int poison,
                      struct sb_error *err);
/* The same of blocks of a larger output, both packed. */
bool sb_bench_compare_samples(const struct sb_samples *samples, const struct sb_tensor *expected,
                              const struct sb_tensor *actual, int poison, struct sb_error *err);

#endif
