/* bench_wgrad.h - the CPU reference of wgrad_varlen_k as something to time. */
#ifndef SAMEBITS_HARNESS_BENCH_WGRAD_H
#define SAMEBITS_HARNESS_BENCH_WGRAD_H

#include "bench_run.h"

#include "../ref/wgrad_varlen_k_fast.h"

/* What is timed, as functions; a test puts wrong ones in their place. What is expected comes from
 * sb_ref_wgrad_varlen_k itself. */
struct sb_bench_wgrad_calls {
    bool (*runs)(enum sb_wgrad_path path);
    struct sb_status (*whole)(const struct sb_wgrad_args *args, enum sb_wgrad_path path, void *dw);
    struct sb_status (*tiles)(const struct sb_wgrad_args *args, enum sb_wgrad_path path,
                              const struct sb_wgrad_tile *tiles, int64_t count, void *out);
    int64_t whole_limit; /* multiply-adds up to which every output is computed by the plain reference */
};

extern const struct sb_bench_impl sb_bench_wgrad_varlen_k_ref; /* its calls: the functions of ref/ */

#endif
