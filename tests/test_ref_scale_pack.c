/* scale_pack: the tile formula, carriers, strides, gather, fill, rejections, and a second computation. */
#include "../ref/scale_pack.h"

#include "check_main.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>

/* Raw scales of one matrix in every carrier. S is a multiple of 4 where the i32x4 words are used. */
struct raw {
    int64_t n, S;
    uint8_t *bytes;
    uint32_t *words, *packed_words;
};

static struct raw make_raw(int64_t n, int64_t S, uint64_t seed)
{
    struct raw raw = {n, S, malloc((size_t)(n * S + 1)), malloc((size_t)(n * S + 1) * 4),
                      calloc((size_t)(n * S + 1), 4)};
    for (int64_t i = 0; i < n * S; i++) {
        raw.bytes[i] = (uint8_t)random_u32(&seed);
        raw.words[i] = (random_u32(&seed) & 0xFFFFFF00u) | raw.bytes[i]; /* the upper bytes hold anything */
        if (S % 4 == 0)
            raw.packed_words[i / 4] |= (uint32_t)raw.bytes[i] << (8 * (i % 4));
    }
    return raw;
}

static void free_raw(struct raw *raw)
{
    free(raw->bytes);
    free(raw->words);
    free(raw->packed_words);
}

static struct sb_scale_pack_args args_of(const struct raw *raw, enum sb_carrier carrier, int64_t cols)
{
    const void *const by_carrier[] = {raw->bytes, raw->bytes, raw->words, raw->packed_words};
    return (struct sb_scale_pack_args){.raw = by_carrier[carrier],
                                       .carrier = carrier,
                                       .n = raw->n,
                                       .cols = cols,
                                       .row_stride = sb_carrier_width(carrier, raw->S),
                                       .col_stride = 1,
                                       .r = raw->n,
                                       .fill = 1};
}

enum { GUARD = 64 };

static uint8_t *poisoned(int64_t bytes)
{
    uint8_t *p = malloc((size_t)(bytes + GUARD));
    ck_assert_ptr_nonnull(p);
    memset(p, 0xA5, (size_t)(bytes + GUARD));
    return p;
}

/* A second computation, from the output's side: takes each byte's address apart (tile, then 16-byte line, then the
 * place in it) instead of putting an address together. `bytes` are dense u8 scales, rows of S. */
static uint8_t *pack_by_address(const uint8_t *bytes, int64_t S, const int32_t *gather, int64_t R, int64_t tiles_across,
                                uint8_t fill)
{
    const int64_t size = (R + 127) / 128 * tiles_across * 512;
    uint8_t *packed = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(packed);
    for (int64_t at = 0; at < size; at++) {
        const int64_t tile = at >> 9, within = at & 511;
        const int64_t row = ((tile / tiles_across) << 7) + (((within >> 2) & 3) << 5) + (within >> 4);
        const int64_t col = ((tile % tiles_across) << 2) + (within & 3);
        packed[at] = row < R && col < S ? bytes[(gather != NULL ? gather[row] : row) * S + col] : fill;
    }
    return packed;
}

static void assert_same_bytes(const uint8_t *got, const uint8_t *expected, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        if (got[i] != expected[i])
            ck_abort_msg("byte %lld is %02x, expected %02x", (long long)i, got[i], expected[i]);
    for (int64_t i = size; i < size + GUARD; i++)
        if (got[i] != 0xA5)
            ck_abort_msg("written past the end, at %lld", (long long)i);
}

START_TEST(offsets)
{
    static const struct {
        int64_t r, s, cols, offset;
    } spots[] = {
        {0, 0, 7168, 0},
        {1, 0, 7168, 16},
        {31, 0, 7168, 496},
        {32, 0, 7168, 4},
        {64, 0, 7168, 8},
        {96, 0, 7168, 12},
        {0, 1, 7168, 1},
        {0, 3, 7168, 3},
        {127, 3, 7168, 511},
        {0, 4, 7168, 512},
        {0, 223, 7168, 55 * 512 + 3},
        {128, 0, 7168, 512 * 56},
        {128, 0, 128, 512},
        {128, 0, 129, 1024},
        {33, 2, 128, 22},
        {128, 0, 1, 512},
        {928767, 223, 7168, 208044031},
        {INT64_C(100000000), 0, 7168, INT64_C(781250) * 56 * 512}, /* past 32 bits */
    };
    for (size_t i = 0; i < sizeof spots / sizeof spots[0]; i++)
        ck_assert_int_eq(sb_scale_pack_offset(spots[i].r, spots[i].s, spots[i].cols), spots[i].offset);
}
END_TEST

START_TEST(sizes)
{
    ck_assert_int_eq(sb_scale_pack_bytes(0, 7168), 0);
    ck_assert_int_eq(sb_scale_pack_bytes(1, 1), 512);
    ck_assert_int_eq(sb_scale_pack_bytes(128, 128), 512);
    ck_assert_int_eq(sb_scale_pack_bytes(129, 129), 4 * 512);
    ck_assert_int_eq(sb_scale_pack_bytes(928768, 7168), 208044032);
    ck_assert_int_eq(sb_scale_pack_bytes(INT64_C(1) << 31, 7168), (INT64_C(1) << 24) * 56 * 512);
    ck_assert_int_eq(sb_scale_pack_bytes(128, INT64_MAX), INT64_MAX); /* more than can be counted, and just not */
    ck_assert_int_eq(sb_scale_pack_bytes(INT64_MAX, 128), INT64_MAX);
    ck_assert_int_eq(sb_scale_pack_bytes(INT64_MAX, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(sb_scale_pack_bytes(129, INT64_C(1) << 60), INT64_MAX);
    ck_assert_int_eq(sb_scale_pack_bytes(128, (INT64_C(1) << 61) - 128), INT64_MAX - 511);
    ck_assert_int_eq(sb_scale_pack_bytes(128, (INT64_C(1) << 61)), INT64_MAX);
    ck_assert_int_eq(sb_scale_pack_bytes(0, INT64_MAX), 0);
    ck_assert_int_eq(sb_scale_pack_bytes(INT64_MAX, 0), 0);
    ck_assert(sb_carrier_dtype(SB_CARRIER_U8) == SB_U8 && sb_carrier_dtype(SB_CARRIER_I8) == SB_I8);
    ck_assert(sb_carrier_dtype(SB_CARRIER_I32) == SB_I32 && sb_carrier_dtype(SB_CARRIER_I32X4) == SB_I32);
    ck_assert(sb_carrier_width(SB_CARRIER_U8, 224) == 224 && sb_carrier_width(SB_CARRIER_I8, 224) == 224);
    ck_assert(sb_carrier_width(SB_CARRIER_I32, 224) == 224 && sb_carrier_width(SB_CARRIER_I32X4, 224) == 56);
}
END_TEST

/* Every byte of a whole tile is written once and once only: the offsets are a permutation. */
START_TEST(offsets_cover_every_byte_once)
{
    bool seen[2 * 2 * 512] = {false};
    for (int64_t r = 0; r < 256; r++)
        for (int64_t s = 0; s < 8; s++) {
            const int64_t at = sb_scale_pack_offset(r, s, 256);
            ck_assert(at >= 0 && at < 2048);
            if (seen[at])
                ck_abort_msg("(%lld, %lld) shares byte %lld", (long long)r, (long long)s, (long long)at);
            seen[at] = true;
        }
}
END_TEST

/* S % 4 in {0, 1, 2, 3} by R % 128 in {0, 1, 127}, every fill, every carrier that can hold it. */
START_TEST(shapes_fills_carriers)
{
    static const int64_t rows[] = {1, 127, 128, 129, 255, 256, 257};
    static const uint8_t fills[] = {0x01, 0x7F, 0x00, 0xFF, 0xA5};
    const int64_t R = rows[_i % 7], S = 1 + _i / 7;
    struct raw raw = make_raw(R, S, (uint64_t)_i + 1);
    for (int64_t slack = 0; slack < 32; slack += 31) { /* the last block of 32 columns may be short */
        const int64_t cols = 32 * S - slack;
        for (int f = 0; f < 5; f++)
            for (int carrier = 0; carrier < SB_CARRIER_COUNT; carrier++) {
                struct sb_scale_pack_args args = args_of(&raw, (enum sb_carrier)carrier, cols);
                args.fill = fills[f];
                const int64_t size = sb_scale_pack_bytes(R, cols);
                uint8_t *packed = poisoned(size);
                const struct sb_status status = sb_ref_scale_pack(&args, packed);
                if (carrier == SB_CARRIER_I32X4 && S % 4 != 0) {
                    const struct sb_status expected = sb_reject(SB_CARRIER_WIDTH, S, 4, 0);
                    ck_assert_mem_eq(&status, &expected, sizeof status);
                    ck_assert(packed[0] == 0xA5 && memcmp(packed, packed + 1, (size_t)(size + GUARD - 1)) == 0);
                } else {
                    uint8_t *expected = pack_by_address(raw.bytes, S, NULL, R, (S + 3) / 4, fills[f]);
                    ck_assert_int_eq(status.code, SB_OK);
                    assert_same_bytes(packed, expected, size);
                    free(expected);
                }
                free(packed);
            }
    }
    free_raw(&raw);
}
END_TEST

START_TEST(literal_tile)
{
    /* Two rows of five scales: two tiles across, fill everywhere else. */
    static const uint8_t raw[10] = {0x00, 0xFF, 0x80, 0x7F, 0x42, 0x10, 0x11, 0x12, 0x13, 0x14};
    const struct sb_scale_pack_args args = {.raw = raw,
                                            .carrier = SB_CARRIER_I8,
                                            .n = 2,
                                            .cols = 160,
                                            .row_stride = 5,
                                            .col_stride = 1,
                                            .r = 2,
                                            .fill = 0x7F};
    uint8_t expected[1024], packed[1024];
    memset(expected, 0x7F, sizeof expected);
    memcpy(expected, (const uint8_t[]){0x00, 0xFF, 0x80, 0x7F}, 4);
    memcpy(expected + 16, (const uint8_t[]){0x10, 0x11, 0x12, 0x13}, 4);
    expected[512] = 0x42;
    expected[512 + 16] = 0x14;
    ck_assert_int_eq(sb_ref_scale_pack(&args, packed).code, SB_OK);
    ck_assert_mem_eq(packed, expected, sizeof packed);
}
END_TEST

/* Rows further apart than they are long, columns apart, transposed, and rows that overlap. */
START_TEST(row_and_column_strides)
{
    enum { N = 150, S = 8 };
    static const struct {
        int64_t row, col;
    } strides[] = {{S, 1}, {S + 5, 1}, {3 * S, 3}, {1, N}, {1, 1}, {2, 1}};
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++)
        for (int carrier = 0; carrier < SB_CARRIER_COUNT; carrier++) {
            const int64_t width = sb_carrier_width((enum sb_carrier)carrier, S);
            const int64_t span = (N - 1) * strides[i].row + (width - 1) * strides[i].col + 1;
            struct raw raw = make_raw(span, 4, i * 10 + (uint64_t)carrier); /* four bytes an element are enough */
            uint8_t dense[N * S];
            for (int64_t r = 0; r < N; r++)
                for (int64_t s = 0; s < S; s++) {
                    const int64_t at = r * strides[i].row + (carrier == SB_CARRIER_I32X4 ? s / 4 : s) * strides[i].col;
                    dense[r * S + s] = carrier == SB_CARRIER_I32X4 ? raw.bytes[at * 4 + s % 4] : raw.bytes[at];
                }
            struct sb_scale_pack_args args = args_of(&raw, (enum sb_carrier)carrier, 32 * S);
            args.n = args.r = N;
            args.row_stride = strides[i].row;
            args.col_stride = strides[i].col;
            uint8_t *packed = poisoned(sb_scale_pack_bytes(N, 32 * S));
            uint8_t *expected = pack_by_address(dense, S, NULL, N, S / 4, 1);
            ck_assert_int_eq(sb_ref_scale_pack(&args, packed).code, SB_OK);
            assert_same_bytes(packed, expected, sb_scale_pack_bytes(N, 32 * S));
            free(expected);
            free(packed);
            free_raw(&raw);
        }
}
END_TEST

START_TEST(gathers)
{
    enum { N = 100, S = 6, R = 300 };
    struct raw raw = make_raw(N, S, 3);
    uint64_t state = 4;
    int32_t gather[R];
    for (int kind = 0; kind < 4; kind++) {
        for (int32_t r = 0; r < R; r++)
            gather[r] = kind == 0   ? (int32_t)random_below(&state, N)
                        : kind == 1 ? (N - 1 - r % N)
                        : kind == 2 ? r / 7
                                    : 0;
        struct sb_scale_pack_args args = args_of(&raw, SB_CARRIER_U8, 32 * S);
        args.gather = gather;
        args.r = kind == 2 ? 77 : R; /* fewer packed rows than raw ones, too */
        const int64_t size = sb_scale_pack_bytes(args.r, args.cols);
        uint8_t *packed = poisoned(size), *expected = pack_by_address(raw.bytes, S, gather, args.r, 2, 1);
        ck_assert_int_eq(sb_ref_scale_pack(&args, packed).code, SB_OK);
        assert_same_bytes(packed, expected, size);
        free(packed);
        free(expected);
    }
    free_raw(&raw);
}
END_TEST

START_TEST(no_rows)
{
    uint8_t packed = 0xA5;
    static const int32_t nothing[1] = {12345}; /* beyond the gather's end: never read */
    struct sb_scale_pack_args args = {.carrier = SB_CARRIER_U8, .cols = 7168, .row_stride = 224, .col_stride = 1};
    ck_assert_int_eq(sb_ref_scale_pack(&args, &packed).code, SB_OK);
    args.n = 10;
    args.gather = nothing;
    ck_assert_int_eq(sb_ref_scale_pack(&args, &packed).code, SB_OK);
    ck_assert_uint_eq(packed, 0xA5);
}
END_TEST

static void expect_rejection(const struct sb_scale_pack_args *args, enum sb_code code, int64_t a, int64_t b, int64_t c)
{
    uint8_t packed[2048];
    memset(packed, 0xA5, sizeof packed);
    const struct sb_status expected = sb_reject(code, a, b, c), status = sb_ref_scale_pack(args, packed);
    ck_assert_mem_eq(&status, &expected, sizeof status);
    for (size_t i = 0; i < sizeof packed; i++)
        if (packed[i] != 0xA5)
            ck_abort_msg("a rejected call wrote byte %zu", i);
}

START_TEST(gather_out_of_range)
{
    struct raw raw = make_raw(10, 4, 5);
    struct sb_scale_pack_args args = args_of(&raw, SB_CARRIER_U8, 128);
    static const struct {
        int32_t index[6];
        int64_t position, found;
    } bad[] = {
        {{0, 1, 2, 3, 4, 10}, 5, 10},
        {{-1, 1, 2, 3, 4, 5}, 0, -1},
        {{0, 9, INT32_MIN, INT32_MAX, 4, 5}, 2, INT32_MIN},
    };
    args.r = 6;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        args.gather = bad[i].index;
        expect_rejection(&args, SB_GATHER_RANGE, bad[i].position, bad[i].found, 10);
    }
    args.n = 0; /* no row to gather from */
    args.gather = bad[0].index;
    expect_rejection(&args, SB_GATHER_RANGE, 0, 0, 0);
    free_raw(&raw);
}
END_TEST

START_TEST(arguments)
{
    const struct sb_scale_pack_args good = {
        .carrier = SB_CARRIER_U8, .n = 4, .cols = 128, .row_stride = 4, .col_stride = 1, .r = 4};
    struct sb_scale_pack_args bad = good;
    ck_assert_int_eq(sb_scale_pack_check_args(&good).code, SB_OK);
    bad.n = -1;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 1, -1, 0);
    bad = good, bad.cols = 0;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 2, 0, 0);
    bad = good, bad.row_stride = -4;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 3, -4, 0);
    bad = good, bad.row_stride = 0; /* a struct has no "dense": that is 4 here */
    expect_rejection(&bad, SB_BAD_ARGUMENT, 3, 0, 0);
    bad.carrier = SB_CARRIER_I32X4;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 3, 0, 0);
    bad.cols = 96; /* rows of no word: 0 is dense */
    expect_rejection(&bad, SB_CARRIER_WIDTH, 3, 4, 0);
    bad.row_stride = -1;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 3, -1, 0);
    bad = good, bad.col_stride = 0;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 4, 0, 0);
    bad = good, bad.r = 5; /* without a gather R is N */
    expect_rejection(&bad, SB_BAD_ARGUMENT, 5, 5, 0);
    static const int32_t index[1] = {0};
    bad = good, bad.r = -2, bad.gather = index;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 5, -2, 0);
    bad = good, bad.carrier = SB_CARRIER_COUNT;
    expect_rejection(&bad, SB_BAD_ARGUMENT, 6, SB_CARRIER_COUNT, 0);
    bad = good, bad.carrier = SB_CARRIER_I32X4, bad.cols = 2880;
    expect_rejection(&bad, SB_CARRIER_WIDTH, 90, 4, 0);
    bad.n = bad.r = INT64_MAX; /* comes before the size: too many rows, and the same S % 4 */
    expect_rejection(&bad, SB_CARRIER_WIDTH, 90, 4, 0);
    bad.n = -1; /* the first in order */
    expect_rejection(&bad, SB_BAD_ARGUMENT, 1, -1, 0);
}
END_TEST

START_TEST(random_cases)
{
    uint64_t state = (uint64_t)_i + 77;
    const int64_t n = 1 + random_below(&state, 400), S = 4 * (1 + random_below(&state, 20)),
                  R = random_below(&state, 600);
    struct raw raw = make_raw(n, S, state);
    int32_t *gather = malloc((size_t)(R + 1) * sizeof *gather);
    for (int64_t r = 0; r < R; r++)
        gather[r] = (int32_t)random_below(&state, n);
    const uint8_t fill = (uint8_t)random_u32(&state);
    uint8_t *expected = pack_by_address(raw.bytes, S, gather, R, S / 4, fill);
    for (int carrier = 0; carrier < SB_CARRIER_COUNT; carrier++) {
        struct sb_scale_pack_args args = args_of(&raw, (enum sb_carrier)carrier, 32 * S);
        args.gather = gather;
        args.r = R;
        args.fill = fill;
        uint8_t *packed = poisoned(sb_scale_pack_bytes(R, 32 * S));
        ck_assert_int_eq(sb_ref_scale_pack(&args, packed).code, SB_OK);
        assert_same_bytes(packed, expected, sb_scale_pack_bytes(R, 32 * S));
        free(packed);
    }
    free(expected);
    free(gather);
    free_raw(&raw);
}
END_TEST

/* Sizes that 64 bits cannot count are rejected before the gather is read, and not taken for small ones. */
START_TEST(huge_sizes)
{
    const int32_t *const nowhere = (const int32_t *)(uintptr_t)4;
    const int64_t huge[][2] = {
        {INT64_MAX, INT64_MAX}, {1, INT64_MAX}, {INT64_MAX, 1}, {INT64_C(1) << 40, INT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        const struct sb_scale_pack_args args = {
            .n = 1, .cols = huge[i][1], .row_stride = 1, .col_stride = 1, .r = huge[i][0], .gather = nowhere};
        expect_rejection(&args, SB_TOO_LARGE, INT64_MAX, INT64_MAX, 0);
    }
    const struct sb_scale_pack_args none = {.cols = INT64_MAX, .row_stride = 1, .col_stride = 1};
    ck_assert_int_eq(sb_ref_scale_pack(&none, NULL).code, SB_OK); /* no rows: no bytes, however wide */
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref scale_pack");
    TCase *tc = tcase_create("scale_pack");
    tcase_add_test(tc, offsets);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, offsets_cover_every_byte_once);
    tcase_add_loop_test(tc, shapes_fills_carriers, 0, 7 * 8);
    tcase_add_test(tc, literal_tile);
    tcase_add_test(tc, row_and_column_strides);
    tcase_add_test(tc, gathers);
    tcase_add_test(tc, no_rows);
    tcase_add_test(tc, gather_out_of_range);
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, huge_sizes);
    tcase_add_loop_test(tc, random_cases, 0, 40);
    suite_add_tcase(suite, tc);
    return suite;
}
