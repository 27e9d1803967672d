/* bench_wgrad.c - the CPU reference of wgrad_varlen_k: what one run is, and which bytes it must give.
 *
 * The vector paths compute the whole call. The plain model is twenty times slower, so it computes some tiles of it, the
 * same ones once on each thread. Multiply-adds are those of the segments as they are, steps not filled up to 16. */
#include "bench_wgrad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/philox.h"
#include "compare.h"
#include "fma_peak.h"
#include "run_case.h"

/* TILE: the piece in which the plain model works anyway. */
enum { TILE = 32, MAX_TILES = 4096, STREAM_TILES = 77, ALIGNMENT = 64 };
enum {
    PART_WORK = 12 << 20,  /* multiply-adds of a timed sample of tiles: some 40 ms of the plain model */
    CHECK_WORK = 1 << 30,  /* of the tiles compared where the call is too large: some seconds */
    WHOLE_LIMIT = 1 << 30, /* as long to compute */
};

static const struct sb_bench_default cases[] = {
    {"M=512,N=512,E=8,counts=equal,tokens=4096", "equal segments of 512: the same work everywhere"},
    {"M=512,N=512,E=8,counts=skewed,tokens=4096", "skewed segments: long ones must not keep one core alone at the end"},
    {"M=256,N=256,E=8,counts=equal,tokens=1024,dist=wide",
     "every exponent: nearly every step needs the slow way, so the case is small"},
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
    uint64_t seed;
    int64_t work;
    struct sb_tensor expected; /* [E, M, N]; no data where only tiles are known */
    struct sb_tensor dw;       /* of the whole calls; each is poisoned and compared before the next */
    struct sb_wgrad_tile *tile;
    int tiles;
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
    free(w->tile);
    free(w);
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

static const struct sb_tensor *input(const struct sb_case *c, const struct sb_data *d, const char *name)
{
    for (int i = 0; c->op->inputs[i].name != NULL; i++)
        if (strcmp(c->op->inputs[i].name, name) == 0)
            return &d->in[i];
    abort();
}

static struct sb_wgrad_args args_of(const struct sb_case *c, const struct sb_data *d)
{
    const struct sb_tensor *dy = input(c, d, "dy"), *x = input(c, d, "x");
    return (struct sb_wgrad_args){
        .dy = dy->data,
        .x = x->data,
        .cu_seqlens = input(c, d, "cu_seqlens")->data,
        .x_gather_idx = input(c, d, "x_gather_idx")->data,
        .main_grad = input(c, d, "main_grad")->data,
        .T = dy->shape[0],
        .Tx = x->shape[0],
        .M = dy->shape[1],
        .N = x->shape[1],
        .E = sb_case_int(c, "E"),
        .ld_dy = dy->row_stride != 0 ? dy->row_stride : dy->shape[1],
        .ld_x = x->row_stride != 0 ? x->row_stride : x->shape[1],
        .out_dtype = strcmp(sb_case_text(c, "out_dtype"), "bf16") == 0 ? SB_BF16 : SB_F32,
    };
}

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

static int64_t longest_segment(const struct sb_wgrad_args *a)
{
    int64_t longest = 0;
    for (int64_t e = 1; e < a->E; e++)
        if (a->cu_seqlens[e + 1] - a->cu_seqlens[e] > a->cu_seqlens[longest + 1] - a->cu_seqlens[longest])
            longest = e;
    return longest;
}

static struct sb_wgrad_tile draw_tile(const struct wgrad *w, int i)
{
    const struct sb_wgrad_args *a = &w->args;
    const struct sb_rng rng = {w->seed, STREAM_TILES};
    const uint64_t at = 3 * (uint64_t)i;
    /* One tile of the longest segment in any case: the others may be empty. */
    const int64_t e = i == 0 ? longest_segment(a) : (int64_t)sb_rng_below(&rng, at, (uint64_t)a->E);
    const int64_t m0 = TILE * (int64_t)sb_rng_below(&rng, at + 1, (uint64_t)sb_cdiv(a->M, TILE));
    const int64_t n0 = TILE * (int64_t)sb_rng_below(&rng, at + 2, (uint64_t)sb_cdiv(a->N, TILE));
    return (struct sb_wgrad_tile){e, m0, m0 + TILE < a->M ? m0 + TILE : a->M, n0, n0 + TILE < a->N ? n0 + TILE : a->N};
}

/* The first tiles drawn, until they make up so much work. Returns how many. */
static int tiles_of_work(const struct wgrad *w, int64_t work)
{
    int count = 0;
    for (int64_t done = 0; done < work && count < w->tiles; count++)
        done += tile_length(w, &w->tile[count]) * tile_outputs(&w->tile[count]);
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

static bool draw_tiles(struct wgrad *w, struct sb_error *err)
{
    w->tile = calloc(MAX_TILES, sizeof *w->tile);
    if (w->tile == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for a choice of tiles");
    for (w->tiles = 0; w->tiles < MAX_TILES; w->tiles++)
        w->tile[w->tiles] = draw_tile(w, w->tiles);
    return true;
}

/* The tiles' outputs out of a whole dw. */
static void copy_tiles(const struct wgrad *w, const struct sb_tensor *dw, int tiles, char *out)
{
    const size_t element = sb_dtype_size(dw->dtype);
    for (int i = 0; i < tiles; i++) {
        const struct sb_wgrad_tile *t = &w->tile[i];
        const size_t row = (size_t)(t->n1 - t->n0) * element;
        for (int64_t m = t->m0; m < t->m1; m++, out += row)
            memcpy(out, (const char *)dw->data + (size_t)((t->e * w->args.M + m) * w->args.N + t->n0) * element, row);
    }
}

/* ---- what is expected ------------------------------------------------------------------------------------------- */

static bool compare(const struct sb_tensor *expected, const struct sb_tensor *actual, int poison, struct sb_error *err)
{
    struct sb_difference d;
    const struct sb_compare_hints hints = {.poison = poison};
    if (sb_compare(expected, actual, &hints, &d))
        return true;
    if (d.samples < 1)
        return sb_fail(err, SB_EXIT_MISMATCH, "%s", d.text);
    return sb_fail(err, SB_EXIT_MISMATCH, "%s; first at %s: expected %s, actual %s", d.text, d.sample[0].index,
                   d.sample[0].expected, d.sample[0].actual);
}

static bool accepted(struct sb_status status, struct sb_error *err)
{
    char text[400];
    return status.code == SB_OK || sb_fail(err, SB_EXIT_MISMATCH, "rejects a call that the contract takes: %s",
                                           sb_status_text(&status, text, sizeof text));
}

/* The fastest path's whole output, after the plain model has confirmed some of its tiles. */
static bool expect_by_sample(struct wgrad *w, enum sb_wgrad_path fastest, int tiles, struct sb_error *err)
{
    struct sb_tensor expected = {0}, actual = {0};
    const int64_t outputs = outputs_of_tiles(w, tiles);
    bool ok = set_up(&expected, "sampled tiles of dw", w->args.out_dtype, 1, &outputs, err) &&
              set_up(&actual, expected.name, expected.dtype, 1, &outputs, err) &&
              accepted(sb_ref_wgrad_varlen_k_tiles(&w->args, SB_WGRAD_PLAIN, w->tile, tiles, expected.data), err) &&
              accepted(w->calls->whole(&w->args, fastest, w->expected.data), err);
    if (ok) {
        copy_tiles(w, &w->expected, tiles, actual.data);
        ok = compare(&expected, &actual, SB_NO_POISON, err) ||
             sb_fail_context(err, "%s against the plain reference", paths[fastest]);
    }
    free(expected.data);
    free(actual.data);
    return ok;
}

static bool expect(struct wgrad *w, struct sb_bench_about *about, struct sb_error *err)
{
    const int64_t shape[3] = {w->args.E, w->args.M, w->args.N};
    enum sb_wgrad_path fastest = SB_WGRAD_PLAIN;
    for (int path = 0; path < SB_WGRAD_PATHS; path++)
        if (w->calls->runs((enum sb_wgrad_path)path))
            fastest = (enum sb_wgrad_path)path;
    const bool whole = w->work <= w->calls->whole_limit;
    const int tiles = tiles_of_work(w, CHECK_WORK);
    if (!whole && fastest == SB_WGRAD_PLAIN) {
        snprintf(about->compared, sizeof about->compared, "the sampled tiles with the plain reference");
        return true;
    }
    if (!set_up(&w->expected, "dw", w->args.out_dtype, 3, shape, err) ||
        !set_up(&w->dw, "dw", w->args.out_dtype, 3, shape, err))
        return false;
    if (!whole) {
        snprintf(about->compared, sizeof about->compared,
                 "%d sampled tiles (%" PRId64 " of %" PRId64
                 " outputs) with the plain reference, all others with the first output of %s",
                 tiles, outputs_of_tiles(w, tiles), sb_tensor_count(&w->dw), paths[fastest]);
        return expect_by_sample(w, fastest, tiles, err);
    }
    snprintf(about->compared, sizeof about->compared, "all %" PRId64 " outputs with the plain reference",
             sb_tensor_count(&w->dw));
    return accepted(sb_ref_wgrad_varlen_k(&w->args, w->expected.data), err);
}

static void *open_wgrad(const struct sb_bench_impl *impl, const struct sb_case *c, struct sb_bench_about *about,
                        struct sb_error *err)
{
    struct wgrad *w = calloc(1, sizeof *w);
    if (w == NULL) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
        return NULL;
    }
    w->calls = impl->calls;
    w->seed = c->seed;
    bool ok = c->op->generate(c, &w->data, err);
    if (ok) {
        w->args = args_of(c, &w->data);
        ok = worth_timing(c, w, err) && draw_tiles(w, err) && expect(w, about, err);
    }
    about->work = w->work;
    if (ok)
        return w;
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
    return compare(&t->expected, &t->out, poison, err);
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
        copy_tiles(w, &w->expected, t->tiles, t->expected.data);
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

static void peak_subject(int threads, struct sb_bench_subject *s)
{
    *s = (struct sb_bench_subject){.work = threads * sb_fma_peak_macs(), .threads = threads, .run = run_peak};
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
    .subject = subject_wgrad,
    .close = close_wgrad,
    .ceiling = "fma peak",
    .ceiling_subject = peak_subject,
};
