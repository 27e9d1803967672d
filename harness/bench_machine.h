/* bench_machine.h - what the figures were taken on. */
#ifndef SAMEBITS_HARNESS_BENCH_MACHINE_H
#define SAMEBITS_HARNESS_BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* The processor's name as the system tells it, or that it does not. Returns buf. */
const char *sb_bench_cpu_name(char *buf, size_t size);

/* Processors that this process may use, two to a core where a core runs two threads; 1 in a build without OpenMP. */
int sb_bench_processors(void);
/* Cores that these processors belong to, or 0: not known. */
int sb_bench_cores(void);

/* Makes parallel work run on so many threads, started beforehand. Returns how many there really are. */
int sb_bench_use_threads(int threads);
bool sb_bench_has_openmp(void);

/* What makes every figure of this build meaningless as speed, or NULL. Static storage. */
const char *sb_bench_build_flaw(void);

/* Processes that ran, on average over a minute, when this was first asked; negative: not known. */
double sb_bench_load_before(void);

#endif
