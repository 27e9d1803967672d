/* wgrad_samples.c - where tiles of dw are taken. Faults of a kernel sit where its tiles are cut (the last rows and
 * columns) and where segments are out of the ordinary (the first and the last, the longest, the shortest, an empty
 * one): those places come first, the others are drawn. */
#include "wgrad_samples.h"

#include "philox.h"
#include "wgrad_segments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_SAMPLES = 17 };

struct corner {
    int64_t expert; /* -1: there is none such */
    bool last_rows, last_columns;
};

static int64_t length(const struct sb_segments *s, int64_t e)
{
    return s->cu[e + 1] - s->cu[e];
}

/* The first of the longest segments, of the shortest that are not empty, and of the empty ones. */
struct notable {
    int64_t longest, shortest, empty;
};

static struct notable find_notable(const struct sb_segments *s)
{
    struct notable n = {0, -1, -1};
    for (int64_t e = 0; e < s->E; e++) {
        if (length(s, e) > length(s, n.longest))
            n.longest = e;
        if (length(s, e) > 0 && (n.shortest < 0 || length(s, e) < length(s, n.shortest)))
            n.shortest = e;
        if (length(s, e) == 0 && n.empty < 0)
            n.empty = e;
    }
    return n;
}

static struct sb_block tile_at(int64_t plane, int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    return (struct sb_block){plane, row, row + rows, column, column + columns};
}

/* Of equal segments the longest is also the shortest. */
static bool is_taken(const struct sb_samples *s, int64_t taken, const struct sb_block *b)
{
    for (int64_t i = 0; i < taken; i++)
        if (memcmp(&s->block[i], b, sizeof *b) == 0)
            return true;
    return false;
}

static void choose(const struct sb_case *c, const struct sb_segments *seg, struct sb_samples *s)
{
    const int64_t m = s->whole.shape[1], n = s->whole.shape[2];
    const int64_t rows = m < SB_WGRAD_SAMPLE_TILE ? m : SB_WGRAD_SAMPLE_TILE;
    const int64_t columns = n < SB_WGRAD_SAMPLE_TILE ? n : SB_WGRAD_SAMPLE_TILE;
    const struct notable notable = find_notable(seg);
    const struct corner corners[] = {
        {0, false, false},           {seg->E - 1, true, true},       {notable.longest, true, true},
        {notable.empty, true, true}, {notable.shortest, true, true}, {notable.longest, false, true},
        {seg->E - 1, true, false},   {notable.empty, false, false},  {notable.shortest, false, true},
    };
    const int64_t corner_count = (int64_t)(sizeof corners / sizeof corners[0]);
    const struct sb_rng rng = {c->seed, STREAM_SAMPLES};
    int64_t taken = 0;
    for (int64_t i = 0; i < corner_count && taken < s->count; i++) {
        const struct sb_block b = tile_at(corners[i].expert, corners[i].last_rows ? m - rows : 0,
                                          corners[i].last_columns ? n - columns : 0, rows, columns);
        if (b.plane >= 0 && !is_taken(s, taken, &b))
            s->block[taken++] = b;
    }
    for (; taken < s->count; taken++) {
        const uint64_t at = 3 * (uint64_t)taken;
        s->block[taken] = tile_at((int64_t)sb_rng_below(&rng, at, (uint64_t)seg->E),
                                  (int64_t)sb_rng_below(&rng, at + 1, (uint64_t)(m - rows + 1)),
                                  (int64_t)sb_rng_below(&rng, at + 2, (uint64_t)(n - columns + 1)), rows, columns);
    }
}

bool sb_wgrad_choose_samples(const struct sb_case *c, int64_t count, struct sb_samples *s, struct sb_error *err)
{
    static const enum sb_dtype dtypes[] = {SB_F32, SB_BF16};
    const int64_t shape[3] = {sb_case_int(c, "E"), sb_case_int(c, "M"), sb_case_int(c, "N")};
    struct sb_segments seg;
    if (!sb_segments_make(c, &seg, err))
        return false;
    sb_tensor_describe(&s->whole, c->op->outputs[0].name, dtypes[sb_case_int(c, "out_dtype")], 3, shape);
    s->count = count;
    s->block = malloc((size_t)s->count * sizeof *s->block);
    if (s->block == NULL) {
        *s = (struct sb_samples){0};
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for %" PRId64 " samples", count);
    }
    choose(c, &seg, s);
    return true;
}

bool sb_wgrad_samples(const struct sb_case *c, int index, struct sb_samples *s, struct sb_error *err)
{
    (void)index; /* dw is the only output */
    const int64_t count = sb_case_int(c, "sample");
    return count == 0 || sb_wgrad_choose_samples(c, count, s, err);
}
