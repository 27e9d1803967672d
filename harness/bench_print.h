/* bench_print.h - what bench found, as a table for people and as JSON. */
#ifndef SAMEBITS_HARNESS_BENCH_PRINT_H
#define SAMEBITS_HARNESS_BENCH_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "bench_run.h"

/* The machine and the build, and what the table's columns are: printed once, before the first case. */
void sb_bench_print_head(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_plan *plan);
/* One case in three parts, as they become known: its id; its work and what is compared, once it is open; the rows. Rows
 * that are wrong or did not run have a reason and no figure. */
void sb_bench_print_call(FILE *f, const struct sb_case *c);
void sb_bench_print_about(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_result *r);
void sb_bench_print_rows(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_result *r);

/* One object with every figure; the notes of `bench --help` say what is in it. NULL: no memory. */
json_t *sb_bench_json(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan,
                      const struct sb_bench_result *r, int count);

#endif
