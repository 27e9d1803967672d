/* Routing patterns: each holds what its name promises. */
#include "check_main.h"
#include "../golden/ops.h"
#include "../golden/routing.h"

#include <string.h>

static const struct sb_op *const all_ops[] = {&sb_op_topk_metadata};
static const struct sb_op_list ops = {all_ops, 1};

struct drawn {
    struct sb_case c;
    struct sb_data d;
    int64_t n, topk, experts;
    int64_t count[SB_ROUTE_EXPERTS_LIMIT];
};

static void draw(struct drawn *r, const char *call)
{
    char id[SB_ID_SIZE];
    struct sb_error err;
    snprintf(id, sizeof id, "topk_metadata/%s", call);
    ck_assert_msg(sb_case_parse(&r->c, &ops, id, &err), "%s", err.text);
    ck_assert_msg(r->c.op->generate(&r->c, &r->d, &err), "%s", err.text);
    r->n = sb_case_int(&r->c, "N");
    r->topk = sb_case_int(&r->c, "topk");
    r->experts = sb_case_int(&r->c, "E");
    memset(r->count, 0, sizeof r->count);
    for (int64_t i = 0; i < r->n * r->topk; i++) {
        const struct sb_tensor *t = &r->d.in[SB_IN_TOPK_IDX];
        const int64_t id_here = t->dtype == SB_I64 ? ((int64_t *)t->data)[i] : ((int32_t *)t->data)[i];
        if (id_here >= 0 && id_here < r->experts)
            r->count[id_here]++;
    }
}

static int64_t id_at(const struct drawn *r, int64_t row, int64_t slot)
{
    const struct sb_tensor *t = &r->d.in[SB_IN_TOPK_IDX];
    const int64_t i = row * r->topk + slot;
    return t->dtype == SB_I64 ? ((int64_t *)t->data)[i] : ((int32_t *)t->data)[i];
}

static int64_t repeats_in_row(const struct drawn *r, int64_t row)
{
    int64_t repeats = 0;
    for (int64_t a = 0; a < r->topk; a++)
        for (int64_t b = a + 1; b < r->topk; b++) {
            const int64_t id = id_at(r, row, a);
            repeats += id >= 0 && id < r->experts && id == id_at(r, row, b);
        }
    return repeats;
}

static int64_t valid_in_row(const struct drawn *r, int64_t row)
{
    int64_t valid = 0;
    for (int64_t s = 0; s < r->topk; s++)
        valid += id_at(r, row, s) >= 0 && id_at(r, row, s) < r->experts;
    return valid;
}

START_TEST(uniform_rows_are_full_distinct_and_spread)
{
    struct drawn r;
    draw(&r, "N=4000,topk=8,E=40");
    for (int64_t row = 0; row < r.n; row++) {
        ck_assert_int_eq(valid_in_row(&r, row), 8);
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
    }
    for (int64_t e = 0; e < r.experts; e++) { /* 800 expected */
        ck_assert_int_gt(r.count[e], 650);
        ck_assert_int_lt(r.count[e], 950);
    }
    int64_t first_above_second = 0;
    for (int64_t row = 0; row < r.n; row++)
        first_above_second += id_at(&r, row, 0) > id_at(&r, row, 1);
    ck_assert_int_gt(first_above_second, 1800); /* order in a row is random as well */
    ck_assert_int_lt(first_above_second, 2200);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(topk_above_E_leaves_slots_empty)
{
    struct drawn r;
    draw(&r, "N=100,topk=8,E=3");
    int64_t hole_first = 0;
    for (int64_t row = 0; row < r.n; row++) {
        ck_assert_int_eq(valid_in_row(&r, row), 3);
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
        hole_first += id_at(&r, row, 0) == -1;
    }
    ck_assert_int_gt(hole_first, 20);
    ck_assert_int_lt(hole_first, 90);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(holes_stand_in_every_slot)
{
    struct drawn r;
    draw(&r, "N=500,topk=6,E=20,route=holes");
    for (int64_t s = 0; s < r.topk; s++) {
        int64_t holes = 0;
        for (int64_t row = 0; row < r.n; row++)
            holes += id_at(&r, row, s) == -1;
        ck_assert_int_gt(holes, 180);
        ck_assert_int_lt(holes, 320);
    }
    int64_t empty = 0, full = 0;
    for (int64_t row = 0; row < r.n; row++) {
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
        empty += valid_in_row(&r, row) == 0;
        full += valid_in_row(&r, row) == 6;
    }
    ck_assert(empty > 0 && full > 0);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(none_one_expert_and_ends_empty)
{
    struct drawn r;
    draw(&r, "N=50,topk=4,E=8,route=none");
    for (int64_t row = 0; row < r.n; row++)
        for (int64_t s = 0; s < 4; s++)
            ck_assert_int_eq(id_at(&r, row, s), -1);
    sb_data_free(&r.d);

    draw(&r, "N=50,topk=4,E=8,route=one_expert");
    int64_t used = 0;
    for (int64_t e = 0; e < 8; e++) {
        used += r.count[e] > 0;
        ck_assert(r.count[e] == 0 || r.count[e] == 50);
    }
    ck_assert_int_eq(used, 1);
    sb_data_free(&r.d);

    draw(&r, "N=500,topk=4,E=9,route=ends_empty");
    for (int64_t e = 0; e < 9; e++)
        ck_assert_int_eq(r.count[e] == 0, e == 0 || e == 4 || e == 8);
    sb_data_free(&r.d);

    draw(&r, "N=50,topk=4,E=4,route=ends_empty");
    ck_assert_int_eq(r.count[1], 50);
    ck_assert_int_eq(r.count[0] + r.count[2] + r.count[3], 0);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(every_token_on_every_expert)
{
    struct drawn r;
    const char *const calls[] = {"N=77,topk=8,E=8", "N=77,topk=8,E=8,route=all_experts", "N=77,topk=1,E=1"};
    draw(&r, calls[_i]);
    for (int64_t e = 0; e < r.experts; e++)
        ck_assert_int_eq(r.count[e], 77);
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
    sb_data_free(&r.d);
}
END_TEST

struct boundary {
    const char *call;
    int64_t count; /* some expert has exactly this many */
};

static const struct boundary boundaries[] = {
    {"N=600,topk=4,E=12,route=exact_block", 384},
    {"N=600,topk=4,E=12,route=block_minus", 383},
    {"N=600,topk=4,E=12,route=block_plus", 385},
    {"N=150,topk=2,E=33,block=16,route=exact_block", 48},
    {"N=150,topk=2,E=33,block=16,route=block_minus", 47},
    {"N=150,topk=2,E=33,block=16,route=block_plus", 49},
    {"N=128,topk=1,E=1,route=exact_block", 128},
    {"N=127,topk=1,E=1,route=block_minus", 127},
    {"N=129,topk=1,E=1,route=block_plus", 129},
    {"N=3100,topk=1,E=3,block=1024,idx=i32,route=exact_block", 3072},
    {"N=3100,topk=1,E=3,block=1024,idx=i32,route=block_minus", 3071},
    {"N=3100,topk=1,E=3,block=1024,idx=i32,route=block_plus", 3073},
};

START_TEST(an_expert_meets_the_block_boundary)
{
    struct drawn r;
    draw(&r, boundaries[_i].call);
    int64_t hits = 0;
    for (int64_t e = 0; e < r.experts; e++)
        hits += r.count[e] == boundaries[_i].count;
    ck_assert_int_ge(hits, 1);
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(hot_and_skewed_load_few_experts)
{
    struct drawn r;
    draw(&r, "N=700,topk=8,E=64,route=hot");
    int64_t hot = 0;
    for (int64_t e = 0; e < 64; e++)
        hot += r.count[e] == 700;
    ck_assert_int_eq(hot, 1);
    sb_data_free(&r.d);

    draw(&r, "N=2000,topk=6,E=256,route=skewed");
    int64_t low = 0, all = 0;
    for (int64_t e = 0; e < 256; e++) {
        low += e < 32 ? r.count[e] : 0;
        all += r.count[e];
    }
    ck_assert_int_eq(all, 12000);
    ck_assert_int_gt(low, 4800); /* an eighth of the experts: uniform gives 1500 */
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
    sb_data_free(&r.d);
}
END_TEST

static bool has_id(const struct drawn *r, int64_t id)
{
    for (int64_t row = 0; row < r->n; row++)
        for (int64_t s = 0; s < r->topk; s++)
            if (id_at(r, row, s) == id)
                return true;
    return false;
}

START_TEST(invalid_has_every_kind)
{
    struct drawn r;
    draw(&r, _i == 0 ? "N=90,topk=6,E=24,idx=i32,route=invalid" : "N=90,topk=6,E=24,route=invalid");
    const int64_t narrow[] = {24, 25, -2, -25, INT32_MAX, INT32_MIN};
    for (size_t j = 0; j < sizeof narrow / sizeof narrow[0]; j++)
        ck_assert_msg(has_id(&r, narrow[j]), "id %lld missing", (long long)narrow[j]);
    int64_t above = 0, below = 0, repeated = 0;
    for (int64_t row = 0; row < r.n; row++)
        for (int64_t s = 0; s < r.topk; s++) {
            const int64_t id = id_at(&r, row, s), low = (int64_t)(int32_t)(id & UINT32_MAX);
            above += id >= INT64_C(1) << 32 && low >= 0 && low < r.experts;
            below += id < INT32_MIN && low >= 0 && low < r.experts;
            for (int64_t b = s + 1; b < r.topk; b++)
                repeated += (id < -1 || id >= r.experts) && id == id_at(&r, row, b);
        }
    ck_assert_int_gt(repeated, 0);
    if (_i == 1) {
        ck_assert(above > 0 && below > 0);
        ck_assert(has_id(&r, INT64_MAX) && has_id(&r, INT64_MIN) && has_id(&r, UINT32_MAX));
    }
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), 0);
    sb_data_free(&r.d);
}
END_TEST

START_TEST(duplicates_stand_where_they_are_said_to)
{
    struct drawn r;
    draw(&r, "N=65,topk=4,E=100,route=duplicate");
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row) > 0, row == 32 || row == 64);
    sb_data_free(&r.d);
    draw(&r, "N=333,topk=8,E=64,route=duplicate_last");
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row) > 0, row == 332);
    ck_assert_int_eq(id_at(&r, 332, 0), id_at(&r, 332, 7));
    sb_data_free(&r.d);
    draw(&r, "N=65,topk=6,E=100,route=duplicate_nested");
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), row == 32 ? 2 : 0);
    ck_assert_int_eq(id_at(&r, 32, 0), id_at(&r, 32, 5));
    ck_assert_int_eq(id_at(&r, 32, 1), id_at(&r, 32, 2));
    ck_assert_int_gt(id_at(&r, 32, 0), id_at(&r, 32, 1)); /* a search by expert meets the inner pair first */
    sb_data_free(&r.d);
    draw(&r, "N=65,topk=6,E=100,route=duplicate_adjacent");
    for (int64_t row = 0; row < r.n; row++)
        ck_assert_int_eq(repeats_in_row(&r, row), row == 32);
    ck_assert_int_eq(id_at(&r, 32, 2), id_at(&r, 32, 3));
    sb_data_free(&r.d);
}
END_TEST

START_TEST(tail_rows_are_empty_and_sorted_rows_are_sorted)
{
    struct drawn r;
    draw(&r, "N=128,topk=8,E=16,route=tail_invalid");
    for (int64_t row = 80; row < 128; row++)
        ck_assert_int_eq(valid_in_row(&r, row), 0);
    ck_assert_int_gt(valid_in_row(&r, 78) + valid_in_row(&r, 79), 0);
    sb_data_free(&r.d);
    draw(&r, "N=120,topk=8,E=40,route=descending");
    for (int64_t row = 0; row < r.n; row++)
        for (int64_t s = 1; s < 8; s++)
            ck_assert_int_lt(id_at(&r, row, s), id_at(&r, row, s - 1));
    sb_data_free(&r.d);
    draw(&r, "N=120,topk=8,E=40,route=ascending");
    for (int64_t row = 0; row < r.n; row++)
        for (int64_t s = 1; s < 8; s++)
            ck_assert_int_gt(id_at(&r, row, s), id_at(&r, row, s - 1));
    sb_data_free(&r.d);
}
END_TEST

START_TEST(a_row_can_be_drawn_alone)
{
    struct drawn r;
    int64_t ids[SB_ROUTE_TOPK_LIMIT];
    draw(&r, _i == 0 ? "N=300,topk=5,E=30,route=invalid" : "N=300,topk=5,E=30,block=16,route=block_plus");
    for (int64_t row = 0; row < r.n; row += 7) {
        sb_route_row(&r.c, row, ids);
        for (int64_t s = 0; s < 5; s++)
            ck_assert_int_eq(ids[s], id_at(&r, row, s));
    }
    sb_data_free(&r.d);
}
END_TEST

START_TEST(counts_are_what_the_parameter_says)
{
    struct drawn r;
    const char *const calls[] = {"N=150,topk=4,E=10,counts=exact,route=holes",
                                 "N=150,topk=4,E=10,counts=aligned,counts_align=16", "N=150,topk=4,E=10,counts=wrong",
                                 "N=150,topk=4,E=10,counts=short", "N=90,topk=6,E=24,counts=exact,route=invalid"};
    draw(&r, calls[_i]);
    const int32_t *given = r.d.in[SB_IN_TOKENS_PER_EXPERT].data;
    for (int64_t e = 0; e < r.experts; e++) {
        int64_t expected = r.count[e];
        expected = _i == 1 ? (expected + 15) / 16 * 16 : expected;
        expected += _i == 2 && (e == 5 || e == 9) ? 1 : 0;
        expected -= _i == 3 && e == 9 ? 1 : 0;
        ck_assert_int_eq(given[e], expected);
    }
    sb_data_free(&r.d);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/routing");
    TCase *tc = tcase_create("patterns");
    tcase_add_test(tc, uniform_rows_are_full_distinct_and_spread);
    tcase_add_test(tc, topk_above_E_leaves_slots_empty);
    tcase_add_test(tc, holes_stand_in_every_slot);
    tcase_add_test(tc, none_one_expert_and_ends_empty);
    tcase_add_loop_test(tc, every_token_on_every_expert, 0, 3);
    tcase_add_loop_test(tc, an_expert_meets_the_block_boundary, 0, sizeof boundaries / sizeof boundaries[0]);
    tcase_add_test(tc, hot_and_skewed_load_few_experts);
    tcase_add_loop_test(tc, invalid_has_every_kind, 0, 2);
    tcase_add_test(tc, duplicates_stand_where_they_are_said_to);
    tcase_add_test(tc, tail_rows_are_empty_and_sorted_rows_are_sorted);
    tcase_add_loop_test(tc, a_row_can_be_drawn_alone, 0, 2);
    tcase_add_loop_test(tc, counts_are_what_the_parameter_says, 0, 5);
    suite_add_tcase(suite, tc);
    return suite;
}
