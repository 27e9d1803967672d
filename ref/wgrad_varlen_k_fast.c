/* wgrad_varlen_k_fast.c - the choice of a path, and whole calls and single tiles by it. */
#include "wgrad_varlen_k_fast.h"

#include "wgrad_parts.h"

#include <string.h>

const char *sb_wgrad_path_name(enum sb_wgrad_path path)
{
    static const char *const names[SB_WGRAD_PATHS] = {"plain", "avx2", "avx512"};
    return names[path];
}

bool sb_wgrad_path_runs(enum sb_wgrad_path path)
{
    return path == SB_WGRAD_PLAIN;
}

enum sb_wgrad_path sb_wgrad_best_path(void)
{
    enum sb_wgrad_path best = SB_WGRAD_PLAIN;
    for (int path = 0; path < SB_WGRAD_PATHS; path++)
        if (sb_wgrad_path_runs((enum sb_wgrad_path)path))
            best = (enum sb_wgrad_path)path;
    return best;
}

struct sb_status sb_ref_wgrad_varlen_k_by(const struct sb_wgrad_args *args, enum sb_wgrad_path path, void *dw)
{
    (void)path;
    return sb_ref_wgrad_varlen_k(args, dw);
}

/* A tile in pieces of the plain model's size. */
static void plain_tile(const struct sb_wgrad_args *args, const struct sb_wgrad_tile *t, char *out)
{
    const size_t element = args->out_dtype == SB_F32 ? sizeof(uint32_t) : sizeof(uint16_t);
    const int64_t width = t->n1 - t->n0;
    for (int64_t m = t->m0; m < t->m1; m += SB_WGRAD_PLAIN_TILE)
        for (int64_t n = t->n0; n < t->n1; n += SB_WGRAD_PLAIN_TILE) {
            struct sb_wgrad_tile part = {t->e, m, m + SB_WGRAD_PLAIN_TILE, n, n + SB_WGRAD_PLAIN_TILE};
            part.m1 = part.m1 < t->m1 ? part.m1 : t->m1;
            part.n1 = part.n1 < t->n1 ? part.n1 : t->n1;
            uint32_t sum[SB_WGRAD_PLAIN_TILE * SB_WGRAD_PLAIN_TILE] = {0};
            sb_wgrad_plain_steps(args, &part, args->cu_seqlens[t->e], args->cu_seqlens[t->e + 1], sum,
                                 SB_WGRAD_PLAIN_TILE);
            sb_wgrad_store(args, &part, sum, SB_WGRAD_PLAIN_TILE,
                           out + (size_t)((m - t->m0) * width + n - t->n0) * element, width);
        }
}

struct sb_status sb_ref_wgrad_varlen_k_tiles(const struct sb_wgrad_args *args, enum sb_wgrad_path path,
                                             const struct sb_wgrad_tile *tiles, int64_t count, void *out)
{
    (void)path;
    struct sb_status status = sb_wgrad_check_call(args, NULL);
    for (int64_t i = 0; status.code == SB_OK && i < count; i++)
        if (tiles[i].e < 0 || tiles[i].e >= args->E || tiles[i].m0 < 0 || tiles[i].m0 > tiles[i].m1 ||
            tiles[i].m1 > args->M || tiles[i].n0 < 0 || tiles[i].n0 > tiles[i].n1 || tiles[i].n1 > args->N)
            status = sb_reject(SB_BAD_ARGUMENT, 9, i, 0);
    if (status.code != SB_OK)
        return status;
    const size_t element = args->out_dtype == SB_F32 ? sizeof(uint32_t) : sizeof(uint16_t);
    char *place = out;
    for (int64_t i = 0; i < count; i++) {
        plain_tile(args, &tiles[i], place);
        place += (size_t)((tiles[i].m1 - tiles[i].m0) * (tiles[i].n1 - tiles[i].n0)) * element;
    }
    return status;
}
