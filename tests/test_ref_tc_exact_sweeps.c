/* Contract TC against arbitrary-precision integers, swept: every exponent of one product and c, every pair of bf16
 * exponents, every product of two significands at every depth, and the edges of f32's range. First, the exact integers
 * themselves against what is known beforehand. */
#include "../ref/tc_bf16_k16_f25.h"
#include "tc_exact.h"

#include "check_main.h"

/* ---- the second opinion itself ------------------------------------------------------------------------ */

/* The contract's examples. */
static const struct {
    uint32_t c;
    struct {
        int count;
        uint16_t a, b;
    } pairs[3];
    uint32_t result;
} examples[] = {
    {0x3A800001, {{16, 0x0000, 0x7F00}}, 0x3A800001},
    {0x00000000, {{16, 0x1980, 0x1980}}, 0x00000002},
    {0x00000000, {{1, 0x1980, 0x9980}}, 0x00000000},
    {0x3F800000, {{4, 0x3980, 0x3900}}, 0x3F800001},
    {0x3F800000, {{8, 0x3900, 0x3900}}, 0x3F800000},
    {0x00000000, {{2, 0x1B81, 0x1B01}, {1, 0x1A00, 0x9A00}, {1, 0x1800, 0x9800}}, 0x0000001F},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static struct tc_dot example(int number)
{
    struct tc_dot d = {.c = examples[number].c};
    int place = 0;
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < examples[number].pairs[p].count; i++, place++) {
            d.a[place] = examples[number].pairs[p].a;
            d.b[place] = examples[number].pairs[p].b;
        }
    return d;
}

START_TEST(contract_examples)
{
    const struct tc_dot d = example(_i);
    ck_assert_uint_eq(tc_exact(&tc_contract, &d), examples[_i].result);
    ck_assert_uint_eq(sb_tc_bf16_k16_f25(d.c, d.a, d.b), examples[_i].result);
}
END_TEST

/* What the contract's table says of 24, 26 bits and of other floors. */
START_TEST(contract_counterexamples)
{
    const struct tc_dot of_24_bits = example(3), of_26_bits = example(4), of_the_floor = example(5);
    struct tc_rules rules = tc_contract;
    rules.fraction_bits = 24;
    ck_assert_uint_eq(tc_exact(&rules, &of_24_bits), 0x3F800000);
    rules.fraction_bits = 26;
    ck_assert_uint_eq(tc_exact(&rules, &of_26_bits), 0x3F800001);
    static const int floors[] = {-132, -134, TC_NO_FLOOR};
    for (int i = 0; i < 3; i++) {
        rules = tc_contract;
        rules.lowest_e_max = floors[i];
        ck_assert_uint_eq(tc_exact(&rules, &of_the_floor), 0x00000020);
    }
}
END_TEST

/* Sums that are f32 numbers: no cut enters, and the result can be read off. Ties of the changed rounding too. */
START_TEST(results_known_beforehand)
{
    struct tc_dot d = {.c = 0x3F800000, .a = {0x4000, 0xC040}, .b = {0x4040, 0x4080}}; /* 1 + 2 * 3 - 3 * 4 */
    ck_assert_uint_eq(tc_exact(&tc_contract, &d), 0xC0A00000);
    struct tc_rules nearest = tc_contract, down = tc_contract;
    nearest.sum = TC_NEAREST_EVEN;
    down.sum = TC_DOWN;
    static const uint32_t odd = 0x3F800001; /* odd + 2^-24 is a tie, 1 + 2^-24 another */
    const struct tc_dot up = {.c = odd, .a = {0x3980}, .b = {0x3980}};
    const struct tc_dot stay = {.c = 0x3F800000, .a = {0x3980}, .b = {0x3980}};
    const struct tc_dot minus = {.c = 0x80000000u | odd, .a = {0x3980}, .b = {0xB980}};
    ck_assert_uint_eq(tc_exact(&nearest, &up), odd + 1);
    ck_assert_uint_eq(tc_exact(&nearest, &stay), 0x3F800000);
    ck_assert_uint_eq(tc_exact(&nearest, &minus), 0x80000000u | (odd + 1));
    ck_assert_uint_eq(tc_exact(&tc_contract, &up), odd);
    ck_assert_uint_eq(tc_exact(&tc_contract, &minus), 0x80000000u | odd);
    ck_assert_uint_eq(tc_exact(&down, &up), odd);
    ck_assert_uint_eq(tc_exact(&down, &minus), 0x80000000u | (odd + 1));
}
END_TEST

/* The two operations beside it. */
START_TEST(addition_known_beforehand)
{
    static const struct {
        uint32_t x, y, sum;
    } known[] = {
        {0x3F800000, 0x40000000, 0x40400000}, /* 1 + 2 */
        {0x3F800000, 0x33800000, 0x3F800000}, /* 1 + 2^-24: a tie, to even */
        {0x3F800001, 0x33800000, 0x3F800002}, /* the tie above it */
        {0x3F800000, 0x33800001, 0x3F800001}, {0xBF800001, 0xB3800000, 0xBF800002},
        {0x7F7FFFFF, 0x73000000, 0x7F800000}, /* a tie at the top: overflow */
        {0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF}, {0x00000001, 0x007FFFFF, 0x00800000},
        {0x00800000, 0x80000001, 0x007FFFFF}, {0x80000000, 0x80000000, 0x80000000},
        {0x80000000, 0x00000000, 0x00000000}, {0x3F800000, 0xBF800000, 0x00000000},
        {0x7F800000, 0xFF7FFFFF, 0x7F800000}, {0xFF800000, 0x7F800000, 0x7FFFFFFF},
        {0xFFC00001, 0x3F800000, 0x7FFFFFFF},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_uint_eq(tc_exact_add(known[i].x, known[i].y), known[i].sum);
        ck_assert_uint_eq(tc_exact_add(known[i].y, known[i].x), known[i].sum);
    }
}
END_TEST

START_TEST(narrowing_known_beforehand)
{
    static const struct {
        uint32_t f32;
        uint16_t bf16;
    } known[] = {
        {0x3F800000, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81}, {0xBF818000, 0xBF82},
        {0x7F7F8000, 0x7F80}, {0x7F7F7FFF, 0x7F7F}, {0xFF7FFFFF, 0xFF80}, {0x00008000, 0x0000}, {0x00018000, 0x0002},
        {0x80008001, 0x8001}, {0x007FFFFF, 0x0080}, {0x80000000, 0x8000}, {0xFF800000, 0xFF80}, {0xFF800001, 0x7FFF},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(tc_exact_bf16(known[i].f32), known[i].bf16);
}
END_TEST

/* ---- sweeps ---------------------------------------------------------------------------------------------- */

static uint64_t made, compared; /* of the test that runs */

static void hold(const struct tc_dot *d)
{
    if (made++ % TC_ONE_IN != 0)
        return;
    const uint32_t want = tc_exact(&tc_contract, d), got = sb_tc_bf16_k16_f25(d->c, d->a, d->b);
    if (want != got) {
        char text[512];
        ck_abort_msg("got %08X, exactly %08X; %s", got, want, tc_dot_text(d, text, sizeof text));
    }
    compared++;
}

static void tell(const char *sweep)
{
    printf("tc_exact: %s: %llu dot products equal\n", sweep, (unsigned long long)compared);
    made = compared = 0;
}

/* c and one product, in each of the sixteen places in turn. */
static void hold_one(uint32_t c, uint16_t a, uint16_t b)
{
    struct tc_dot d = {.c = c};
    const int place = (int)(made % TC_PAIRS);
    d.a[place] = a;
    d.b[place] = b;
    hold(&d);
}

static const uint32_t c_significands[] = {0x800000, 0x800001, 0xFFFFFF};
static const uint32_t c_subnormals[] = {0x000001, 0x400000, 0x7FFFFF};

/* The product of a and b against c of every exponent: normals, subnormals (in place of the exponent -127) and zero. */
static void against_every_c(uint16_t a, uint16_t b)
{
    for (int signs = 0; signs < 4; signs++) {
        const uint32_t c_sign = (signs & 1) != 0 ? 0x80000000u : 0u;
        const uint16_t signed_a = (uint16_t)((signs & 2) != 0 ? a | 0x8000 : a);
        hold_one(c_sign, signed_a, b);
        for (int e = -127; e <= 127; e++)
            for (int i = 0; i < 3; i++)
                hold_one(c_sign | (e < -126 ? c_subnormals[i] : tc_f32(false, e, c_significands[i])), signed_a, b);
    }
}

START_TEST(every_product_exponent_against_every_c)
{
    static const uint8_t significands[][2] = {{128, 128}, {255, 255}, {129, 191}};
    for (int e = -252; e <= 254; e++) {
        const int e_a = e < 1 ? e / 2 : e - e / 2;
        for (int i = 0; i < 3; i++)
            against_every_c(tc_bf16(false, e_a, significands[i][0]), tc_bf16(false, e - e_a, significands[i][1]));
    }
    tell("a product of every exponent against c of every exponent");
}
END_TEST

START_TEST(subnormal_operand_against_every_c)
{
    static const uint8_t significands[][2] = {{1, 128}, {127, 255}};
    for (int e_b = -126; e_b <= 127; e_b++)
        for (int i = 0; i < 2; i++)
            against_every_c(tc_bf16(false, -126, significands[i][0]), tc_bf16(false, e_b, significands[i][1]));
    for (int a = 1; a < 128; a += 21) /* two subnormals: far below all else */
        for (int b = 1; b < 128; b += 21)
            against_every_c((uint16_t)a, (uint16_t)b);
    tell("a subnormal operand against c of every exponent");
}
END_TEST

/* 0 and 255 among the exponents' fields: zeros, subnormals, infinities and NaN. */
START_TEST(every_pair_of_bf16_exponents)
{
    static const uint8_t fractions[] = {0x00, 0x01, 0x40, 0x7F};
    static const uint32_t accumulators[] = {0x00000000, 0x80000000, 0x3F800000};
    for (int fields = 0; fields < 256 * 256; fields++)
        for (int i = 0; i < 16; i++)
            for (int sign = 0; sign < 2; sign++) {
                const uint16_t a = (uint16_t)(fields / 256 << 7 | fractions[i / 4] | sign << 15);
                const uint16_t b = (uint16_t)(fields % 256 << 7 | fractions[i % 4]);
                hold_one(accumulators[i % 3], a, b);
            }
    tell("every pair of bf16 exponents");
}
END_TEST

/* How far below c a term stands decides what is cut off it: all of its bits in turn. */
START_TEST(every_product_of_significands_at_every_depth)
{
    for (int depth = 0; depth < 42; depth++)
        for (uint32_t s_a = 128; s_a < 256; s_a++)
            for (uint32_t s_b = s_a; s_b < 256; s_b += depth < 30 ? 1 : 5)
                for (int sign = 0; sign < 2; sign++)
                    hold_one(0x3F800001, tc_bf16(sign != 0, -depth, s_a), tc_bf16(false, 0, s_b));
    tell("every product of two significands at every depth below c");
}
END_TEST

/* c plus or minus up to sixteen like products. */
static void hold_copies(uint32_t c, uint16_t a, uint16_t b)
{
    struct tc_dot d = {.c = c};
    for (int i = 0; i < TC_PAIRS; i++) {
        d.a[i] = a;
        d.b[i] = b;
        hold(&d);
    }
}

static void copies_of_size(uint32_t c, int exponent, uint8_t s_a, uint8_t s_b)
{
    const int e_a = exponent / 2;
    for (int signs = 0; signs < 4; signs++)
        hold_copies((signs & 1) != 0 ? c | 0x80000000u : c, tc_bf16((signs & 2) != 0, e_a, s_a),
                    tc_bf16(false, exponent - e_a, s_b));
}

/* The last places of c: sums just below, on and just above each f32 next to it, and from one binade to the next. */
START_TEST(last_places_of_every_c)
{
    for (int e = -127; e <= 127; e++)
        for (int i = 0; i < 3; i++)
            for (int depth = 21; depth <= 27; depth++)
                copies_of_size(e < -126 ? c_subnormals[i] : tc_f32(false, e, c_significands[i]), e - depth, 128, 128);
    tell("copies of one bit in the last places of every c");
}
END_TEST

/* Around the ends of f32's range: c next to each, and products of every size that matters there. */
static const struct edge {
    const char *name;
    uint32_t first_c, last_c;
    int first_exponent, last_exponent;
} edges[] = {
    {"2^128", 0x7F7FFFF8, 0x7F7FFFFF, 96, 130},
    {"2^128, from 2^127", 0x7EFFFFFE, 0x7F000001, 96, 130},
    {"2^-126", 0x007FFFFA, 0x00800006, -164, -122},
    {"2^-149", 0x00000000, 0x00000006, -176, -145},
};

START_TEST(ends_of_the_range)
{
    static const uint8_t significands[][2] = {{128, 128}, {255, 255}, {128, 129}, {255, 128}};
    const struct edge *edge = &edges[_i];
    for (uint32_t c = edge->first_c; c <= edge->last_c; c++)
        for (int exponent = edge->first_exponent; exponent <= edge->last_exponent; exponent++)
            for (int i = 0; i < 4; i++)
                copies_of_size(c, exponent, significands[i][0], significands[i][1]);
    tell(edge->name);
}
END_TEST

/* Products alone that add up to the ends of the range, and one small term that takes them over or back. */
START_TEST(sums_of_products_at_the_ends)
{
    static const int ends[] = {128, -126, -149};
    for (int i = 0; i < 3; i++)
        for (int depth = 0; depth < 40; depth++)
            for (int count = 1; count < TC_PAIRS; count++)
                for (int signs = 0; signs < 4; signs++) {
                    struct tc_dot d = {0};
                    const int small = ends[i] - 4 - depth, e = ends[i] - 4;
                    for (int k = 0; k < count; k++) { /* sixteen of them would be the end itself */
                        d.a[k] = tc_bf16((signs & 1) != 0, e / 2, 128);
                        d.b[k] = tc_bf16(false, e - e / 2, 128);
                    }
                    for (int k = count; k < TC_PAIRS; k++) {
                        d.a[k] = tc_bf16((signs & 2) != 0, small / 2, 255);
                        d.b[k] = tc_bf16(false, small - small / 2, 255);
                    }
                    hold(&d);
                }
    tell("products alone at the ends of the range");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref tc_bf16_k16_f25 against exact integers, swept");
    TCase *itself = tcase_create("second opinion");
    tcase_add_loop_test(itself, contract_examples, 0, EXAMPLES);
    tcase_add_test(itself, contract_counterexamples);
    tcase_add_test(itself, results_known_beforehand);
    tcase_add_test(itself, addition_known_beforehand);
    tcase_add_test(itself, narrowing_known_beforehand);
    suite_add_tcase(suite, itself);
    TCase *tc = tcase_create("sweeps");
    tcase_add_test(tc, every_product_exponent_against_every_c);
    tcase_add_test(tc, subnormal_operand_against_every_c);
    tcase_add_test(tc, every_pair_of_bf16_exponents);
    tcase_add_test(tc, every_product_of_significands_at_every_depth);
    tcase_add_test(tc, last_places_of_every_c);
    tcase_add_loop_test(tc, ends_of_the_range, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_test(tc, sums_of_products_at_the_ends);
    suite_add_tcase(suite, tc);
    return suite;
}
