/* bench_call.h - a case in device memory, ready to be called and timed: several copies of inputs and outputs where one
 * would lie in the cache, outputs poisoned before each run, and compared. bench_gpu.c says what is done with it. */
#ifndef SAMEBITS_HARNESS_BENCH_CALL_H
#define SAMEBITS_HARNESS_BENCH_CALL_H

#include "bench_gpu.h"
#include "whole.h"

struct sb_bench_call;  /* the case: inputs, expected outputs */
struct sb_bench_timed; /* one variant on it: outputs, workspace, status words */

/* The inputs, on the host. NULL with err: memory, or a call that is not to be timed. */
struct sb_bench_call *sb_bench_call_open(const struct sb_bench_gpu *gpu, const struct sb_case *c,
                                         struct sb_bench_about *about, struct sb_error *err);
/* The expected outputs, then the inputs on the device. As impl->expect. */
bool sb_bench_call_expect(struct sb_bench_call *call, const struct sb_bench_watch *watch, struct sb_error *err);
/* As impl->stands: false with err where the judge, whose outputs were expected, was found to be wrong. */
bool sb_bench_call_stands(const struct sb_bench_call *call, struct sb_error *err);
void sb_bench_call_close(struct sb_bench_call *call);

/* As impl->subject. */
bool sb_bench_call_subject(struct sb_bench_call *call, const struct sb_variant *variant,
                           struct sb_bench_subject *subject, struct sb_error *err);

#endif
