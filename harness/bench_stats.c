/* bench_stats.c - order statistics: nothing is assumed of how the samples are distributed. */
#include "bench_stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, int count)
{
    return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The largest k so that the median lies outside the k-th smallest to the k-th largest of `count` samples with a
 * probability of at most 5%; at least 1. Outside on one side: k - 1 or fewer of `count` tosses show heads. */
static int rank_of_bound(int count)
{
    const double outside = 0.05;
    double exactly = ldexp(1.0, -count), up_to = exactly;
    int k = 1;
    for (int heads = 1; 2 * (heads + 1) <= count; heads++) {
        exactly *= (double)(count - heads + 1) / heads;
        up_to += exactly;
        if (2 * up_to > outside)
            break;
        k = heads + 1;
    }
    return k;
}

struct sb_bench_figure sb_bench_figure_of(double *sample, int count)
{
    struct sb_bench_figure f = {.samples = count};
    double distance[SB_BENCH_MAX_SAMPLES];
    qsort(sample, (size_t)count, sizeof *sample, ascending);
    const int rank = rank_of_bound(count);
    f.median = middle(sample, count);
    f.low = sample[rank - 1];
    f.high = sample[count - rank];
    f.min = sample[0];
    f.max = sample[count - 1];
    for (int i = 0; i < count; i++)
        distance[i] = fabs(sample[i] - f.median);
    qsort(distance, (size_t)count, sizeof *distance, ascending);
    f.mad = middle(distance, count);
    return f;
}

struct sb_bench_ratio sb_bench_ratio_of(const struct sb_bench_figure *a, const struct sb_bench_figure *b)
{
    struct sb_bench_ratio r = {.known = a->samples > 0 && b->samples > 0 && b->low > 0};
    if (!r.known)
        return r;
    r.value = a->median / b->median;
    r.low = a->low / b->high;
    r.high = a->high / b->low;
    r.resolved = r.low > 1 || r.high < 1;
    return r;
}

struct sb_bench_figure sb_bench_scale(const struct sb_bench_figure *f, double by)
{
    struct sb_bench_figure g = *f;
    double *const value[] = {&g.median, &g.low, &g.high, &g.min, &g.max, &g.mad};
    for (int i = 0; i < 6; i++)
        *value[i] *= by;
    return g;
}
