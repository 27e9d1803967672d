/* bench_wgrad.c - the CPU reference of wgrad_varlen_k: what one run is, and which bytes it must give.
 *
 * The vector paths compute the whole call. The plain model is many times slower, so it computes some tiles of it, the
 * same ones once on each thread. Multiply-adds are those of the segments as they are, steps not filled up to 16. */
#include "bench_wgrad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/samples.h"
#include "../golden/wgrad_args.h"
#include "../golden/wgrad_samples.h"
#include "bench_compare.h"
#include "fma_peak.h"
#include "run_case.h"

enum { MAX_TILES = SB_WGRAD_SAMPLE_LIMIT, ALIGNMENT = 64 };
enum {
    PART_WORK = 12 << 20,  /* multiply-adds of a timed sample of tiles: some 40 ms of the plain model */
    CHECK_WORK = 1 << 30,  /* of the tiles compared where the call is too large: some seconds */
    WHOLE_LIMIT = 1 << 30, /* as long to compute */
};

static const struct sb_bench_default cases[] = {
    {"M=512,N=512,E=8,counts=equal,tokens=4096", "equal segments of 512: the same work everywhere"},
    {"M=512,N=512,E=8,counts=skewed,tokens=4096", "skewed segments: long ones must not keep one core alone at the end"},
    {"M=256,N=256,E=8,counts=equal,tokens=1024,dist=wide",
     "every exponent: the steps go by vectors of f64, slower than the common ones"},
    {NULL, NULL},
};
static const char *const paths[] = {"plain", "avx2", "avx512", NULL}; /* in the order of enum sb_wgrad_path */

/* What a subject computes: the tiles, once a thread, or the whole call where there are none. */
struct timed {
    struct wgrad *w;
    enum sb_wgrad_path path;
    const struct sb_wgrad_tile *tile;
    int tiles;
    int64_t tile_outputs; /* of one copy */
    struct sb_tensor expected, out;
    struct timed *next;
};

struct wgrad {
    const struct sb_bench_wgrad_calls *calls;
    struct sb_data data;
    struct sb_wgrad_args args;
    int64_t work;
    enum sb_wgrad_path fastest; /* of those that run; plain where no vector path is timed */
    int checked;                /* tiles that the plain model computes of a call too large for it */
    struct sb_tensor expected;  /* [E, M, N]; no data where only tiles are known */
    struct sb_tensor dw;        /* of the whole calls; each is poisoned and compared before the next */
    struct sb_samples samples;  /* some of dw's tiles, and the same as calls name them */
    struct sb_wgrad_tile *tile;
    struct timed *timed;
};

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static bool set_up(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape,
                   struct sb_error *err)
{
    *t = (struct sb_tensor){.name = name, .dtype = dtype, .rank = rank};
    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    const size_t bytes = sb_tensor_span_bytes(t) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    t->data = aligned_alloc(ALIGNMENT, bytes);
    return t->data != NULL || sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for %zu bytes of %s", bytes, name);
}

static void close_wgrad(void *opened)
{
    struct wgrad *w = opened;
    while (w->timed != NULL) {
        struct timed *t = w->timed;
        w->timed = t->next;
        if (t->tiles > 0) {
            free(t->expected.data);
            free(t->out.data);
        }
        free(t);
    }
    sb_data_free(&w->data);
    free(w->expected.data);
    free(w->dw.data);
    sb_samples_free(&w->samples);
    free(w->tile);
    free(w);
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* A call that is refused, or that adds nothing, cannot be timed. */
static bool worth_timing(const struct sb_case *c, struct wgrad *w, struct sb_error *err)
{
    char text[400];
    const struct sb_wgrad_args *a = &w->args;
    if (strcmp(sb_case_text(c, "break"), "none") != 0)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "break=%s: a call made to be rejected", sb_case_text(c, "break"));
    const struct sb_status status = sb_ref_wgrad_varlen_k_tiles(a, SB_WGRAD_PLAIN, NULL, 0, NULL);
    if (status.code != SB_OK)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "the call is rejected: %s",
                       sb_status_text(&status, text, sizeof text));
    w->work = (a->cu_seqlens[a->E] - (int64_t)a->cu_seqlens[0]) * a->M * a->N;
    return w->work > 0 || sb_fail(err, SB_EXIT_NOTHING_RAN, "every segment is empty: there is nothing to add up");
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

static int64_t tile_length(const struct wgrad *w, const struct sb_wgrad_tile *t)
{
    return w->args.cu_seqlens[t->e + 1] - (int64_t)w->args.cu_seqlens[t->e];
}

static int64_t tile_outputs(const struct sb_wgrad_tile *t)
{
    return (t->m1 - t->m0) * (t->n1 - t->n0);
}

/* The first tiles, until they make up so much work or have as many outputs as dw. Returns how many. */
static int tiles_of_work(const struct wgrad *w, int64_t work)
{
    int count = 0;
    int64_t left = sb_tensor_count(&w->samples.whole);
    for (int64_t done = 0; done < work && left > 0 && count < w->samples.count; count++) {
        done += tile_length(w, &w->tile[count]) * tile_outputs(&w->tile[count]);
        left -= tile_outputs(&w->tile[count]);
    }
    return count;
}

static int64_t work_of_tiles(const struct wgrad *w, int tiles)
{
    int64_t work = 0;
    for (int i = 0; i < tiles; i++)
        work += tile_length(w, &w->tile[i]) * tile_outputs(&w->tile[i]);
    return work;
}

static int64_t outputs_of_tiles(const struct wgrad *w, int tiles)
{
    int64_t outputs = 0;
    for (int i = 0; i < tiles; i++)
        outputs += tile_outputs(&w->tile[i]);
    return outputs;
}

static bool draw_tiles(const struct sb_case *c, struct wgrad *w, struct sb_error *err)
{
    w->tile = calloc(MAX_TILES, sizeof *w->tile);
    if (w->tile == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for a choice of tiles");
    if (!sb_wgrad_choose_samples(c, MAX_TILES, &w->samples, err))
        return false;
    for (int64_t i = 0; i < w->samples.count; i++)
        w->tile[i] = sb_wgrad_tile_of(&w->samples.block[i]);
    return true;
}

/* The first tiles' outputs out of a whole dw. */
static void copy_tiles(const struct wgrad *w, int tiles, const struct sb_tensor *dw, void *out)
{
    struct sb_samples some = w->samples;
    some.count = tiles;
    sb_samples_gather(&some, dw->data, out);
}

/* ---- what is expected ------------------------------------------------------------------------------------------- */

static bool accepted(struct sb_status status, struct sb_error *err)
{
    char text[400];
    return status.code == SB_OK || sb_fail(err, SB_EXIT_MISMATCH, "rejects a call that the contract takes: %s",
                                           sb_status_text(&status, text, sizeof text));
}

/* The fastest path's whole output, after the plain model has confirmed some of its tiles. */
static bool expect_by_sample(struct wgrad *w, const struct sb_bench_watch *watch, struct sb_error *err)
{
    struct sb_tensor expected = {0}, actual = {0};
    const int64_t outputs = outputs_of_tiles(w, w->checked);
    bool ok = set_up(&expected, "sampled tiles of dw", w->args.out_dtype, 1, &outputs, err) &&
              set_up(&actual, expected.name, expected.dtype, 1, &outputs, err);
    if (ok) {
        sb_bench_tell(watch, true, "the plain reference computes %d sampled tiles", w->checked);
        ok = accepted(sb_ref_wgrad_varlen_k_tiles(&w->args, SB_WGRAD_PLAIN, w->tile, w->checked, expected.data), err);
    }
    if (ok) {
        sb_bench_tell(watch, true, "%s computes the whole call, %.3g GMAC, and so in every run", paths[w->fastest],
                      (double)w->work * 1e-9);
        ok = accepted(w->calls->whole(&w->args, w->fastest, w->expected.data), err);
    }
    if (ok) {
        copy_tiles(w, w->checked, &w->expected, actual.data);
        ok = sb_bench_compare(&expected, &actual, SB_NO_POISON, err) ||
             sb_fail_context(err, "%s against the plain reference", paths[w->fastest]);
    }
    free(expected.data);
    free(actual.data);
    return ok;
}

/* No vector path is wanted: its whole output would be computed for nothing. */
static bool tiles_alone(const struct wgrad *w)
{
    return w->work > w->calls->whole_limit && w->fastest == SB_WGRAD_PLAIN;
}

static bool expect_wgrad(void *opened, const struct sb_bench_watch *watch, struct sb_error *err)
{
    struct wgrad *w = opened;
    const int64_t shape[3] = {w->args.E, w->args.M, w->args.N};
    if (tiles_alone(w))
        return true;
    if (!set_up(&w->expected, "dw", w->args.out_dtype, 3, shape, err) ||
        !set_up(&w->dw, "dw", w->args.out_dtype, 3, shape, err))
        return false;
    if (w->work > w->calls->whole_limit)
        return expect_by_sample(w, watch, err);
    sb_bench_tell(watch, false, "the plain reference computes all outputs");
    return accepted(sb_ref_wgrad_varlen_k(&w->args, w->expected.data), err);
}

/* What to compare with what, before any of it is computed. */
static void choose_expected(struct wgrad *w, const struct sb_bench_plan *plan, struct sb_bench_about *about)
{
    const size_t size = sizeof about->compared;
    const int64_t all = sb_tensor_count(&w->samples.whole);
    struct sb_samples some = w->samples;
    bool vector = false;
    w->fastest = SB_WGRAD_PLAIN;
    for (int path = 1; path < SB_WGRAD_PATHS; path++) {
        const bool runs = w->calls->runs((enum sb_wgrad_path)path);
        vector = vector || (runs && plan->path[path]);
        w->fastest = runs ? (enum sb_wgrad_path)path : w->fastest;
    }
    w->fastest = vector ? w->fastest : SB_WGRAD_PLAIN;
    w->checked = tiles_of_work(w, CHECK_WORK);
    some.count = w->checked;
    if (tiles_alone(w))
        snprintf(about->compared, size, "the sampled tiles with the plain reference");
    else if (w->work > w->calls->whole_limit)
        snprintf(about->compared, size,
                 "%d sampled tiles (%" PRId64 " of %" PRId64
                 " outputs) with the plain reference, all others with the first output of %s",
                 w->checked, sb_samples_elements(&some), all, paths[w->fastest]);
    else
        snprintf(about->compared, size, "all %" PRId64 " outputs with the plain reference", all);
}

static void *open_wgrad(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                        struct sb_bench_about *about, struct sb_error *err)
{
    struct wgrad *w = calloc(1, sizeof *w);
    if (w == NULL) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
        return NULL;
    }
    w->calls = impl->calls;
    bool ok = c->op->generate(c, &w->data, err);
    if (ok) {
        w->args = sb_wgrad_args_of(c, &w->data);
        ok = worth_timing(c, w, err) && draw_tiles(c, w, err);
    }
    about->work = w->work;
    about->when = "after every run";
    if (ok) {
        choose_expected(w, plan, about);
        return w;
    }
    close_wgrad(w);
    return NULL;
}

/* ---- the subjects ----------------------------------------------------------------------------------------------- */

static void poison_out(const struct sb_bench_subject *s, int byte)
{
    struct timed *t = s->state;
    memset(t->out.data, byte, sb_tensor_span_bytes(&t->out));
}

static bool check_out(const struct sb_bench_subject *s, int poison, struct sb_error *err)
{
    const struct timed *t = s->state;
    return sb_bench_compare(&t->expected, &t->out, poison, err);
}

static bool run_whole(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    const struct timed *t = s->state;
    const double start = sb_seconds();
    const struct sb_status status = t->w->calls->whole(&t->w->args, t->path, t->out.data);
    *seconds = sb_seconds() - start;
    return accepted(status, err);
}

/* Each thread computes all tiles, into outputs of its own: every thread has the same to do. */
static bool run_tiles(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    const struct timed *t = s->state;
    const size_t bytes = (size_t)t->tile_outputs * sb_dtype_size(t->out.dtype);
    struct sb_status status = sb_status_ok();
    const double start = sb_seconds();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < s->threads; i++) {
        const struct sb_status one =
            t->w->calls->tiles(&t->w->args, t->path, t->tile, t->tiles, (char *)t->out.data + (size_t)i * bytes);
#pragma omp critical
        if (one.code != SB_OK)
            status = one;
    }
    *seconds = sb_seconds() - start;
    return accepted(status, err);
}

/* Expected: the same tiles once for each thread. */
static bool prepare_tiles(struct timed *t, int threads, struct sb_error *err)
{
    const struct wgrad *w = t->w;
    const int64_t outputs = threads * t->tile_outputs;
    const size_t bytes = (size_t)t->tile_outputs * sb_dtype_size(w->args.out_dtype);
    if (!set_up(&t->expected, "sampled tiles of dw", w->args.out_dtype, 1, &outputs, err) ||
        !set_up(&t->out, "sampled tiles of dw", w->args.out_dtype, 1, &outputs, err))
        return false;
    if (w->expected.data != NULL)
        copy_tiles(w, t->tiles, &w->expected, t->expected.data);
    else if (!accepted(sb_ref_wgrad_varlen_k_tiles(&w->args, SB_WGRAD_PLAIN, t->tile, t->tiles, t->expected.data), err))
        return false;
    for (int i = 1; i < threads; i++)
        memcpy((char *)t->expected.data + (size_t)i * bytes, t->expected.data, bytes);
    return true;
}

static bool subject_wgrad(void *opened, int path, int threads, struct sb_bench_subject *s, struct sb_error *err)
{
    struct wgrad *w = opened;
    struct timed *t = calloc(1, sizeof *t);
    if (t == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
    *t = (struct timed){.w = w, .path = (enum sb_wgrad_path)path, .next = w->timed};
    w->timed = t;
    *s = (struct sb_bench_subject){
        .work = w->work, .threads = threads, .state = t, .poison = poison_out, .run = run_whole, .check = check_out};
    if (path != SB_WGRAD_PLAIN || (w->work <= PART_WORK && w->dw.data != NULL)) {
        t->expected = w->expected;
        t->out = w->dw;
        s->large = w->work > w->calls->whole_limit;
        return true;
    }
    t->tile = w->tile;
    t->tiles = tiles_of_work(w, PART_WORK);
    t->tile_outputs = outputs_of_tiles(w, t->tiles);
    s->work = threads * work_of_tiles(w, t->tiles);
    s->part = true;
    s->run = run_tiles;
    return prepare_tiles(t, threads, err);
}

static const char *cannot(const struct sb_bench_impl *impl, int path)
{
    const struct sb_bench_wgrad_calls *calls = impl->calls;
    return calls->runs((enum sb_wgrad_path)path)
               ? NULL
               : "this processor lacks its instructions, or they were not compiled in";
}

/* ---- the ceiling ------------------------------------------------------------------------------------------------ */

static bool run_peak(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    const double start = sb_seconds();
    const bool right = sb_fma_peak_pass(s->threads);
    *seconds = sb_seconds() - start;
    return right || sb_fail(err, SB_EXIT_MISMATCH, "a chain of multiply-adds did not end at 1");
}

static const char *peak_kind(const struct sb_bench_impl *impl)
{
    (void)impl;
    return sb_fma_peak_kind();
}

static bool peak_subject(void *opened, int threads, struct sb_bench_subject *s, struct sb_error *err)
{
    (void)opened;
    (void)err;
    *s = (struct sb_bench_subject){.work = threads * sb_fma_peak_macs(), .threads = threads, .run = run_peak};
    return true;
}

static const struct sb_bench_wgrad_calls reference_calls = {
    .runs = sb_wgrad_path_runs,
    .whole = sb_ref_wgrad_varlen_k_by,
    .tiles = sb_ref_wgrad_varlen_k_tiles,
    .whole_limit = WHOLE_LIMIT,
};

const struct sb_bench_impl sb_bench_wgrad_varlen_k_ref = {
    .op = "wgrad_varlen_k",
    .impl = "ref",
    .summary = "the reference on the CPU, by each of its paths",
    .unit = "GMAC/s",
    .unit_work = 1e9,
    .cases = cases,
    .paths = paths,
    .threaded = true,
    .calls = &reference_calls,
    .cannot = cannot,
    .open = open_wgrad,
    .expect = expect_wgrad,
    .subject = subject_wgrad,
    .close = close_wgrad,
    .ceiling = "fma peak",
    .ceiling_kind = peak_kind,
    .ceiling_subject = peak_subject,
};
