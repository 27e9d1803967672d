/* Philox4x32-10: the published known answers, streams, and bounded draws. */
#include "check_main.h"
#include "../golden/philox.h"

#include <string.h>

struct known_answer {
    uint32_t counter[4], key[2], out[4];
};

/* Random123's kat_vectors, philox4x32 10 rounds. */
static const struct known_answer known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(known_answers_hold)
{
    uint32_t out[4];
    sb_philox4x32_10(known[_i].counter, known[_i].key, out);
    ck_assert_mem_eq(out, known[_i].out, sizeof out);
}
END_TEST

START_TEST(one_flipped_input_bit_changes_every_word)
{
    uint32_t counter[4] = {1, 2, 3, 4}, before[4], after[4];
    const uint32_t key[2] = {5, 6};
    sb_philox4x32_10(counter, key, before);
    counter[_i % 4] ^= 1u << (_i * 7);
    sb_philox4x32_10(counter, key, after);
    for (int w = 0; w < 4; w++)
        ck_assert_uint_ne(before[w], after[w]);
}
END_TEST

START_TEST(stream_is_the_counter_layout)
{
    /* The layout is part of the generator's name: a change of it changes every golden. */
    const struct sb_rng rng = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};
    const uint64_t block = UINT64_C(0x500000007);
    const uint32_t counter[4] = {7, 5, 0x76543210, 0xfedcba98}, key[2] = {0x89abcdef, 0x01234567};
    uint32_t out[4];
    sb_philox4x32_10(counter, key, out);
    for (uint64_t lane = 0; lane < 4; lane++)
        ck_assert_uint_eq(sb_rng_u32(&rng, block * 4 + lane), out[lane]);
    ck_assert_uint_eq(sb_rng_u64(&rng, block * 2), (uint64_t)out[1] << 32 | out[0]);
    ck_assert_uint_eq(sb_rng_u64(&rng, block * 2 + 1), (uint64_t)out[3] << 32 | out[2]);
}
END_TEST

START_TEST(streams_and_seeds_differ)
{
    const struct sb_rng a = {1, 1}, b = {1, 2}, c = {2, 1}, high = {1, UINT64_C(1) << 32 | 1};
    int equal = 0;
    for (uint64_t i = 0; i < 1000; i++)
        equal += (sb_rng_u32(&a, i) == sb_rng_u32(&b, i)) + (sb_rng_u32(&a, i) == sb_rng_u32(&c, i)) +
                 (sb_rng_u32(&a, i) == sb_rng_u32(&high, i));
    ck_assert_int_le(equal, 1);
}
END_TEST

START_TEST(below_is_the_high_half_of_the_product)
{
    const struct sb_rng rng = {99, 3};
    const uint64_t limits[] = {
        1, 2, 3, 7, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, UINT64_C(0x123456789abcdef0)};
    for (uint64_t i = 0; i < 2000; i++)
        for (size_t j = 0; j < sizeof limits / sizeof limits[0]; j++) {
            __extension__ const unsigned __int128 product = (unsigned __int128)sb_rng_u64(&rng, i) * limits[j];
            ck_assert_uint_eq(sb_rng_below(&rng, i, limits[j]), (uint64_t)(product >> 64));
        }
}
END_TEST

START_TEST(below_reaches_every_value_evenly)
{
    const struct sb_rng rng = {4, 5};
    int count[10] = {0};
    for (uint64_t i = 0; i < 10000; i++)
        count[sb_rng_below(&rng, i, 10)]++;
    for (int v = 0; v < 10; v++) { /* 1000 expected, 30 is one standard deviation */
        ck_assert_int_ge(count[v], 850);
        ck_assert_int_le(count[v], 1150);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/philox");
    TCase *tc = tcase_create("philox");
    tcase_add_loop_test(tc, known_answers_hold, 0, 3);
    tcase_add_loop_test(tc, one_flipped_input_bit_changes_every_word, 0, 4);
    tcase_add_test(tc, stream_is_the_counter_layout);
    tcase_add_test(tc, streams_and_seeds_differ);
    tcase_add_test(tc, below_is_the_high_half_of_the_product);
    tcase_add_test(tc, below_reaches_every_value_evenly);
    suite_add_tcase(suite, tc);
    return suite;
}
