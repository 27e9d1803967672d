/* Samples of an output: which tiles of dw a case holds, that their bits are those of the whole, and how packed blocks
 * and places of the whole belong together. */
#include "../golden/digest.h"
#include "../golden/ops.h"
#include "../golden/samples.h"
#include "../golden/wgrad_samples.h"
#include "../golden/wgrad_segments.h"
#include "../ref/wgrad_varlen_k.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check_main.h"

static const struct sb_op *const op_array[] = {&sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {op_array, 1};

static struct sb_case parse(const char *id)
{
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(&c, &ops, id, &err), "%s", err.text);
    return c;
}

static struct sb_samples samples_of(const struct sb_case *c)
{
    struct sb_samples s;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_samples(c, 0, &s, &err), "%s", err.text);
    return s;
}

static bool has_tile(const struct sb_samples *s, int64_t e, int64_t row, int64_t column)
{
    for (int64_t i = 0; i < s->count; i++)
        if (s->block[i].plane == e && s->block[i].row == row && s->block[i].column == column)
            return true;
    return false;
}

/* ---- the choice ----------------------------------------------------------------------------------- */

START_TEST(corners_come_first)
{
    const struct sb_case c = parse("wgrad_varlen_k/M=256,N=256,E=6,counts=9+0+300+1+0+17,sample=20");
    struct sb_samples s = samples_of(&c);
    ck_assert_int_eq(s.count, 20);
    ck_assert(has_tile(&s, 0, 0, 0));     /* the first element */
    ck_assert(has_tile(&s, 5, 192, 192)); /* the last */
    ck_assert(has_tile(&s, 2, 192, 192)); /* of the longest segment */
    ck_assert(has_tile(&s, 2, 0, 192));
    ck_assert(has_tile(&s, 3, 192, 192)); /* of the shortest that is not empty */
    ck_assert(has_tile(&s, 1, 192, 192)); /* of the first empty one */
    ck_assert(has_tile(&s, 1, 0, 0));
    sb_samples_free(&s);
}
END_TEST

START_TEST(a_few_samples_are_the_first_of_many)
{
    const struct sb_case few = parse("wgrad_varlen_k/M=256,N=256,E=6,counts=9+0+300+1+0+17,sample=4");
    struct sb_samples s = samples_of(&few);
    ck_assert_int_eq(s.count, 4);
    ck_assert(has_tile(&s, 0, 0, 0) && has_tile(&s, 5, 192, 192) && has_tile(&s, 2, 192, 192) &&
              has_tile(&s, 1, 192, 192));
    sb_samples_free(&s);
}
END_TEST

/* Tiles of one size, inside dw, with drawn places that are not the same every time. */
START_TEST(tiles_lie_inside)
{
    static const char *const ids[] = {
        "wgrad_varlen_k/M=256,N=136,E=6,counts=9+0+300+1+0+17,sample=300",
        "wgrad_varlen_k/M=8,N=72,E=2,counts=9+0,sample=40",
        "wgrad_varlen_k/M=64,N=64,E=1,counts=empty,sample=7",
        "wgrad_varlen_k/M=7168,N=7168,E=8,counts=skewed,tokens=65536,sample=128",
    };
    const struct sb_case c = parse(ids[_i]);
    const int64_t m = sb_case_int(&c, "M"), n = sb_case_int(&c, "N");
    struct sb_samples s = samples_of(&c), again = samples_of(&c);
    ck_assert_int_eq(s.count, sb_case_int(&c, "sample"));
    for (int64_t i = 0; i < s.count; i++) {
        const struct sb_block b = s.block[i];
        ck_assert(b.plane >= 0 && b.plane < sb_case_int(&c, "E"));
        ck_assert(b.row >= 0 && b.row_end <= m && b.column >= 0 && b.column_end <= n);
        ck_assert_int_eq(b.row_end - b.row, m < SB_WGRAD_SAMPLE_TILE ? m : SB_WGRAD_SAMPLE_TILE);
        ck_assert_int_eq(b.column_end - b.column, n < SB_WGRAD_SAMPLE_TILE ? n : SB_WGRAD_SAMPLE_TILE);
    }
    ck_assert_mem_eq(s.block, again.block, (size_t)s.count * sizeof *s.block);
    sb_samples_free(&s);
    sb_samples_free(&again);
}
END_TEST

START_TEST(drawn_places_spread)
{
    const struct sb_case c = parse("wgrad_varlen_k/M=7168,N=7168,E=8,counts=equal,tokens=65536,sample=128");
    struct sb_samples s = samples_of(&c);
    int experts[8] = {0}, quarters[4] = {0};
    for (int64_t i = 0; i < s.count; i++) {
        experts[s.block[i].plane]++;
        quarters[s.block[i].row / 3585 * 2 + s.block[i].column / 3585]++;
        for (int64_t k = 0; k < i; k++)
            ck_assert(memcmp(&s.block[i], &s.block[k], sizeof s.block[i]) != 0);
    }
    for (int e = 0; e < 8; e++)
        ck_assert_int_ge(experts[e], 4);
    for (int q = 0; q < 4; q++)
        ck_assert_int_ge(quarters[q], 10);
    sb_samples_free(&s);
}
END_TEST

START_TEST(no_samples_where_none_are_asked_for)
{
    const struct sb_case c = parse("wgrad_varlen_k/M=8,N=8,E=2,counts=37+50");
    struct sb_samples s = samples_of(&c);
    ck_assert_int_eq(s.count, 0);
    ck_assert(!sb_case_is_sampled(&c));
    struct sb_case refused;
    struct sb_error err = {0};
    ck_assert(
        !sb_case_parse(&refused, &ops, "wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,break=misaligned_dw,sample=1", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "sample=0"));
}
END_TEST

/* ---- the bits ------------------------------------------------------------------------------------- */

static void make(const struct sb_case *c, struct sb_data *d)
{
    struct sb_error err = {0};
    ck_assert_msg(c->op->generate(c, d, &err) && c->op->reference(c, d, &err), "%s", err.text);
}

/* The plain reference's whole dw on the same inputs, which also defines what the tiles are. */
static void *whole_dw(const struct sb_case *c, const struct sb_data *d)
{
    const struct sb_tensor *whole = sb_output_whole(d, 0);
    const int64_t ld_dy = sb_case_int(c, "ld_dy"), ld_x = sb_case_int(c, "ld_x");
    const struct sb_wgrad_args args = {.dy = d->in[0].data,
                                       .x = d->in[1].data,
                                       .cu_seqlens = d->in[2].data,
                                       .x_gather_idx = d->in[3].data,
                                       .main_grad = d->in[4].data,
                                       .T = d->in[0].shape[0],
                                       .Tx = d->in[1].shape[0],
                                       .M = sb_case_int(c, "M"),
                                       .N = sb_case_int(c, "N"),
                                       .E = sb_case_int(c, "E"),
                                       .ld_dy = ld_dy != 0 ? ld_dy : sb_case_int(c, "M"),
                                       .ld_x = ld_x != 0 ? ld_x : sb_case_int(c, "N"),
                                       .out_dtype = whole->dtype};
    void *dw = aligned_alloc(256, (sb_tensor_span_bytes(whole) + 255) / 256 * 256);
    ck_assert_ptr_nonnull(dw);
    ck_assert_int_eq(sb_ref_wgrad_varlen_k(&args, dw).code, SB_OK);
    return dw;
}

START_TEST(tiles_are_those_of_the_whole)
{
    static const char *const ids[] = {
        "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,sample=12",
        "wgrad_varlen_k/M=136,N=72,E=5,counts=skewed,tokens=400,gather=random,accumulate=1,out_dtype=bf16,sample=9",
        "wgrad_varlen_k/M=72,N=24,E=3,counts=20+0+33,sample=5",
        "wgrad_varlen_k/M=72,N=136,E=3,counts=20+0+33,first=3,tail=9,ld_dy=80,ld_x=144,dist=cancel,sample=40",
    };
    const struct sb_case c = parse(ids[_i]);
    struct sb_data d;
    make(&c, &d);
    ck_assert_int_eq(d.out[0].rank, 3);
    ck_assert_int_eq(d.out[0].shape[0], sb_case_int(&c, "sample"));
    ck_assert_int_eq(sb_output_whole(&d, 0)->shape[0], sb_case_int(&c, "E"));
    void *dw = whole_dw(&c, &d), *tiles = malloc(sb_tensor_span_bytes(&d.out[0]));
    sb_samples_gather(&d.samples[0], dw, tiles);
    ck_assert_mem_eq(tiles, d.out[0].data, sb_tensor_span_bytes(&d.out[0]));
    ((unsigned char *)dw)[0] ^= 1; /* the first sample holds the first element */
    sb_samples_gather(&d.samples[0], dw, tiles);
    ck_assert_mem_ne(tiles, d.out[0].data, sb_tensor_span_bytes(&d.out[0]));
    free(dw);
    free(tiles);
    sb_data_free(&d);
}
END_TEST

START_TEST(a_rejected_call_has_no_samples)
{
    const struct sb_case c = parse("wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=descending,sample=3");
    struct sb_data d;
    make(&c, &d);
    ck_assert_int_eq(d.status.code, SB_SEGMENT_ORDER);
    ck_assert_int_eq(d.samples[0].count, 0);
    ck_assert_ptr_null(d.out[0].data);
    ck_assert_int_eq(sb_tensor_count(sb_output_whole(&d, 0)), 4 * 24 * 24);
    sb_data_free(&d);
}
END_TEST

/* ---- places --------------------------------------------------------------------------------------- */

static struct sb_samples by_hand(struct sb_block *block, int64_t count)
{
    struct sb_samples s = {.count = count, .block = block};
    sb_tensor_describe(&s.whole, "dw", SB_F32, 3, (int64_t[]){3, 10, 20});
    return s;
}

START_TEST(places_of_the_whole)
{
    struct sb_block block[] = {{0, 0, 2, 0, 3}, {2, 8, 10, 17, 20}};
    const struct sb_samples s = by_hand(block, 2);
    static const int64_t expected[12] = {0, 1, 2, 20, 21, 22, 577, 578, 579, 597, 598, 599};
    uint32_t whole[600], packed[12];
    for (uint32_t i = 0; i < 600; i++)
        whole[i] = i;
    sb_samples_gather(&s, whole, packed);
    for (int64_t i = 0; i < 12; i++) {
        int64_t of;
        ck_assert_int_eq(sb_samples_place(&s, i, &of), expected[i]);
        ck_assert_int_eq(of, i / 6);
        ck_assert_int_eq(packed[i], expected[i]);
    }
    const struct sb_tensor layout = sb_samples_layout(&s), table = sb_samples_table(&s);
    ck_assert(layout.shape[0] == 2 && layout.shape[1] == 2 && layout.shape[2] == 3 && layout.dtype == SB_F32);
    ck_assert(table.shape[0] == 2 && table.shape[1] == 5 && table.dtype == SB_I64);
    ck_assert_int_eq(((const int64_t *)table.data)[9], 20);
}
END_TEST

/* What overlaps counts once: the share that a report states must not be more than was compared. */
START_TEST(shared_elements_count_once)
{
    struct sb_block apart[] = {{0, 0, 2, 0, 3}, {1, 0, 2, 0, 3}, {0, 2, 4, 0, 3}, {0, 0, 2, 3, 6}};
    struct sb_block same[] = {{0, 0, 2, 0, 3}, {0, 0, 2, 0, 3}, {0, 0, 2, 0, 3}};
    struct sb_block crossing[] = {{0, 0, 2, 0, 3}, {0, 1, 3, 1, 4}, {0, 1, 3, 2, 5}};
    struct sb_samples s = by_hand(apart, 4);
    char text[96];
    ck_assert_int_eq(sb_samples_elements(&s), 24);
    ck_assert_str_eq(sb_samples_text(&s, text, sizeof text), "4 tiles of 2x3, 4 % of dw");
    s = by_hand(same, 3);
    ck_assert_int_eq(sb_samples_elements(&s), 6);
    ck_assert_str_eq(sb_samples_text(&s, text, sizeof text), "3 tiles of 2x3, 1 % of dw");
    s = by_hand(crossing, 3);
    ck_assert_int_eq(sb_samples_elements(&s), 6 + 4 + 2);
}
END_TEST

/* As many tiles as a case may have: counted as a bitmap counts them, and at once. */
START_TEST(many_tiles_are_counted)
{
    static const char *const ids[] = {
        "wgrad_varlen_k/M=2048,N=2048,E=1,counts=empty,sample=4096",
        "wgrad_varlen_k/M=72,N=80,E=3,counts=empty,sample=4096",
        "wgrad_varlen_k/M=64,N=2048,E=2,counts=empty,sample=4096",
        "wgrad_varlen_k/M=8,N=8,E=2,counts=empty,sample=3",
    };
    const struct sb_case c = parse(ids[_i]);
    struct sb_samples s = samples_of(&c);
    const int64_t places = sb_tensor_count(&s.whole);
    unsigned char *held = calloc((size_t)places, 1);
    ck_assert_ptr_nonnull(held);
    for (int64_t i = 0; i < s.count; i++)
        for (int64_t row = s.block[i].row; row < s.block[i].row_end; row++)
            memset(held + (s.block[i].plane * s.whole.shape[1] + row) * s.whole.shape[2] + s.block[i].column, 1,
                   (size_t)(s.block[i].column_end - s.block[i].column));
    int64_t expected = 0;
    for (int64_t i = 0; i < places; i++)
        expected += held[i];
    const clock_t start = clock();
    ck_assert_int_eq(sb_samples_elements(&s), expected);
    ck_assert(clock() - start < CLOCKS_PER_SEC);
    free(held);
    sb_samples_free(&s);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/samples");
    TCase *choice = tcase_create("choice");
    tcase_add_test(choice, corners_come_first);
    tcase_add_test(choice, a_few_samples_are_the_first_of_many);
    tcase_add_loop_test(choice, tiles_lie_inside, 0, 4);
    tcase_add_test(choice, drawn_places_spread);
    tcase_add_test(choice, no_samples_where_none_are_asked_for);
    suite_add_tcase(suite, choice);
    TCase *bits = tcase_create("bits");
    tcase_add_loop_test(bits, tiles_are_those_of_the_whole, 0, 4);
    tcase_add_test(bits, a_rejected_call_has_no_samples);
    suite_add_tcase(suite, bits);
    TCase *places = tcase_create("places");
    tcase_add_test(places, places_of_the_whole);
    tcase_add_test(places, shared_elements_count_once);
    tcase_add_loop_test(places, many_tiles_are_counted, 0, 4);
    suite_add_tcase(suite, places);
    return suite;
}
