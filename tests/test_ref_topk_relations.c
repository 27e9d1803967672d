/* The relations checker: green for right results in any order, red for every planted corruption. */
#include "check_main.h"
#include "ref_topk.h"

#include <stdio.h>

static struct sb_topk_args args;
static struct sb_topk_out out;
static char why[256];

static void set_up(void)
{
    args =
        (struct sb_topk_args){.idx_dtype = SB_I64, .counts_align = 1, .n = 500, .topk = 6, .experts = 12, .block = 128};
    topk_fill_input(&args, ROUTE_WILD, 42);
    int64_t TK, TKP;
    ck_assert_int_eq(sb_ref_topk_count(&args, NULL, &TK, &TKP).code, SB_OK);
    out = topk_alloc(&args, TK, TKP);
    ck_assert_int_eq(sb_ref_topk_metadata(&args, &out).code, SB_OK);
    ck_assert(out.pad_rows > 20 && TK > 1000);
}

static void tear_down(void)
{
    topk_free(&out);
    topk_free_input(&args);
}

static void expect_right(void)
{
    ck_assert_msg(sb_topk_relations(&args, &out, why, sizeof why), "%s", why);
    ck_assert_str_eq(why, "");
}

/* Red, and the sentence names the array. */
static void expect_wrong(const char *name)
{
    ck_assert_msg(!sb_topk_relations(&args, &out, why, sizeof why), "accepted a corrupted %s", name);
    ck_assert_msg(strstr(why, name) != NULL, "\"%s\" does not name %s", why, name);
}

START_TEST(both_orders_are_right)
{
    expect_right();
    args.order = SB_ORDER_SLOT; /* the checker goes by the result, not by the order asked for */
    expect_right();
    ck_assert_int_eq(sb_ref_topk_metadata(&args, &out).code, SB_OK);
    expect_right();
    args.order = SB_ORDER_EXPERT;
    expect_right();
}
END_TEST

/* The first padded place of a real row whose successor is real too. */
static int64_t two_real_rows(void)
{
    for (int64_t e = 0; e < args.experts; e++)
        if (out.expert_offset[e + 1] > out.expert_offset[e])
            return out.expert_offset[e];
    ck_abort_msg("no expert has a token");
    return -1;
}

static int64_t first_padding_row(void)
{
    for (int64_t p = 0; p < out.TKP; p++)
        if (out.s_scatter_idx[p] >= out.TK)
            return p;
    ck_abort_msg("no padding");
    return -1;
}

static void swap_i32(int32_t *a, int32_t *b)
{
    const int32_t t = *a;
    *a = *b;
    *b = t;
}

START_TEST(other_orders_are_right)
{
    /* Two tokens of one expert change places, everything that names them with them. */
    const int64_t p = two_real_rows();
    swap_i32(&out.x_gather_idx[p], &out.x_gather_idx[p + 1]);
    swap_i32(&out.s_scatter_idx[p], &out.s_scatter_idx[p + 1]);
    swap_i32(&out.s_reverse_scatter_idx[out.s_scatter_idx[p]], &out.s_reverse_scatter_idx[out.s_scatter_idx[p + 1]]);
    expect_right();

    /* Two slots of one token change places. */
    int64_t t = 0;
    while (out.token_offset[t + 1] - out.token_offset[t] < 2)
        t++;
    const int32_t i = out.token_offset[t], j = i + 1;
    swap_i32(&out.s_reverse_scatter_idx[i], &out.s_reverse_scatter_idx[j]);
    swap_i32(&out.score_src_idx[i], &out.score_src_idx[j]);
    swap_i32((int32_t *)&out.topk_score[i], (int32_t *)&out.topk_score[j]);
    out.s_scatter_idx[out.s_reverse_scatter_idx[i]] = i;
    out.s_scatter_idx[out.s_reverse_scatter_idx[j]] = j;
    expect_right();
}
END_TEST

/* One bit at a time in one element of each array, at its start, in its middle and at its end. */
START_TEST(any_flipped_bit_is_wrong)
{
    static const char *const names[TOPK_ARRAYS] = {"expert_offset",         "x_gather_idx", "s_scatter_idx",
                                                   "s_reverse_scatter_idx", "token_offset", "topk_score",
                                                   "score_src_idx"};
    int64_t length[TOPK_ARRAYS];
    topk_lengths(&args, out.TK, out.TKP, length);
    uint32_t *array = topk_array(&out, _i);
    const int64_t places[] = {0, length[_i] / 3, length[_i] / 2, length[_i] - 1};
    for (int place = 0; place < 4; place++)
        for (int bit = 0; bit < 32; bit++) {
            array[places[place]] ^= UINT32_C(1) << bit;
            ck_assert_msg(!sb_topk_relations(&args, &out, why, sizeof why), "%s[%lld] bit %d", names[_i],
                          (long long)places[place], bit);
            ck_assert_str_ne(why, "");
            array[places[place]] ^= UINT32_C(1) << bit;
        }
    expect_right();
}
END_TEST

START_TEST(planted_faults)
{
    const int64_t p = two_real_rows(), pad = first_padding_row();

    out.TK--;
    expect_wrong("TK");
    out.TK++;
    out.TKP += args.block;
    expect_wrong("TKP");
    out.TKP -= args.block;
    out.pad_rows = 0;
    expect_wrong("pad_rows");
    out.pad_rows = out.TKP - out.TK;
    expect_right();

    /* Right values in the wrong order. */
    swap_i32(&out.x_gather_idx[p], &out.x_gather_idx[p + 1]);
    expect_wrong("s_scatter_idx"); /* the position belongs to another token now */
    swap_i32(&out.x_gather_idx[p], &out.x_gather_idx[p + 1]);
    swap_i32(&out.s_scatter_idx[p], &out.s_scatter_idx[p + 1]);
    expect_wrong("s_scatter_idx");
    swap_i32(&out.s_scatter_idx[p], &out.s_scatter_idx[p + 1]);
    swap_i32(&out.s_reverse_scatter_idx[0], &out.s_reverse_scatter_idx[1]);
    expect_wrong("s_reverse_scatter_idx");
    swap_i32(&out.s_reverse_scatter_idx[0], &out.s_reverse_scatter_idx[1]);
    swap_i32((int32_t *)&out.topk_score[0], (int32_t *)&out.topk_score[1]);
    expect_wrong("topk_score");
    swap_i32((int32_t *)&out.topk_score[0], (int32_t *)&out.topk_score[1]);
    swap_i32(&out.score_src_idx[0], &out.score_src_idx[1]);
    expect_wrong("score_src_idx");
    swap_i32(&out.score_src_idx[0], &out.score_src_idx[1]);

    /* A lost token: its place filled from its neighbour, as a rank collision leaves it. */
    const int32_t token = out.x_gather_idx[p + 1], place = out.s_scatter_idx[p + 1];
    out.x_gather_idx[p + 1] = out.x_gather_idx[p];
    out.s_scatter_idx[p + 1] = out.s_scatter_idx[p];
    expect_wrong("s_reverse_scatter_idx");
    out.x_gather_idx[p + 1] = token;
    out.s_scatter_idx[p + 1] = place;

    /* Padding: another row's index, a real position, a constant other than TK, a stale score. */
    out.x_gather_idx[pad] = 1;
    expect_wrong("x_gather_idx");
    out.x_gather_idx[pad] = 0;
    out.s_scatter_idx[pad] = 0;
    expect_wrong("s_scatter_idx");
    out.s_scatter_idx[pad] = (int32_t)out.TK + 1;
    expect_wrong("s_scatter_idx");
    out.s_scatter_idx[pad] = (int32_t)out.TK;
    out.topk_score[out.TKP - 1] = 0x80000000u; /* -0 */
    expect_wrong("topk_score");
    out.topk_score[out.TKP - 1] = 0;
    expect_right();
}
END_TEST

START_TEST(an_unwritten_result_is_wrong)
{
    int64_t length[TOPK_ARRAYS];
    topk_lengths(&args, out.TK, out.TKP, length);
    for (int i = 0; i < TOPK_ARRAYS; i++) {
        uint32_t *array = topk_array(&out, i);
        uint32_t *saved = malloc((size_t)length[i] * 4);
        memcpy(saved, array, (size_t)length[i] * 4);
        memset(array, 0xFF, (size_t)length[i] * 4);
        ck_assert(!sb_topk_relations(&args, &out, why, sizeof why));
        memset(array, 0x00, (size_t)length[i] * 4);
        ck_assert(!sb_topk_relations(&args, &out, why, sizeof why));
        memcpy(array, saved, (size_t)length[i] * 4);
        free(saved);
    }
    expect_right();
}
END_TEST

START_TEST(rejected_input_has_no_right_result)
{
    int64_t *ids = malloc((size_t)(args.n * args.topk) * sizeof *ids);
    memcpy(ids, args.topk_idx, (size_t)(args.n * args.topk) * sizeof *ids);
    struct sb_topk_args bad = args;
    bad.topk_idx = ids;
    ids[60] = ids[61] = 3;
    ck_assert(!sb_topk_relations(&bad, &out, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "duplicate_expert"));
    ck_assert(!sb_topk_relations(&bad, &out, why, 0)); /* no room for a reason is no reason to pass */
    free(ids);
}
END_TEST

START_TEST(empty_results)
{
    struct sb_topk_args none = args;
    none.n = 0;
    struct sb_topk_out empty = topk_alloc(&none, 0, 0);
    ck_assert_int_eq(sb_ref_topk_metadata(&none, &empty).code, SB_OK);
    ck_assert_msg(sb_topk_relations(&none, &empty, why, sizeof why), "%s", why);
    empty.token_offset[0] = 1;
    ck_assert(!sb_topk_relations(&none, &empty, why, sizeof why));
    topk_free(&empty);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref topk relations");
    TCase *tc = tcase_create("relations");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, both_orders_are_right);
    tcase_add_test(tc, other_orders_are_right);
    tcase_add_loop_test(tc, any_flipped_bit_is_wrong, 0, TOPK_ARRAYS);
    tcase_add_test(tc, planted_faults);
    tcase_add_test(tc, an_unwritten_result_is_wrong);
    tcase_add_test(tc, rejected_input_has_no_right_result);
    tcase_add_test(tc, empty_results);
    suite_add_tcase(suite, tc);
    return suite;
}
