/* bench_results.h - for the tests of bench: cases by their ids, results as text, rows by their names. */
#ifndef SAMEBITS_TESTS_BENCH_RESULTS_H
#define SAMEBITS_TESTS_BENCH_RESULTS_H

#include "../harness/bench_print.h"
#include "../harness/ops.h"

#include <check.h>
#include <math.h>
#include <string.h>

static inline bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

static inline struct sb_case parsed(const char *id)
{
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(&c, &sb_op_table()->list, id, &err), "%s", err.text);
    return c;
}

static inline const char *printed(const struct sb_bench_impl *impl, const struct sb_bench_result *r)
{
    static char text[16384];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(f);
    sb_bench_print_call(f, r->c);
    if (r->about.compared[0] != '\0')
        sb_bench_print_about(f, impl, r);
    sb_bench_print_rows(f, impl, r);
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

static inline const struct sb_bench_row *row_of(const struct sb_bench_result *r, const char *name, int threads)
{
    for (int i = 0; i < r->rows; i++)
        if (strcmp(r->row[i].name, name) == 0 && r->row[i].threads == threads)
            return &r->row[i];
    ck_abort_msg("no row of %s at %d threads", name, threads);
    return NULL;
}

/* The JSON's row of this path and number of threads, owned by `all`. */
static inline json_t *json_row(json_t *all, const char *name, int threads)
{
    size_t i;
    json_t *row, *rows = json_object_get(json_array_get(json_object_get(all, "cases"), 0), "rows");
    json_array_foreach(rows, i, row) if (strcmp(json_string_value(json_object_get(row, "path")), name) == 0 &&
                                         json_integer_value(json_object_get(row, "threads")) == threads) return row;
    ck_abort_msg("no row of %s in the JSON", name);
    return NULL;
}

#endif
