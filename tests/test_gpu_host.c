/* test_gpu_host.c - what of the launch functions needs no GPU: rejections, workspace sizes, the launch counter, the
 * life cycle of a hoisted copy. Passes with and without a GPU; in a build without CUDA there is only that to say.
 *
 * Array pointers are NULL or addresses that nobody may touch: a rejection that looked at them would crash. */
#include <string.h>

#include "check_main.h"
#include "gpu_call.h"

#ifndef SAMEBITS_HAVE_CUDA

START_TEST(a_build_without_cuda_says_so)
{
    ck_assert_int_eq(sb_gpu_launches(), 0);
    ck_assert_int_ne(sb_gpu_image_check(), 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("gpu_host");
    TCase *none = tcase_create("no_cuda");
    tcase_add_test(none, a_build_without_cuda_says_so);
    suite_add_tcase(suite, none);
    return suite;
}

#else

#include "../gpu/e8m0_upcast.h"
#include "../gpu/metadata_pack.h"
#include "../gpu/scale_pack.h"
#include "../gpu/variants.h"
#include "../gpu/wgrad_varlen_k.h"

enum { CUDA_INVALID_VALUE = 1 };

static void assert_same_status(struct sb_status got, struct sb_status want)
{
    ck_assert_int_eq(got.code, want.code);
    ck_assert_int_eq(got.reserved, want.reserved);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(got.where[i], want.where[i]);
    ck_assert_int_eq(got.ignored, want.ignored);
}

/* The result is this rejection, found on the host: no CUDA error, no launch since `launches`. */
static void assert_rejected(struct sb_gpu_result result, struct sb_status want, int64_t launches)
{
    ck_assert_int_ne(want.code, SB_OK);
    ck_assert_int_eq(result.cuda_error, 0);
    assert_same_status(result.status, want);
    ck_assert_int_eq(sb_gpu_launches(), launches);
}

static void assert_invalid(struct sb_gpu_result result, int64_t launches)
{
    ck_assert_int_eq(result.cuda_error, CUDA_INVALID_VALUE);
    ck_assert_int_eq(result.status.code, SB_OK);
    ck_assert_int_eq(sb_gpu_launches(), launches);
}

static bool no_gpu(void)
{
    return sb_gpu_image_check() != 0;
}

/* ---- e8m0_upcast ---------------------------------------------------------------------------------------------- */

static struct sb_tensor matrix(int64_t rows, int64_t cols)
{
    return (struct sb_tensor){.name = "scale", .dtype = SB_E8M0, .rank = 2, .shape = {rows, cols}};
}

enum { HISTORIES = 3 }; /* fresh, updated, reused */

enum upcast_form { UPCAST_FUSED, UPCAST_TWO_PASS, UPCAST_HOISTED, UPCAST_FORMS };

static struct sb_gpu_result run_upcast(enum upcast_form form, const struct sb_tensor *scale, int semantics,
                                       enum sb_dtype out_dtype, int history)
{
    const struct sb_scalar scalar[] = {{"semantics", semantics}, {"history", history}};
    const struct sb_tensor out = {.name = "out", .dtype = out_dtype, .rank = 1, .shape = {sb_tensor_count(scale)}};
    const struct sb_gpu_call call = {
        .in = scale, .n_in = 1, .out = &out, .n_out = 1, .scalar = scalar, .n_scalar = 2, .workspace_bytes = SIZE_MAX};
    switch (form) {
    case UPCAST_FUSED:
        return sb_run_e8m0_upcast_fused(&call);
    case UPCAST_TWO_PASS:
        return sb_run_e8m0_upcast_two_pass(&call);
    default:
        return sb_run_e8m0_upcast_hoisted(&call);
    }
}

static struct sb_status reference_upcast(const struct sb_tensor *scale, int semantics, enum sb_dtype out_dtype)
{
    return sb_ref_e8m0_upcast(scale, (enum sb_e8m0_semantics)semantics, out_dtype, NULL);
}

START_TEST(upcast_rejects_what_the_reference_rejects)
{
    const int64_t launches = sb_gpu_launches();
    struct sb_tensor short_rows = matrix(3, 8), column_stride = matrix(3, 8), all_wrong = matrix(3, 8);
    short_rows.row_stride = 7;
    column_stride.col_stride = 2;
    all_wrong.row_stride = -1;
    all_wrong.col_stride = -1;
    const struct sb_tensor fine = matrix(INT64_C(1) << 20, INT64_C(1) << 20);
    const struct {
        const struct sb_tensor *scale;
        int semantics;
        enum sb_dtype out_dtype;
    } cases[] = {
        {&short_rows, SB_E8M0_TE, SB_F32},
        {&column_stride, SB_E8M0_TE, SB_F32},
        {&fine, SB_E8M0_TE, SB_I32},
        {&fine, SB_E8M0_TE, SB_DTYPE_COUNT},
        {&fine, 4, SB_BF16},
        {&fine, -1, SB_F32},
        {&all_wrong, 9, SB_U8},
    };
    for (int i = 0; i < COUNT(cases); i++)
        for (int history = 0; history < HISTORIES; history++)
            assert_rejected(
                run_upcast((enum upcast_form)_i, cases[i].scale, cases[i].semantics, cases[i].out_dtype, history),
                reference_upcast(cases[i].scale, cases[i].semantics, cases[i].out_dtype), launches);
}
END_TEST

START_TEST(an_empty_upcast_launches_nothing)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_tensor empty = matrix(0, 32), no_columns = matrix(5, 0);
    const struct sb_gpu_result fused = sb_e8m0_upcast_fused(&empty, SB_E8M0_TE, SB_F32, NULL, NULL);
    const struct sb_gpu_result two_pass =
        sb_e8m0_upcast_two_pass(&no_columns, SB_E8M0_TE, SB_BF16, NULL, NULL, 0, NULL);
    ck_assert_int_eq(fused.cuda_error, 0);
    ck_assert_int_eq(fused.status.code, SB_OK);
    ck_assert_int_eq(two_pass.cuda_error, 0);
    ck_assert_int_eq(two_pass.status.code, SB_OK);
    ck_assert_int_eq(sb_gpu_launches(), launches);
}
END_TEST

START_TEST(two_pass_widens_in_place_or_in_the_workspace)
{
    const struct sb_tensor scale = matrix(100, 9);
    ck_assert_uint_eq(sb_e8m0_upcast_two_pass_workspace(&scale, SB_F32), 0);
    ck_assert_uint_eq(sb_e8m0_upcast_two_pass_workspace(&scale, SB_BF16), 3600);
    const struct sb_tensor large = matrix(INT64_C(1) << 20, INT64_C(1) << 12);
    ck_assert_uint_eq(sb_e8m0_upcast_two_pass_workspace(&large, SB_BF16), (size_t)1 << 34);
    assert_invalid(sb_e8m0_upcast_two_pass(&scale, SB_E8M0_TE, SB_BF16, NULL, NULL, 3599, NULL), sb_gpu_launches());
}
END_TEST

START_TEST(hoisted_workspace_holds_the_copy_and_what_history_needs)
{
    const struct sb_tensor scale = matrix(100, 9), out = vector_of("out", SB_BF16, 900, NULL);
    struct sb_scalar scalar[] = {{"semantics", SB_E8M0_TE}, {"history", 0}};
    const struct sb_gpu_call call = {.in = &scale, .n_in = 1, .out = &out, .n_out = 1, .scalar = scalar, .n_scalar = 2};
    ck_assert_uint_eq(sb_workspace_e8m0_upcast_hoisted(&call), 1800);
    for (int history = 1; history <= 2; history++) {
        scalar[1].value = history;
        ck_assert_uint_ge(sb_workspace_e8m0_upcast_hoisted(&call), 1800 + 900 + 15);
    }
    assert_invalid(sb_run_e8m0_upcast_hoisted(&call), sb_gpu_launches());
}
END_TEST

/* The tensor that lived at the address before has the other output type, and an element in any case. */
START_TEST(hoisted_workspace_holds_the_predecessor)
{
    const struct sb_tensor scales[] = {matrix(100, 9), matrix(0, 9)};
    const size_t copy[] = {3600, 4}, content[] = {900, 1};
    for (int i = 0; i < COUNT(scales); i++) {
        const struct sb_tensor out = vector_of("out", SB_BF16, sb_tensor_count(&scales[i]), NULL);
        const struct sb_scalar scalar[] = {{"semantics", SB_E8M0_TE}, {"history", 2}};
        const struct sb_gpu_call call = {
            .in = &scales[i], .n_in = 1, .out = &out, .n_out = 1, .scalar = scalar, .n_scalar = 2};
        ck_assert_uint_ge(sb_workspace_e8m0_upcast_hoisted(&call), copy[i] + 15 + content[i]);
        ck_assert_uint_lt(sb_workspace_e8m0_upcast_hoisted(&call), copy[i] + 15 + content[i] + 256);
    }
}
END_TEST

/* An empty tensor goes through every state without a launch, so the life cycle can be held without a GPU. */
START_TEST(a_hoisted_copy_is_served_only_while_current)
{
    struct sb_e8m0_cache cache;
    memset(&cache, 0xA5, sizeof cache);
    const struct sb_tensor empty = matrix(0, 8);
    const void *const storage = address(0x1000);
    const void *copy = storage;
    ck_assert_int_eq(sb_e8m0_cache_create(&cache, &empty, SB_E8M0_TE, SB_F32, address(0x1000), 0).code, SB_OK);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_ptr_null(copy);

    sb_e8m0_cache_updated(&cache); /* before there is a copy: nothing to make stale */
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_int_eq(sb_e8m0_cache_hoist(&cache, NULL).cuda_error, 0);
    ck_assert(sb_e8m0_cache_get(&cache, &copy));
    ck_assert_ptr_eq(copy, storage);
    ck_assert(sb_e8m0_cache_get(&cache, &copy)); /* any number of times */

    sb_e8m0_cache_updated(&cache);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_ptr_null(copy);
    ck_assert_int_eq(sb_e8m0_cache_hoist(&cache, NULL).cuda_error, 0);
    ck_assert(sb_e8m0_cache_get(&cache, &copy));

    sb_e8m0_cache_release(&cache);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_ptr_null(copy);
    sb_e8m0_cache_updated(&cache);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_int_eq(sb_e8m0_cache_hoist(&cache, NULL).cuda_error, CUDA_INVALID_VALUE);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
}
END_TEST

START_TEST(a_reused_address_starts_without_a_copy)
{
    struct sb_e8m0_cache earlier, later;
    const struct sb_tensor scale = matrix(0, 8);
    const void *copy;
    (void)sb_e8m0_cache_create(&earlier, &scale, SB_E8M0_TE, SB_F32, address(0x1000), 0);
    (void)sb_e8m0_cache_hoist(&earlier, NULL);
    sb_e8m0_cache_release(&earlier);
    (void)sb_e8m0_cache_create(&later, &scale, SB_E8M0_TE, SB_F32, address(0x1000), 0);
    ck_assert(!sb_e8m0_cache_get(&later, &copy));
    ck_assert(!sb_e8m0_cache_get(&earlier, &copy));

    (void)sb_e8m0_cache_hoist(&later, NULL);
    ck_assert(sb_e8m0_cache_get(&later, &copy));
    (void)sb_e8m0_cache_create(&later, &scale, SB_E8M0_TE, SB_F32, address(0x1000), 0); /* the same object again */
    ck_assert(!sb_e8m0_cache_get(&later, &copy));
}
END_TEST

START_TEST(a_cache_needs_room_and_good_arguments)
{
    struct sb_e8m0_cache cache;
    const struct sb_tensor scale = matrix(100, 9);
    const void *copy;
    ck_assert_uint_eq(sb_e8m0_cache_bytes(&scale, SB_F32), 3600);
    ck_assert_uint_eq(sb_e8m0_cache_bytes(&scale, SB_BF16), 1800);
    assert_same_status(sb_e8m0_cache_create(&cache, &scale, SB_E8M0_TE, SB_F32, NULL, 3599),
                       sb_reject(SB_TOO_LARGE, 3600, 3599, 0));
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_int_eq(sb_e8m0_cache_hoist(&cache, NULL).cuda_error, CUDA_INVALID_VALUE);
    assert_same_status(sb_e8m0_cache_create(&cache, &scale, (enum sb_e8m0_semantics)7, SB_F32, NULL, 3600),
                       sb_reject(SB_BAD_ARGUMENT, 4, 7, 0));
    ck_assert_int_eq(sb_e8m0_cache_create(&cache, &scale, SB_E8M0_TE, SB_F32, NULL, 3600).code, SB_OK);
}
END_TEST

START_TEST(a_failed_hoist_leaves_nothing_to_serve)
{
    struct sb_e8m0_cache cache;
    const struct sb_tensor scale = matrix(100, 9);
    const void *copy;
    if (!no_gpu())
        return; /* there a launch does not fail */
    const int64_t launches = sb_gpu_launches();
    (void)sb_e8m0_cache_create(&cache, &scale, SB_E8M0_TE, SB_F32, NULL, 3600);
    ck_assert_int_ne(sb_e8m0_cache_hoist(&cache, NULL).cuda_error, 0);
    ck_assert(!sb_e8m0_cache_get(&cache, &copy));
    ck_assert_int_eq(sb_gpu_launches(), launches);
}
END_TEST

/* ---- topk_metadata -------------------------------------------------------------------------------------------- */

static struct sb_topk_args routing(int64_t n, int64_t topk, int64_t experts)
{
    return (struct sb_topk_args){.idx_dtype = SB_I64,
                                 .counts_align = 1,
                                 .n = n,
                                 .topk = topk,
                                 .experts = experts,
                                 .block = 128,
                                 .order = SB_ORDER_EXPERT};
}

/* One argument out of range each, and sizes that no 32-bit index can count. */
static const struct sb_topk_args bad_routings[] = {
    /* counts_align, then n, topk, experts, block, order */
    {NULL, SB_I64, NULL, NULL, 1, -1, 8, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 0, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 33, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, INT64_MIN, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 0, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 1025, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 64, 0, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 64, 96, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 64, 2048, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 0, 1000, 8, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_F32, NULL, NULL, 1, 1000, 8, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, 1000, 8, 64, 128, (enum sb_topk_order)2},
    {NULL, SB_I64, NULL, NULL, 1, INT32_MAX / 8 + 1, 8, 64, 128, SB_ORDER_EXPERT},
    {NULL, SB_I64, NULL, NULL, 1, INT64_MAX, 8, 64, 128, SB_ORDER_SLOT},
};

START_TEST(topk_metadata_rejects_what_the_reference_rejects)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_topk_args args = bad_routings[_i];
    const struct sb_gpu_topk_out out = {0};
    assert_rejected(sb_topk_metadata_scan(&args, &out, NULL, SIZE_MAX, NULL, NULL), sb_topk_check_args(&args),
                    launches);
    ck_assert_uint_eq(sb_topk_metadata_scan_workspace(&args), 0);
    ck_assert_uint_eq(sb_metadata_pack_chained_workspace(&args), 0);
}
END_TEST

/* Rows of counts for every expert, for valid slots and for ignored ids; a count for every 128 tokens. */
START_TEST(topk_metadata_workspace_grows_with_rows_and_experts)
{
    const struct sb_topk_args none = routing(0, 1, 1);
    ck_assert_uint_gt(sb_topk_metadata_scan_workspace(&none), 0);
    const int64_t rows[] = {1, 128, 129, 43435, 65536, 65537, 2100000, INT32_MAX};
    const int64_t experts[] = {1, 8, 33, 1024};
    for (int i = 0; i < COUNT(rows); i++)
        for (int j = 0; j < COUNT(experts); j++) {
            const struct sb_topk_args args = routing(rows[i], 1, experts[j]);
            const size_t counts = 4 * (size_t)sb_cdiv(rows[i], 128) * (size_t)(experts[j] + 2);
            const size_t bytes = sb_topk_metadata_scan_workspace(&args);
            ck_assert_uint_ge(bytes, counts + 8 + 4 * (size_t)(2 * experts[j] + 2));
            ck_assert_uint_le(bytes, counts + 8 + 4 * (size_t)(2 * experts[j] + 2) + 4 * 256);
        }
}
END_TEST

START_TEST(topk_metadata_wants_its_whole_workspace)
{
    const struct sb_topk_args args = routing(1000, 8, 64);
    const struct sb_gpu_topk_out out = {0};
    const size_t bytes = sb_topk_metadata_scan_workspace(&args);
    assert_invalid(sb_topk_metadata_scan(&args, &out, NULL, bytes - 1, NULL, NULL), sb_gpu_launches());
}
END_TEST

START_TEST(routing_adapters_reject_too)
{
    const int64_t launches = sb_gpu_launches();
    struct routing_call r;
    make_routing_call(&r, 10, 4, 6, 300);
    r.scalar[2].value = 1025;
    const struct sb_status want = sb_reject(SB_BAD_ARGUMENT, 3, 1025, 0);
    assert_rejected(sb_run_topk_metadata_scan(&r.call), want, launches);
    assert_rejected(sb_run_metadata_pack_chained(&r.call), want, launches);
    ck_assert_uint_eq(sb_workspace_topk_metadata_scan(&r.call), 0);
    ck_assert_uint_eq(sb_workspace_metadata_pack_chained(&r.call), 0);
    make_routing_call(&r, 10, 4, 6, 0);
    assert_rejected(sb_run_metadata_pack_chained(&r.call), sb_reject(SB_BAD_ARGUMENT, 2, 0, 0), launches);
    ck_assert_uint_gt(sb_workspace_metadata_pack_chained(&r.call), 0);
}
END_TEST

/* ---- scale_pack ----------------------------------------------------------------------------------------------- */

typedef struct sb_gpu_result (*pack_fn)(const struct sb_scale_pack_args *args, uint8_t *packed, int64_t capacity,
                                        void *workspace, size_t workspace_bytes, struct sb_status *status,
                                        void *stream);
static const pack_fn pack_forms[] = {sb_scale_pack_gather, sb_scale_pack_tile, sb_scale_pack_scatter,
                                     sb_scale_pack_rowmajor};

static struct sb_scale_pack_args scales(int64_t n, int64_t cols)
{
    return (struct sb_scale_pack_args){.carrier = SB_CARRIER_U8,
                                       .n = n,
                                       .cols = cols,
                                       .row_stride = sb_cdiv(cols, 32),
                                       .col_stride = 1,
                                       .r = n,
                                       .fill = 1};
}

/* One argument out of range each: carrier; n, cols; row_stride, col_stride; gather, r; fill. */
static const struct sb_scale_pack_args bad_scales[] = {
    {NULL, SB_CARRIER_U8, -1, 96, 3, 1, NULL, -1, 1},
    {NULL, SB_CARRIER_U8, 100, 0, 3, 1, NULL, 100, 1},
    {NULL, SB_CARRIER_U8, 100, 96, -1, 1, NULL, 100, 1},
    {NULL, SB_CARRIER_U8, 100, 96, 0, 1, NULL, 100, 1},
    {NULL, SB_CARRIER_U8, 100, 96, 3, 0, NULL, 100, 1},
    {NULL, SB_CARRIER_COUNT, 100, 96, 3, 1, NULL, 100, 1},
    {NULL, SB_CARRIER_I32X4, 100, 96, 0, 1, NULL, 100, 1}, /* three scales a row do not fill words */
    {NULL, SB_CARRIER_U8, 100, INT64_MAX, 3, 1, (const int32_t *)0x1000, 100, 1},
    {NULL, SB_CARRIER_U8, 100, 96, 3, 1, NULL, 101, 1}, /* r is not n, without gather */
    {NULL, SB_CARRIER_U8, 100, 96, 3, 1, (const int32_t *)0x1000, -1, 1},
};
enum { BAD_WITHOUT_ROWS = 8 }; /* those in front are bad whatever r and gather are */

START_TEST(scale_pack_rejects_what_the_reference_rejects)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_scale_pack_args args = bad_scales[_i];
    const struct sb_status want = sb_scale_pack_check_args(&args);
    for (int form = 0; form < COUNT(pack_forms); form++)
        assert_rejected(pack_forms[form](&args, NULL, INT64_MAX, NULL, SIZE_MAX, NULL, NULL), want, launches);
    assert_rejected(sb_scale_pack_gather_device_rows(&args, NULL, NULL, NULL, NULL), want, launches);
}
END_TEST

START_TEST(scale_pack_keeps_within_the_capacity)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_scale_pack_args args = scales(129, 7168);
    for (int form = 0; form < COUNT(pack_forms); form++)
        assert_rejected(pack_forms[form](&args, NULL, 57343, NULL, 0, NULL, NULL),
                        sb_reject(SB_TOO_LARGE, 57344, 57343, 0), launches);
}
END_TEST

/* r * cols that 64 bits cannot count must not wrap around to something small. */
START_TEST(scale_pack_counts_huge_sizes)
{
    const int64_t launches = sb_gpu_launches();
    const int64_t sizes[][2] = {{INT64_C(1) << 40, INT64_C(1) << 40},
                                {INT64_C(1) << 62, 128},
                                {INT64_MAX, INT64_MAX / 2},
                                {129, INT64_C(1) << 62}};
    for (int i = 0; i < COUNT(sizes); i++)
        for (int form = 0; form < COUNT(pack_forms); form++) {
            const struct sb_scale_pack_args args = scales(sizes[i][0], sizes[i][1]);
            assert_rejected(pack_forms[form](&args, NULL, INT64_MAX, NULL, 0, NULL, NULL),
                            sb_reject(SB_TOO_LARGE, INT64_MAX, INT64_MAX, 0), launches);
        }
    const struct sb_scale_pack_args large = scales(928768, 7168);
    assert_rejected(sb_scale_pack_tile(&large, NULL, 208044031, NULL, 0, NULL, NULL),
                    sb_reject(SB_TOO_LARGE, 208044032, 208044031, 0), launches);
}
END_TEST

START_TEST(scale_pack_wants_its_workspace_and_alignment)
{
    const int64_t launches = sb_gpu_launches();
    struct sb_scale_pack_args args = scales(100, 96);
    ck_assert_uint_eq(sb_scale_pack_workspace(&args), 0);
    for (int form = 0; form < COUNT(pack_forms); form++)
        assert_invalid(pack_forms[form](&args, address(0x1008), 512, NULL, 0, NULL, NULL), launches);
    args.gather = address(0x2000);
    const size_t bytes = sb_scale_pack_workspace(&args);
    ck_assert_uint_ge(bytes, 8);
    for (int form = 0; form < COUNT(pack_forms); form++)
        assert_invalid(pack_forms[form](&args, address(0x1000), 512, NULL, bytes - 1, NULL, NULL), launches);
    assert_invalid(sb_scale_pack_gather_device_rows(&args, NULL, address(0x1001), NULL, NULL), launches);
}
END_TEST

START_TEST(scale_pack_adapters_reject_too)
{
    const int64_t launches = sb_gpu_launches();
    struct sb_gpu_result (*const run[])(const struct sb_gpu_call *) = {
        sb_run_scale_pack_gather, sb_run_scale_pack_tile, sb_run_scale_pack_scatter, sb_run_scale_pack_rowmajor};
    struct sb_tensor in[] = {{.name = "raw", .dtype = SB_U8, .rank = 2, .shape = {10, 3}, .data = address(0x1000)},
                             vector_of("gather", SB_I32, 0, NULL)};
    const struct sb_tensor out = {.name = "packed", .dtype = SB_U8, .rank = 2, .shape = {1, 511}};
    struct sb_scalar scalar[] = {{"N", 10}, {"cols", 96}, {"R", -1}, {"carrier", SB_CARRIER_U8}, {"fill", 1}};
    const struct sb_gpu_call call = {
        .in = in, .n_in = 2, .out = &out, .n_out = 1, .scalar = scalar, .n_scalar = COUNT(scalar)};
    for (int form = 0; form < COUNT(run); form++) {
        scalar[2].value = -1; /* N rows */
        assert_rejected(run[form](&call), sb_reject(SB_TOO_LARGE, 512, 511, 0), launches);
        scalar[2].value = 11; /* but no gather */
        assert_rejected(run[form](&call), sb_reject(SB_BAD_ARGUMENT, 5, 11, 0), launches);
    }
    ck_assert_uint_eq(sb_workspace_scale_pack(&call), 0);
    in[1].data = address(0x2000);
    ck_assert_uint_gt(sb_workspace_scale_pack(&call), 0);
}
END_TEST

/* ---- metadata_pack -------------------------------------------------------------------------------------------- */

/* topk_metadata's checks, then the number of rows, then scale_pack's, as the reference has it. */
START_TEST(metadata_pack_checks_in_the_order_of_the_reference)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_gpu_topk_out out = {0};
    struct sb_topk_out reference_out = {0};
    const struct sb_topk_args fine = routing(100, 8, 64), bad = bad_routings[5];
    const struct sb_status first = sb_ref_metadata_pack(&bad, &bad_scales[1], &reference_out, NULL);
    assert_rejected(sb_metadata_pack_chained(&bad, &bad_scales[1], &out, NULL, 0, NULL, 0, NULL, NULL), first,
                    launches);
    ck_assert_int_eq(first.where[0], 3);

    for (int i = 0; i < BAD_WITHOUT_ROWS; i++)
        assert_rejected(sb_metadata_pack_chained(&fine, &bad_scales[i], &out, NULL, 0, NULL, 0, NULL, NULL),
                        sb_ref_metadata_pack(&fine, &bad_scales[i], &reference_out, NULL), launches);
    const struct sb_scale_pack_args pack = scales(99, 0); /* a different n, and bad columns */
    assert_rejected(sb_metadata_pack_chained(&fine, &pack, &out, NULL, 0, NULL, 0, NULL, NULL),
                    sb_reject(SB_BAD_ARGUMENT, 1, 99, 0), launches);
}
END_TEST

START_TEST(metadata_pack_wants_its_workspace_and_alignment)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_topk_args args = routing(100, 8, 64);
    const struct sb_scale_pack_args pack = scales(100, 96);
    const struct sb_gpu_topk_out out = {.TK_capacity = 1000, .TKP_capacity = 10000};
    const size_t bytes = sb_metadata_pack_chained_workspace(&args);
    ck_assert_uint_eq(bytes, sb_topk_metadata_scan_workspace(&args));
    assert_invalid(sb_metadata_pack_chained(&args, &pack, &out, address(0x1000), 1 << 20, NULL, bytes - 1, NULL, NULL),
                   launches);
    assert_invalid(sb_metadata_pack_chained(&args, &pack, &out, address(0x1008), 1 << 20, NULL, bytes, NULL, NULL),
                   launches);
}
END_TEST

/* ---- wgrad_varlen_k ------------------------------------------------------------------------------------------- */

START_TEST(wgrad_rejects_what_the_reference_rejects)
{
    const int64_t launches = sb_gpu_launches();
    const struct sb_wgrad_args fine = {
        .T = 64, .Tx = 64, .M = 16, .N = 24, .E = 2, .ld_dy = 16, .ld_x = 24, .out_dtype = SB_F32};
    struct sb_wgrad_args cases[8];
    for (int i = 0; i < COUNT(cases); i++)
        cases[i] = fine;
    cases[0].T = -1;
    cases[1].Tx = 63;
    cases[2].M = 7;
    cases[3].N = 20;
    cases[4].E = 0;
    cases[5].ld_dy = 8;
    cases[6].ld_x = 28;
    cases[7].out_dtype = SB_U8;
    for (int i = 0; i < COUNT(cases); i++) {
        const struct sb_status want = sb_wgrad_check_args(&cases[i], NULL);
        assert_rejected(sb_wgrad_varlen_k_mma_sync(&cases[i], NULL, NULL, NULL), want, launches);
        assert_rejected(sb_wgrad_varlen_k_tcgen05(&cases[i], NULL, NULL, NULL), want, launches);
        assert_rejected(sb_wgrad_varlen_k(&cases[i], NULL, NULL, NULL), want, launches); /* no self-check either */
    }
}
END_TEST

/* One call of the adapter. dw and main_grad are host memory here: no copy may reach them. */
struct wgrad_call {
    struct sb_tensor in[5], out;
    struct sb_scalar in_place;
    struct sb_gpu_call call;
};

static void make_wgrad_call(struct wgrad_call *w, int64_t M, int64_t N, int64_t E, void *main_grad, void *dw)
{
    const struct sb_tensor in[] = {
        {.name = "dy", .dtype = SB_BF16, .rank = 2, .shape = {64, M}, .data = address(0x1000)},
        {.name = "x", .dtype = SB_BF16, .rank = 2, .shape = {64, N}, .data = address(0x2000)},
        vector_of("cu_seqlens", SB_I32, E + 1, address(0x3000)),
        vector_of("x_gather_idx", SB_I32, 0, NULL),
        {.name = "main_grad", .dtype = SB_F32, .rank = 3, .shape = {E, M, N}, .data = main_grad},
    };
    memcpy(w->in, in, sizeof in);
    w->out = (struct sb_tensor){.name = "dw", .dtype = SB_F32, .rank = 3, .shape = {E, M, N}, .data = dw};
    w->in_place = (struct sb_scalar){"in_place", 1};
    w->call = (struct sb_gpu_call){
        .in = w->in, .n_in = COUNT(in), .out = &w->out, .n_out = 1, .scalar = &w->in_place, .n_scalar = 1};
}

START_TEST(wgrad_in_place_copies_nothing_for_a_rejected_call)
{
    const int64_t launches = sb_gpu_launches();
    _Alignas(16) static uint32_t grad[8 * 8 + 4], dw[8 * 8 + 4];
    struct wgrad_call w;
    memset(grad, 0x11, sizeof grad);
    memset(dw, 0xA5, sizeof dw);
    make_wgrad_call(&w, 8, 4, 1, grad, dw);
    assert_rejected(sb_run_wgrad_varlen_k_mma_sync(&w.call), sb_reject(SB_BAD_ARGUMENT, 4, 4, 0), launches);
    make_wgrad_call(&w, 8, 8, 1, grad, dw + 1);
    assert_rejected(sb_run_wgrad_varlen_k_mma_sync(&w.call), sb_reject(SB_ALIGNMENT, 7, 4, 16), launches);
    make_wgrad_call(&w, 8, 8, 1, grad + 2, dw); /* main_grad's own address counts, wherever it goes */
    assert_rejected(sb_run_wgrad_varlen_k_mma_sync(&w.call), sb_reject(SB_ALIGNMENT, 8, 8, 16), launches);
    make_wgrad_call(&w, 8, 8, INT64_C(1) << 40, grad, dw); /* more tiles than a grid holds */
    assert_rejected(sb_run_wgrad_varlen_k_mma_sync(&w.call), sb_reject(SB_TOO_LARGE, INT64_C(1) << 40, INT32_MAX, 0),
                    launches);
    for (int i = 0; i < COUNT(dw); i++)
        ck_assert_uint_eq(dw[i], 0xA5A5A5A5u);
}
END_TEST

START_TEST(wgrad_in_place_wants_a_gradient_of_the_same_type)
{
    const int64_t launches = sb_gpu_launches();
    struct wgrad_call w;
    make_wgrad_call(&w, 8, 8, 1, NULL, address(0x4000));
    assert_invalid(sb_run_wgrad_varlen_k_mma_sync(&w.call), launches);
    make_wgrad_call(&w, 8, 8, 1, address(0x5000), address(0x4000));
    w.out.dtype = SB_BF16;
    assert_invalid(sb_run_wgrad_varlen_k_mma_sync(&w.call), launches);
}
END_TEST

/* Tensor cores before Hopper compute another dot product. */
START_TEST(wgrad_refuses_other_tensor_cores)
{
    const int other[] = {75, 80, 86, 87, 89}, same[] = {90, 100, 103, 120, 121};
    for (int i = 0; i < COUNT(other); i++)
        ck_assert_ptr_nonnull(sb_cannot_wgrad_varlen_k_mma_sync(NULL, other[i]));
    for (int i = 0; i < COUNT(same); i++)
        ck_assert_ptr_null(sb_cannot_wgrad_varlen_k_mma_sync(NULL, same[i]));
}
END_TEST

/* Their stages are counted in 32 bits, a short one included. */
START_TEST(wgrad_by_bulk_copies_has_a_longest_call)
{
    const int64_t launches = sb_gpu_launches(), longest = INT32_MAX - 64;
    struct sb_wgrad_args args = {.dy = address(0x1000),
                                 .x = address(0x2000),
                                 .cu_seqlens = address(0x3000),
                                 .T = longest + 1,
                                 .Tx = longest + 1,
                                 .M = 8,
                                 .N = 8,
                                 .E = 1,
                                 .ld_dy = 8,
                                 .ld_x = 8,
                                 .out_dtype = SB_F32};
    assert_rejected(sb_wgrad_varlen_k_wgmma(&args, address(0x4000), address(0x5000), NULL),
                    sb_reject(SB_TOO_LARGE, longest + 1, longest, 0), launches);
    assert_rejected(sb_wgrad_varlen_k_tcgen05(&args, address(0x4000), address(0x5000), NULL),
                    sb_reject(SB_TOO_LARGE, longest + 1, longest, 0), launches);
}
END_TEST

/* Nobody is asked to try: that would launch something. */
START_TEST(wgrad_tcgen05_is_of_one_family)
{
    const int64_t launches = sb_gpu_launches();
    const int other[] = {89, 90, 110, 120, 121};
    for (int i = 0; i < COUNT(other); i++)
        ck_assert_ptr_nonnull(sb_cannot_wgrad_varlen_k_tcgen05(NULL, other[i]));
    ck_assert_int_eq(sb_gpu_launches(), launches);
}
END_TEST

/* ---- without a GPU -------------------------------------------------------------------------------------------- */

/* A call that is right but cannot run must come back as an error and not as done. */
START_TEST(a_call_without_a_gpu_is_an_error)
{
    if (!no_gpu())
        return;
    const int64_t launches = sb_gpu_launches();
    const struct sb_tensor scale = matrix(4, 8);
    const struct sb_topk_args args = routing(100, 8, 64);
    const struct sb_scale_pack_args pack = scales(100, 96);
    const struct sb_gpu_topk_out out = {.TK_capacity = 800, .TKP_capacity = 10000};
    ck_assert_int_ne(sb_e8m0_upcast_fused(&scale, SB_E8M0_TE, SB_F32, NULL, NULL).cuda_error, 0);
    ck_assert_int_ne(sb_e8m0_upcast_two_pass(&scale, SB_E8M0_TE, SB_F32, NULL, NULL, 0, NULL).cuda_error, 0);
    ck_assert_int_ne(sb_topk_metadata_scan(&args, &out, NULL, SIZE_MAX, NULL, NULL).cuda_error, 0);
    ck_assert_int_ne(sb_metadata_pack_chained(&args, &pack, &out, NULL, 1 << 20, NULL, SIZE_MAX, NULL, NULL).cuda_error,
                     0);
    for (int form = 0; form < COUNT(pack_forms); form++)
        ck_assert_int_ne(pack_forms[form](&pack, NULL, 512, NULL, 0, NULL, NULL).cuda_error, 0);
    ck_assert_int_eq(sb_gpu_launches(), launches);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("gpu_host");
    TCase *e8m0 = tcase_create("e8m0_upcast");
    tcase_add_loop_test(e8m0, upcast_rejects_what_the_reference_rejects, 0, UPCAST_FORMS);
    tcase_add_test(e8m0, an_empty_upcast_launches_nothing);
    tcase_add_test(e8m0, two_pass_widens_in_place_or_in_the_workspace);
    tcase_add_test(e8m0, hoisted_workspace_holds_the_copy_and_what_history_needs);
    tcase_add_test(e8m0, hoisted_workspace_holds_the_predecessor);
    tcase_add_test(e8m0, a_hoisted_copy_is_served_only_while_current);
    tcase_add_test(e8m0, a_reused_address_starts_without_a_copy);
    tcase_add_test(e8m0, a_cache_needs_room_and_good_arguments);
    tcase_add_test(e8m0, a_failed_hoist_leaves_nothing_to_serve);
    suite_add_tcase(suite, e8m0);

    TCase *topk = tcase_create("topk_metadata");
    tcase_add_loop_test(topk, topk_metadata_rejects_what_the_reference_rejects, 0, COUNT(bad_routings));
    tcase_add_test(topk, topk_metadata_workspace_grows_with_rows_and_experts);
    tcase_add_test(topk, topk_metadata_wants_its_whole_workspace);
    tcase_add_test(topk, routing_adapters_reject_too);
    suite_add_tcase(suite, topk);

    TCase *pack = tcase_create("scale_pack");
    tcase_add_loop_test(pack, scale_pack_rejects_what_the_reference_rejects, 0, COUNT(bad_scales));
    tcase_add_test(pack, scale_pack_keeps_within_the_capacity);
    tcase_add_test(pack, scale_pack_counts_huge_sizes);
    tcase_add_test(pack, scale_pack_wants_its_workspace_and_alignment);
    tcase_add_test(pack, scale_pack_adapters_reject_too);
    suite_add_tcase(suite, pack);

    TCase *both = tcase_create("metadata_pack");
    tcase_add_test(both, metadata_pack_checks_in_the_order_of_the_reference);
    tcase_add_test(both, metadata_pack_wants_its_workspace_and_alignment);
    suite_add_tcase(suite, both);

    TCase *rest = tcase_create("device");
    tcase_add_test(rest, wgrad_rejects_what_the_reference_rejects);
    tcase_add_test(rest, wgrad_in_place_copies_nothing_for_a_rejected_call);
    tcase_add_test(rest, wgrad_in_place_wants_a_gradient_of_the_same_type);
    tcase_add_test(rest, wgrad_refuses_other_tensor_cores);
    tcase_add_test(rest, wgrad_by_bulk_copies_has_a_longest_call);
    tcase_add_test(rest, wgrad_tcgen05_is_of_one_family);
    tcase_add_test(rest, a_call_without_a_gpu_is_an_error);
    suite_add_tcase(suite, rest);
    return suite;
}

#endif
