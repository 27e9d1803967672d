/* Distributions: each holds the values it is there for. Values are judged through doubles here, never made so. */
#include "check_main.h"
#include "../golden/distribution.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 20000 };
static const struct sb_rng rng = {UINT64_C(0x5eed), 1};

static double bf16_value(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static double f32_value(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static unsigned exponent_field(uint16_t bits)
{
    return bits >> 7 & 0xFFu;
}

static unsigned fraction_field(uint16_t bits)
{
    return bits & 0x7Fu;
}

/* ---- BF16 --------------------------------------------------------------------------------------- */

START_TEST(every_distribution_uses_both_signs_and_all_fraction_bits)
{
    uint16_t ones = 0, zeros = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint16_t bits = sb_bf16_draw((enum sb_bf16_dist)_i, &rng, i);
        ones |= bits;
        zeros |= (uint16_t)~bits;
    }
    ck_assert_uint_eq(ones & 0x807Fu, 0x807Fu);
    ck_assert_uint_eq(zeros & 0x807Fu, 0x807Fu);
}
END_TEST

START_TEST(normal_is_bell_shaped_about_zero)
{
    int small = 0, large = 0, negative = 0;
    double sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double v = bf16_value(sb_bf16_draw(SB_DIST_NORMAL, &rng, i));
        ck_assert(isfinite(v) && fabs(v) < 2);
        small += fabs(v) < 0.5;
        large += fabs(v) > 1.5;
        negative += v < 0;
        sum += v;
    }
    ck_assert_int_gt(small, DRAWS / 2); /* a uniform draw would have a quarter here and a quarter above 1.5 */
    ck_assert_int_lt(large, DRAWS / 50);
    ck_assert_int_gt(large, 0);
    ck_assert_int_gt(negative, DRAWS * 45 / 100);
    ck_assert_int_lt(negative, DRAWS * 55 / 100);
    ck_assert(fabs(sum / DRAWS) < 0.02);
}
END_TEST

START_TEST(wide_has_every_normal_exponent_and_no_other)
{
    bool seen[256] = {false};
    for (uint64_t i = 0; i < DRAWS; i++)
        seen[exponent_field(sb_bf16_draw(SB_DIST_WIDE, &rng, i))] = true;
    ck_assert(!seen[0] && !seen[255]);
    for (int e = 1; e < 255; e++)
        ck_assert_msg(seen[e], "exponent field %d missing", e);
}
END_TEST

START_TEST(bits_has_nan_inf_and_subnormals)
{
    int nan = 0, subnormal = 0, inf = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        const uint16_t bits = sb_bf16_draw(SB_DIST_BITS, &rng, i);
        nan += exponent_field(bits) == 255 && fraction_field(bits) != 0;
        inf += exponent_field(bits) == 255 && fraction_field(bits) == 0;
        subnormal += exponent_field(bits) == 0 && fraction_field(bits) != 0;
    }
    ck_assert_int_gt(nan, 500);
    ck_assert_int_gt(subnormal, 500);
    ck_assert_int_gt(inf, 0);
}
END_TEST

START_TEST(subnormal_is_subnormal_or_next_to_it)
{
    int subnormal = 0, normal = 0;
    bool fraction[128] = {false};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint16_t bits = sb_bf16_draw(SB_DIST_SUBNORMAL, &rng, i);
        ck_assert_uint_le(exponent_field(bits), 1);
        subnormal += exponent_field(bits) == 0;
        normal += exponent_field(bits) == 1;
        if (exponent_field(bits) == 0)
            fraction[fraction_field(bits)] = true;
    }
    ck_assert_int_gt(subnormal, DRAWS / 2);
    ck_assert_int_gt(normal, DRAWS / 10);
    ck_assert(fraction[1] && fraction[127] && !fraction[0]);
}
END_TEST

START_TEST(zeros_has_both_zeros_and_both_extremes)
{
    int plus = 0, minus = 0, huge = 0, tiny = 0, one = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint16_t bits = sb_bf16_draw(SB_DIST_ZEROS, &rng, i);
        plus += bits == 0;
        minus += bits == 0x8000;
        huge += fabs(bf16_value(bits)) > 0x1p59;
        tiny += bits != 0 && bits != 0x8000 && fabs(bf16_value(bits)) < 0x1p-59;
        one += fabs(bf16_value(bits)) >= 1 && fabs(bf16_value(bits)) < 2;
    }
    ck_assert_int_gt(plus, DRAWS / 5);
    ck_assert_int_gt(minus, DRAWS / 5);
    ck_assert_int_gt(huge, DRAWS / 20);
    ck_assert_int_gt(tiny, DRAWS / 20);
    ck_assert_int_gt(one, DRAWS / 20);
}
END_TEST

START_TEST(infnan_has_a_few_of_each)
{
    int plus = 0, minus = 0, nan = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        const uint16_t bits = sb_bf16_draw(SB_DIST_INFNAN, &rng, i);
        plus += bits == 0x7F80;
        minus += bits == 0xFF80;
        nan += exponent_field(bits) == 255 && fraction_field(bits) != 0;
    }
    ck_assert_int_gt(plus, 30);
    ck_assert_int_gt(minus, 30);
    ck_assert_int_gt(nan, 10);
    ck_assert_int_lt(plus + minus + nan, 1000); /* few enough for finite sums to remain */
}
END_TEST

START_TEST(tiny_products_lie_about_the_exponent_floor)
{
    const struct sb_rng other = {rng.seed, 2};
    int at[400] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double product =
            bf16_value(sb_bf16_draw(SB_DIST_TINY, &rng, i)) * bf16_value(sb_bf16_draw(SB_DIST_TINY, &other, i));
        int exponent;
        frexp(product, &exponent);
        ck_assert_int_ge(exponent - 1, -152);
        ck_assert_int_le(exponent - 1, -136);
        at[-(exponent - 1)]++;
    }
    for (int e = 143; e <= 147; e++)
        ck_assert_int_gt(at[e], DRAWS / 100);
}
END_TEST

/* Sums along k as two factors of a wgrad case would give them: `terms` gets the products of one output. */
static void products_along_k(enum sb_bf16_dist dist, int64_t column, int64_t rows, double *terms)
{
    const struct sb_rng other = {rng.seed, 2};
    for (int64_t k = 0; k < rows; k++)
        terms[k] = bf16_value(sb_bf16_draw_along_k(dist, &rng, k, column, 64, true)) *
                   bf16_value(sb_bf16_draw_along_k(dist, &other, k, column, 64, false));
}

START_TEST(cancel_leaves_little_of_its_terms)
{
    int small = 0, exact = 0;
    for (int64_t column = 0; column < 64; column++) {
        double terms[128], sum = 0, total = 0;
        products_along_k(SB_DIST_CANCEL, column, 128, terms);
        for (int k = 0; k < 128; k++) {
            sum += terms[k];
            total += fabs(terms[k]);
        }
        small += fabs(sum) < total / 256;
        exact += sum == 0;
    }
    ck_assert_int_gt(small, 60);
    ck_assert_int_lt(exact, 4); /* something has to remain, or every order gives 0 */
}
END_TEST

START_TEST(cancel_pairs_inside_a_step_and_across_steps)
{
    double terms[128];
    int inside = 0, across = 0;
    for (int64_t column = 0; column < 64; column++) {
        products_along_k(SB_DIST_CANCEL, column, 128, terms);
        inside += fabs(terms[0] + terms[1]) < fabs(terms[0]) / 16;
        across += fabs(terms[64] + terms[80]) < fabs(terms[64]) / 16;
    }
    ck_assert_int_gt(inside, 60);
    ck_assert_int_gt(across, 60);
}
END_TEST

START_TEST(huge_passes_the_largest_number_inside_a_step_and_comes_back)
{
    int passes = 0;
    for (int64_t column = 0; column < 64; column++) {
        double terms[16], sum = 0, top = 0;
        products_along_k(SB_DIST_HUGE, column, 16, terms);
        for (int k = 0; k < 16; k++) {
            ck_assert(fabs(terms[k]) < 0x1p128);
            sum += terms[k];
            top = fmax(top, fabs(sum));
        }
        ck_assert(fabs(sum) < 0x1p128);
        passes += top >= 0x1p128;
    }
    ck_assert_int_gt(passes, 16);
}
END_TEST

START_TEST(other_distributions_ignore_the_pairing)
{
    for (int64_t k = 0; k < 200; k++)
        ck_assert_uint_eq(sb_bf16_draw_along_k(SB_DIST_WIDE, &rng, k, 3, 64, true),
                          sb_bf16_draw(SB_DIST_WIDE, &rng, (uint64_t)(k * 64 + 3)));
}
END_TEST

/* A sum of `rows` products under INFZERO: what it comes to, by the rules of IEEE arithmetic. */
static double infzero_sum(int64_t column, int64_t rows, bool *inf_times_zero, bool *nan_without)
{
    const struct sb_rng other = {rng.seed, 2};
    bool plus = false, minus = false;
    double sum = 0;
    *inf_times_zero = false;
    for (int64_t k = 0; k < rows; k++) {
        const double a = bf16_value(sb_bf16_draw_along_k(SB_DIST_INFZERO, &rng, k, column, 1000, true));
        const double b = bf16_value(sb_bf16_draw_along_k(SB_DIST_INFZERO, &other, k, column, 1000, false));
        ck_assert(!isnan(a) && !isnan(b));
        *inf_times_zero = *inf_times_zero || isnan(a * b);
        plus = plus || (isinf(a * b) && a * b > 0);
        minus = minus || (isinf(a * b) && a * b < 0);
        sum += a * b;
    }
    *nan_without = plus && minus;
    return sum;
}

START_TEST(infzero_makes_a_third_of_the_sums_nan_and_leaves_the_rest)
{
    int nan = 0, only_by_zero = 0, inf = 0, finite = 0;
    for (int64_t column = 0; column < 1000; column++) {
        bool inf_times_zero, nan_without;
        const double sum = infzero_sum(column, 33, &inf_times_zero, &nan_without);
        nan += isnan(sum) != 0;
        only_by_zero += inf_times_zero && !nan_without;
        inf += isinf(sum) != 0;
        finite += isfinite(sum) != 0;
    }
    ck_assert_int_gt(nan, 200);
    ck_assert_int_lt(nan, 450);
    ck_assert_int_gt(only_by_zero, 100); /* where Inf * 0 = Inf would show */
    ck_assert_int_gt(inf, 100);
    ck_assert_int_gt(finite, 200);
}
END_TEST

/* In the units of contract TC's second step: 2^-25, where the largest exponent is 0. */
START_TEST(full_passes_31_bits_in_the_second_step_of_a_pair)
{
    int plus = 0, minus = 0, distinct = 0;
    double before = 0;
    for (int64_t column = 0; column < 64; column++) {
        double terms[64], first = 0, second = 0;
        products_along_k(SB_DIST_FULL, column, 64, terms);
        for (int pair = 0; pair < 2; pair++) {
            first = second = 0;
            for (int k = 0; k < 16; k++) {
                first += terms[pair * 32 + k];
                ck_assert_int_eq(terms[pair * 32 + k] != 0, k == pair);
                second += terms[pair * 32 + 16 + k];
            }
            ck_assert(fabs(first) >= 0.5 && fabs(first) < 1); /* exponent -1: it does not set the unit */
            ck_assert(fabs(first + second) * 0x1p25 >= 0x1p31);
            ck_assert(fabs(second) * 0x1p25 < 0x1p31); /* it takes the accumulator to get there */
        }
        plus += second > 0;
        minus += second < 0;
        distinct += second != before;
        before = second;
    }
    ck_assert_int_gt(plus, 16);
    ck_assert_int_gt(minus, 16);
    ck_assert_int_gt(distinct, 32);
}
END_TEST

/* Both sums were computed by another implementation (Python integers): the bytes of every golden hang on them. */
START_TEST(normal_draws_are_pinned)
{
    uint32_t bf16 = 0, f32 = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        bf16 = bf16 * 31 + sb_bf16_draw(SB_DIST_NORMAL, &rng, i);
        f32 = f32 * 31 + sb_f32_draw(SB_F32_NORMAL, &rng, i);
    }
    ck_assert_uint_eq(bf16, 0x58ccbdcau);
    ck_assert_uint_eq(f32, 0x6e25a975u);
}
END_TEST

/* Many at a time are the same values, wherever they start and end: at an odd one, inside what a vector holds, across a
 * block number of 2^32. */
START_TEST(filling_is_drawing)
{
    static const uint64_t firsts[] = {0, 1, 31, 32, 33, ((uint64_t)1 << 33) - 5, ((uint64_t)1 << 40) + 1};
    static const int64_t counts[] = {0, 1, 2, 3, 31, 32, 33, 64, 1000, 4099};
    enum { MOST = 4099, END = 0xBEEF };
    static uint16_t values[MOST + 1];
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++)
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            values[counts[n]] = END;
            sb_bf16_fill((enum sb_bf16_dist)_i, &rng, firsts[f], counts[n], values);
            for (int64_t i = 0; i < counts[n]; i++)
                ck_assert_uint_eq(values[i], sb_bf16_draw((enum sb_bf16_dist)_i, &rng, firsts[f] + (uint64_t)i));
            ck_assert_uint_eq(values[counts[n]], END);
        }
}
END_TEST

/* Enough for the rare values: those near zero, which are shifted the farthest. */
START_TEST(a_million_fills_are_draws)
{
    enum { PIECE = 1 << 16, PIECES = 16 };
    static uint16_t values[PIECE];
    for (uint64_t p = 0; p < PIECES; p++) {
        sb_bf16_fill(SB_DIST_NORMAL, &rng, p * PIECE, PIECE, values);
        for (uint64_t i = 0; i < PIECE; i++)
            ck_assert_uint_eq(values[i], sb_bf16_draw(SB_DIST_NORMAL, &rng, p * PIECE + i));
    }
}
END_TEST

/* ---- f32 ---------------------------------------------------------------------------------------- */

START_TEST(unit_is_in_zero_to_one)
{
    double sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double v = f32_value(sb_f32_draw(SB_F32_UNIT, &rng, i));
        ck_assert(v >= 0 && v < 1);
        sum += v;
    }
    ck_assert(fabs(sum / DRAWS - 0.5) < 0.01);
}
END_TEST

START_TEST(normal_f32_uses_all_fraction_bits)
{
    uint32_t ones = 0, zeros = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint32_t bits = sb_f32_draw(SB_F32_NORMAL, &rng, i);
        ck_assert(fabs(f32_value(bits)) < 2);
        ones |= bits;
        zeros |= ~bits;
    }
    ck_assert_uint_eq(ones & 0x807FFFFFu, 0x807FFFFFu);
    ck_assert_uint_eq(zeros & 0x807FFFFFu, 0x807FFFFFu);
}
END_TEST

START_TEST(special_has_everything_that_a_float_move_could_change)
{
    int minus_zero = 0, subnormal = 0, quiet = 0, signalling = 0, negative_nan = 0, inf = 0, ordinary = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint32_t bits = sb_f32_draw(SB_F32_SPECIAL, &rng, i);
        const uint32_t exponent = bits >> 23 & 0xFFu, fraction = bits & 0x7FFFFFu;
        minus_zero += bits == 0x80000000u;
        subnormal += exponent == 0 && fraction != 0;
        quiet += exponent == 255 && (fraction & 0x400000u) != 0 && fraction != 0x400000u;
        signalling += exponent == 255 && fraction != 0 && (fraction & 0x400000u) == 0;
        negative_nan += exponent == 255 && fraction != 0 && bits >> 31 != 0;
        inf += exponent == 255 && fraction == 0;
        ordinary += exponent > 100 && exponent < 128;
    }
    ck_assert_int_gt(minus_zero, DRAWS / 50);
    ck_assert_int_gt(subnormal, DRAWS / 50);
    ck_assert_int_gt(quiet, DRAWS / 50);
    ck_assert_int_gt(signalling, DRAWS / 50);
    ck_assert_int_gt(negative_nan, DRAWS / 50);
    ck_assert_int_gt(inf, DRAWS / 50);
    ck_assert_int_gt(ordinary, DRAWS / 3);
}
END_TEST

START_TEST(far_is_24_places_above_a_normal_sum)
{
    int powers = 0, ties = 0, odd = 0, at[4] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint32_t bits = sb_f32_draw(SB_F32_FAR, &rng, i);
        const double v = fabs(f32_value(bits));
        ck_assert(v >= 0x1p23 && v < 0x1p27);
        at[ilogb(v) - 23]++;
        powers += (bits & 0x7FFFFFu) == 0;
        ties += (bits & 0xFFFFu) >= 0x7FFFu && (bits & 0xFFFFu) <= 0x8001u;
        odd += (bits & 1u) != 0;
    }
    for (int e = 0; e < 4; e++)
        ck_assert_int_gt(at[e], DRAWS / 5);
    ck_assert_int_gt(powers, DRAWS / 5);
    ck_assert_int_gt(ties, DRAWS / 5);
    ck_assert_int_gt(odd, DRAWS / 3);
}
END_TEST

START_TEST(limit_is_finite_and_next_to_the_end)
{
    int largest = 0, top = 0, below = 0, above = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint32_t magnitude = sb_f32_draw(SB_F32_LIMIT, &rng, i) & 0x7FFFFFFFu;
        ck_assert(magnitude >= 0x7EFFFFFCu && magnitude <= 0x7F7FFFFFu);
        largest += magnitude == 0x7F7FFFFFu;
        top += magnitude >= 0x7F7FFFF8u;
        below += magnitude < 0x7F000000u;
        above += magnitude >= 0x7F000000u && magnitude < 0x7F000004u;
    }
    ck_assert_int_gt(largest, DRAWS / 32);
    ck_assert_int_gt(top, DRAWS / 3);
    ck_assert_int_gt(below, DRAWS / 16);
    ck_assert_int_gt(above, DRAWS / 16);
}
END_TEST

START_TEST(gradients_have_both_signs)
{
    int negative = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        negative += sb_f32_draw((enum sb_f32_dist)_i, &rng, i) >> 31 != 0;
    ck_assert_int_gt(negative, DRAWS * 2 / 5);
    ck_assert_int_lt(negative, DRAWS * 3 / 5);
}
END_TEST

/* ---- E8M0 --------------------------------------------------------------------------------------- */

START_TEST(scale_bytes_are_those_promised)
{
    int count[256] = {0};
    const enum sb_scale_dist dist = (enum sb_scale_dist)_i;
    for (uint64_t i = 0; i < DRAWS; i++)
        count[sb_scale_draw(dist, &rng, i)]++;
    int distinct = 0;
    for (int b = 0; b < 256; b++)
        distinct += count[b] > 0;
    static const int expected[SB_SCALE_COUNT] = {8, 256, 256, 4};
    ck_assert_int_eq(distinct, expected[dist]);
    if (dist == SB_SCALE_REAL)
        for (int b = 112; b < 120; b++)
            ck_assert_int_gt(count[b], DRAWS / 10);
    if (dist == SB_SCALE_EDGES)
        ck_assert(count[0] > 0 && count[1] > 0 && count[254] > 0 && count[255] > 0);
}
END_TEST

START_TEST(ramp_is_the_index)
{
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(sb_scale_draw(SB_SCALE_RAMP, &rng, i), i % 256);
}
END_TEST

START_TEST(a_fill_is_its_draws_from_any_start)
{
    uint8_t bytes[100];
    for (uint64_t first = 0; first < 40; first++) {
        sb_scale_fill((enum sb_scale_dist)_i, &rng, first, 100, bytes);
        for (uint64_t j = 0; j < 100; j++)
            ck_assert_uint_eq(bytes[j], sb_scale_draw((enum sb_scale_dist)_i, &rng, first + j));
    }
}
END_TEST

START_TEST(names_end_and_number_as_the_enums)
{
    ck_assert_ptr_null(sb_bf16_dist_names[SB_DIST_COUNT]);
    ck_assert_ptr_null(sb_f32_dist_names[SB_F32_COUNT]);
    ck_assert_ptr_null(sb_scale_dist_names[SB_SCALE_COUNT]);
    ck_assert_str_eq(sb_bf16_dist_names[SB_DIST_HUGE], "huge");
    ck_assert_str_eq(sb_bf16_dist_names[SB_DIST_CANCEL], "cancel");
    ck_assert_str_eq(sb_bf16_dist_names[SB_DIST_INFZERO], "infzero");
    ck_assert_str_eq(sb_bf16_dist_names[SB_DIST_FULL], "full");
    ck_assert_str_eq(sb_f32_dist_names[SB_F32_SPECIAL], "special");
    ck_assert_str_eq(sb_f32_dist_names[SB_F32_FAR], "far");
    ck_assert_str_eq(sb_f32_dist_names[SB_F32_LIMIT], "limit");
    ck_assert_str_eq(sb_scale_dist_names[SB_SCALE_EDGES], "edges");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/distribution");
    TCase *bf16 = tcase_create("bf16");
    tcase_add_loop_test(bf16, every_distribution_uses_both_signs_and_all_fraction_bits, 0, SB_DIST_FULL);
    tcase_add_test(bf16, normal_is_bell_shaped_about_zero);
    tcase_add_test(bf16, normal_draws_are_pinned);
    tcase_add_loop_test(bf16, filling_is_drawing, 0, SB_DIST_COUNT);
    tcase_add_test(bf16, a_million_fills_are_draws);
    tcase_add_test(bf16, wide_has_every_normal_exponent_and_no_other);
    tcase_add_test(bf16, bits_has_nan_inf_and_subnormals);
    tcase_add_test(bf16, subnormal_is_subnormal_or_next_to_it);
    tcase_add_test(bf16, zeros_has_both_zeros_and_both_extremes);
    tcase_add_test(bf16, infnan_has_a_few_of_each);
    tcase_add_test(bf16, tiny_products_lie_about_the_exponent_floor);
    tcase_add_test(bf16, cancel_leaves_little_of_its_terms);
    tcase_add_test(bf16, cancel_pairs_inside_a_step_and_across_steps);
    tcase_add_test(bf16, huge_passes_the_largest_number_inside_a_step_and_comes_back);
    tcase_add_test(bf16, other_distributions_ignore_the_pairing);
    tcase_add_test(bf16, infzero_makes_a_third_of_the_sums_nan_and_leaves_the_rest);
    tcase_add_test(bf16, full_passes_31_bits_in_the_second_step_of_a_pair);
    suite_add_tcase(suite, bf16);
    TCase *f32 = tcase_create("f32");
    tcase_add_test(f32, unit_is_in_zero_to_one);
    tcase_add_test(f32, normal_f32_uses_all_fraction_bits);
    tcase_add_test(f32, special_has_everything_that_a_float_move_could_change);
    tcase_add_test(f32, far_is_24_places_above_a_normal_sum);
    tcase_add_test(f32, limit_is_finite_and_next_to_the_end);
    tcase_add_loop_test(f32, gradients_have_both_signs, SB_F32_NORMAL, SB_F32_COUNT);
    suite_add_tcase(suite, f32);
    TCase *scales = tcase_create("scales");
    tcase_add_loop_test(scales, scale_bytes_are_those_promised, 0, SB_SCALE_COUNT);
    tcase_add_test(scales, ramp_is_the_index);
    tcase_add_loop_test(scales, a_fill_is_its_draws_from_any_start, 0, SB_SCALE_COUNT);
    tcase_add_test(scales, names_end_and_number_as_the_enums);
    suite_add_tcase(suite, scales);
    return suite;
}
