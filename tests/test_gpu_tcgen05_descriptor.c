/* test_gpu_tcgen05_descriptor.c - the words that describe tcgen05.mma's operands (gpu/tcgen05_descriptor.h): the values
 * that CUTLASS's layout algebra gives, and where an operand's elements are by them against where a bulk tensor copy
 * puts them. No GPU is needed, nor a build with CUDA. Says nothing of what the silicon makes of the words. */
#include "../gpu/tcgen05_descriptor.h"

#include "check_main.h"

START_TEST(instruction_descriptors_are_cutlass_s)
{
    static const struct {
        int m, n;
        uint32_t word;
    } known[] = {{128, 256, 0x08418490}, {128, 128, 0x08218490}, {64, 256, 0x04418490}, {256, 256, 0x10418490}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_uint_eq(ptx_tcgen05_bf16_descriptor(known[i].m, known[i].n), known[i].word);
}
END_TEST

START_TEST(operand_descriptors_are_cutlass_s)
{
    const uint32_t shared = 0x2C400, box = 64 * 128; /* 64 rows of k */
    const uint64_t descriptor = ptx_tcgen05_descriptor(shared, box);
    ck_assert_uint_eq(descriptor >> 32, 0x40004040);
    ck_assert_uint_eq(descriptor & 0xFFFFFFFF, shared >> 4 | 512 << 16);
    ck_assert_uint_eq(ptx_tcgen05_descriptor(0x400, 32 * 128) & 0xFFFFFFFF, 0x40 | 256 << 16);
    ck_assert_uint_eq(ptx_tcgen05_descriptor(0x400, 128 * 128) & 0xFFFFFFFF, 0x40 | 1024 << 16);
    ck_assert_uint_eq(ptx_tcgen05_descriptor_at(descriptor, 16 * 128) - descriptor, 128); /* 16 rows of k */
}
END_TEST

/* The last operand of the largest shared memory, whose last step's address must not run into the next field. */
START_TEST(addresses_stay_in_their_field)
{
    const uint32_t shared = 227 * 1024 - 1024;
    const uint64_t first = ptx_tcgen05_descriptor(shared - 63 * 1024, 8192);
    const uint64_t last = ptx_tcgen05_descriptor_at(first, 63 * 1024);
    ck_assert_uint_eq(last, ptx_tcgen05_descriptor(shared, 8192));
    ck_assert_uint_eq(last >> 14, first >> 14);
}
END_TEST

/* Byte of element (mn, k) of a step, as the PTX ISA's canonical layout of an operand with M or N fastest and 128-byte
 * swizzle has it: atoms of 64 elements by 8 rows, and address bits 4-6 XORed with bits 7-9. */
static uint32_t described(uint64_t descriptor, uint32_t mn, uint32_t k)
{
    const uint32_t start = (uint32_t)(descriptor & 0x3FFF) << 4;
    const uint32_t leading = (uint32_t)(descriptor >> 16 & 0x3FFF) << 4;
    const uint32_t stride = (uint32_t)(descriptor >> 32 & 0x3FFF) << 4;
    const uint32_t byte = start + mn / 64 * leading + k / 8 * stride + k % 8 * 128 + mn % 64 * 2;
    return byte ^ (byte >> 7 & 7) << 4;
}

/* The same, as boxes of 64 columns by 64 rows of k arrive, one after another: 128-byte rows, the 16-byte chunk c of a
 * row at c XOR (row & 7). */
static uint32_t copied(uint32_t shared, uint32_t column, uint32_t row)
{
    const uint32_t chunk = column % 64 / 8;
    return shared + column / 64 * 8192 + row * 128 + (chunk ^ (row & 7)) * 16 + column % 8 * 2;
}

START_TEST(descriptors_point_where_copies_land)
{
    const uint32_t shared = 0x9C00; /* a multiple of 1024 */
    for (uint32_t step = 0; step < 4; step++) {
        const uint64_t descriptor = ptx_tcgen05_descriptor_at(ptx_tcgen05_descriptor(shared, 8192), step * 16 * 128);
        for (uint32_t k = 0; k < 16; k++)
            for (uint32_t mn = 0; mn < 256; mn++)
                ck_assert_uint_eq(described(descriptor, mn, k), copied(shared, mn, step * 16 + k));
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("gpu_tcgen05_descriptor");
    TCase *words = tcase_create("words");
    tcase_add_test(words, instruction_descriptors_are_cutlass_s);
    tcase_add_test(words, operand_descriptors_are_cutlass_s);
    tcase_add_test(words, addresses_stay_in_their_field);
    tcase_add_test(words, descriptors_point_where_copies_land);
    suite_add_tcase(suite, words);
    return suite;
}
