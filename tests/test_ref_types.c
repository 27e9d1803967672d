/* Element types, tensor arithmetic, status words. */
#include "../ref/types.h"

#include "check_main.h"

#include <string.h>

START_TEST(dtype_tables)
{
    static const struct {
        enum sb_dtype dtype;
        size_t size;
        const char *name;
    } expected[] = {{SB_U8, 1, "u8"},   {SB_I8, 1, "i8"},     {SB_I32, 4, "i32"},  {SB_I64, 8, "i64"},
                    {SB_F32, 4, "f32"}, {SB_BF16, 2, "bf16"}, {SB_E8M0, 1, "e8m0"}};
    ck_assert_int_eq(sizeof expected / sizeof expected[0], SB_DTYPE_COUNT);
    for (int i = 0; i < SB_DTYPE_COUNT; i++) {
        ck_assert_uint_eq(sb_dtype_size(expected[i].dtype), expected[i].size);
        ck_assert_str_eq(sb_dtype_name(expected[i].dtype), expected[i].name);
    }
    ck_assert_uint_eq(sb_dtype_size(SB_DTYPE_COUNT), 0);
    ck_assert_str_eq(sb_dtype_name(SB_DTYPE_COUNT), "?");
}
END_TEST

START_TEST(code_names)
{
    static const char *const expected[] = {"ok",        "duplicate_expert", "count_mismatch",
                                           "too_large", "gather_range",     "segment_order",
                                           "alignment", "carrier_width",    "bad_argument"};
    ck_assert_int_eq(sizeof expected / sizeof expected[0], SB_CODE_COUNT);
    for (int code = 0; code < SB_CODE_COUNT; code++)
        ck_assert_str_eq(sb_code_name((enum sb_code)code), expected[code]);
    ck_assert_str_eq(sb_code_name(SB_CODE_COUNT), "?");
    ck_assert_int_eq(SB_OK, 0); /* a zeroed status word is a good one */
}
END_TEST

START_TEST(status_layout)
{
    /* Shared with devices and compared byte for byte: no hidden padding. */
    ck_assert_uint_eq(sizeof(struct sb_status), 40);
    ck_assert_uint_eq(offsetof(struct sb_status, where), 8);
    ck_assert_uint_eq(offsetof(struct sb_status, ignored), 32);
    const struct sb_status s = sb_reject(SB_TOO_LARGE, 1, 2, 3);
    ck_assert_int_eq(s.code, SB_TOO_LARGE);
    ck_assert_int_eq(s.reserved, 0);
    ck_assert(s.where[0] == 1 && s.where[1] == 2 && s.where[2] == 3 && s.ignored == 0);
    static const struct sb_status zero;
    const struct sb_status ok = sb_status_ok();
    ck_assert_mem_eq(&ok, &zero, sizeof ok);
}
END_TEST

START_TEST(cdiv)
{
    ck_assert(sb_cdiv(0, 128) == 0 && sb_cdiv(1, 128) == 1 && sb_cdiv(128, 128) == 1 && sb_cdiv(129, 128) == 2);
    ck_assert(sb_cdiv(INT64_C(6655442944), 32) == INT64_C(207982592));
    ck_assert(sb_cdiv(INT64_MAX, 128) == INT64_MAX / 128 + 1 && sb_cdiv(INT64_MAX, 1) == INT64_MAX);
    ck_assert(sb_cdiv(INT64_MAX, INT64_MAX) == 1 && sb_cdiv(1, INT64_MAX) == 1 && sb_cdiv(0, INT64_MAX) == 0);
}
END_TEST

START_TEST(scalar_tensor)
{
    const struct sb_tensor t = {.dtype = SB_I64};
    ck_assert_int_eq(sb_tensor_count(&t), 1);
    ck_assert_int_eq(sb_tensor_span(&t), 1);
    ck_assert_uint_eq(sb_tensor_span_bytes(&t), 8);
    ck_assert_int_eq(sb_tensor_offset(&t, 0), 0);
}
END_TEST

START_TEST(dense_tensors)
{
    const struct sb_tensor one = {.dtype = SB_BF16, .rank = 1, .shape = {7}};
    ck_assert_int_eq(sb_tensor_count(&one), 7);
    ck_assert_int_eq(sb_tensor_offset(&one, 6), 6);
    ck_assert_uint_eq(sb_tensor_span_bytes(&one), 14);
    const struct sb_tensor four = {.dtype = SB_F32, .rank = 4, .shape = {2, 3, 4, 5}};
    ck_assert_int_eq(sb_tensor_count(&four), 120);
    for (int64_t i = 0; i < 120; i++)
        ck_assert_int_eq(sb_tensor_offset(&four, i), i);
    ck_assert_uint_eq(sb_tensor_span_bytes(&four), 480);
}
END_TEST

START_TEST(strided_tensors)
{
    const struct sb_tensor rows = {.dtype = SB_U8, .rank = 2, .shape = {3, 4}, .row_stride = 10};
    ck_assert_int_eq(sb_tensor_offset(&rows, 5), 11);
    ck_assert_int_eq(sb_tensor_offset(&rows, 11), 23);
    ck_assert_int_eq(sb_tensor_span(&rows), 24); /* the last row's gap is not part of it */
    const struct sb_tensor planes = {.dtype = SB_U8, .rank = 3, .shape = {2, 3, 4}, .row_stride = 10};
    ck_assert_int_eq(sb_tensor_offset(&planes, 12), 30); /* planes follow one another, rows strided */
    ck_assert_int_eq(sb_tensor_span(&planes), 54);
    const struct sb_tensor columns = {.dtype = SB_I32, .rank = 2, .shape = {2, 3}, .row_stride = 7, .col_stride = 2};
    ck_assert_int_eq(sb_tensor_offset(&columns, 2), 4);
    ck_assert_int_eq(sb_tensor_offset(&columns, 4), 9);
    ck_assert_int_eq(sb_tensor_span(&columns), 12);
    const struct sb_tensor vector = {.dtype = SB_I32, .rank = 1, .shape = {3}, .col_stride = 5};
    ck_assert_int_eq(sb_tensor_offset(&vector, 2), 10);
    ck_assert_int_eq(sb_tensor_span(&vector), 11);
    const struct sb_tensor transposed = {.dtype = SB_U8, .rank = 2, .shape = {3, 4}, .row_stride = 1, .col_stride = 3};
    ck_assert_int_eq(sb_tensor_offset(&transposed, 6), 7);
    ck_assert_int_eq(sb_tensor_span(&transposed), 12);
}
END_TEST

START_TEST(empty_tensors)
{
    const struct sb_tensor none = {.dtype = SB_U8, .rank = 2, .shape = {0, 32}};
    ck_assert_int_eq(sb_tensor_count(&none), 0);
    ck_assert_int_eq(sb_tensor_span(&none), 0);
    const struct sb_tensor narrow = {.dtype = SB_U8, .rank = 2, .shape = {5, 0}, .row_stride = 9};
    ck_assert_int_eq(sb_tensor_span(&narrow), 0);
}
END_TEST

START_TEST(large_tensors)
{
    const struct sb_tensor t = {.dtype = SB_F32, .rank = 2, .shape = {928768, 7168}, .row_stride = 7176};
    ck_assert_int_eq(sb_tensor_count(&t), INT64_C(6657409024));
    ck_assert_int_eq(sb_tensor_offset(&t, INT64_C(6657409023)), INT64_C(928767) * 7176 + 7167);
}
END_TEST

/* Every number that the sentence needs is in it. */
static void expect_text(struct sb_status s, const char *const *parts)
{
    char buf[512];
    ck_assert_ptr_eq(sb_status_text(&s, buf, sizeof buf), buf);
    for (int i = 0; parts[i] != NULL; i++)
        ck_assert_msg(strstr(buf, parts[i]) != NULL, "\"%s\" lacks \"%s\"", buf, parts[i]);
}

START_TEST(status_sentences)
{
    expect_text(sb_status_ok(), (const char *const[]){"ok", NULL});
    expect_text(sb_reject(SB_DUPLICATE_EXPERT, 41, 2, 7), (const char *const[]){"row 41", "slots 2 and 7", NULL});
    expect_text(sb_reject(SB_COUNT_MISMATCH, 5, 128, 99),
                (const char *const[]){"tokens_per_expert[5] is 128", "99 slots", "counts_align", NULL});
    expect_text(sb_reject(SB_TOO_LARGE, INT64_C(4294967296), INT32_MAX, 0),
                (const char *const[]){"4294967296", "2147483647", "32 bits", "split", NULL});
    expect_text(sb_reject(SB_TOO_LARGE, INT64_MAX, INT64_MAX, 0),
                (const char *const[]){"9223372036854775807", "64 bits", NULL});
    expect_text(sb_reject(SB_TOO_LARGE, 512, 511, 0), (const char *const[]){"512", "511", "larger buffers", NULL});
    expect_text(sb_reject(SB_GATHER_RANGE, 17, -3, 640),
                (const char *const[]){"position 17 is -3", "less than 640", NULL});
    expect_text(sb_reject(SB_SEGMENT_ORDER, 0, -8, 0),
                (const char *const[]){"cu_seqlens[0] is -8", "0 or later", NULL});
    expect_text(sb_reject(SB_SEGMENT_ORDER, 3, 64, 60),
                (const char *const[]){"cu_seqlens[3] is 64", "60", "ascend", NULL});
    expect_text(sb_reject(SB_SEGMENT_ORDER, 8, 65, 64), (const char *const[]){"cu_seqlens[8] is 65", "64", "T", NULL});
    static const char *const names[] = {"M", "N", "ld_dy", "ld_x", "dy", "x", "dw", "main_grad"};
    for (int which = 1; which <= 8; which++)
        expect_text(sb_reject(SB_ALIGNMENT, which, 12, which <= 4 ? 8 : 16),
                    (const char *const[]){names[which - 1], "12", which <= 4 ? "multiple of 8" : "16 bytes", NULL});
    expect_text(sb_reject(SB_ALIGNMENT, 99, 12, 8), (const char *const[]){"?", NULL});
    expect_text(sb_reject(SB_CARRIER_WIDTH, 90, 4, 0), (const char *const[]){"90 scales", "i32x4", NULL});
    expect_text(sb_reject(SB_BAD_ARGUMENT, 3, 1025, 0),
                (const char *const[]){"argument 3", "1025", "ref/CONTRACTS.md", NULL});
    expect_text(sb_reject((enum sb_code)77, 0, 0, 0), (const char *const[]){"unknown", "77", NULL});
}
END_TEST

START_TEST(status_sentence_names_ignored_ids)
{
    struct sb_status s = sb_status_ok();
    s.ignored = 12;
    expect_text(s, (const char *const[]){"ok", "12", "not routed", NULL});
    char small[8];
    memset(small, 'x', sizeof small);
    sb_status_text(&s, small, 4); /* short buffers are cut, never overrun */
    ck_assert_uint_lt(strlen(small), 4);
    ck_assert_int_eq(small[4], 'x');
    sb_status_text(&s, small + 4, 0);
    ck_assert_int_eq(small[4], 'x');
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref types");
    TCase *tc = tcase_create("types");
    tcase_add_test(tc, dtype_tables);
    tcase_add_test(tc, code_names);
    tcase_add_test(tc, status_layout);
    tcase_add_test(tc, cdiv);
    tcase_add_test(tc, scalar_tensor);
    tcase_add_test(tc, dense_tensors);
    tcase_add_test(tc, strided_tensors);
    tcase_add_test(tc, empty_tensors);
    tcase_add_test(tc, large_tensors);
    tcase_add_test(tc, status_sentences);
    tcase_add_test(tc, status_sentence_names_ignored_ids);
    suite_add_tcase(suite, tc);
    return suite;
}
