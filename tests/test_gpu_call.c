/* test_gpu_call.c - look-ups in a call, and the typed arguments made from one. No GPU and no CUDA needed. */
#include <signal.h>

#include "check_main.h"
#include "gpu_call.h"

/* ---- look-ups ------------------------------------------------------------------------------------------------- */

START_TEST(finds_tensors_and_scalars_by_name)
{
    const struct sb_tensor in[] = {vector_of("a", SB_U8, 1, NULL), vector_of("b", SB_U8, 2, NULL)};
    const struct sb_tensor out[] = {vector_of("b", SB_U8, 3, NULL), vector_of("c", SB_U8, 4, NULL)};
    const struct sb_scalar scalar[] = {{"N", 5}, {"NN", -6}};
    const struct sb_gpu_call call = {.in = in, .n_in = 2, .out = out, .n_out = 2, .scalar = scalar, .n_scalar = 2};
    ck_assert_ptr_eq(sb_call_in(&call, "a"), &in[0]);
    ck_assert_ptr_eq(sb_call_in(&call, "b"), &in[1]);
    ck_assert_ptr_eq(sb_call_out(&call, "b"), &out[0]);
    ck_assert_ptr_eq(sb_call_out(&call, "c"), &out[1]);
    ck_assert_int_eq(sb_call_int(&call, "N"), 5);
    ck_assert_int_eq(sb_call_int(&call, "NN"), -6);
}
END_TEST

START_TEST(an_unknown_name_aborts)
{
    const struct sb_tensor tensor = vector_of("a", SB_U8, 1, NULL);
    const struct sb_scalar scalar = {"N", 5};
    const struct sb_gpu_call call = {
        .in = &tensor, .n_in = 1, .out = &tensor, .n_out = 1, .scalar = &scalar, .n_scalar = 1};
    if (_i == 0)
        (void)sb_call_in(&call, "aa");
    else if (_i == 1)
        (void)sb_call_out(&call, "");
    else
        (void)sb_call_int(&call, "n");
}
END_TEST

/* ---- typed arguments ------------------------------------------------------------------------------------------ */

START_TEST(routing_arguments_come_from_the_call)
{
    struct routing_call r;
    make_routing_call(&r, 10, 4, 6, 300);
    const struct sb_topk_args args = sb_call_topk_args(&r.call);
    ck_assert_ptr_eq(args.topk_idx, address(0x1000));
    ck_assert_ptr_eq(args.topk_prob, address(0x2000));
    ck_assert_ptr_null(args.tokens_per_expert);
    ck_assert_int_eq(args.idx_dtype, SB_I32);
    ck_assert_int_eq(args.n, 10);
    ck_assert_int_eq(args.topk, 4);
    ck_assert_int_eq(args.experts, 6);
    ck_assert_int_eq(args.block, 128);
    ck_assert_int_eq(args.counts_align, 7);
    ck_assert_int_eq(args.order, SB_ORDER_SLOT);
}
END_TEST

START_TEST(capacities_are_the_shortest_buffers)
{
    struct routing_call r;
    make_routing_call(&r, 10, 4, 6, 300);
    const struct sb_gpu_topk_out out = sb_call_topk_out(&r.call);
    ck_assert_int_eq(out.TK_capacity, 400);
    ck_assert_int_eq(out.TKP_capacity, 500);
    ck_assert_ptr_eq(out.expert_offset, address(0x4000));
    ck_assert_ptr_eq(out.x_gather_idx, address(0x5000));
    ck_assert_ptr_eq(out.s_scatter_idx, address(0x6000));
    ck_assert_ptr_eq(out.s_reverse_scatter_idx, address(0x7000));
    ck_assert_ptr_eq(out.token_offset, address(0x8000));
    ck_assert_ptr_eq(out.topk_score, address(0x9000));
    ck_assert_ptr_eq(out.score_src_idx, address(0xA000));
    ck_assert_ptr_eq(out.TK, address(0xB000));
    ck_assert_ptr_eq(out.TKP, address(0xC000));
    ck_assert_ptr_eq(out.pad_rows, address(0xD000));
}
END_TEST

START_TEST(a_stride_of_zero_is_dense)
{
    struct routing_call r;
    make_routing_call(&r, 10, 4, 6, 300);
    struct sb_scale_pack_args args = sb_call_scale_pack_args(&r.call);
    ck_assert_ptr_eq(args.raw, address(0x3000));
    ck_assert_int_eq(args.n, 10);
    ck_assert_int_eq(args.r, 10);
    ck_assert_ptr_null(args.gather);
    ck_assert_int_eq(args.cols, 300);
    ck_assert_int_eq(args.carrier, SB_CARRIER_I8);
    ck_assert_int_eq(args.fill, 0x7F);
    ck_assert_int_eq(args.row_stride, 10);
    ck_assert_int_eq(args.col_stride, 1);

    r.in[3].col_stride = 3;
    args = sb_call_scale_pack_args(&r.call);
    ck_assert_int_eq(args.row_stride, 30);
    ck_assert_int_eq(args.col_stride, 3);

    r.in[3].row_stride = 44;
    args = sb_call_scale_pack_args(&r.call);
    ck_assert_int_eq(args.row_stride, 44);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("gpu_call");
    TCase *lookup = tcase_create("lookup");
    tcase_add_test(lookup, finds_tensors_and_scalars_by_name);
    tcase_add_loop_test_raise_signal(lookup, an_unknown_name_aborts, SIGABRT, 0, 3);
    suite_add_tcase(suite, lookup);
    TCase *typed = tcase_create("typed_arguments");
    tcase_add_test(typed, routing_arguments_come_from_the_call);
    tcase_add_test(typed, capacities_are_the_shortest_buffers);
    tcase_add_test(typed, a_stride_of_zero_is_dense);
    suite_add_tcase(suite, typed);
    return suite;
}
