/* bench_compare.c - see bench_compare.h. */
#include "bench_compare.h"

static bool compare(const struct sb_tensor *expected, const struct sb_tensor *actual,
                    const struct sb_compare_hints *hints, struct sb_error *err)
{
    struct sb_difference d;
    if (sb_compare(expected, actual, hints, &d))
        return true;
    if (d.samples < 1)
        return sb_fail(err, SB_EXIT_MISMATCH, "%s", d.text);
    return sb_fail(err, SB_EXIT_MISMATCH, "%s; first at %s: expected %s, actual %s", d.text, d.sample[0].index,
                   d.sample[0].expected, d.sample[0].actual);
}

bool sb_bench_compare(const struct sb_tensor *expected, const struct sb_tensor *actual, int poison,
                      struct sb_error *err)
{
    return compare(expected, actual, &(struct sb_compare_hints){.poison = poison}, err);
}

bool sb_bench_compare_samples(const struct sb_samples *samples, const struct sb_tensor *expected,
                              const struct sb_tensor *actual, int poison, struct sb_error *err)
{
    return compare(expected, actual, &(struct sb_compare_hints){.poison = poison, .samples = samples}, err);
}
