/* probe_explain.c - makes failing vectors small, and finds the variant of contract TC that gives what was seen. */
#include "probe_explain.h"

#include <stdlib.h>
#include <string.h>

#include "../ref/tc_model.h"
#include "compare.h"
#include "text.h"

/* ---- which arithmetic is it? ------------------------------------------------------------------- */

static int agreeing(const struct sb_tc_rules *rules, const struct sb_probe_list *list)
{
    int n = 0;
    for (int i = 0; i < list->count; i++)
        n += sb_tc_model(rules, list->v[i].c, list->v[i].a, list->v[i].b) == list->v[i].got;
    return n;
}

struct sb_probe_explanation sb_probe_explain(const struct sb_probe_list *differ, const struct sb_probe_list *right)
{
    struct sb_probe_explanation e = {.kept = differ->count, .kept_right = right->count, .best = -1};
    for (int i = 0; i < sb_tc_variants(); i++) {
        const struct sb_tc_variant v = sb_tc_variant(i);
        const int gives = agreeing(&v.rules, differ), gives_right = agreeing(&v.rules, right);
        if (gives == differ->count && gives_right == right->count && e.all < SB_PROBE_MAX_VARIANTS)
            e.name[e.all++] = v.name;
        if (gives > e.best_differ || (gives > 0 && gives == e.best_differ && gives_right > e.best_right)) {
            e.best = i;
            e.best_differ = gives;
            e.best_right = gives_right;
        }
    }
    return e;
}

static double percent(int part, int whole)
{
    return whole > 0 ? 100.0 * part / whole : 0;
}

const char *sb_probe_explanation_text(const struct sb_probe_explanation *e, char *buf, size_t size)
{
    buf[0] = '\0';
    if (e->all > 0) {
        sb_append(buf, size,
                  "%d of %d kept differences, and %d of %d kept agreements, are what this arithmetic gives: ", e->kept,
                  e->kept, e->kept_right, e->kept_right);
        for (int i = 0; i < e->all; i++)
            sb_append(buf, size, "%s%s", i > 0 ? " or " : "", e->name[i]);
        if (e->all == 1)
            sb_append(buf, size, " (%s)", sb_tc_variant(e->best).reason);
    } else if (e->best >= 0) {
        const struct sb_tc_variant v = sb_tc_variant(e->best);
        sb_append(
            buf, size,
            "no known arithmetic gives all of it; the nearest is %s (%s): %d of %d kept differences (%.1f %%) and "
            "%d of %d kept agreements",
            v.name, v.reason, e->best_differ, e->kept, percent(e->best_differ, e->kept), e->best_right, e->kept_right);
    } else {
        sb_append(buf, size, "no known arithmetic gives any of the %d kept differences", e->kept);
    }
    return buf;
}

/* ---- a small vector ---------------------------------------------------------------------------- */

/* A tile of its own, zero but for the one vector, at the place that it had. */
struct alone {
    const struct sb_probe_impl *impl;
    uint16_t *a, *b;
    uint32_t *c, *d;
    uint8_t *skipped;
};

static bool open_alone(struct alone *x, const struct sb_probe_impl *impl)
{
    const size_t rows = (size_t)impl->rows, cols = (size_t)impl->cols;
    x->impl = impl;
    x->a = calloc(rows * SB_TC_K, sizeof x->a[0]);
    x->b = calloc(cols * SB_TC_K, sizeof x->b[0]);
    x->c = calloc(rows * cols, sizeof x->c[0]);
    x->d = calloc(rows * cols, sizeof x->d[0]);
    x->skipped = calloc(rows * cols, 1);
    return x->a != NULL && x->b != NULL && x->c != NULL && x->d != NULL && x->skipped != NULL;
}

static void close_alone(struct alone *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->d);
    free(x->skipped);
}

/* Computes v anew on both sides. Does it differ? */
static bool differs(const struct alone *x, struct sb_probe_vector *v)
{
    const int rows = x->impl->rows, cols = x->impl->cols, at = v->row * cols + v->col;
    const size_t dots = (size_t)rows * (size_t)cols;
    const struct sb_probe_batch batch = {1, rows, cols, x->a, x->b, x->c};
    struct sb_error err;
    memcpy(x->a + v->row * SB_TC_K, v->a, sizeof v->a);
    for (int k = 0; k < SB_TC_K; k++)
        x->b[k * cols + v->col] = v->b[k];
    x->c[at] = v->c;
    memset(x->d, SB_PROBE_UNWRITTEN, dots * sizeof x->d[0]);
    memset(x->skipped, 0, dots);
    const bool ran = x->impl->run(x->impl, &batch, x->d, x->skipped, &err) && x->skipped[at] == 0;
    v->expected = sb_tc_bf16_k16_f25(v->c, v->a, v->b);
    v->got = x->d[at];
    return ran && v->got != v->expected;
}

/* Takes the change where the vector still differs with it. */
static bool accept(const struct alone *x, struct sb_probe_vector *v, struct sb_probe_vector changed)
{
    if (!differs(x, &changed))
        return false;
    *v = changed;
    return true;
}

static bool zero_pairs(const struct alone *x, struct sb_probe_vector *v)
{
    bool any = false;
    for (int k = 0; k < SB_TC_K; k++)
        if ((v->a[k] | v->b[k]) != 0) {
            struct sb_probe_vector changed = *v;
            changed.a[k] = changed.b[k] = 0;
            any = accept(x, v, changed) || any;
        }
    return any;
}

static bool zero_c(const struct alone *x, struct sb_probe_vector *v)
{
    struct sb_probe_vector changed = *v;
    changed.c = 0;
    return v->c != 0 && accept(x, v, changed);
}

/* Number i of a vector as f32 bits: c, then a, then b. */
enum { NUMBERS = 1 + 2 * SB_TC_K };

static uint32_t get(const struct sb_probe_vector *v, int i)
{
    if (i == 0)
        return v->c;
    return (uint32_t)(i <= SB_TC_K ? v->a[i - 1] : v->b[i - 1 - SB_TC_K]) << 16;
}

static void set(struct sb_probe_vector *v, int i, uint32_t bits)
{
    if (i == 0)
        v->c = bits;
    else if (i <= SB_TC_K)
        v->a[i - 1] = (uint16_t)(bits >> 16);
    else
        v->b[i - 1 - SB_TC_K] = (uint16_t)(bits >> 16);
}

/* Without the fraction, without its lowest bit that is set, or without the sign: the first that still differs. */
static bool simplify(const struct alone *x, struct sb_probe_vector *v, int i)
{
    const uint32_t bits = get(v, i), fraction = bits & 0x007FFFFF;
    const uint32_t simpler[] = {bits & ~fraction, bits & ~(fraction & (~fraction + 1)), bits & 0x7FFFFFFF};
    for (size_t k = 0; k < sizeof simpler / sizeof simpler[0]; k++) {
        struct sb_probe_vector changed = *v;
        set(&changed, i, simpler[k]);
        if (simpler[k] != bits && accept(x, v, changed))
            return true;
    }
    return false;
}

/* Until nothing more can go: each accepted change takes at least one bit away. */
static void shrink(const struct alone *x, struct sb_probe_vector *v)
{
    for (bool any = true; any;) {
        any = zero_pairs(x, v);
        any = zero_c(x, v) || any;
        for (int i = 0; i < NUMBERS; i++)
            while (simplify(x, v, i))
                any = true;
    }
}

/* Numbers that are not zero weigh most, then the bits set. */
static int weight(const struct sb_probe_vector *v)
{
    int w = 0;
    for (int i = 0; i < NUMBERS; i++)
        if (get(v, i) != 0)
            w += 100 + __builtin_popcount(get(v, i) & 0x807FFFFF);
    return w;
}

bool sb_probe_minimise(const struct sb_probe_impl *impl, const struct sb_probe_list *differ,
                       struct sb_probe_vector *small)
{
    struct alone x;
    bool found = false, tried[SB_TC_CLASSES] = {false};
    *small = differ->v[0];
    const bool open = open_alone(&x, impl);
    for (int i = 0; open && i < differ->count; i++) {
        struct sb_probe_vector v = differ->v[i];
        if (tried[v.cls])
            continue;
        tried[v.cls] = true;
        memset(x.a, 0, (size_t)impl->rows * SB_TC_K * sizeof x.a[0]);
        memset(x.b, 0, (size_t)impl->cols * SB_TC_K * sizeof x.b[0]);
        memset(x.c, 0, (size_t)impl->rows * (size_t)impl->cols * sizeof x.c[0]);
        if (!differs(&x, &v))
            continue;
        shrink(&x, &v);
        if (!found || weight(&v) < weight(small))
            *small = v;
        found = true;
    }
    close_alone(&x);
    return found;
}

/* ---- in print ---------------------------------------------------------------------------------- */

void sb_probe_vector_print(FILE *f, const struct sb_probe_vector *v)
{
    char c[64], a[64], b[64], expected[64], got[64], distance[32];
    sb_value_text(SB_F32, v->c, c, sizeof c);
    fprintf(f, "    c        %s\n", c);
    int zeros = 0;
    for (int k = 0; k < SB_TC_K; k++) {
        if ((v->a[k] | v->b[k]) == 0) {
            zeros++;
            continue;
        }
        sb_value_text(SB_BF16, v->a[k], a, sizeof a);
        sb_value_text(SB_BF16, v->b[k], b, sizeof b);
        fprintf(f, "    pair %-2d  %s * %s\n", k, a, b);
    }
    if (zeros > 0)
        fprintf(f, "    %d pairs of zeros\n", zeros);
    const bool unwritten = v->tile >= 0 && v->got == UINT32_MAX; /* a recorded one was written by somebody */
    sb_value_text(SB_F32, v->expected, expected, sizeof expected);
    sb_value_text(SB_F32, v->got, got, sizeof got);
    sb_ulp_text(SB_F32, v->expected, v->got, distance, sizeof distance);
    fprintf(f, "    expected %s, got %s", expected, got);
    if (unwritten)
        fprintf(f, " (as before the run: perhaps never written)");
    else if (distance[0] != '\0')
        fprintf(f, ", distance %s", distance);
    fprintf(f, "\n");
}
