/* e8m0_upcast: all bytes under every semantics, strides, ranks, rejections. */
#include "../ref/e8m0_upcast.h"

#include "check_main.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>

/* The two odd bytes, as the contract's table has them. */
static const struct {
    enum sb_e8m0_semantics semantics;
    uint32_t f32_00, f32_ff;
    uint16_t bf16_00, bf16_ff;
} odd_bytes[SB_E8M0_SEMANTICS_COUNT] = {
    {SB_E8M0_SHIFT, 0x00000000u, 0x7F800000u, 0x0000u, 0x7F80u},
    {SB_E8M0_TORCH, 0x00400000u, 0x7F800001u, 0x0040u, 0x7FC0u},
    {SB_E8M0_CUDA, 0x00400000u, 0x7FFF0000u, 0x0040u, 0x7FFFu},
    {SB_E8M0_TE, 0x00400000u, 0x7FFFFFFFu, 0x0040u, 0x7FFFu},
};

/* Bytes 1..254 by repeated doubling of 2^-126, not by the shift that the reference uses. */
static uint32_t power_of_two_bits(int byte)
{
    union {
        float f;
        uint32_t u;
    } value = {.u = 0x00800000u}; /* the smallest normal number */
    for (int i = 1; i < byte; i++)
        value.f *= 2.0f;
    return value.u;
}

START_TEST(all_bytes)
{
    const enum sb_e8m0_semantics semantics = odd_bytes[_i].semantics;
    uint8_t scale[256];
    uint32_t f32[256];
    uint16_t bf16[256];
    for (int b = 0; b < 256; b++)
        scale[b] = (uint8_t)b;
    const struct sb_tensor t = {.dtype = SB_E8M0, .rank = 1, .shape = {256}, .data = scale};
    ck_assert_int_eq(sb_ref_e8m0_upcast(&t, semantics, SB_F32, f32).code, SB_OK);
    ck_assert_int_eq(sb_ref_e8m0_upcast(&t, semantics, SB_BF16, bf16).code, SB_OK);
    for (int b = 0; b < 256; b++) {
        const uint32_t wide = b == 0 ? odd_bytes[_i].f32_00 : b == 255 ? odd_bytes[_i].f32_ff : power_of_two_bits(b);
        const uint16_t half = b == 0     ? odd_bytes[_i].bf16_00
                              : b == 255 ? odd_bytes[_i].bf16_ff
                                         : (uint16_t)(power_of_two_bits(b) >> 16);
        ck_assert_msg(f32[b] == wide, "byte %d: f32 %08x, expected %08x", b, f32[b], wide);
        ck_assert_msg(bf16[b] == half, "byte %d: bf16 %04x, expected %04x", b, bf16[b], half);
        ck_assert_uint_eq(sb_e8m0_f32_bits((uint8_t)b, semantics), wide);
        ck_assert_uint_eq(sb_e8m0_bf16_bits((uint8_t)b, semantics), half);
    }
}
END_TEST

START_TEST(known_words)
{
    ck_assert_uint_eq(sb_e8m0_f32_bits(1, SB_E8M0_TORCH), 0x00800000u);
    ck_assert_uint_eq(sb_e8m0_f32_bits(120, SB_E8M0_CUDA), 0x3C000000u); /* 2^-7 */
    ck_assert_uint_eq(sb_e8m0_f32_bits(127, SB_E8M0_SHIFT), 0x3F800000u);
    ck_assert_uint_eq(sb_e8m0_f32_bits(254, SB_E8M0_TE), 0x7F000000u);
    ck_assert_uint_eq(sb_e8m0_bf16_bits(127, SB_E8M0_TE), 0x3F80u);
}
END_TEST

START_TEST(ranks)
{
    static const int64_t shapes[5][SB_MAX_RANK] = {{0}, {24}, {4, 6}, {2, 3, 4}, {1, 2, 3, 4}};
    uint8_t scale[24];
    uint32_t out[25];
    for (int i = 0; i < 24; i++)
        scale[i] = (uint8_t)(100 + i);
    struct sb_tensor t = {.dtype = SB_U8, .rank = _i, .data = scale};
    memcpy(t.shape, shapes[_i], sizeof t.shape);
    memset(out, 0xA5, sizeof out);
    ck_assert_int_eq(sb_ref_e8m0_upcast(&t, SB_E8M0_SHIFT, SB_F32, out).code, SB_OK);
    const int64_t count = _i == 0 ? 1 : 24;
    for (int64_t i = 0; i < count; i++)
        ck_assert_uint_eq(out[i], (uint32_t)(100 + i) << 23);
    ck_assert_uint_eq(out[count], 0xA5A5A5A5u);
}
END_TEST

START_TEST(strided_rows)
{
    uint8_t scale[2 * 3 * 10];
    uint16_t out[2 * 3 * 4];
    for (int i = 0; i < 60; i++)
        scale[i] = (uint8_t)(i + 1);
    const struct sb_tensor t = {.dtype = SB_E8M0, .rank = 3, .shape = {2, 3, 4}, .row_stride = 10, .data = scale};
    ck_assert_int_eq(sb_ref_e8m0_upcast(&t, SB_E8M0_TORCH, SB_BF16, out).code, SB_OK);
    for (int plane = 0; plane < 2; plane++)
        for (int row = 0; row < 3; row++)
            for (int col = 0; col < 4; col++)
                ck_assert_uint_eq(out[(plane * 3 + row) * 4 + col], (unsigned)(plane * 30 + row * 10 + col + 1) << 7);
}
END_TEST

START_TEST(empty)
{
    uint32_t out = 0xA5A5A5A5u;
    const struct sb_tensor rows = {.dtype = SB_U8, .rank = 2, .shape = {0, 32}};
    const struct sb_tensor columns = {.dtype = SB_U8, .rank = 2, .shape = {32, 0}};
    ck_assert_int_eq(sb_ref_e8m0_upcast(&rows, SB_E8M0_TE, SB_F32, &out).code, SB_OK);
    ck_assert_int_eq(sb_ref_e8m0_upcast(&columns, SB_E8M0_TE, SB_F32, &out).code, SB_OK);
    ck_assert_uint_eq(out, 0xA5A5A5A5u);
}
END_TEST

START_TEST(rejections)
{
    static const struct {
        int64_t row_stride, col_stride;
        int semantics, out_dtype;
        int64_t argument, value;
    } bad[] = {
        {3, 0, SB_E8M0_SHIFT, SB_F32, 1, 3},
        {-8, 0, SB_E8M0_SHIFT, SB_F32, 1, -8},
        {8, 2, SB_E8M0_SHIFT, SB_F32, 2, 2},
        {8, 1, SB_E8M0_SHIFT, SB_I32, 3, SB_I32},
        {8, 1, SB_E8M0_SEMANTICS_COUNT, SB_F32, 4, SB_E8M0_SEMANTICS_COUNT},
        {3, 2, SB_E8M0_SHIFT, SB_I32, 1, 3}, /* the lowest wins */
    };
    uint8_t scale[32] = {0};
    uint32_t out[16];
    memset(out, 0xA5, sizeof out);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct sb_tensor t = {.dtype = SB_U8,
                                    .rank = 2,
                                    .shape = {4, 4},
                                    .row_stride = bad[i].row_stride,
                                    .col_stride = bad[i].col_stride,
                                    .data = scale};
        const struct sb_status s =
            sb_ref_e8m0_upcast(&t, (enum sb_e8m0_semantics)bad[i].semantics, (enum sb_dtype)bad[i].out_dtype, out);
        const struct sb_status expected = sb_reject(SB_BAD_ARGUMENT, bad[i].argument, bad[i].value, 0);
        ck_assert_mem_eq(&s, &expected, sizeof s);
        const struct sb_status checked =
            sb_e8m0_check_args(&t, (enum sb_e8m0_semantics)bad[i].semantics, (enum sb_dtype)bad[i].out_dtype);
        ck_assert_mem_eq(&checked, &expected, sizeof checked);
    }
    for (int i = 0; i < 16; i++)
        ck_assert_uint_eq(out[i], 0xA5A5A5A5u);
}
END_TEST

START_TEST(large_random)
{
    enum { COUNT = 300000 };
    uint8_t *scale = malloc(COUNT);
    uint32_t *out = malloc(COUNT * sizeof *out);
    uint64_t state = 1;
    for (int i = 0; i < COUNT; i++)
        scale[i] = (uint8_t)random_u32(&state);
    const struct sb_tensor t = {.dtype = SB_E8M0, .rank = 2, .shape = {COUNT / 100, 100}, .data = scale};
    ck_assert_int_eq(sb_ref_e8m0_upcast(&t, SB_E8M0_CUDA, SB_F32, out).code, SB_OK);
    for (int i = 0; i < COUNT; i++)
        if (out[i] != sb_e8m0_f32_bits(scale[i], SB_E8M0_CUDA))
            ck_abort_msg("element %d is %08x", i, out[i]);
    free(scale);
    free(out);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref e8m0_upcast");
    TCase *tc = tcase_create("e8m0_upcast");
    tcase_add_loop_test(tc, all_bytes, 0, SB_E8M0_SEMANTICS_COUNT);
    tcase_add_test(tc, known_words);
    tcase_add_loop_test(tc, ranks, 0, 5);
    tcase_add_test(tc, strided_rows);
    tcase_add_test(tc, empty);
    tcase_add_test(tc, rejections);
    tcase_add_test(tc, large_random);
    suite_add_tcase(suite, tc);
    return suite;
}
