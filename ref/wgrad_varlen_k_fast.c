/* wgrad_varlen_k_fast.c - the choice of a path, and whole calls and single tiles by it. */
#include "wgrad_varlen_k_fast.h"

#include "wgrad_vector.h"

#include <stdalign.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

const char *sb_wgrad_path_name(enum sb_wgrad_path path)
{
    static const char *const names[SB_WGRAD_PATHS] = {"plain", "avx2", "avx512"};
    return names[path];
}

/* NULL: the plain model. */
static sb_wgrad_tile_fn tile_function(enum sb_wgrad_path path)
{
    return path == SB_WGRAD_AVX512 ? sb_wgrad_tile_avx512 : path == SB_WGRAD_AVX2 ? sb_wgrad_tile_avx2 : NULL;
}

static bool processor_has(enum sb_wgrad_path path)
{
#if defined(__x86_64__)
    if (path == SB_WGRAD_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (path == SB_WGRAD_AVX2)
        return __builtin_cpu_supports("avx2");
#endif
    return path == SB_WGRAD_PLAIN;
}

bool sb_wgrad_path_runs(enum sb_wgrad_path path)
{
    return path == SB_WGRAD_PLAIN || (tile_function(path) != NULL && processor_has(path));
}

enum sb_wgrad_path sb_wgrad_best_path(void)
{
    enum sb_wgrad_path best = SB_WGRAD_PLAIN;
    for (int path = 0; path < SB_WGRAD_PATHS; path++)
        if (sb_wgrad_path_runs((enum sb_wgrad_path)path))
            best = (enum sb_wgrad_path)path;
    return best;
}

/* ---- one tile of at most SB_WGRAD_VECTOR_TILE each way ------------------------------------------------------- */

/* In pieces of the plain model's size. */
static void plain_sums(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, uint32_t *sum)
{
    enum { STEP = SB_WGRAD_PLAIN_TILE, LD = SB_WGRAD_VECTOR_TILE };
    memset(sum, 0, (size_t)LD * LD * sizeof sum[0]);
    for (int64_t m = t->m0; m < t->m1; m += STEP)
        for (int64_t n = t->n0; n < t->n1; n += STEP) {
            const struct sb_wgrad_tile part = {t->e, m, m + STEP < t->m1 ? m + STEP : t->m1, n,
                                               n + STEP < t->n1 ? n + STEP : t->n1};
            sb_wgrad_plain_steps(args, &part, args->cu_seqlens[t->e], args->cu_seqlens[t->e + 1],
                                 sum + (m - t->m0) * LD + n - t->n0, LD);
        }
}

/* The tile's outputs at `out`, in rows ld_out apart. Memory that is short costs time, never a result. */
static void tile_outputs(const struct sb_wgrad_args *args, sb_wgrad_tile_fn function, const struct sb_wgrad_tile *t,
                         void *out, int64_t ld_out)
{
    alignas(64) uint32_t sum[SB_WGRAD_VECTOR_TILE * SB_WGRAD_VECTOR_TILE];
    if (function == NULL || !function(args, t, sum))
        plain_sums(args, t, sum);
    sb_wgrad_store(args, t, sum, SB_WGRAD_VECTOR_TILE, out, ld_out);
}

/* ---- whole calls ---------------------------------------------------------------------------------------------- */

static int64_t thread_count(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Multiplications below which waking the threads costs more than they save. */
enum { WORTH_THREADS = 1 << 18 };

/* Large tiles spend less on taking operands apart; many tiles keep all threads busy to the end. */
static int64_t tile_size(const struct sb_wgrad_args *args)
{
    const int64_t smallest = 32, tiles_per_thread = 8;
    int64_t size = SB_WGRAD_VECTOR_TILE;
    while (size > smallest &&
           args->E * sb_cdiv(args->M, size) * sb_cdiv(args->N, size) < tiles_per_thread * thread_count())
        size /= 2;
    return size;
}

struct sb_status sb_ref_wgrad_varlen_k_by(const struct sb_wgrad_args *args, enum sb_wgrad_path path, void *dw)
{
    const sb_wgrad_tile_fn function = tile_function(path);
    if (function == NULL)
        return sb_ref_wgrad_varlen_k(args, dw);
    const struct sb_status status = sb_wgrad_check_call(args, dw);
    if (status.code != SB_OK)
        return status;
    const int64_t size = tile_size(args);
    const int64_t tiles = args->E * sb_cdiv(args->M, size) * sb_cdiv(args->N, size);
    const int64_t products = (args->cu_seqlens[args->E] - args->cu_seqlens[0]) * args->M * args->N;
#pragma omp parallel for schedule(dynamic) if (products > WORTH_THREADS)
    for (int64_t index = 0; index < tiles; index++) {
        const struct sb_wgrad_tile t = sb_wgrad_tile_at(args, index, size, size);
        tile_outputs(args, function, &t, sb_wgrad_at(args, &t, dw), args->N);
    }
    return status;
}

/* ---- single tiles --------------------------------------------------------------------------------------------- */

static bool tile_is_inside(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t)
{
    return t->e >= 0 && t->e < args->E && t->m0 >= 0 && t->m0 <= t->m1 && t->m1 <= args->M && t->n0 >= 0 &&
           t->n0 <= t->n1 && t->n1 <= args->N;
}

static int64_t pieces_of(const struct sb_wgrad_tile *t)
{
    return sb_cdiv(t->m1 - t->m0, SB_WGRAD_VECTOR_TILE) * sb_cdiv(t->n1 - t->n0, SB_WGRAD_VECTOR_TILE);
}

/* Piece `index` of a tile that is larger than a task, to its place in the tile's own dense [m1-m0, n1-n0] at `out`. */
static void piece(const struct sb_wgrad_args *args, sb_wgrad_tile_fn function, const struct sb_wgrad_tile *t,
                  int64_t index, void *out)
{
    enum { SIZE = SB_WGRAD_VECTOR_TILE };
    const int64_t width = t->n1 - t->n0, across = sb_cdiv(width, SIZE);
    const int64_t m = t->m0 + index / across * SIZE, n = t->n0 + index % across * SIZE;
    const struct sb_wgrad_tile part = {t->e, m, m + SIZE < t->m1 ? m + SIZE : t->m1, n,
                                       n + SIZE < t->n1 ? n + SIZE : t->n1};
    const size_t element = args->out_dtype == SB_F32 ? sizeof(uint32_t) : sizeof(uint16_t);
    tile_outputs(args, function, &part, (char *)out + (size_t)((m - t->m0) * width + n - t->n0) * element, width);
}

struct sb_status sb_ref_wgrad_varlen_k_tiles(const struct sb_wgrad_args *args, enum sb_wgrad_path path,
                                             const struct sb_wgrad_tile *tiles, int64_t count, void *out)
{
    struct sb_status status = sb_wgrad_check_call(args, NULL);
    int64_t pieces = 0;
    for (int64_t i = 0; status.code == SB_OK && i < count; i++) {
        if (!tile_is_inside(args, &tiles[i]))
            status = sb_reject(SB_BAD_ARGUMENT, 9, i, 0);
        else
            pieces += pieces_of(&tiles[i]);
    }
    if (status.code != SB_OK)
        return status;
    const size_t element = args->out_dtype == SB_F32 ? sizeof(uint32_t) : sizeof(uint16_t);
#pragma omp parallel for schedule(dynamic)
    for (int64_t index = 0; index < pieces; index++) {
        int64_t i = 0, rest = index, before = 0;
        for (; rest >= pieces_of(&tiles[i]); i++) {
            rest -= pieces_of(&tiles[i]);
            before += (tiles[i].m1 - tiles[i].m0) * (tiles[i].n1 - tiles[i].n0);
        }
        piece(args, tile_function(path), &tiles[i], rest, (char *)out + (size_t)before * element);
    }
    return status;
}
