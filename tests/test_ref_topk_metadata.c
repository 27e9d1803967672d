/* topk_metadata: literal examples, every edge of the contract against a second computation, rejections. */
#define _GNU_SOURCE /* memfd_create, for a routing larger than memory */
#include "check_main.h"
#include "ref_topk.h"

#include <sys/mman.h>
#include <unistd.h>

static struct sb_topk_args default_args(int64_t n, int64_t topk, int64_t experts, int64_t block)
{
    return (struct sb_topk_args){.idx_dtype = SB_I64,
                                 .counts_align = 1,
                                 .n = n,
                                 .topk = topk,
                                 .experts = experts,
                                 .block = block,
                                 .order = SB_ORDER_EXPERT};
}

static void expect_status(struct sb_status got, enum sb_code code, int64_t a, int64_t b, int64_t c, int64_t ignored)
{
    const struct sb_status expected = {(int32_t)code, 0, {a, b, c}, ignored};
    char text[512];
    ck_assert_msg(memcmp(&got, &expected, sizeof got) == 0, "%s {%lld, %lld, %lld} ignored %lld: %s",
                  sb_code_name((enum sb_code)got.code), (long long)got.where[0], (long long)got.where[1],
                  (long long)got.where[2], (long long)got.ignored, sb_status_text(&got, text, sizeof text));
}

/* ---- an example worked by hand -------------------------------------------------------------------------------- */

/* Four tokens, three slots, four experts in blocks of four. Expert 0: tokens 0 and 3. Expert 1: none. Expert 2:
 * tokens 0, 1 and 3. Expert 3: token 1. Token 2 goes nowhere; one id, 9, is no expert. */
static const int64_t hand_i64[12] = {2, 0, -1, -1, 3, 2, -1, -1, -1, 0, 9, 2};
static const int32_t hand_i32[12] = {2, 0, -1, -1, 3, 2, -1, -1, -1, 0, 9, 2};
static const uint32_t hand_prob[12] = {0x3F000000u, 0x80000000u, 0x11111111u, 0x22222222u, 0x7F800001u, 0x00000001u,
                                       0x33333333u, 0x44444444u, 0x55555555u, 0xFFC12345u, 0x66666666u, 0x3E800000u};

static const int32_t hand_expert_offset[5] = {0, 4, 4, 8, 12};
static const int32_t hand_x_gather[12] = {0, 3, 0, 0, 0, 1, 3, 0, 1, 0, 0, 0};
static const int32_t hand_token_offset[5] = {0, 2, 4, 4, 6};

static const struct {
    enum sb_topk_order order;
    int32_t s_scatter[12], s_reverse[6];
    uint32_t score[12];
    int32_t source[6];
} hand[2] = {
    {SB_ORDER_EXPERT,
     {0, 4, 6, 6, 1, 2, 5, 6, 3, 6, 6, 6},
     {0, 4, 5, 8, 1, 6},
     {0x80000000u, 0x3F000000u, 0x00000001u, 0x7F800001u, 0xFFC12345u, 0x3E800000u, 0, 0, 0, 0, 0, 0},
     {1, 0, 5, 4, 9, 11}},
    {SB_ORDER_SLOT,
     {1, 4, 6, 7, 0, 3, 5, 8, 2, 9, 10, 11},
     {4, 0, 8, 5, 1, 6},
     {0x3F000000u, 0x80000000u, 0x7F800001u, 0x00000001u, 0xFFC12345u, 0x3E800000u, 0, 0, 0, 0, 0, 0},
     {0, 1, 4, 5, 9, 11}},
};

START_TEST(worked_by_hand)
{
    struct sb_topk_args args = default_args(4, 3, 4, 4);
    args.order = hand[_i / 2].order;
    args.idx_dtype = _i % 2 == 0 ? SB_I64 : SB_I32;
    args.topk_idx = _i % 2 == 0 ? (const void *)hand_i64 : (const void *)hand_i32;
    args.topk_prob = hand_prob;
    int64_t count[4], TK, TKP;
    expect_status(sb_ref_topk_count(&args, count, &TK, &TKP), SB_OK, 0, 0, 0, 1);
    ck_assert(TK == 6 && TKP == 12 && count[0] == 2 && count[1] == 0 && count[2] == 3 && count[3] == 1);
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_OK, 0, 0, 0, 1);

    struct sb_topk_out out = topk_alloc(&args, TK, TKP);
    expect_status(sb_ref_topk_metadata(&args, &out), SB_OK, 0, 0, 0, 1);
    ck_assert(out.TK == 6 && out.TKP == 12 && out.pad_rows == 6);
    ck_assert_mem_eq(out.expert_offset, hand_expert_offset, sizeof hand_expert_offset);
    ck_assert_mem_eq(out.x_gather_idx, hand_x_gather, sizeof hand_x_gather);
    ck_assert_mem_eq(out.token_offset, hand_token_offset, sizeof hand_token_offset);
    ck_assert_mem_eq(out.s_scatter_idx, hand[_i / 2].s_scatter, sizeof hand[0].s_scatter);
    ck_assert_mem_eq(out.s_reverse_scatter_idx, hand[_i / 2].s_reverse, sizeof hand[0].s_reverse);
    ck_assert_mem_eq(out.topk_score, hand[_i / 2].score, sizeof hand[0].score);
    ck_assert_mem_eq(out.score_src_idx, hand[_i / 2].source, sizeof hand[0].source);
    int64_t length[TOPK_ARRAYS];
    topk_lengths(&args, TK, TKP, length);
    topk_assert_guards(&out, length);
    topk_free(&out);
}
END_TEST

START_TEST(no_rows)
{
    struct sb_topk_args args = default_args(0, 8, 5, 128);
    struct sb_topk_out out = topk_alloc(&args, 0, 0);
    expect_status(sb_ref_topk_metadata(&args, &out), SB_OK, 0, 0, 0, 0);
    ck_assert(out.TK == 0 && out.TKP == 0 && out.pad_rows == 0);
    for (int e = 0; e <= 5; e++)
        ck_assert_int_eq(out.expert_offset[e], 0);
    ck_assert_int_eq(out.token_offset[0], 0);
    topk_assert_guards(&out, (const int64_t[TOPK_ARRAYS]){6, 0, 0, 0, 1, 0, 0});
    topk_free(&out);
}
END_TEST

/* ---- every edge, against the second computation ----------------------------------------------------------------- */

static const struct {
    const char *reason;
    int64_t n, topk, experts, block;
    enum topk_route route;
} edges[] = {
    {"nothing routed", 70, 4, 6, 128, ROUTE_NONE},
    {"one token", 1, 8, 8, 128, ROUTE_FULL},
    {"one token, nothing routed", 1, 8, 8, 128, ROUTE_NONE},
    {"one token, one slot, one expert", 1, 1, 1, 1, ROUTE_FULL},
    {"all tokens to one expert", 1000, 4, 8, 128, ROUTE_ONE},
    {"empty experts at both ends and in the middle", 777, 4, 24, 128, ROUTE_MIDDLE},
    {"counts one below, at and one above a block of 128", 384, 1, 4, 128, ROUTE_EDGES},
    {"counts one below, at and one above a block of 1024", 3072, 1, 3, 1024, ROUTE_EDGES},
    {"counts one below, at and one above a block of 2", 6, 1, 3, 2, ROUTE_EDGES},
    {"block 1: no padding at all", 333, 6, 60, 1, ROUTE_HOLES},
    {"every token on every expert", 300, 8, 8, 128, ROUTE_FULL},
    {"topk 1", 500, 1, 40, 64, ROUTE_HOLES},
    {"topk 2", 500, 2, 40, 64, ROUTE_HOLES},
    {"topk 3: no template size", 500, 3, 40, 64, ROUTE_HOLES},
    {"topk 16", 500, 16, 40, 64, ROUTE_HOLES},
    {"topk 31", 200, 31, 40, 64, ROUTE_HOLES},
    {"topk 32", 200, 32, 1024, 128, ROUTE_HOLES},
    {"topk 32 on 32 experts, full", 100, 32, 32, 128, ROUTE_FULL},
    {"one expert only", 200, 4, 1, 128, ROUTE_HOLES},
    {"5 experts", 201, 4, 5, 128, ROUTE_HOLES},
    {"60 experts", 202, 4, 60, 128, ROUTE_HOLES},
    {"288 experts", 1000, 8, 288, 128, ROUTE_HOLES},
    {"896 experts", 1000, 8, 896, 128, ROUTE_HOLES},
    {"1023 experts", 1000, 8, 1023, 128, ROUTE_HOLES},
    {"1024 experts", 1000, 8, 1024, 128, ROUTE_HOLES},
    {"ids that are no expert", 999, 8, 40, 128, ROUTE_WILD},
    {"N 31: less than a warp", 31, 8, 8, 128, ROUTE_HOLES},
    {"N 33: a warp and one", 33, 8, 8, 128, ROUTE_HOLES},
    {"N 21725", 21725, 4, 8, 128, ROUTE_HOLES},
    {"N 43435", 43435, 4, 8, 128, ROUTE_HOLES},
    {"N 65535", 65535, 2, 8, 128, ROUTE_HOLES},
    {"N 65536", 65536, 2, 8, 128, ROUTE_HOLES},
    {"N 65537", 65537, 2, 8, 128, ROUTE_HOLES},
    {"N 86769", 86769, 2, 8, 128, ROUTE_HOLES},
    {"N 130000", 130000, 2, 8, 128, ROUTE_HOLES},
    {"more than 2^16 blocks of 32 rows", 2097185, 1, 8, 128, ROUTE_HOLES},
};
enum { EDGES = sizeof edges / sizeof edges[0] };

START_TEST(edge)
{
    struct sb_topk_args args = default_args(edges[_i].n, edges[_i].topk, edges[_i].experts, edges[_i].block);
    args.idx_dtype = _i % 2 == 0 ? SB_I64 : SB_I32;
    topk_fill_input(&args, edges[_i].route, (uint64_t)_i + 1);
    for (int order = SB_ORDER_EXPERT; order <= SB_ORDER_SLOT; order++) {
        args.order = (enum sb_topk_order)order;
        struct sb_topk_out expected = topk_by_sorting(&args);
        struct sb_topk_out out = topk_alloc(&args, expected.TK, expected.TKP);
        const struct sb_status status = sb_ref_topk_metadata(&args, &out);
        ck_assert_msg(status.code == SB_OK, "%s: %s", edges[_i].reason, sb_code_name((enum sb_code)status.code));
        ck_assert_msg((status.ignored != 0) == (edges[_i].route == ROUTE_WILD), "%s", edges[_i].reason);
        topk_assert_same(&args, &out, &expected);
        int64_t length[TOPK_ARRAYS];
        topk_lengths(&args, out.TK, out.TKP, length);
        topk_assert_guards(&out, length);
        char why[256];
        ck_assert_msg(sb_topk_relations(&args, &out, why, sizeof why), "%s: %s", edges[_i].reason, why);
        topk_free(&out);
        topk_free(&expected);
    }
    topk_free_input(&args);
}
END_TEST

START_TEST(random_shapes)
{
    uint64_t state = (uint64_t)_i + 1000;
    static const int64_t blocks[] = {1, 2, 8, 16, 64, 128, 256, 1024};
    struct sb_topk_args args = default_args(random_below(&state, 300), 1 + random_below(&state, 32),
                                            1 + random_below(&state, 1024), blocks[random_below(&state, 8)]);
    args.order = random_below(&state, 2) != 0 ? SB_ORDER_SLOT : SB_ORDER_EXPERT;
    args.idx_dtype = random_below(&state, 2) != 0 ? SB_I32 : SB_I64;
    topk_fill_input(&args, (enum topk_route)random_below(&state, ROUTE_EDGES), state);
    struct sb_topk_out expected = topk_by_sorting(&args);
    struct sb_topk_out out = topk_alloc(&args, expected.TK, expected.TKP);
    ck_assert_int_eq(sb_ref_topk_metadata(&args, &out).code, SB_OK);
    topk_assert_same(&args, &out, &expected);
    topk_free(&out);
    topk_free(&expected);
    topk_free_input(&args);
}
END_TEST

/* A large call, then a small one in the same buffers: every element of the small one is its own. */
START_TEST(small_after_large)
{
    struct sb_topk_args large = default_args(3000, 8, 40, 128), small = default_args(37, 8, 40, 128);
    topk_fill_input(&large, ROUTE_FULL, 1);
    topk_fill_input(&small, ROUTE_HOLES, 2);
    int64_t TK, TKP;
    ck_assert_int_eq(sb_ref_topk_count(&large, NULL, &TK, &TKP).code, SB_OK);
    struct sb_topk_out out = topk_alloc(&large, TK, TKP);
    ck_assert_int_eq(sb_ref_topk_metadata(&large, &out).code, SB_OK);
    ck_assert_int_eq(sb_ref_topk_metadata(&small, &out).code, SB_OK);
    struct sb_topk_out expected = topk_by_sorting(&small);
    topk_assert_same(&small, &out, &expected);
    topk_free(&expected);
    topk_free(&out);
    topk_free_input(&large);
    topk_free_input(&small);
}
END_TEST

/* ---- ids, duplicates, counts ------------------------------------------------------------------------------------ */

START_TEST(wide_ids_are_never_truncated)
{
    /* Low halves 0, 1, 2, 3 would all be experts, and duplicates of each other. */
    static const int64_t ids[6] = {INT64_C(1) << 32, (INT64_C(1) << 32) + 1, 1, INT64_C(-4294967295), INT64_MIN, -1};
    static const uint32_t prob[6] = {1, 2, 3, 4, 5, 6};
    struct sb_topk_args args = default_args(1, 6, 4, 2);
    args.topk_idx = ids;
    args.topk_prob = prob;
    int64_t count[4], TK, TKP;
    expect_status(sb_ref_topk_count(&args, count, &TK, &TKP), SB_OK, 0, 0, 0, 4);
    ck_assert(TK == 1 && TKP == 2 && count[0] == 0 && count[1] == 1);
}
END_TEST

/* The rejection is as expected, from both entry points, and nothing but the status is written. */
static void expect_rejection(const struct sb_topk_args *args, enum sb_code code, int64_t a, int64_t b, int64_t c,
                             int64_t ignored)
{
    int64_t count[SB_EXPERTS_MAX], TK = -7, TKP = -8;
    memset(count, 0xA5, sizeof count);
    expect_status(sb_ref_topk_count(args, count, &TK, &TKP), code, a, b, c, ignored);
    ck_assert(TK == -7 && TKP == -8);
    for (int e = 0; e < SB_EXPERTS_MAX; e++)
        ck_assert_int_eq(count[e], INT64_C(-6510615555426900571)); /* 0xA5 bytes */

    struct sb_topk_out out = topk_alloc(args, 64, 64);
    expect_status(sb_ref_topk_metadata(args, &out), code, a, b, c, ignored);
    topk_assert_guards(&out, (const int64_t[TOPK_ARRAYS]){0});
    ck_assert(out.TK == -1 && out.TKP == -1 && out.pad_rows == -1);
    topk_free(&out);
}

START_TEST(duplicates)
{
    static const uint32_t prob[12] = {0};
    static const struct {
        int64_t ids[12]; /* three rows of four */
        int64_t row, a, b, ignored;
    } planted[] = {
        {{0, 1, 2, 3, 5, 88, 88, 65, 0, 1, 2, 3}, 1, 1, 2, 0},
        {{0, 1, 2, 3, 88, 5, 65, 88, 0, 0, 0, 0}, 1, 0, 3, 0},  /* the lowest row */
        {{7, 8, 8, 7, -1, -1, -1, -1, 0, 1, 2, 3}, 0, 0, 3, 0}, /* the lowest first slot, not the nearest pair */
        {{6, 6, 6, 6, 0, 1, 2, 3, 0, 1, 2, 3}, 0, 0, 1, 0},     /* then the lowest second slot */
        {{-1, -1, 200, 200, -5, -5, -1, -1, 4, 500, 1, 4}, 2, 0, 3, 5}, /* ids that are no expert may repeat */
        {{0, 1, 2, 3, 0, 1, 2, 3, 0, -1, 99, 99}, 2, 2, 3, 0},          /* the last slots of the last row */
    };
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        struct sb_topk_args args = default_args(3, 4, 100, 8);
        args.topk_idx = planted[i].ids;
        args.topk_prob = prob;
        expect_rejection(&args, SB_DUPLICATE_EXPERT, planted[i].row, planted[i].a, planted[i].b, planted[i].ignored);
    }
}
END_TEST

START_TEST(repeated_ids_that_are_no_expert)
{
    static const int64_t ids[4] = {-1, -1, 100, 100};
    static const uint32_t prob[4] = {0};
    struct sb_topk_args args = default_args(1, 4, 100, 8);
    args.topk_idx = ids;
    args.topk_prob = prob;
    int64_t TK, TKP;
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_OK, 0, 0, 0, 2);
}
END_TEST

START_TEST(counts_from_the_dispatcher)
{
    /* Expert 0: 2, expert 1: none, expert 2: 3, expert 3: 1 (the example worked by hand). */
    struct sb_topk_args args = default_args(4, 3, 4, 4);
    args.topk_idx = hand_i64;
    args.topk_prob = hand_prob;
    int64_t TK, TKP;

    static const int32_t exact[4] = {2, 0, 3, 1};
    args.tokens_per_expert = exact;
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_OK, 0, 0, 0, 1);
    args.counts_align = 2;
    expect_rejection(&args, SB_COUNT_MISMATCH, 2, 3, 3, 1);

    static const int32_t to_two[4] = {2, 0, 4, 2};
    args.tokens_per_expert = to_two;
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_OK, 0, 0, 0, 1);
    ck_assert(TK == 6 && TKP == 12); /* from the indices, whatever the counts say */
    args.counts_align = 1;
    expect_rejection(&args, SB_COUNT_MISMATCH, 2, 4, 3, 1);

    static const int32_t to_128[4] = {128, 0, 128, 128};
    args.tokens_per_expert = to_128;
    args.counts_align = 128;
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_OK, 0, 0, 0, 1);

    static const int32_t wrong[][4] = {{3, 0, 3, 1}, {2, 1, 3, 1}, {2, 0, 3, 0}, {2, 0, -3, 1}};
    static const int64_t where[][3] = {{0, 3, 2}, {1, 1, 0}, {3, 0, 1}, {2, -3, 3}};
    args.counts_align = 1;
    for (int i = 0; i < 4; i++) {
        args.tokens_per_expert = wrong[i];
        expect_rejection(&args, SB_COUNT_MISMATCH, where[i][0], where[i][1], where[i][2], 1);
    }

    /* A duplicate comes before a wrong count. */
    static const int64_t duplicate[12] = {2, 0, -1, -1, 3, 2, -1, -1, -1, 0, 0, 2};
    args.topk_idx = duplicate;
    expect_rejection(&args, SB_DUPLICATE_EXPERT, 3, 0, 1, 0);
}
END_TEST

/* ---- arguments and sizes: rejected before any array is read ------------------------------------------------------ */

START_TEST(arguments)
{
    static const struct {
        int64_t n, topk, experts, block, counts_align;
        int idx_dtype, order;
        int64_t argument, value;
    } bad[] = {
        {-1, 8, 8, 128, 1, SB_I64, 0, 1, -1},
        {4, 0, 8, 128, 1, SB_I64, 0, 2, 0},
        {4, 33, 8, 128, 1, SB_I64, 0, 2, 33},
        {4, 8, 0, 128, 1, SB_I64, 0, 3, 0},
        {4, 8, 1025, 128, 1, SB_I64, 0, 3, 1025},
        {4, 8, 8, 0, 1, SB_I64, 0, 4, 0},
        {4, 8, 8, -128, 1, SB_I64, 0, 4, -128},
        {4, 8, 8, 96, 1, SB_I64, 0, 4, 96},
        {4, 8, 8, 2048, 1, SB_I64, 0, 4, 2048},
        {4, 8, 8, 128, 0, SB_I64, 0, 5, 0},
        {4, 8, 8, 128, INT64_C(1) << 31, SB_I64, 0, 5, INT64_C(1) << 31},
        {4, 8, 8, 128, 1, SB_F32, 0, 6, SB_F32},
        {4, 8, 8, 128, 1, SB_I64, 2, 7, 2},
        {-1, 0, 0, 0, 0, SB_F32, 2, 1, -1},         /* the first in order */
        {INT64_MAX, 0, 8, 128, 1, SB_I64, 0, 2, 0}, /* arguments before sizes */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct sb_topk_args args = {.idx_dtype = (enum sb_dtype)bad[i].idx_dtype,
                                          .counts_align = bad[i].counts_align,
                                          .n = bad[i].n,
                                          .topk = bad[i].topk,
                                          .experts = bad[i].experts,
                                          .block = bad[i].block,
                                          .order = (enum sb_topk_order)bad[i].order};
        expect_status(sb_topk_check_args(&args), SB_BAD_ARGUMENT, bad[i].argument, bad[i].value, 0, 0);
        int64_t TK, TKP;
        expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_BAD_ARGUMENT, bad[i].argument, bad[i].value, 0, 0);
        expect_status(sb_ref_topk_metadata(&args, NULL), SB_BAD_ARGUMENT, bad[i].argument, bad[i].value, 0, 0);
    }
    const struct sb_topk_args widest = default_args(INT32_MAX / 32, 32, 1024, 1024);
    expect_status(sb_topk_check_args(&widest), SB_OK, 0, 0, 0, 0);
    const struct sb_topk_args narrowest = default_args(0, 1, 1, 1);
    expect_status(sb_topk_check_args(&narrowest), SB_OK, 0, 0, 0, 0);
}
END_TEST

START_TEST(too_many_slots)
{
    static const struct {
        int64_t n, topk, slots;
    } sizes[] = {
        {INT64_C(2147483647), 1, 0}, /* just fits */
        {INT64_C(2147483648), 1, INT64_C(2147483648)},
        {INT64_C(268435455), 8, 0},
        {INT64_C(268435456), 8, INT64_C(2147483648)},
        {INT64_C(1) << 40, 32, INT64_C(1) << 45},
        {INT64_MAX, 2, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct sb_topk_args args = default_args(sizes[i].n, sizes[i].topk, 8, 128);
        if (sizes[i].slots == 0) {
            expect_status(sb_topk_check_args(&args), SB_OK, 0, 0, 0, 0);
            continue;
        }
        expect_status(sb_topk_check_args(&args), SB_TOO_LARGE, sizes[i].slots, INT32_MAX, 0, 0);
        expect_status(sb_ref_topk_metadata(&args, NULL), SB_TOO_LARGE, sizes[i].slots, INT32_MAX, 0, 0);
    }
}
END_TEST

START_TEST(padded_offsets)
{
    static const int64_t count[6] = {0, 1, 128, 129, 0, 127};
    static const int64_t expected[7] = {0, 0, 128, 256, 512, 512, 640};
    int64_t offset[7];
    ck_assert_int_eq(sb_topk_padded_offsets(count, 6, 128, offset), 640);
    ck_assert_mem_eq(offset, expected, sizeof expected);

    /* Past 32 bits: still exact, for the caller to reject. */
    static const int64_t huge[3] = {INT32_MAX, 1, INT32_MAX};
    ck_assert_int_eq(sb_topk_padded_offsets(huge, 3, 1024, offset), (INT64_C(1) << 32) + 1024);
    ck_assert_int_eq(offset[1], INT64_C(1) << 31);
    ck_assert_int_eq(offset[2], (INT64_C(1) << 31) + 1024);
}
END_TEST

/* 2^31 - 1 slots over 1024 experts in turn, in blocks of 1024: every slot fits 32 bits, and the one padding row that
 * the last expert needs carries TKP to 2^31. The index is 8 GiB of address space over one small file, mapped again
 * and again. */
START_TEST(padding_past_32_bits)
{
    enum { EXPERTS = 1024 };
    const size_t chunk = (size_t)1 << 26, whole = (size_t)1 << 33;
    const int fd = memfd_create("topk_idx", 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)chunk), 0);
    char *base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(base, MAP_FAILED);
    for (size_t at = 0; at < whole; at += chunk)
        ck_assert_ptr_ne(mmap(base + at, chunk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), MAP_FAILED);
    int32_t *ids = (int32_t *)(void *)base;
    for (size_t i = 0; i < chunk / sizeof *ids; i++)
        ids[i] = (int32_t)(i % EXPERTS);

    struct sb_topk_args args = default_args(INT32_MAX, 1, EXPERTS, 1024);
    args.idx_dtype = SB_I32;
    args.topk_idx = ids;
    int64_t TK = -7, TKP = -8;
    expect_status(sb_ref_topk_count(&args, NULL, &TK, &TKP), SB_TOO_LARGE, INT64_C(1) << 31, INT32_MAX, 0, 0);
    ck_assert(TK == -7 && TKP == -8);
    munmap(base, whole);
    close(fd);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref topk_metadata");
    TCase *tc = tcase_create("topk_metadata");
    tcase_add_loop_test(tc, worked_by_hand, 0, 4);
    tcase_add_test(tc, no_rows);
    tcase_add_loop_test(tc, edge, 0, EDGES);
    tcase_add_loop_test(tc, random_shapes, 0, 100);
    tcase_add_test(tc, small_after_large);
    tcase_add_test(tc, wide_ids_are_never_truncated);
    tcase_add_test(tc, duplicates);
    tcase_add_test(tc, repeated_ids_that_are_no_expert);
    tcase_add_test(tc, counts_from_the_dispatcher);
    tcase_add_test(tc, arguments);
    tcase_add_test(tc, too_many_slots);
    tcase_add_test(tc, padded_offsets);
    suite_add_tcase(suite, tc);
    if (sizeof(size_t) >= 8) {
        TCase *large = tcase_create("8 GiB of indices");
        tcase_add_test(large, padding_past_32_bits);
        suite_add_tcase(suite, large);
    }
    return suite;
}
