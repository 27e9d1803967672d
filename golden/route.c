/* route.c - the routing patterns: which experts one token goes to. See enum sb_route. */
#include "routing.h"

#include <inttypes.h>
#include <string.h>

const char *const sb_route_names[SB_ROUTE_COUNT + 1] = {"uniform",
                                                        "holes",
                                                        "none",
                                                        "one_expert",
                                                        "ends_empty",
                                                        "all_experts",
                                                        "exact_block",
                                                        "block_minus",
                                                        "block_plus",
                                                        "skewed",
                                                        "hot",
                                                        "invalid",
                                                        "duplicate",
                                                        "duplicate_last",
                                                        "tail_invalid",
                                                        "descending",
                                                        "ascending",
                                                        "duplicate_nested",
                                                        "duplicate_adjacent",
                                                        NULL};

enum { STREAM_ROUTE = 16, STREAM_ROUTE_CASE = 17 };

/* Draws of one row, by purpose: row * DRAWS + purpose + j. */
enum { DRAW_SAMPLE = 0, DRAW_SHUFFLE = 64, DRAW_SLOT = 128, DRAW_DUPLICATE = 192, DRAWS = 256 };
/* Draws of the whole case. */
enum { DRAW_TARGET, DRAW_SHIFT };

struct router {
    enum sb_route route;
    int64_t n, topk, experts;
    bool wide; /* i64 ids */
    struct sb_rng rng;
    int64_t target;       /* the expert that a pattern singles out */
    int64_t target_count; /* how many tokens go to it */
    int64_t step,
        shift; /* row -> (row * step + shift) mod n is a permutation: its first target_count values go there */
};

/* ---- the target --------------------------------------------------------------------------------- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t coprime_step(int64_t n)
{
    int64_t step = n / 3 * 2 + 1;
    while (greatest_divisor(step, n) != 1)
        step++;
    return step;
}

/* Up to three blocks, so that neither the first nor the only block boundary is the one that is met. */
static int64_t tokens_of_target(enum sb_route route, int64_t n, int64_t block)
{
    const int64_t aside = route == SB_ROUTE_BLOCK_MINUS ? -1 : route == SB_ROUTE_BLOCK_PLUS ? 1 : 0;
    const bool counted = route == SB_ROUTE_EXACT_BLOCK || route == SB_ROUTE_BLOCK_MINUS || route == SB_ROUTE_BLOCK_PLUS;
    if (!counted)
        return n;
    if (block < 1)
        return -1;
    const int64_t most = (n - aside) / block;
    return most < 1 ? -1 : (most < 3 ? most : 3) * block + aside;
}

static struct router make_router(const struct sb_case *c)
{
    const struct sb_rng whole = {c->seed, STREAM_ROUTE_CASE};
    struct router r = {
        .route = (enum sb_route)sb_case_int(c, "route"),
        .n = sb_case_int(c, "N"),
        .topk = sb_case_int(c, "topk"),
        .experts = sb_case_int(c, "E"),
        .wide = sb_case_int(c, "idx") == 0,
        .rng = {c->seed, STREAM_ROUTE},
    };
    r.target_count = tokens_of_target(r.route, r.n, sb_case_int(c, "block"));
    r.target = r.experts > 0 ? (int64_t)sb_rng_below(&whole, DRAW_TARGET, (uint64_t)r.experts) : -1;
    r.step = r.n > 0 ? coprime_step(r.n) : 1;
    r.shift = r.n > 0 ? (int64_t)sb_rng_below(&whole, DRAW_SHIFT, (uint64_t)r.n) : 0;
    return r;
}

static bool row_has_target(const struct router *r, int64_t row)
{
    return r->target >= 0 && (row * r->step + r->shift) % r->n < r->target_count;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static uint64_t row_below(const struct router *r, int64_t row, int purpose, int64_t j, int64_t n)
{
    return sb_rng_below(&r->rng, (uint64_t)(row * DRAWS + purpose + j), (uint64_t)n);
}

/* `want` distinct numbers below `pool` (R. Floyd's sampling: one draw each, whatever the pool). */
static void sample(const struct router *r, int64_t row, int64_t pool, int64_t want, int64_t *out)
{
    uint64_t taken[SB_ROUTE_EXPERTS_LIMIT / 64] = {0};
    for (int64_t j = 0; j < want; j++) {
        const int64_t last = pool - want + j;
        int64_t pick = (int64_t)row_below(r, row, DRAW_SAMPLE, j, last + 1);
        if ((taken[pick / 64] >> (pick % 64) & 1u) != 0)
            pick = last;
        taken[pick / 64] |= UINT64_C(1) << (pick % 64);
        out[j] = pick;
    }
}

static void shuffle(const struct router *r, int64_t row, int64_t *ids)
{
    for (int64_t j = r->topk - 1; j > 0; j--) {
        const int64_t other = (int64_t)row_below(r, row, DRAW_SHUFFLE, j, j + 1);
        const int64_t held = ids[j];
        ids[j] = ids[other];
        ids[other] = held;
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ids beyond `used` become -1. */
static void clear_from(const struct router *r, int64_t used, int64_t *ids)
{
    for (int64_t j = used; j < r->topk; j++)
        ids[j] = -1;
}

static void uniform_row(const struct router *r, int64_t row, int64_t *ids)
{
    const int64_t want = smaller(r->topk, r->experts);
    sample(r, row, r->experts, want, ids);
    clear_from(r, want, ids);
    shuffle(r, row, ids);
}

/* The target or not, then others. */
static void target_row(const struct router *r, int64_t row, int64_t *ids)
{
    const int64_t first = row_has_target(r, row) ? 1 : 0;
    const int64_t others = smaller(r->topk - first, r->experts - 1);
    if (first == 1)
        ids[0] = r->target;
    sample(r, row, r->experts - 1, others, ids + first);
    for (int64_t j = first; j < first + others; j++)
        ids[j] += ids[j] >= r->target;
    clear_from(r, first + others, ids);
    shuffle(r, row, ids);
}

static void ends_empty_row(const struct router *r, int64_t row, int64_t *ids)
{
    const int64_t middle = r->experts / 2;
    const int64_t want = smaller(r->topk, r->experts - 3);
    sample(r, row, r->experts - 3, want, ids);
    for (int64_t j = 0; j < want; j++) {
        ids[j] += 1;
        ids[j] += ids[j] >= middle;
    }
    clear_from(r, want, ids);
    shuffle(r, row, ids);
}

/* Density falls as the -2/3 power of the expert: the cube of a uniform number. A taken expert gives way to the next. */
static void skewed_row(const struct router *r, int64_t row, int64_t *ids)
{
    uint64_t taken[SB_ROUTE_EXPERTS_LIMIT / 64] = {0};
    const int64_t want = smaller(r->topk, r->experts);
    for (int64_t j = 0; j < want; j++) {
        const uint64_t u = row_below(r, row, DRAW_SAMPLE, j, INT64_C(1) << 17);
        int64_t pick = (int64_t)(u * u * u * (uint64_t)r->experts >> 51);
        while ((taken[pick / 64] >> (pick % 64) & 1u) != 0)
            pick = (pick + 1) % r->experts;
        taken[pick / 64] |= UINT64_C(1) << (pick % 64);
        ids[j] = pick;
    }
    clear_from(r, want, ids);
    shuffle(r, row, ids);
}

static void punch_holes(const struct router *r, int64_t row, int64_t *ids)
{
    for (int64_t j = 0; j < r->topk; j++)
        if (row_below(r, row, DRAW_SLOT, j, 2) == 0)
            ids[j] = -1;
}

/* Ids that a careless comparison or a cut to 32 bits takes for an expert. */
static int64_t invalid_id(const struct router *r, int64_t kind, int64_t valid)
{
    switch (kind) {
    case 0:
        return r->experts;
    case 1:
        return r->experts + 1;
    case 2:
        return -2;
    case 3:
        return INT32_MAX;
    case 4:
        return INT32_MIN;
    case 5:
        return -r->experts - 1;
    case 6:
        return valid + (INT64_C(1) << 32); /* the low half is an expert */
    case 7:
        return valid - (INT64_C(1) << 32);
    case 8:
        return INT64_MAX; /* the low half is -1 */
    case 9:
        return INT64_MIN; /* the low half is 0 */
    default:
        return UINT32_MAX; /* the low half is -1 */
    }
}

static void spoil_ids(const struct router *r, int64_t row, int64_t *ids)
{
    const int64_t kinds = r->wide ? 11 : 6;
    for (int64_t j = 0; j < r->topk; j++) {
        if (row_below(r, row, DRAW_SLOT, j, 3) != 0)
            continue;
        /* One kind for the whole of every fourth row: the same invalid id twice is no duplicate. */
        const int64_t kind = row % 4 == 3 ? row / 4 % kinds : (row * r->topk + j) % kinds;
        ids[j] = invalid_id(r, kind, ids[j] < 0 ? 0 : ids[j]);
    }
}

static void duplicate_some(const struct router *r, int64_t row, int64_t *ids)
{
    if (row != r->n / 2 && row != r->n - 1)
        return;
    const int64_t a = (int64_t)row_below(r, row, DRAW_DUPLICATE, 0, r->topk - 1);
    const int64_t b = a + 1 + (int64_t)row_below(r, row, DRAW_DUPLICATE, 1, r->topk - 1 - a);
    ids[a] = (int64_t)row_below(r, row, DRAW_DUPLICATE, 2, r->experts);
    ids[b] = ids[a];
}

/* [7, 3, 3, 7]: the pair that starts first is not the one of the lower expert, nor the one that ends first. Made of the
 * row's own distinct experts, so that there are two pairs and no more. */
static void duplicate_nested(const struct router *r, int64_t *ids)
{
    const int64_t low = smaller(ids[0], ids[1]), high = ids[0] + ids[1] - low;
    ids[0] = ids[r->topk - 1] = high;
    ids[1] = ids[2] = low;
}

static void duplicate_adjacent(const struct router *r, int64_t *ids)
{
    const int64_t a = (r->topk - 1) / 2;
    ids[a + 1] = ids[a];
}

/* Insertion sort of the valid ids in their slots; -1 counts as the smallest. */
static void sort_row(const struct router *r, bool descending, int64_t *ids)
{
    for (int64_t j = 1; j < r->topk; j++)
        for (int64_t i = j; i > 0 && (descending ? ids[i - 1] < ids[i] : ids[i - 1] > ids[i]); i--) {
            const int64_t held = ids[i];
            ids[i] = ids[i - 1];
            ids[i - 1] = held;
        }
}

static void route_row(const struct router *r, int64_t row, int64_t *ids)
{
    switch (r->route) {
    case SB_ROUTE_NONE:
        clear_from(r, 0, ids);
        return;
    case SB_ROUTE_ONE_EXPERT:
        ids[0] = r->target;
        clear_from(r, 1, ids);
        shuffle(r, row, ids);
        return;
    case SB_ROUTE_ENDS_EMPTY:
        ends_empty_row(r, row, ids);
        return;
    case SB_ROUTE_ALL_EXPERTS:
        for (int64_t j = 0; j < r->topk; j++)
            ids[j] = (row + j) % r->experts;
        return;
    case SB_ROUTE_EXACT_BLOCK:
    case SB_ROUTE_BLOCK_MINUS:
    case SB_ROUTE_BLOCK_PLUS:
    case SB_ROUTE_HOT:
        target_row(r, row, ids);
        return;
    case SB_ROUTE_SKEWED:
        skewed_row(r, row, ids);
        return;
    default:
        break;
    }

    uniform_row(r, row, ids);
    if (r->route == SB_ROUTE_HOLES || r->route == SB_ROUTE_TAIL_INVALID)
        punch_holes(r, row, ids);
    if (r->route == SB_ROUTE_TAIL_INVALID && row >= r->n - r->n * 3 / 8)
        clear_from(r, 0, ids);
    if (r->route == SB_ROUTE_INVALID)
        spoil_ids(r, row, ids);
    if (r->route == SB_ROUTE_DUPLICATE)
        duplicate_some(r, row, ids);
    if (r->route == SB_ROUTE_DUPLICATE_LAST && row == r->n - 1)
        ids[r->topk - 1] = ids[0] = r->target;
    if (r->route == SB_ROUTE_DUPLICATE_NESTED && row == r->n / 2)
        duplicate_nested(r, ids);
    if (r->route == SB_ROUTE_DUPLICATE_ADJACENT && row == r->n / 2)
        duplicate_adjacent(r, ids);
    if (r->route == SB_ROUTE_DESCENDING || r->route == SB_ROUTE_ASCENDING)
        sort_row(r, r->route == SB_ROUTE_DESCENDING, ids);
}

void sb_route_row(const struct sb_case *c, int64_t row, int64_t ids[SB_ROUTE_TOPK_LIMIT])
{
    const struct router r = make_router(c);
    route_row(&r, row, ids);
}

void sb_route_all(const struct sb_case *c, struct sb_tensor *topk_idx)
{
    const struct router r = make_router(c);
#pragma omp parallel for schedule(static) if (r.n * r.topk >= SB_PARALLEL_FROM)
    for (int64_t row = 0; row < r.n; row++) {
        int64_t ids[SB_ROUTE_TOPK_LIMIT];
        route_row(&r, row, ids);
        for (int64_t j = 0; j < r.topk; j++) {
            if (r.wide)
                ((int64_t *)topk_idx->data)[row * r.topk + j] = ids[j];
            else
                ((int32_t *)topk_idx->data)[row * r.topk + j] = (int32_t)ids[j];
        }
    }
}

bool sb_route_validate(const struct sb_case *c, struct sb_error *err)
{
    const enum sb_route route = (enum sb_route)sb_case_int(c, "route");
    const int64_t n = sb_case_int(c, "N"), topk = sb_case_int(c, "topk"), experts = sb_case_int(c, "E");
    const bool duplicate = route == SB_ROUTE_DUPLICATE || route == SB_ROUTE_DUPLICATE_LAST;
    if (route == SB_ROUTE_ENDS_EMPTY && experts < 4)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "route=ends_empty needs E of at least 4");
    if (route == SB_ROUTE_ALL_EXPERTS && topk != experts)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "route=all_experts needs topk equal to E");
    if (duplicate && (topk < 2 || n < 1 || experts < 1))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "route=%s needs N and E of at least 1 and topk of at least 2",
                       sb_route_names[route]);
    const int64_t least = route == SB_ROUTE_DUPLICATE_NESTED ? 4 : route == SB_ROUTE_DUPLICATE_ADJACENT ? 2 : 0;
    if (least > 0 && (n < 1 || topk < least || experts < topk))
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "route=%s needs N of at least 1, topk of at least %" PRId64 " and E of at least topk",
                       sb_route_names[route], least);
    if (route != SB_ROUTE_NONE && (topk < 1 || experts < 1))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "topk=0 and E=0 need route=none");
    if (tokens_of_target(route, n, sb_case_int(c, "block")) < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "route=%s needs a block of at least 1 and N of at least a block, plus one for block_plus",
                       sb_route_names[route]);
    return true;
}
