/* ref_topk.h - buffers, routings and a second computation of topk_metadata, for the tests of ref/. */
#ifndef SAMEBITS_TESTS_REF_TOPK_H
#define SAMEBITS_TESTS_REF_TOPK_H

#include "../ref/topk_metadata.h"
#include "ref_random.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { TOPK_ARRAYS = 7, TOPK_GUARD = 8 };

/* The arrays of `out` in the order of the struct, with the lengths that they must have. */
static inline void topk_lengths(const struct sb_topk_args *args, int64_t TK, int64_t TKP, int64_t length[TOPK_ARRAYS])
{
    const int64_t lengths[TOPK_ARRAYS] = {args->experts + 1, TKP, TKP, TK, args->n + 1, TKP, TK};
    memcpy(length, lengths, sizeof lengths);
}

/* All arrays are of 32-bit elements: one pointer type will do for moving them about. */
static inline void *topk_array(const struct sb_topk_out *out, int i)
{
    void *const arrays[TOPK_ARRAYS] = {out->expert_offset,         out->x_gather_idx, out->s_scatter_idx,
                                       out->s_reverse_scatter_idx, out->token_offset, out->topk_score,
                                       out->score_src_idx};
    return arrays[i];
}

/* Poisoned buffers with a guard band behind each. */
static inline struct sb_topk_out topk_alloc(const struct sb_topk_args *args, int64_t TK, int64_t TKP)
{
    int64_t length[TOPK_ARRAYS];
    void *array[TOPK_ARRAYS];
    topk_lengths(args, TK, TKP, length);
    for (int i = 0; i < TOPK_ARRAYS; i++) {
        const size_t bytes = (size_t)(length[i] + TOPK_GUARD) * 4;
        array[i] = malloc(bytes);
        ck_assert_ptr_nonnull(array[i]);
        memset(array[i], 0xA5, bytes);
    }
    return (struct sb_topk_out){array[0], array[1], array[2], array[3], array[4], array[5], array[6], -1, -1, -1};
}

static inline void topk_free(struct sb_topk_out *out)
{
    for (int i = 0; i < TOPK_ARRAYS; i++)
        free(topk_array(out, i));
}

/* Every byte after the first length[i] elements still holds the poison. */
static inline void topk_assert_guards(const struct sb_topk_out *out, const int64_t length[TOPK_ARRAYS])
{
    for (int i = 0; i < TOPK_ARRAYS; i++)
        for (int64_t j = length[i]; j < length[i] + TOPK_GUARD; j++)
            if (((uint32_t *)topk_array(out, i))[j] !=
                0xA5A5A5A5u) /* a check a failure, not an element: each is slow */
                ck_abort_msg("array %d written past its end", i);
}

static inline void topk_assert_same(const struct sb_topk_args *args, const struct sb_topk_out *got,
                                    const struct sb_topk_out *expected)
{
    ck_assert_int_eq(got->TK, expected->TK);
    ck_assert_int_eq(got->TKP, expected->TKP);
    ck_assert_int_eq(got->pad_rows, expected->pad_rows);
    int64_t length[TOPK_ARRAYS];
    topk_lengths(args, got->TK, got->TKP, length);
    for (int i = 0; i < TOPK_ARRAYS; i++)
        for (int64_t j = 0; j < length[i]; j++) {
            const uint32_t a = ((uint32_t *)topk_array(got, i))[j], b = ((uint32_t *)topk_array(expected, i))[j];
            if (a != b)
                ck_abort_msg("array %d[%lld] is %08x, expected %08x", i, (long long)j, a, b);
        }
}

static inline int64_t topk_id(const struct sb_topk_args *args, int64_t flat)
{
    return args->idx_dtype == SB_I64 ? ((const int64_t *)args->topk_idx)[flat]
                                     : ((const int32_t *)args->topk_idx)[flat];
}

/* ---- a second computation, by sorting ---------------------------------------------------------------------- */

struct topk_slot {
    int64_t expert, token, slot, padded, place;
};

static inline int topk_compare(int64_t a1, int64_t b1, int64_t a2, int64_t b2)
{
    if (a1 != b1)
        return a1 < b1 ? -1 : 1;
    return a2 < b2 ? -1 : a2 > b2;
}

static inline int topk_by_expert(const void *a, const void *b) /* expert, then token: the padded order */
{
    const struct topk_slot *x = a, *y = b;
    return topk_compare(x->expert, y->expert, x->token, y->token);
}

static inline int topk_by_token_expert(const void *a, const void *b)
{
    const struct topk_slot *x = a, *y = b;
    return topk_compare(x->token, y->token, x->expert, y->expert);
}

static inline int topk_by_token_slot(const void *a, const void *b)
{
    const struct topk_slot *x = a, *y = b;
    return topk_compare(x->token, y->token, x->slot, y->slot);
}

/* The same outputs from sorted lists of routed slots: shares no step with the reference. Inputs must be valid. */
static inline struct sb_topk_out topk_by_sorting(const struct sb_topk_args *args)
{
    struct topk_slot *slots = malloc((size_t)(args->n * args->topk + 1) * sizeof *slots);
    ck_assert_ptr_nonnull(slots);
    int64_t TK = 0;
    for (int64_t i = 0; i < args->n * args->topk; i++)
        if (topk_id(args, i) >= 0 && topk_id(args, i) < args->experts)
            slots[TK++] = (struct topk_slot){topk_id(args, i), i / args->topk, i % args->topk, -1, -1};

    /* Walking the list by expert: a new expert starts on the next multiple of block. */
    qsort(slots, (size_t)TK, sizeof *slots, topk_by_expert);
    int64_t next = 0;
    for (int64_t i = 0; i < TK; i++) {
        if (i > 0 && slots[i].expert != slots[i - 1].expert)
            next = (next + args->block - 1) & ~(args->block - 1);
        slots[i].padded = next++;
    }
    const int64_t TKP = (next + args->block - 1) & ~(args->block - 1);

    struct sb_topk_out out = topk_alloc(args, TK, TKP);
    out.TK = TK;
    out.TKP = TKP;
    out.pad_rows = TKP - TK;
    int64_t upto = 0;
    for (int64_t e = 0; e <= args->experts; e++) { /* the first padded place of an expert >= e, or the end */
        while (upto < TK && slots[upto].expert < e)
            upto++;
        out.expert_offset[e] = (int32_t)(upto < TK ? slots[upto].padded : TKP);
    }

    qsort(slots, (size_t)TK, sizeof *slots, args->order == SB_ORDER_SLOT ? topk_by_token_slot : topk_by_token_expert);
    bool *real = calloc((size_t)TKP + 1, sizeof *real);
    ck_assert_ptr_nonnull(real);
    for (int64_t i = 0; i < TK; i++) {
        const int64_t source = slots[i].token * args->topk + slots[i].slot;
        real[slots[i].padded] = true;
        out.x_gather_idx[slots[i].padded] = (int32_t)slots[i].token;
        out.s_scatter_idx[slots[i].padded] = (int32_t)i;
        out.s_reverse_scatter_idx[i] = (int32_t)slots[i].padded;
        out.topk_score[i] = args->topk_prob[source];
        out.score_src_idx[i] = (int32_t)source;
    }
    for (int64_t t = 0, i = 0; t <= args->n; t++) {
        while (i < TK && slots[i].token < t)
            i++;
        out.token_offset[t] = (int32_t)i;
    }
    for (int64_t p = 0, pad = TK; p < TKP; p++) {
        if (p >= TK)
            out.topk_score[p] = 0;
        if (real[p])
            continue;
        out.x_gather_idx[p] = 0;
        out.s_scatter_idx[p] = (int32_t)(args->order == SB_ORDER_SLOT ? pad++ : TK);
    }
    free(real);
    free(slots);
    return out;
}

/* ---- routings ------------------------------------------------------------------------------------------------ */

enum topk_route {
    ROUTE_HOLES,  /* random experts, a quarter of the slots -1 anywhere in the row */
    ROUTE_WILD,   /* the same, with ids outside the range among them */
    ROUTE_FULL,   /* every slot valid */
    ROUTE_NONE,   /* every slot -1 */
    ROUTE_ONE,    /* one slot a row, all to the same expert */
    ROUTE_MIDDLE, /* experts at both ends and one in the middle get nothing */
    ROUTE_EDGES,  /* topk 1: expert e gets block - 1, block or block + 1 tokens, in turn */
    ROUTE_COUNT
};

/* An id that is no expert. For i64 also ids whose low 32 bits look like one. */
static inline int64_t topk_wild_id(const struct sb_topk_args *args, uint64_t *state)
{
    const int64_t narrow[] = {args->experts, args->experts + 1, INT32_MAX, -2, INT32_MIN};
    const int64_t wide[] = {INT64_C(1) << 32, (INT64_C(7) << 32) + args->experts - 1, INT64_MIN, INT64_MAX,
                            INT64_C(-4294967296)};
    if (args->idx_dtype == SB_I64 && random_below(state, 2) == 0)
        return wide[random_below(state, 5)];
    return narrow[random_below(state, 5)];
}

static inline bool topk_taken(const int64_t *row, int64_t length, int64_t id)
{
    for (int64_t s = 0; s < length; s++)
        if (row[s] == id)
            return true;
    return false;
}

static inline int64_t topk_draw(const struct sb_topk_args *args, enum topk_route route, uint64_t *state,
                                const int64_t *row, int64_t t, int64_t s)
{
    const int64_t E = args->experts, chance = random_below(state, 4);
    switch (route) {
    case ROUTE_NONE:
        return -1;
    case ROUTE_ONE:
        return s == t % args->topk ? E / 2 : -1;
    case ROUTE_EDGES: /* three experts share 3 * block tokens */
        t %= 3 * args->block;
        return t < args->block - 1 ? 0 : t < 2 * args->block - 1 ? 1 : 2;
    case ROUTE_WILD:
        if (chance == 1)
            return topk_wild_id(args, state);
        /* fall through */
    case ROUTE_HOLES:
    case ROUTE_MIDDLE:
        if (chance == 0)
            return -1;
        /* fall through */
    default:
        break;
    }
    int64_t id = random_below(state, E);
    for (int64_t tried = 0; tried < E && topk_taken(row, s, id); tried++)
        id = (id + 1) % E;
    if (topk_taken(row, s, id) || (route == ROUTE_MIDDLE && (id < E / 4 || id == E / 2 || id >= E - E / 4)))
        return -1;
    return id;
}

/* Fills in topk_idx and topk_prob (any bits: NaN payloads, -0 and subnormals among them) of `args`, which the caller
 * frees with topk_free_input. */
static inline void topk_fill_input(struct sb_topk_args *args, enum topk_route route, uint64_t seed)
{
    const int64_t slots = args->n * args->topk;
    int64_t *wide = malloc((size_t)(slots + 1) * sizeof *wide);
    int32_t *narrow = malloc((size_t)(slots + 1) * sizeof *narrow);
    uint32_t *prob = malloc((size_t)(slots + 1) * sizeof *prob);
    ck_assert(wide != NULL && narrow != NULL && prob != NULL);
    for (int64_t i = 0; i < slots; i++) {
        const int64_t s = i % args->topk;
        wide[i] = topk_draw(args, route, &seed, wide + i - s, i / args->topk, s);
        narrow[i] = (int32_t)wide[i];
        prob[i] = random_u32(&seed);
    }
    args->topk_prob = prob;
    args->topk_idx = args->idx_dtype == SB_I64 ? (void *)wide : (void *)narrow;
    free(args->idx_dtype == SB_I64 ? (void *)narrow : (void *)wide);
}

static inline void topk_free_input(struct sb_topk_args *args)
{
    free((void *)(uintptr_t)args->topk_idx);
    free((void *)(uintptr_t)args->topk_prob);
}

#endif
