/* probe_run.c - makes batches, runs yardstick and arithmetics on them, compares. */
#include "probe_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "interrupt.h"
#include "run_case.h"

enum { BATCH_DOTS = 1 << 21 }; /* some 40 MB here, and as much where a path makes its own operands of them */

bool sb_probe_list_add(struct sb_probe_list *list, const struct sb_probe_vector *v)
{
    if (list->count == list->room) {
        const int room = list->room > 0 ? 2 * list->room : 64;
        struct sb_probe_vector *const more = realloc(list->v, (size_t)room * sizeof *more);
        if (more == NULL)
            return false;
        list->v = more;
        list->room = room;
    }
    list->v[list->count++] = *v;
    return true;
}

void sb_probe_list_free(struct sb_probe_list *list)
{
    free(list->v);
    *list = (struct sb_probe_list){0};
}

void sb_probe_outcome_free(struct sb_probe_outcome *o)
{
    sb_probe_list_free(&o->differ);
    sb_probe_list_free(&o->right);
    sb_probe_list_free(&o->captured);
}

/* ---- buffers of one kind of tiles ------------------------------------------------------------- */

/* Implementations that take the same kind get the same tiles. */
struct kind {
    int rows, cols;
    bool zero_c;
};

static struct kind kind_of(const struct sb_probe_impl *impl)
{
    return (struct kind){impl->rows, impl->cols, impl->zero_c};
}

static bool same_kind(struct kind x, struct kind y)
{
    return x.rows == y.rows && x.cols == y.cols && x.zero_c == y.zero_c;
}

struct buffers {
    int64_t tiles; /* room */
    uint16_t *a, *b;
    uint32_t *c, *expected, *d;
    uint8_t *skipped;
    int32_t *differ; /* of each tile */
};

static bool open_buffers(struct buffers *x, struct kind kind, int64_t count, struct sb_error *err)
{
    const int64_t dots = (int64_t)kind.rows * kind.cols, wanted = count < BATCH_DOTS ? count : BATCH_DOTS;
    x->tiles = (wanted + dots - 1) / dots;
    const size_t n = (size_t)(x->tiles * dots), k = (size_t)x->tiles * SB_TC_K;
    x->a = malloc(k * (size_t)kind.rows * sizeof x->a[0]);
    x->b = malloc(k * (size_t)kind.cols * sizeof x->b[0]);
    x->c = malloc(n * sizeof x->c[0]);
    x->expected = malloc(n * sizeof x->expected[0]);
    x->d = malloc(n * sizeof x->d[0]);
    x->skipped = malloc(n);
    x->differ = malloc((size_t)x->tiles * sizeof x->differ[0]);
    return (x->a != NULL && x->b != NULL && x->c != NULL && x->expected != NULL && x->d != NULL && x->skipped != NULL &&
            x->differ != NULL) ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
}

static void close_buffers(struct buffers *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->expected);
    free(x->d);
    free(x->skipped);
    free(x->differ);
}

static void make_tiles(const struct buffers *x, const struct sb_probe_plan *plan, enum sb_tc_class cls, int64_t first,
                       const struct sb_probe_batch *batch, bool zero_c)
{
    const int64_t rows = batch->rows, cols = batch->cols;
#pragma omp parallel for schedule(dynamic)
    for (int64_t t = 0; t < batch->tiles; t++) {
        const struct sb_tc_tile tile = {batch->rows, batch->cols, x->a + t * rows * SB_TC_K, x->b + t * SB_TC_K * cols,
                                        x->c + t * rows * cols};
        sb_tc_make_tile(plan->seed, cls, (uint64_t)(first + t), &tile);
        if (zero_c)
            memset(tile.c, 0, (size_t)(rows * cols) * sizeof tile.c[0]);
    }
}

/* ---- comparing -------------------------------------------------------------------------------- */

static struct sb_probe_vector vector_at(const struct sb_probe_batch *batch, const struct buffers *x,
                                        enum sb_tc_class cls, int64_t first, int64_t t, int64_t i)
{
    const int64_t at = t * batch->rows * batch->cols + i;
    struct sb_probe_vector v = {.cls = cls,
                                .tile = first + t,
                                .row = (int)(i / batch->cols),
                                .col = (int)(i % batch->cols),
                                .expected = x->expected[at],
                                .got = x->d[at]};
    sb_probe_operands(batch, t, v.row, v.col, &v.c, v.a, v.b);
    return v;
}

/* How many of this class each list holds so far. */
struct kept {
    int differ, right, captured;
};

static bool is_same(const struct buffers *x, int64_t at)
{
    return x->d[at] == x->expected[at];
}

/* Counts, tile by tile in any order. */
static void compare(struct sb_probe_count *count, const struct sb_probe_batch *batch, const struct buffers *x)
{
    const int64_t dots = (int64_t)batch->rows * batch->cols;
    int64_t skipped = 0, differ = 0;
#pragma omp parallel for reduction(+ : skipped, differ)
    for (int64_t t = 0; t < batch->tiles; t++) {
        int32_t of_tile = 0;
        for (int64_t at = t * dots; at < (t + 1) * dots; at++) {
            skipped += x->skipped[at] != 0;
            of_tile += x->skipped[at] == 0 && !is_same(x, at);
        }
        x->differ[t] = of_tile;
        differ += of_tile;
    }
    count->compared += batch->tiles * dots - skipped;
    count->skipped += skipped;
    count->differ += differ;
}

/* The one dot product of a tile that is kept, right or wrong: all over the tile, from tile to tile. */
static int64_t spread_of(int64_t tile, int64_t dots)
{
    return tile * 40503 % dots; /* odd, and the golden section of 2^16 */
}

/* Keeps vectors of tile t. One tile after the other, so that the same ones are kept whatever the number of threads. */
static bool keep_of_tile(struct sb_probe_outcome *o, const struct sb_probe_plan *plan,
                         const struct sb_probe_batch *batch, const struct buffers *x, enum sb_tc_class cls,
                         int64_t first, int64_t t, struct kept *kept)
{
    const int64_t dots = (int64_t)batch->rows * batch->cols, spread = spread_of(first + t, dots);
    int of_tile = 0;
    for (int64_t i = 0; i < dots; i++) {
        const int64_t at = t * dots + i;
        if (x->skipped[at] != 0)
            continue;
        const bool same = is_same(x, at);
        const bool keep = !same && kept->differ < SB_PROBE_KEPT && of_tile < SB_PROBE_KEPT_OF_TILE;
        const bool keep_right = same && i == spread && kept->right < SB_PROBE_KEPT;
        /* The first tiles give one each; where a run has few tiles, those give more. */
        const bool capture = plan->capture && kept->captured < SB_PROBE_CAPTURED &&
                             (i == spread || (i + 1) * plan->count < SB_PROBE_CAPTURED * dots);
        if (!keep && !keep_right && !capture)
            continue;
        const struct sb_probe_vector v = vector_at(batch, x, cls, first, t, i);
        if ((keep && !sb_probe_list_add(&o->differ, &v)) || (keep_right && !sb_probe_list_add(&o->right, &v)) ||
            (capture && !sb_probe_list_add(&o->captured, &v)))
            return false;
        of_tile += keep;
        kept->differ += keep;
        kept->right += keep_right;
        kept->captured += capture;
    }
    return true;
}

/* Most tiles of a long run have nothing that is still wanted. */
static bool is_wanted(const struct sb_probe_plan *plan, const struct kept *kept, int32_t differ)
{
    return (differ > 0 && kept->differ < SB_PROBE_KEPT) || kept->right < SB_PROBE_KEPT ||
           (plan->capture && kept->captured < SB_PROBE_CAPTURED);
}

static bool keep_wanted(struct sb_probe_outcome *o, const struct sb_probe_plan *plan,
                        const struct sb_probe_batch *batch, const struct buffers *x, enum sb_tc_class cls,
                        int64_t first, struct kept *kept)
{
    for (int64_t t = 0; t < batch->tiles; t++)
        if (is_wanted(plan, kept, x->differ[t]) && !keep_of_tile(o, plan, batch, x, cls, first, t, kept))
            return false;
    return true;
}

/* As before a run. */
static void clear(const struct sb_probe_batch *batch, const struct buffers *x)
{
    const size_t dots = (size_t)batch->rows * (size_t)batch->cols;
#pragma omp parallel for
    for (int64_t t = 0; t < batch->tiles; t++) {
        memset(x->d + (size_t)t * dots, SB_PROBE_UNWRITTEN, dots * sizeof x->d[0]);
        memset(x->skipped + (size_t)t * dots, 0, dots);
    }
}

static bool judge(struct sb_probe_outcome *o, const struct sb_probe_plan *plan, const struct sb_probe_batch *batch,
                  const struct buffers *x, enum sb_tc_class cls, int64_t first, struct kept *kept, struct sb_error *err)
{
    struct sb_error failed = {0};
    clear(batch, x);
    const double start = sb_seconds();
    const bool finished = o->impl->run(o->impl, batch, x->d, x->skipped, &failed);
    o->seconds += sb_seconds() - start;
    if (!finished) {
        snprintf(o->error, sizeof o->error, "%.390s", failed.text);
        return true;
    }
    compare(&o->cls[cls], batch, x);
    return keep_wanted(o, plan, batch, x, cls, first, kept) || sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
}

/* ---- the run ---------------------------------------------------------------------------------- */

static bool takes_part(const struct sb_probe_outcome *o, struct kind kind)
{
    return o->runs && o->error[0] == '\0' && same_kind(kind_of(o->impl), kind);
}

static bool any_takes_part(const struct sb_probe_plan *plan, struct kind kind)
{
    for (int i = 0; i < plan->judges; i++)
        if (takes_part(&plan->judge[i], kind))
            return true;
    return false;
}

/* One class in tiles of one kind, as long as anything is there to be judged. */
static bool run_class(const struct sb_probe_plan *plan, enum sb_tc_class cls, struct kind kind, struct buffers *x,
                      struct sb_probe_totals *totals, struct sb_error *err)
{
    int yardsticks;
    const struct sb_probe_impl *const yardstick = sb_probe_impls(&yardsticks);
    struct kept kept[SB_PROBE_MAX_IMPLS] = {{0, 0, 0}};
    const int64_t dots = (int64_t)kind.rows * kind.cols, tiles = (plan->count + dots - 1) / dots;
    for (int64_t first = 0; first < tiles && any_takes_part(plan, kind); first += x->tiles) {
        if (plan->step != NULL)
            plan->step(plan->user, cls);
        totals->interrupted = totals->interrupted || sb_interrupted() != 0;
        if (totals->interrupted)
            return true;
        const struct sb_probe_batch batch = {
            tiles - first < x->tiles ? tiles - first : x->tiles, kind.rows, kind.cols, x->a, x->b, x->c};
        const double start = sb_seconds();
        make_tiles(x, plan, cls, first, &batch, kind.zero_c);
        if (!yardstick->run(yardstick, &batch, x->expected, x->skipped, err))
            return false;
        totals->seconds += sb_seconds() - start;
        totals->dots += sb_probe_dots(&batch);
        for (int i = 0; i < plan->judges; i++)
            if (takes_part(&plan->judge[i], kind) &&
                !judge(&plan->judge[i], plan, &batch, x, cls, first, &kept[i], err))
                return false;
    }
    return true;
}

static bool run_kind(const struct sb_probe_plan *plan, struct kind kind, struct sb_probe_totals *totals,
                     struct sb_error *err)
{
    struct buffers x = {0};
    bool ok = open_buffers(&x, kind, plan->count, err);
    for (int cls = 0; ok && cls < SB_TC_CLASSES; cls++)
        if (plan->wanted[cls] && !totals->interrupted)
            ok = run_class(plan, (enum sb_tc_class)cls, kind, &x, totals, err);
    close_buffers(&x);
    return ok;
}

static void add_up(struct sb_probe_outcome *o)
{
    for (int cls = 0; cls < SB_TC_CLASSES; cls++) {
        o->all.compared += o->cls[cls].compared;
        o->all.skipped += o->cls[cls].skipped;
        o->all.differ += o->cls[cls].differ;
    }
}

bool sb_probe_run(const struct sb_probe_plan *plan, struct sb_probe_totals *totals, struct sb_error *err)
{
    bool ok = true;
    *totals = (struct sb_probe_totals){.threads = 1};
#ifdef _OPENMP
    totals->threads = omp_get_max_threads();
#endif
    for (int i = 0; ok && i < plan->judges; i++) {
        const struct kind kind = kind_of(plan->judge[i].impl);
        bool done = !plan->judge[i].runs;
        for (int k = 0; k < i; k++) /* its kind had its turn */
            done = done || (plan->judge[k].runs && same_kind(kind_of(plan->judge[k].impl), kind));
        if (!done)
            ok = run_kind(plan, kind, totals, err);
    }
    for (int i = 0; i < plan->judges; i++)
        add_up(&plan->judge[i]);
    return ok;
}
