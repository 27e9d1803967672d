/* bench_gpu.h - the variants of an op on a GPU as something to time. */
#ifndef SAMEBITS_HARNESS_BENCH_GPU_H
#define SAMEBITS_HARNESS_BENCH_GPU_H

#include "bench_run.h"
#include "device.h"
#include "ops.h"

/* What an op's variants are timed on; a test puts host memory and variants of its own here. */
struct sb_bench_gpu {
    const struct sb_op_row *row;
    const struct sb_memory *memory; /* NULL: there is none, and `why` says why */
    const char *why;
    const struct sb_device *device; /* NULL: host memory */
    int64_t l2_bytes;               /* of the cache that a call's data must not lie in when it begins */

    int64_t (*work)(const struct sb_case *c, const struct sb_data *d); /* of a call with these inputs */
    /* Why a run of this case would time something else than the kernel, or NULL. NULL pointer: none does. */
    const char *(*unfit)(const struct sb_case *c);
};

enum { SB_BENCH_GPU_WARM_UPS = 2 }; /* one on each poison */

/* The functions of an implementation whose `calls` is a struct sb_bench_gpu: what remains is op, impl, unit, cases and
 * paths. */
extern const struct sb_bench_impl sb_bench_gpu_functions;

/* Names of the row's variants, in its order, ended by NULL. */
void sb_bench_gpu_paths(const struct sb_op_row *row, const char *paths[SB_BENCH_MAX_PATHS + 1]);

/* The variants of wgrad_varlen_k. */
const struct sb_bench_impl *sb_bench_wgrad_varlen_k_gpu(void);

#endif
