/* The judge: planted faults of every kind must be seen, and told apart. */
#include "../harness/compare.h"

#include <stdlib.h>
#include <string.h>

#include "check_main.h"

static struct sb_tensor tensor(const char *name, enum sb_dtype dtype, int rank, int64_t a, int64_t b, int64_t c,
                               void *data)
{
    struct sb_tensor t = {.name = name, .dtype = dtype, .rank = rank, .data = data};
    t.shape[0] = a;
    t.shape[1] = b;
    t.shape[2] = c;
    return t;
}

static struct sb_difference differ(const struct sb_tensor *e, const struct sb_tensor *a,
                                   const struct sb_compare_hints *h)
{
    struct sb_difference d;
    ck_assert_msg(!sb_compare(e, a, h, &d), "taken for equal");
    return d;
}

static void equal(const struct sb_tensor *e, const struct sb_tensor *a)
{
    struct sb_difference d;
    ck_assert_msg(sb_compare(e, a, NULL, &d), "%s", d.text);
    ck_assert_int_eq(d.mismatches, 0);
}

#define ASSERT_HAS(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' lacks '%s'", text, part)

START_TEST(equal_tensors)
{
    for (int dtype = 0; dtype < SB_DTYPE_COUNT; dtype++) {
        unsigned char a[6 * 8], b[6 * 8];
        for (int i = 0; i < 48; i++)
            a[i] = b[i] = (unsigned char)(i * 37);
        const struct sb_tensor e = tensor("t", (enum sb_dtype)dtype, 2, 2, 3, 0, a),
                               x = tensor("t", (enum sb_dtype)dtype, 2, 2, 3, 0, b);
        equal(&e, &x);
    }
}
END_TEST

START_TEST(one_flipped_bit_of_every_byte)
{
    for (int dtype = 0; dtype < SB_DTYPE_COUNT; dtype++) {
        const size_t bytes = 5 * sb_dtype_size((enum sb_dtype)dtype);
        for (size_t bit = 0; bit < 8 * bytes; bit++) {
            unsigned char a[40] = {0}, b[40] = {0};
            b[bit / 8] = (unsigned char)(1U << bit % 8);
            const struct sb_tensor e = tensor("t", (enum sb_dtype)dtype, 1, 5, 0, 0, a),
                                   x = tensor("t", (enum sb_dtype)dtype, 1, 5, 0, 0, b);
            const struct sb_difference d = differ(&e, &x, NULL);
            ck_assert_int_eq(d.mismatches, 1);
            ck_assert_int_eq(d.samples, 1);
        }
    }
}
END_TEST

START_TEST(last_element)
{
    static int32_t a[1000], b[1000];
    b[999] = 1;
    const struct sb_tensor e = tensor("x_gather_idx", SB_I32, 1, 1000, 0, 0, a),
                           x = tensor("x_gather_idx", SB_I32, 1, 1000, 0, 0, b);
    const struct sb_difference d = differ(&e, &x, NULL);
    ASSERT_HAS(d.text, "x_gather_idx: 1 of 1,000 elements differ (0.1 %)");
    ASSERT_HAS(d.pattern, "one element, the last");
    ck_assert_str_eq(d.sample[0].index, "[999]");
    ck_assert_str_eq(d.sample[0].expected, "0x00000000 (0)");
    ck_assert_str_eq(d.sample[0].actual, "0x00000001 (1)");
    ck_assert_str_eq(d.sample[0].distance, "");
}
END_TEST

START_TEST(floats)
{
    static const struct {
        uint32_t expected, actual;
        const char *distance;
    } rows[] = {
        {0x00000000, 0x80000000, "sign of zero"},
        {0x80000000, 0x00000000, "sign of zero"},
        {0x7FFFFFFF, 0x7FC00000, "NaN payload"},
        {0x7FC00000, 0xFFC00000, "NaN payload"},
        {0x7F800001, 0x7FC00001, "NaN payload"},
        {0x7FFFFFFF, 0x3F800000, "NaN"},
        {0x3F800000, 0x7FFFFFFF, "NaN"},
        {0x3F800000, 0x3F800001, "1"},
        {0x3F800001, 0x3F800000, "1"},
        {0x00000001, 0x80000001, "2"},
        {0x7F800000, 0x7F7FFFFF, "1"},
        {0x00400000, 0x00000000, "4194304"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t a = rows[i].expected, b = rows[i].actual;
        const struct sb_tensor e = tensor("out", SB_F32, 0, 0, 0, 0, &a), x = tensor("out", SB_F32, 0, 0, 0, 0, &b);
        const struct sb_difference d = differ(&e, &x, NULL);
        ck_assert_str_eq(d.sample[0].distance, rows[i].distance);
    }
    uint32_t nan = 0x7F812345, same = 0x7F812345;
    const struct sb_tensor e = tensor("out", SB_F32, 0, 0, 0, 0, &nan), x = tensor("out", SB_F32, 0, 0, 0, 0, &same);
    equal(&e, &x);
}
END_TEST

START_TEST(bf16_and_values)
{
    char text[64];
    sb_ulp_text(SB_BF16, 0x3F80, 0x3F83, text, sizeof text);
    ck_assert_str_eq(text, "3");
    sb_ulp_text(SB_BF16, 0x7FFF, 0x7FC0, text, sizeof text);
    ck_assert_str_eq(text, "NaN payload");
    sb_value_text(SB_BF16, 0x3F80, text, sizeof text);
    ck_assert_str_eq(text, "0x3f80 (1)");
    sb_value_text(SB_F32, 0x00400000, text, sizeof text);
    ck_assert_str_eq(text, "0x00400000 (5.87747175e-39)");
    sb_value_text(SB_F32, 0x7FFFFFFF, text, sizeof text);
    ck_assert_str_eq(text, "0x7fffffff (NaN)");
    sb_value_text(SB_I8, 0xFF, text, sizeof text);
    ck_assert_str_eq(text, "0xff (-1)");
    sb_value_text(SB_I32, 0xFFFFFFFF, text, sizeof text);
    ck_assert_str_eq(text, "0xffffffff (-1)");
    sb_value_text(SB_I64, UINT64_MAX, text, sizeof text);
    ck_assert_str_eq(text, "0xffffffffffffffff (-1)");
    sb_value_text(SB_E8M0, 0xFF, text, sizeof text);
    ck_assert_str_eq(text, "0xff (255)");
}
END_TEST

START_TEST(value_patterns)
{
    uint32_t a[3] = {0, 0x80000000, 0}, b[3] = {0x80000000, 0, 0};
    struct sb_tensor e = tensor("out", SB_F32, 1, 3, 0, 0, a), x = tensor("out", SB_F32, 1, 3, 0, 0, b);
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "only signs of zero");
    uint32_t c[3] = {0x7FFFFFFF, 1, 0x7FFFFFFF}, f[3] = {0x7FC00000, 1, 0x7FC00000};
    e.data = c;
    x.data = f;
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "only NaN payloads");
    int32_t order[5] = {1, 2, 3, 4, 5}, other[5] = {4, 2, 3, 1, 5};
    e = tensor("idx", SB_I32, 1, 5, 0, 0, order);
    x = tensor("idx", SB_I32, 1, 5, 0, 0, other);
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "the right values in another order");
    int32_t shifted[5] = {9, 1, 2, 3, 4};
    x.data = shifted;
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "shifted by one toward the end");
    int32_t back[5] = {2, 3, 4, 5, 9};
    x.data = back;
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "shifted by one toward the start");
    int32_t padded[6] = {3, 0, 5, 0, 7, 0}, junk[6] = {3, 11, 5, 12, 7, 13};
    e = tensor("idx", SB_I32, 1, 6, 0, 0, padded);
    x = tensor("idx", SB_I32, 1, 6, 0, 0, junk);
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "only where 0x00000000 (0) is expected");
    int32_t stuck[6] = {3, 0, 7, 0, 7, 0}, full[6] = {7, 7, 7, 7, 7, 7};
    e.data = stuck;
    x.data = full;
    ASSERT_HAS(differ(&x, &e, NULL).pattern, "only where 0x00000007 (7) is expected");
    int32_t many[6] = {1, 2, 3, 4, 5, 7};
    e.data = many;
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "the candidate holds one value, 0x00000007 (7), at all of them");
    uint32_t little[3] = {0x11223344, 0x00000055, 0x66770000}, big[3] = {0x44332211, 0x55000000, 0x00007766};
    e = tensor("idx", SB_I32, 1, 3, 0, 0, little);
    x = tensor("idx", SB_I32, 1, 3, 0, 0, big);
    ASSERT_HAS(differ(&e, &x, NULL).pattern, "the expected bytes in reverse order");
    char distance[32];
    sb_ulp_text(SB_F32, 0x3F800000, 0xBF800000, distance, sizeof distance);
    ck_assert_str_eq(distance, "other sign");
}
END_TEST

START_TEST(unwritten)
{
    const struct sb_compare_hints hints = {.poison = 0xA5};
    int32_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {1, 2, 3, 4, 5};
    memset(b + 5, 0xA5, 12);
    const struct sb_tensor e = tensor("idx", SB_I32, 1, 8, 0, 0, a), x = tensor("idx", SB_I32, 1, 8, 0, 0, b);
    const struct sb_difference d = differ(&e, &x, &hints);
    ASSERT_HAS(d.pattern, "the tail, from element 5 on; never written (still the poison 0xA5)");
    b[5] = 0;
    ASSERT_HAS(differ(&e, &x, &hints).pattern, "2 never written");
}
END_TEST

START_TEST(shapes_and_types)
{
    int32_t a[6] = {1, 2, 3, 4, 5, 6};
    const struct sb_tensor e = tensor("t", SB_I32, 2, 2, 3, 0, a), swapped = tensor("t", SB_I32, 2, 3, 2, 0, a),
                           flat = tensor("t", SB_I32, 1, 6, 0, 0, a), other = tensor("t", SB_F32, 2, 2, 3, 0, a),
                           none = tensor("t", SB_I32, 0, 0, 0, 0, NULL);
    ASSERT_HAS(differ(&e, &swapped, NULL).text, "another shape: expected i32 (2, 3), actual i32 (3, 2)");
    ASSERT_HAS(differ(&e, &flat, NULL).text, "another shape");
    ASSERT_HAS(differ(&e, &other, NULL).text, "another type: expected i32 (2, 3), actual f32 (2, 3)");
    ASSERT_HAS(differ(&e, &none, NULL).text, "t is missing");
    ASSERT_HAS(differ(&none, &e, NULL).text, "should be absent");
    equal(&none, &none);
}
END_TEST

START_TEST(empty_tensors)
{
    int32_t a = 1, b = 2;
    const struct sb_tensor e = tensor("t", SB_I32, 1, 0, 0, 0, &a), x = tensor("t", SB_I32, 1, 0, 0, 0, &b),
                           rows = tensor("t", SB_I32, 2, 0, 5, 0, &a), other = tensor("t", SB_I32, 2, 0, 6, 0, &b);
    equal(&e, &x);
    ASSERT_HAS(differ(&rows, &other, NULL).text, "another shape"); /* both empty, but not the same */
}
END_TEST

START_TEST(gaps_are_no_elements)
{
    int32_t a[8] = {1, 2, 3, 90, 4, 5, 6, 91}, b[6] = {1, 2, 3, 4, 5, 6};
    struct sb_tensor e = tensor("t", SB_I32, 2, 2, 3, 0, a);
    const struct sb_tensor x = tensor("t", SB_I32, 2, 2, 3, 0, b);
    e.row_stride = 4;
    equal(&e, &x);
    a[6] = 7;
    const struct sb_difference d = differ(&e, &x, NULL);
    ck_assert_int_eq(d.mismatches, 1);
    ck_assert_str_eq(d.sample[0].index, "[i=1, j=2]");
}
END_TEST

enum { E = 2, M = 64, N = 128 };
static uint32_t grad[E * M * N], wrong[E * M * N];

static struct sb_difference dw_with(int64_t e0, int64_t e1, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    for (int64_t i = 0; i < E * M * N; i++)
        grad[i] = wrong[i] = 0x3F800000U + (uint32_t)i;
    for (int64_t e = e0; e <= e1; e++)
        for (int64_t m = m0; m <= m1; m++)
            for (int64_t n = n0; n <= n1; n++)
                wrong[(e * M + m) * N + n] ^= 0x00000300U;
    const struct sb_tensor a = tensor("dw", SB_F32, 3, E, M, N, grad), b = tensor("dw", SB_F32, 3, E, M, N, wrong);
    return differ(&a, &b, NULL);
}

START_TEST(places_in_a_matrix)
{
    ck_assert_str_eq(dw_with(1, 1, 3, 3, 17, 17).sample[0].index, "[e=1, m=3, n=17]");
    ASSERT_HAS(dw_with(1, 1, 3, 3, 0, N - 1).pattern, "one row: e=1 m=3");
    ASSERT_HAS(dw_with(0, 0, 0, M - 1, 5, 5).pattern, "one column: e=0 n=5");
    ASSERT_HAS(dw_with(1, 1, 16, 31, 32, 47).pattern, "one 16x16 tile: e=1 m 16..31, n 32..47");
    ASSERT_HAS(dw_with(1, 1, 0, M - 1, 0, N - 1).pattern, "only in e=1");
    ASSERT_HAS(dw_with(0, 1, 0, M - 1, 0, N - 1).pattern, "every element");
    ck_assert_int_eq(dw_with(0, 1, 0, M - 1, 0, N - 1).samples, SB_MAX_SAMPLES);
    ck_assert_int_eq(dw_with(0, 1, 0, M - 1, 0, N - 1).mismatches, E * M * N);
}
END_TEST

START_TEST(segments)
{
    const int32_t offsets[4] = {0, 4, 4, 12};
    const struct sb_compare_hints hints = {.poison = SB_NO_POISON, .segment = offsets, .segments = 3};
    int32_t a[12] = {0}, b[12] = {0};
    for (int i = 0; i < 12; i++)
        a[i] = b[i] = i * i;
    const struct sb_tensor e = tensor("x_gather_idx", SB_I32, 1, 12, 0, 0, a),
                           x = tensor("x_gather_idx", SB_I32, 1, 12, 0, 0, b);
    b[2] = -1;
    b[3] = -2;
    ASSERT_HAS(differ(&e, &x, &hints).pattern, "the tail of segment e=0, from its row 2");
    b[2] = 4;
    b[3] = 9;
    b[5] = -3;
    b[9] = -4;
    const struct sb_difference d = differ(&e, &x, &hints);
    ASSERT_HAS(d.pattern, "only in segment e=2, from its row 1"); /* e = 1 is empty */
    ck_assert_str_eq(d.sample[0].index, "[5] = e 2, row 1");
}
END_TEST

START_TEST(packed_tiles)
{
    static unsigned char a[1024], b[1024];
    const struct sb_compare_hints hints = {.poison = SB_NO_POISON, .packed_cols = 256};
    const struct sb_tensor e = tensor("packed", SB_U8, 2, 1, 1024, 0, a), x = tensor("packed", SB_U8, 2, 1, 1024, 0, b);
    memset(a, 1, sizeof a);
    memset(b, 1, sizeof b);
    b[512 + 16 + 4 + 2] = 9; /* tile (0, 1), row 1 + 32, scale 4 + 2 */
    b[513] = 9;
    const struct sb_difference d = differ(&e, &x, &hints);
    ASSERT_HAS(d.pattern, "one 128x4 tile: row tile 0, column tile 1");
    ck_assert_str_eq(d.sample[0].index, "[513] = row 0, scale 5");
    ck_assert_str_eq(d.sample[1].index, "[534] = row 33, scale 6");
}
END_TEST

/* Packed tiles of a larger dw: places are those of dw, shapes are those in dw. */
START_TEST(samples_of_a_matrix)
{
    enum { TILES = 3, ROWS = 4, COLUMNS = 8, COUNT = TILES * ROWS * COLUMNS };
    static uint32_t a[COUNT], b[COUNT];
    struct sb_block block[TILES] = {{0, 0, 4, 0, 8}, {1, 60, 64, 120, 128}, {1, 60, 64, 40, 48}};
    struct sb_samples samples = {.whole = tensor("dw", SB_F32, 3, 2, 64, 128, NULL), .count = TILES, .block = block};
    const struct sb_compare_hints hints = {.poison = SB_NO_POISON, .samples = &samples};
    const struct sb_tensor e = tensor("dw", SB_F32, 3, TILES, ROWS, COLUMNS, a),
                           x = tensor("dw", SB_F32, 3, TILES, ROWS, COLUMNS, b);
    for (uint32_t i = 0; i < COUNT; i++)
        a[i] = b[i] = 0x3F800000 + i;
    equal(&e, &x);
    b[COUNT - 1] ^= 0x300;
    struct sb_difference d = differ(&e, &x, &hints);
    ck_assert_str_eq(d.sample[0].index, "[e=1, m=63, n=47] of sample 2");
    ASSERT_HAS(d.pattern, "one element of the samples");
    ASSERT_HAS(d.text, "1 of 96 sampled elements differ");
    for (uint32_t i = ROWS * COLUMNS + COLUMNS; i < ROWS * COLUMNS + 2 * COLUMNS; i++)
        b[i] ^= 0x300;
    b[COUNT - 1] = a[COUNT - 1];
    b[2 * ROWS * COLUMNS + COLUMNS] ^= 0x300; /* the same row of dw in another tile */
    d = differ(&e, &x, &hints);
    ck_assert_str_eq(d.sample[0].index, "[e=1, m=61, n=120] of sample 1");
    ASSERT_HAS(d.pattern, "one row: e=1 m=61");
    for (uint32_t i = 0; i < COUNT; i++)
        b[i] = a[i] ^ 0x300;
    ASSERT_HAS(differ(&e, &x, &hints).pattern, "every element of the samples");
}
END_TEST

/* Large tensors are surveyed in stretches: what is said of them is what one look from end to end would say. */
START_TEST(large_tensors)
{
    enum { ROWS = 400, COLUMNS = 500, COUNT = ROWS * COLUMNS };
    static int32_t a[COUNT], b[COUNT];
    const struct sb_tensor e = tensor("t", SB_I32, 2, ROWS, COLUMNS, 0, a),
                           x = tensor("t", SB_I32, 2, ROWS, COLUMNS, 0, b);
    for (int i = 0; i < COUNT; i++)
        a[i] = i;
    memcpy(b, a, sizeof b);
    for (int i = 0; i < COLUMNS; i++)
        b[123 * COLUMNS + i] = -1 - i;
    struct sb_difference d = differ(&e, &x, NULL);
    ck_assert_int_eq(d.mismatches, COLUMNS);
    ck_assert_str_eq(d.pattern, "one row: i=123");
    ck_assert_int_eq(d.samples, SB_MAX_SAMPLES);
    ck_assert_str_eq(d.sample[0].index, "[i=123, j=0]");
    ck_assert_str_eq(d.sample[SB_MAX_SAMPLES - 1].index, "[i=123, j=7]");

    memcpy(b, a, sizeof b);
    b[3] = a[COUNT - 10]; /* far apart */
    b[COUNT - 10] = a[3];
    d = differ(&e, &x, NULL);
    ck_assert_int_eq(d.mismatches, 2);
    ck_assert_str_eq(d.pattern, "the right values in another order");
    ck_assert_str_eq(d.sample[0].index, "[i=0, j=3]");
    ck_assert_str_eq(d.sample[1].index, "[i=399, j=490]");
    b[3] = b[COUNT - 10] = -7;
    d = differ(&e, &x, NULL);
    ASSERT_HAS(d.pattern, "the candidate holds one value, 0xfffffff9 (-7), at all of them");
    b[COUNT - 10] = -8;
    d = differ(&e, &x, NULL);
    ck_assert_str_eq(d.pattern, "");

    memcpy(b, a, sizeof b);
    b[10 * COLUMNS + 70] = -7;
    b[200 * COLUMNS + 5] = -8;
    d = differ(&e, &x, NULL);
    ck_assert_str_eq(d.pattern, "one 256x256 tile: i 10..200, j 5..70");

    memmove(b + 1, a, sizeof b - sizeof b[0]);
    b[0] = -1;
    d = differ(&e, &x, NULL);
    ck_assert_str_eq(d.pattern, "every element; shifted by one toward the end");
    memset(a, 0, sizeof a);
    d = differ(&e, &x, &(struct sb_compare_hints){.poison = 0xFF});
    ASSERT_HAS(d.pattern, "1 never written (still the poison 0xFF)");
    ck_assert_int_eq(d.mismatches, COUNT - 1); /* b[1] is 0 */
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("all");
    tcase_add_test(t, equal_tensors);
    tcase_add_test(t, one_flipped_bit_of_every_byte);
    tcase_add_test(t, last_element);
    tcase_add_test(t, floats);
    tcase_add_test(t, bf16_and_values);
    tcase_add_test(t, value_patterns);
    tcase_add_test(t, unwritten);
    tcase_add_test(t, shapes_and_types);
    tcase_add_test(t, empty_tensors);
    tcase_add_test(t, gaps_are_no_elements);
    tcase_add_test(t, places_in_a_matrix);
    tcase_add_test(t, segments);
    tcase_add_test(t, packed_tiles);
    tcase_add_test(t, samples_of_a_matrix);
    tcase_add_test(t, large_tensors);
    suite_add_tcase(s, t);
    return s;
}
