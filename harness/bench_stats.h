/* bench_stats.h - from samples to a figure: the median, where it may lie, and whether two figures differ. */
#ifndef SAMEBITS_HARNESS_BENCH_STATS_H
#define SAMEBITS_HARNESS_BENCH_STATS_H

#include <stdbool.h>

/* Samples beyond this many add nothing that a figure shows. */
enum { SB_BENCH_MAX_SAMPLES = 1000 };

struct sb_bench_figure {
    int samples;
    double median;
    double low, high; /* the median lies between them in 95 of 100 measurements (five samples: 94), whatever the
                       * samples' distribution */
    double min, max;
    double mad; /* median distance of a sample from the median */
};

/* count is 1..SB_BENCH_MAX_SAMPLES; sorts the samples. low and high are the samples whose ranks bound the median with a
 * probability of 95% (binomial with p = 1/2); five samples or fewer bound it by the smallest and the largest: 94%
 * for five. */
struct sb_bench_figure sb_bench_figure_of(double *sample, int count);

struct sb_bench_ratio {
    bool known; /* both figures are there */
    double value, low, high;
    bool resolved; /* the two are further apart than low and high of either allow: 1 is not within low..high */
};

/* a / b. A figure without samples gives an unknown ratio. */
struct sb_bench_ratio sb_bench_ratio_of(const struct sb_bench_figure *a, const struct sb_bench_figure *b);

/* The same figure for `by` times as much. */
struct sb_bench_figure sb_bench_scale(const struct sb_bench_figure *f, double by);

#endif
