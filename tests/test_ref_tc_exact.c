/* Contract TC against arbitrary-precision integers: families of random and adversarial dot products, and planted
 * changes of the contract that the same dot products must tell from it. */
#include "../ref/tc_bf16_k16_f25.h"
#include "tc_exact.h"

#include "check_main.h"
#include "ref_random.h"

#include <string.h>

enum {
    COMPARED = 250000 / TC_ONE_IN, /* dot products of a family held against the reference */
    TOLD_APART = 8000 / TC_ONE_IN, /* the first of them, which each changed rule must show in */
    LOWEST_SUM = -252,             /* of two bf16 exponents */
    HIGHEST_SUM = 254,
};

static int between(uint64_t *s, int low, int high)
{
    return low + (int)random_below(s, (int64_t)high - low + 1);
}

static bool one_in(uint64_t *s, int n)
{
    return random_below(s, n) == 0;
}

static int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- operands ------------------------------------------------------------------------------------- */

/* Of a normal bf16: any, every other time one from the edges. */
static uint32_t significand8(uint64_t *s)
{
    static const uint8_t edges[] = {128, 129, 192, 254, 255, 191};
    return one_in(s, 2) ? edges[random_below(s, sizeof edges)] : 128 + random_u32(s) % 128;
}

static uint32_t significand24(uint64_t *s)
{
    static const uint32_t edges[] = {0x800000, 0x800001, 0xFFFFFF, 0xFFFFFE, 0xC00000, 0xBFFFFF, 0xFFFFF0, 0x80000F};
    return one_in(s, 2) ? edges[random_below(s, sizeof edges / sizeof *edges)] : 0x800000 + random_u32(s) % 0x800000;
}

/* Pair i: significands of eight bits and a product exponent, split between the two at random. */
static void set_pair(uint64_t *s, struct tc_dot *d, int i, int e, bool negative, uint32_t s_a, uint32_t s_b)
{
    e = clamp(e, LOWEST_SUM, HIGHEST_SUM);
    const int e_a = between(s, clamp(e - 127, -126, 127), clamp(e + 126, -126, 127));
    const bool a_negative = one_in(s, 2);
    d->a[i] = tc_bf16(a_negative, e_a, s_a);
    d->b[i] = tc_bf16(a_negative != negative, e - e_a, s_b);
}

static void random_pair(uint64_t *s, struct tc_dot *d, int i, int e)
{
    const uint32_t s_a = significand8(s);
    set_pair(s, d, i, e, one_in(s, 2), s_a, significand8(s));
}

/* Exponents below -126 give a subnormal of that size; too high ones, the highest. */
static uint32_t random_c(uint64_t *s, int e)
{
    const uint32_t significand = significand24(s);
    const bool negative = one_in(s, 2);
    if (e < -126)
        return (negative ? 0x80000000u : 0u) | significand >> clamp(-126 - e, 1, 24);
    return tc_f32(negative, clamp(e, -126, 127), significand);
}

/* ---- families: each fills in a dot product of zeros -------------------------------------------------- */

static void normal(uint64_t *s, struct tc_dot *d)
{
    d->c = random_c(s, between(s, -10, 10));
    for (int i = 0; i < TC_PAIRS; i++)
        random_pair(s, d, i, between(s, -6, 6));
}

static void wide(uint64_t *s, struct tc_dot *d)
{
    d->c = random_c(s, between(s, -149, 127));
    for (int i = 0; i < TC_PAIRS; i++)
        random_pair(s, d, i, between(s, -126, 127) + between(s, -126, 127));
}

/* Products close to each other anywhere in the range, with c near them, a subnormal or zero. */
static void window(uint64_t *s, struct tc_dot *d)
{
    const int top = between(s, -200, 140), height = between(s, 0, 40), count = between(s, 1, TC_PAIRS);
    d->c = one_in(s, 8) ? 0 : random_c(s, top + between(s, -45, 30));
    for (int i = 0; i < count; i++)
        random_pair(s, d, between(s, 0, TC_PAIRS - 1), top - between(s, 0, height));
}

static void all_bits(uint64_t *s, struct tc_dot *d)
{
    d->c = random_u32(s);
    for (int i = 0; i < TC_PAIRS; i++) {
        d->a[i] = (uint16_t)random_u32(s);
        d->b[i] = (uint16_t)random_u32(s);
    }
}

/* Subnormal operands against partners of any size, so that what they add up to is anywhere from nothing to 2. */
static void subnormals(uint64_t *s, struct tc_dot *d)
{
    const int partner = between(s, -40, 127);
    d->c = random_c(s, between(s, -40, 6) + partner - 126);
    for (int i = 0; i < TC_PAIRS; i++) {
        random_pair(s, d, i, partner - 126 - between(s, 0, 12));
        if (one_in(s, 4))
            continue;
        const uint16_t subnormal = (uint16_t)((random_u32(s) & 0x8000u) | (random_u32(s) % 128));
        const uint16_t other = tc_bf16(one_in(s, 2), clamp(partner - between(s, 0, 12), -126, 127), significand8(s));
        const bool swap = one_in(s, 2);
        d->a[i] = swap ? subnormal : other;
        d->b[i] = swap ? other : subnormal;
    }
}

static void specials(uint64_t *s, struct tc_dot *d)
{
    static const uint16_t words[] = {0x7F80, 0xFF80, 0x7F80, 0x7FC0, 0xFF81, 0x7F81, 0x0000, 0x8000, 0x7F7F, 0x0001};
    const int dice = between(s, 1, 4), kinds = one_in(s, 2) ? 1 : (int)(sizeof words / sizeof *words);
    normal(s, d);
    for (int i = 0; i < dice; i++) {
        const int where = between(s, 0, 2 * TC_PAIRS);
        const uint16_t word = words[random_below(s, kinds)];
        if (where == 2 * TC_PAIRS)
            d->c = (uint32_t)word << 16 | (one_in(s, 4) ? 1 : 0);
        else
            (where % 2 != 0 ? d->a : d->b)[where / 2] = word;
    }
}

/* Sums on both sides of 2^128, and products far beyond it that cancel or do not. */
static void overflow(uint64_t *s, struct tc_dot *d)
{
    const int top = one_in(s, 8) ? between(s, 128, 254) : between(s, 121, 128), count = between(s, 1, TC_PAIRS);
    const bool negative = one_in(s, 2), cancels = top > 128 || one_in(s, 4);
    d->c = one_in(s, 4) ? 0x7F7FFFFFu - random_u32(s) % 64 : random_c(s, between(s, 118, 127));
    if (negative)
        d->c ^= 0x80000000u;
    for (int i = 0; i + 1 < count; i += 2) {
        const uint32_t s_a = significand8(s), s_b = significand8(s);
        const int e = top - between(s, 0, 6);
        set_pair(s, d, i, e, negative, s_a, s_b);
        set_pair(s, d, i + 1, e, negative != cancels, s_a, s_b);
    }
    if (top <= 128)
        set_pair(s, d, TC_PAIRS - 1, 127 - between(s, 0, 30), one_in(s, 2) == negative, significand8(s), 128);
}

/* Opposite products, c too, with what is left over now and then. */
static void cancellation(uint64_t *s, struct tc_dot *d)
{
    const int top = between(s, -170, 120), height = between(s, 0, 30);
    for (int i = 0; i + 1 < TC_PAIRS; i += 2) {
        const int e = top - between(s, 0, height);
        const uint32_t s_a = significand8(s), s_b = significand8(s);
        set_pair(s, d, i, e, one_in(s, 2), s_a, s_b);
        d->a[i + 1] = d->b[i] ^ 0x8000;
        d->b[i + 1] = one_in(s, 8) ? d->a[i] ^ 1 : d->a[i];
    }
    if (!one_in(s, 3) && top > -126 && top < 127) { /* c against one more product, to the bit */
        const uint32_t s_a = significand8(s), s_b = significand8(s), product = s_a * s_b;
        const int up = product >> 15 == 0 ? 0 : 1;
        const bool negative = one_in(s, 2);
        set_pair(s, d, 0, top, negative, s_a, s_b);
        d->c = tc_f32(!negative, clamp(top + up, -126, 127), product << (9 - up));
        d->a[1] = d->b[1] = 0;
    }
}

/* Zeros of both signs with partners of any size, and little or nothing beside them. */
static void zeros(uint64_t *s, struct tc_dot *d)
{
    static const uint32_t small[] = {0,           0x80000000u, 0x80000000u, 1,
                                     0x80000001u, 0x00800001u, 0x3A800001u, 0x00000FFFu};
    d->c = one_in(s, 4) ? random_c(s, between(s, -149, 127)) : small[random_below(s, sizeof small / sizeof *small)];
    const bool minus = one_in(s, 3);
    for (int i = 0; i < TC_PAIRS; i++) {
        const bool negative = one_in(s, 2);
        d->a[i] = negative ? 0x8000 : 0;
        d->b[i] = tc_bf16(minus ? !negative : one_in(s, 2), between(s, -126, 127), significand8(s));
        if (one_in(s, 4))
            d->b[i] &= 0x8000;
    }
    for (int left = between(s, 0, 3) - 1; left > 0; left--)
        random_pair(s, d, between(s, 0, TC_PAIRS - 1), between(s, -165, 20));
}

/* Products around the floor of -133 and f32's smallest number, c being of their size. */
static void tiny(uint64_t *s, struct tc_dot *d)
{
    const int top = between(s, -155, -124), height = between(s, 0, 24), count = between(s, 1, TC_PAIRS);
    d->c = one_in(s, 2) ? 0 : one_in(s, 2) ? random_u32(s) % 64 : random_c(s, between(s, -150, -124));
    if (one_in(s, 2))
        d->c ^= 0x80000000u;
    for (int i = 0; i < count; i++)
        random_pair(s, d, i, top - between(s, 0, height));
}

/* Terms of one exponent, nearly all as large as they get: up to 2^31 units and more. */
static void large_sums(uint64_t *s, struct tc_dot *d)
{
    const int e = one_in(s, 4) ? between(s, 118, 124) : between(s, -140, 117);
    const bool negative = one_in(s, 2);
    d->c = e + 2 < -126
               ? 0
               : tc_f32(negative, clamp(e + between(s, -3, 2), -126, 127), one_in(s, 2) ? 0xFFFFFF : significand24(s));
    for (int i = 0; i < TC_PAIRS; i++)
        set_pair(s, d, i, e, one_in(s, 64) != negative, one_in(s, 8) ? significand8(s) : 255, 255);
}

/* c far above its products or far below, on both sides of where either falls out. */
static void far_apart(uint64_t *s, struct tc_dot *d)
{
    const int e = between(s, -160, 120), away = between(s, 18, 46), height = between(s, 0, 3);
    d->c = random_c(s, one_in(s, 2) ? e + away : e - away);
    for (int i = 0; i < TC_PAIRS; i++)
        random_pair(s, d, i, e - between(s, 0, height));
}

/* A large term and single bits around the last place that is kept of a term and of the sum: ties and one off. */
static void single_bits(uint64_t *s, struct tc_dot *d)
{
    const int top = between(s, -150, 124), depth = between(s, 20, 29), count = between(s, 1, TC_PAIRS - 1);
    const bool same_sign = one_in(s, 2), negative = one_in(s, 2);
    if (one_in(s, 2) && top >= -126)
        d->c = tc_f32(negative, top, significand24(s));
    else
        set_pair(s, d, TC_PAIRS - 1, top, negative, significand8(s), significand8(s));
    for (int i = 0; i < count; i++) {
        const uint32_t s_b = one_in(s, 4) ? 128 + (random_u32(s) % 3) : 128;
        set_pair(s, d, i, top - depth + between(s, -2, 3), same_sign ? negative : one_in(s, 2), 128, s_b);
    }
}

/* Halves, quarters and so on whose last one stands twice: together a power of two of f32's smallest numbers, unless the
 * last ones fall to the cut at 2^(-133 - 25). */
static void floor_chains(uint64_t *s, struct tc_dot *d)
{
    const int first = between(s, -151, -146), last = between(s, -161, -155), shift = between(s, 0, TC_PAIRS - 1);
    const bool negative = one_in(s, 2);
    d->c = (one_in(s, 4) ? 0 : random_u32(s) % 16) | (one_in(s, 2) ? 0x80000000u : 0u);
    for (int i = 0; i < TC_PAIRS && first - i >= last - 1; i++) {
        const int e = first - i >= last ? first - i : last;
        const bool altered = one_in(s, 32);
        set_pair(s, d, (i + shift) % TC_PAIRS, e, negative != altered, 128, one_in(s, 32) ? 129 : 128);
    }
}

/* ---- what they are held to ------------------------------------------------------------------------- */

enum { ZERO = 1, SUBNORMAL = 2, NORMAL = 4, INFINITE = 8, NOT_A_NUMBER = 16, KINDS = 5 };

static int kind_of(uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude == 0)
        return ZERO;
    if (magnitude < 0x00800000u)
        return SUBNORMAL;
    return magnitude < 0x7F800000u ? NORMAL : magnitude == 0x7F800000u ? INFINITE : NOT_A_NUMBER;
}

static const struct family {
    const char *name;
    void (*draw)(uint64_t *state, struct tc_dot *dot);
    int results; /* kinds that at least one result in a hundred must be of: else the family misses its aim */
} families[] = {
    {"normal", normal, NORMAL},
    {"wide", wide, NORMAL | INFINITE},
    {"window", window, ZERO | SUBNORMAL | NORMAL | INFINITE},
    {"all bits", all_bits, NORMAL | INFINITE | NOT_A_NUMBER},
    {"subnormals", subnormals, ZERO | SUBNORMAL | NORMAL},
    {"specials", specials, NORMAL | INFINITE | NOT_A_NUMBER},
    {"overflow", overflow, NORMAL | INFINITE},
    {"cancellation", cancellation, ZERO | SUBNORMAL | NORMAL},
    {"zeros", zeros, ZERO | SUBNORMAL | NORMAL},
    {"tiny", tiny, ZERO | SUBNORMAL | NORMAL},
    {"floor chains", floor_chains, ZERO | SUBNORMAL},
    {"large sums", large_sums, SUBNORMAL | NORMAL | INFINITE},
    {"far apart", far_apart, SUBNORMAL | NORMAL},
    {"single bits", single_bits, SUBNORMAL | NORMAL},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Dot product number i of a family: the same for whoever asks. */
static struct tc_dot draw(int family, int i)
{
    struct tc_dot d = {0};
    uint64_t state = ((uint64_t)family << 32 | (uint64_t)(unsigned)i) * UINT64_C(0x9E3779B97F4A7C15);
    random_u32(&state);
    families[family].draw(&state, &d);
    return d;
}

static uint32_t by_decoded_operands(const struct tc_dot *d)
{
    struct sb_tc_operands a, b;
    sb_tc_decode(d->a, &a);
    sb_tc_decode(d->b, &b);
    return sb_tc_step(d->c, &a, &b);
}

START_TEST(reference_gives_the_exact_bits)
{
    const struct family *f = &families[_i];
    int seen[KINDS] = {0};
    for (int i = 0; i < COMPARED; i++) {
        const struct tc_dot d = draw(_i, i);
        const uint32_t want = tc_exact(&tc_contract, &d), got = sb_tc_bf16_k16_f25(d.c, d.a, d.b);
        const uint32_t step = by_decoded_operands(&d);
        char text[512];
        if (got != want || step != want) /* asserted only then: Check takes note of every assertion in a file */
            ck_abort_msg("%s %d: %08X, by steps %08X, exactly %08X; %s", f->name, i, got, step, want,
                         tc_dot_text(&d, text, sizeof text));
        for (int k = 0; k < KINDS; k++)
            seen[k] += kind_of(want) == 1 << k;
    }
    printf("tc_exact: %s: %d dot products equal (%d zero, %d subnormal, %d normal, %d infinite, %d NaN)\n", f->name,
           COMPARED, seen[0], seen[1], seen[2], seen[3], seen[4]);
    for (int k = 0; k < KINDS; k++)
        ck_assert_msg((f->results & 1 << k) == 0 || seen[k] >= COMPARED / 100, "%s: only %d results of kind %d",
                      f->name, seen[k], k);
}
END_TEST

/* ---- planted changes --------------------------------------------------------------------------------- */

enum { ALL_ONES = 0x7FFFFFFF };

static const struct {
    const char *change;
    struct tc_rules rules; /* pairs_fused, fraction_bits, lowest_e_max and nan first */
} planted[] = {
    {"24 bits", {16, 24, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"26 bits", {16, 26, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"two sums of eight", {8, 25, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"four sums of four", {4, 25, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"sixteen sums of one", {1, 25, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"24 bits in two sums of eight", {8, 24, -133, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"no floor of e_max", {16, 25, TC_NO_FLOOR, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"floor -132", {16, 25, -132, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"floor -134", {16, 25, -134, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"floor -126", {16, 25, -126, ALL_ONES, .terms = TC_TOWARD_ZERO}},
    {"another NaN", {16, 25, -133, 0x7FC00000, .terms = TC_TOWARD_ZERO}},
    {"terms to nearest", {16, 25, -133, ALL_ONES, .terms = TC_NEAREST_EVEN}},
    {"terms rounded down", {16, 25, -133, ALL_ONES, .terms = TC_DOWN}},
    {"sum to nearest", {16, 25, -133, ALL_ONES, .sum = TC_NEAREST_EVEN}},
    {"sum rounded down", {16, 25, -133, ALL_ONES, .sum = TC_DOWN}},
    {"zero products have an exponent", {16, 25, -133, ALL_ONES, .zero_products_count = true}},
    {"a zero c has an exponent", {16, 25, -133, ALL_ONES, .zero_c_counts = true}},
    {"products normalised", {16, 25, -133, ALL_ONES, .products_normalised = true}},
    {"a subnormal c normalised", {16, 25, -133, ALL_ONES, .c_normalised = true}},
    {"products overflow", {16, 25, -133, ALL_ONES, .products_overflow = true}},
    {"overflow to the largest number", {16, 25, -133, ALL_ONES, .saturates = true}},
    {"subnormal inputs dropped", {16, 25, -133, ALL_ONES, .subnormal_inputs_dropped = true}},
    {"subnormal results dropped", {16, 25, -133, ALL_ONES, .subnormal_results_dropped = true}},
    {"-0 of a small negative sum", {16, 25, -133, ALL_ONES, .minus_zero_sums = true}},
    {"-0 of nothing but -0", {16, 25, -133, ALL_ONES, .minus_zero_terms = true}},
};

/* A reference with that change would go red above: among the dot products compared there some tell the two apart. */
START_TEST(planted_change_shows)
{
    int differ = 0, in_families = 0;
    for (int family = 0; family < FAMILIES; family++) {
        int here = 0;
        for (int i = 0; i < TOLD_APART; i++) {
            const struct tc_dot d = draw(family, i);
            here += tc_exact(&planted[_i].rules, &d) != tc_exact(&tc_contract, &d);
        }
        differ += here;
        in_families += here > 0;
    }
    printf("tc_exact: %s: %d of %d dot products tell it from the contract, in %d of %d families\n", planted[_i].change,
           differ, FAMILIES * TOLD_APART, in_families, FAMILIES);
    ck_assert_msg(differ > 0, "no dot product tells the contract from it with this change: %s", planted[_i].change);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref tc_bf16_k16_f25 against exact integers");
    TCase *compared = tcase_create("compared");
    tcase_add_loop_test(compared, reference_gives_the_exact_bits, 0, FAMILIES);
    suite_add_tcase(suite, compared);
    TCase *changes = tcase_create("planted changes");
    tcase_add_loop_test(changes, planted_change_shows, 0, (int)(sizeof planted / sizeof *planted));
    suite_add_tcase(suite, changes);
    return suite;
}
