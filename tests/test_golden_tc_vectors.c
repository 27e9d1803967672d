/* The operands for contract TC: reproducible, made tile by tile, and each class finds the mistakes that it is for. */
#include "../golden/tc_vectors.h"

#include <stdlib.h>
#include <string.h>

#include "../ref/tc_bf16_k16_f25.h"
#include "../ref/tc_model.h"

#include "check_main.h"

enum { ROWS = 16, COLS = 8, GUARD = 16, K = 16 };
static const uint16_t guard16 = 0xA5C3;
static const uint32_t guard32 = 0xA5C31234u;

/* Room for a tile of any shape, guarded on both sides. */
struct room {
    uint16_t *a, *b;
    uint32_t *c;
    struct sb_tc_tile tile;
};

static struct room open_room(int rows, int cols)
{
    struct room r = {malloc(((size_t)rows * K + 2 * GUARD) * sizeof(uint16_t)),
                     malloc(((size_t)cols * K + 2 * GUARD) * sizeof(uint16_t)),
                     malloc(((size_t)rows * (size_t)cols + 2 * GUARD) * sizeof(uint32_t)),
                     {rows, cols, NULL, NULL, NULL}};
    ck_assert(r.a != NULL && r.b != NULL && r.c != NULL);
    for (int i = 0; i < rows * K + 2 * GUARD; i++)
        r.a[i] = guard16;
    for (int i = 0; i < cols * K + 2 * GUARD; i++)
        r.b[i] = guard16;
    for (int i = 0; i < rows * cols + 2 * GUARD; i++)
        r.c[i] = guard32;
    r.tile.a = r.a + GUARD;
    r.tile.b = r.b + GUARD;
    r.tile.c = r.c + GUARD;
    return r;
}

static void close_room(struct room *r)
{
    const int rows = r->tile.rows, cols = r->tile.cols;
    for (int i = 0; i < GUARD; i++) {
        ck_assert(r->a[i] == guard16 && r->a[GUARD + rows * K + i] == guard16);
        ck_assert(r->b[i] == guard16 && r->b[GUARD + cols * K + i] == guard16);
        ck_assert(r->c[i] == guard32 && r->c[GUARD + rows * cols + i] == guard32);
    }
    free(r->a);
    free(r->b);
    free(r->c);
}

static uint64_t digest(uint64_t hash, const void *data, size_t bytes) /* FNV-1a, over little-endian words */
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t digest_tile(uint64_t seed, int cls, uint64_t index, int rows, int cols)
{
    struct room r = open_room(rows, cols);
    sb_tc_make_tile(seed, (enum sb_tc_class)cls, index, &r.tile);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    hash = digest(hash, r.tile.a, (size_t)rows * K * 2);
    hash = digest(hash, r.tile.b, (size_t)cols * K * 2);
    hash = digest(hash, r.tile.c, (size_t)rows * (size_t)cols * 4);
    close_room(&r);
    return hash;
}

START_TEST(a_tile_depends_on_seed_class_and_index)
{
    const uint64_t here = digest_tile(1, _i, 3, ROWS, COLS);
    ck_assert(here != digest_tile(2, _i, 3, ROWS, COLS));
    ck_assert(here != digest_tile(1, _i, 4, ROWS, COLS));
    ck_assert(here != digest_tile(1, (_i + 1) % SB_TC_CLASSES, 3, ROWS, COLS));
    ck_assert(here != digest_tile(1, _i, UINT64_C(1) << 47, ROWS, COLS));
    ck_assert(here == digest_tile(1, _i, 3, ROWS, COLS));
}
END_TEST

/* Every element is written, and nothing else, whatever the shape. */
START_TEST(shapes)
{
    static const int shape[][2] = {{1, 1}, {16, 8}, {1, 256}, {256, 1}, {64, 256}, {128, 256}, {256, 256}};
    for (size_t s = 0; s < sizeof shape / sizeof shape[0]; s++) {
        struct room r = open_room(shape[s][0], shape[s][1]);
        int a = 0, b = 0, c = 0;
        sb_tc_make_tile(9, (enum sb_tc_class)_i, 0, &r.tile);
        for (int i = 0; i < r.tile.rows * K; i++)
            a += r.tile.a[i] == guard16;
        for (int i = 0; i < r.tile.cols * K; i++)
            b += r.tile.b[i] == guard16;
        for (int i = 0; i < r.tile.rows * r.tile.cols; i++)
            c += r.tile.c[i] == guard32;
        ck_assert_msg(a < 4 && b < 4 && c == 0, "%zu: %d %d %d unwritten", s, a, b, c);
        close_room(&r);
    }
}
END_TEST

/* Recorded results name their operands by seed, class and tile: these must never change. */
START_TEST(the_bits_are_pinned)
{
    static const uint64_t pinned[SB_TC_CLASSES] = {
        [0] = UINT64_C(0x929169EC7EC446EC),  [1] = UINT64_C(0x16E9E0942F37A994),  [2] = UINT64_C(0xEA6742F5B95349DB),
        [3] = UINT64_C(0x2CD98FCFE5D5A3B5),  [4] = UINT64_C(0xEA4964C48150FB55),  [5] = UINT64_C(0xC5C9A73E90E8EF29),
        [6] = UINT64_C(0x984C9034699055A6),  [7] = UINT64_C(0x3E41051FA8C191C5),  [8] = UINT64_C(0xB89DE4FFFBFB365E),
        [9] = UINT64_C(0x134D7691815850E0),  [10] = UINT64_C(0x097FD994D86AF675), [11] = UINT64_C(0x03699A5E25343811),
        [12] = UINT64_C(0x174381D20BE3B98B), [13] = UINT64_C(0xD6DB94817B896870), [14] = UINT64_C(0x65084D551FA3148A),
        [15] = UINT64_C(0x6CCEF07B0C341D9B), [16] = UINT64_C(0x03F78A6BFB1FF90B), [17] = UINT64_C(0xF644B11D069CC0AD),
        [18] = UINT64_C(0xEB0D33DFCB912666),
    };
    ck_assert_msg(digest_tile(1, _i, 0, ROWS, COLS) == pinned[_i], "%s: 0x%016llx",
                  sb_tc_class_name((enum sb_tc_class)_i), (unsigned long long)digest_tile(1, _i, 0, ROWS, COLS));
}
END_TEST

START_TEST(names)
{
    for (int i = 0; i < SB_TC_CLASSES; i++) {
        const char *name = sb_tc_class_name((enum sb_tc_class)i);
        ck_assert(name[0] != '\0' && strpbrk(name, " ,/_") == NULL);
        ck_assert(strlen(sb_tc_class_reason((enum sb_tc_class)i)) > 20);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(name, sb_tc_class_name((enum sb_tc_class)k));
    }
}
END_TEST

/* ---- the classes against the variants -------------------------------------------------------------- */

enum { TILES = 100, DOTS = TILES * ROWS * COLS, MAX_VARIANTS = 64 };

typedef void dot_fn(void *user, uint32_t c, const uint16_t a[K], const uint16_t b[K]);

static void each_dot(int cls, dot_fn *f, void *user)
{
    struct room r = open_room(ROWS, COLS);
    for (uint64_t t = 0; t < TILES; t++) {
        sb_tc_make_tile(11, (enum sb_tc_class)cls, t, &r.tile);
        for (int m = 0; m < ROWS; m++)
            for (int n = 0; n < COLS; n++) {
                uint16_t b[K];
                for (int k = 0; k < K; k++)
                    b[k] = r.tile.b[k * COLS + n];
                f(user, r.tile.c[m * COLS + n], r.tile.a + m * K, b);
            }
    }
    close_room(&r);
}

struct tally {
    const struct sb_tc_rules *rules;
    int differ;
};

static void count_differences(void *user, uint32_t c, const uint16_t a[K], const uint16_t b[K])
{
    struct tally *t = user;
    t->differ += sb_tc_model(t->rules, c, a, b) != sb_tc_bf16_k16_f25(c, a, b);
}

/* Each class finds what it is aimed at, in so many of a hundred dot products; 0: nearly never, or not at all. */
static const struct {
    int cls;
    const char *variant;
    int percent;
} aims[] = {
    {SB_TC_NORMAL, "24-bits", 15},
    {SB_TC_NORMAL, "26-bits", 8},
    {SB_TC_NORMAL, "renormalised", 8},
    {SB_TC_WIDE, "24-bits", 8},
    {SB_TC_ANY_BITS, "nan-7fc00000", 5},
    {SB_TC_SUBNORMAL_INPUTS, "flush-inputs", 90},
    {SB_TC_SUBNORMAL_RESULTS, "flush-results", 10},
    {SB_TC_NAN_AND_INF, "nan-7fc00000", 20},
    {SB_TC_INFINITIES, "nan-7fc00000", 5},
    {SB_TC_OVERFLOW, "products-overflow", 40},
    {SB_TC_OVERFLOW, "saturated", 20},
    {SB_TC_CANCELLATION, "24-bits", 20},
    {SB_TC_SIGNED_ZEROS, "minus-zero-of-zeros", 5},
    {SB_TC_TINY_PRODUCTS, "zeros-with-exponents", 10},
    {SB_TC_TINY_PRODUCTS, "floor-126", 10},
    {SB_TC_FLOOR, "no-floor", 3},
    {SB_TC_FLOOR, "floor-132", 5},
    {SB_TC_FLOOR, "floor-134", 3},
    {SB_TC_ALIGNMENT, "24-bits", 30},
    {SB_TC_ALIGNMENT, "26-bits", 20},
    {SB_TC_CUT_OF_ONE_SIGN, "down-terms", 30},
    {SB_TC_CUT_OF_ONE_SIGN, "down-sum", 10},
    {SB_TC_TIES, "nearest-terms", 40},
    {SB_TC_TIES, "nearest-sum", 10},
    {SB_TC_FULL_SUMS, "sum-of-32-bits", 50},
    {SB_TC_HALVES, "steps-of-8", 20},
    {SB_TC_HALVES, "steps-of-4", 40},
    {SB_TC_ZERO_PARTNERS, "zeros-with-exponents", 80},
    {SB_TC_UNDERFLOW, "minus-zero-of-underflow", 20},
};

START_TEST(each_class_finds_what_it_is_aimed_at)
{
    for (int i = 0; i < sb_tc_variants(); i++) {
        const struct sb_tc_variant v = sb_tc_variant(i);
        if (strcmp(v.name, aims[_i].variant) != 0)
            continue;
        struct tally t = {&v.rules, 0};
        each_dot(aims[_i].cls, count_differences, &t);
        ck_assert_msg(t.differ * 100.0 >= aims[_i].percent * (double)DOTS, "%s, %s: %d of %d",
                      sb_tc_class_name((enum sb_tc_class)aims[_i].cls), v.name, t.differ, DOTS);
        return;
    }
    ck_abort_msg("no variant %s", aims[_i].variant);
}
END_TEST

START_TEST(every_class_has_an_aim_and_the_contract_passes)
{
    const struct sb_tc_rules rules = sb_tc_contract();
    int aim = 0;
    for (size_t i = 0; i < sizeof aims / sizeof aims[0]; i++)
        aim += aims[i].cls == _i;
    ck_assert_int_gt(aim, 0);
    struct tally t = {&rules, 0};
    each_dot(_i, count_differences, &t);
    ck_assert_int_eq(t.differ, 0);
}
END_TEST

struct pairs {
    struct sb_tc_rules rules[MAX_VARIANTS];
    int variants;
    int apart[MAX_VARIANTS][MAX_VARIANTS];
};

static void count_pairs(void *user, uint32_t c, const uint16_t a[K], const uint16_t b[K])
{
    struct pairs *p = user;
    uint32_t result[MAX_VARIANTS];
    for (int i = 0; i < p->variants; i++) {
        result[i] = sb_tc_model(&p->rules[i], c, a, b);
        for (int k = 0; k < i; k++)
            p->apart[i][k] += result[i] != result[k];
    }
}

/* Otherwise an explanation could name the wrong one. Over all classes. */
START_TEST(any_two_variants_are_told_apart)
{
    static struct pairs p;
    p.variants = sb_tc_variants();
    ck_assert_int_lt(p.variants, MAX_VARIANTS);
    for (int i = 0; i < p.variants; i++)
        p.rules[i] = sb_tc_variant(i).rules;
    p.rules[p.variants++] = sb_tc_contract();
    for (int cls = 0; cls < SB_TC_CLASSES; cls++)
        each_dot(cls, count_pairs, &p);
    for (int i = 0; i < p.variants; i++)
        for (int k = 0; k < i; k++)
            ck_assert_msg(p.apart[i][k] >= 20, "variants %d and %d differ in %d only", i, k, p.apart[i][k]);
}
END_TEST

/* ---- what the results are like ---------------------------------------------------------------------- */

struct kinds {
    int nan, plus_inf, minus_inf, zero, subnormal, largest_sums;
};

static void count_kinds(void *user, uint32_t c, const uint16_t a[K], const uint16_t b[K])
{
    struct kinds *k = user;
    const uint32_t d = sb_tc_bf16_k16_f25(c, a, b);
    k->nan += d == 0x7FFFFFFFu;
    k->plus_inf += d == 0x7F800000u;
    k->minus_inf += d == 0xFF800000u;
    k->zero += d == 0;
    k->subnormal += (d & 0x7F800000u) == 0 && d != 0;
    int full = (c & 0x007FFFFFu) == 0x007FFFFFu;
    for (int i = 0; i < K; i++)
        full += (a[i] & 0x7F) == 0x7F && (b[i] & 0x7F) == 0x7F;
    k->largest_sums += full == K + 1;
}

static struct kinds kinds_of(enum sb_tc_class cls)
{
    struct kinds k = {0};
    each_dot((int)cls, count_kinds, &k);
    return k;
}

START_TEST(results)
{
    struct kinds k = kinds_of(SB_TC_NORMAL);
    ck_assert(k.nan + k.plus_inf + k.minus_inf + k.subnormal == 0 && k.zero < 10);
    k = kinds_of(SB_TC_INFINITIES);
    ck_assert(k.nan > 500 && k.plus_inf > 500 && k.minus_inf > 500 && k.nan < 8000);
    k = kinds_of(SB_TC_OVERFLOW);
    ck_assert(k.nan == 0 && k.plus_inf > 500 && k.minus_inf > 500 && k.plus_inf + k.minus_inf < DOTS * 3 / 4);
    k = kinds_of(SB_TC_SUBNORMAL_RESULTS);
    ck_assert(k.subnormal > DOTS / 10 && k.subnormal < DOTS * 9 / 10);
    k = kinds_of(SB_TC_SIGNED_ZEROS);
    ck_assert(k.zero > DOTS / 5 && k.zero < DOTS * 4 / 5);
    k = kinds_of(SB_TC_UNDERFLOW);
    ck_assert(k.zero > DOTS / 3 && k.subnormal > 500);
    k = kinds_of(SB_TC_FULL_SUMS);
    ck_assert(k.largest_sums > DOTS / 4 && k.largest_sums < DOTS * 3 / 4);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden tc_vectors");
    TCase *tc = tcase_create("vectors");
    tcase_add_loop_test(tc, a_tile_depends_on_seed_class_and_index, 0, SB_TC_CLASSES);
    tcase_add_loop_test(tc, shapes, 0, SB_TC_CLASSES);
    tcase_add_loop_test(tc, the_bits_are_pinned, 0, SB_TC_CLASSES);
    tcase_add_test(tc, names);
    tcase_add_loop_test(tc, each_class_finds_what_it_is_aimed_at, 0, (int)(sizeof aims / sizeof aims[0]));
    tcase_add_loop_test(tc, every_class_has_an_aim_and_the_contract_passes, 0, SB_TC_CLASSES);
    tcase_add_test(tc, any_two_variants_are_told_apart);
    tcase_add_test(tc, results);
    suite_add_tcase(suite, tc);
    return suite;
}
