/* The model with rules: with the contract's own it is the contract, and each variant gives what its name says. */
#include "../ref/tc_model.h"

#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ref/tc_bf16_k16_f25.h"

#include "check_main.h"
#include "ref_random.h"

enum { ONE = 0x3F80, MINUS_ONE = 0xBF80 };

struct vector {
    uint32_t c;
    uint16_t a[16], b[16];
};

static uint16_t power(int sign, int exponent) /* bf16 of sign * 2^exponent */
{
    return (uint16_t)((sign < 0 ? 0x8000u : 0) | (uint32_t)(exponent + 127) << 7);
}

/* ---- the contract's own rules ------------------------------------------------------------------ */

enum { KINDS = 6, VECTORS = 60000 };

static uint16_t operand(uint64_t *state, int kind)
{
    static const int range[KINDS][2] = {{0, 255}, {120, 130}, {0, 2}, {46, 60}, {185, 192}, {100, 140}};
    const uint32_t word = random_u32(state);
    const int width = range[kind][1] - range[kind][0] + 1;
    const uint32_t field = (uint32_t)(range[kind][0] + (int)((word >> 8 & 0xFFF) % (uint32_t)width));
    return word >> 29 == 0 && kind == 5 ? (uint16_t)(word & 0x8000) : (uint16_t)((word & 0x807F) | field << 7);
}

static struct vector random_vector(uint64_t *state, int kind)
{
    struct vector v = {.c = random_u32(state)};
    if (kind > 0)
        v.c = (v.c & 0x807FFFFF) | (uint32_t)(operand(state, kind == 3 ? 2 : kind) & 0x7F80) << 16;
    if (kind == 3 && random_below(state, 2) == 0)
        v.c &= 0x80000000u;
    for (int i = 0; i < 16; i++) {
        v.a[i] = operand(state, kind);
        v.b[i] = operand(state, kind == 2 ? 1 : kind);
        if (i % 2 == 1 && kind % 2 == 1) { /* nearly minus the pair before */
            v.a[i] = v.a[i - 1] ^ 0x8000;
            v.b[i] = v.b[i - 1] ^ (uint16_t)random_below(state, 2);
        }
    }
    return v;
}

START_TEST(the_contracts_rules_are_the_contract)
{
    const struct sb_tc_rules rules = sb_tc_contract();
    uint64_t state = 77 + (uint64_t)_i;
    for (int i = 0; i < VECTORS; i++) {
        const struct vector v = random_vector(&state, _i);
        const uint32_t expected = sb_tc_bf16_k16_f25(v.c, v.a, v.b), got = sb_tc_model(&rules, v.c, v.a, v.b);
        if (got != expected)
            ck_abort_msg("kind %d, vector %d: %08x, expected %08x", _i, i, got, expected);
    }
}
END_TEST

/* ---- a chain of FP32 fused multiply-adds: this machine has one to compare with ------------------ */

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t chain(const struct vector *v)
{
    volatile float sum = f32_of(v->c);
    for (int i = 0; i < 16; i++)
        sum = fmaf(f32_of((uint32_t)v->a[i] << 16), f32_of((uint32_t)v->b[i] << 16), sum);
    const float result = sum;
    uint32_t bits;
    memcpy(&bits, &result, sizeof bits);
    return isnan(result) ? 0x7FFFFFFFu : bits;
}

static struct sb_tc_variant variant(const char *name)
{
    for (int i = 0; i < sb_tc_variants(); i++)
        if (strcmp(sb_tc_variant(i).name, name) == 0)
            return sb_tc_variant(i);
    ck_abort_msg("no variant %s", name);
}

START_TEST(fma_chain_is_this_machines)
{
    const struct sb_tc_rules rules = variant("fma-chain").rules;
    uint64_t state = 5 + (uint64_t)_i;
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
    for (int i = 0; i < VECTORS / 4; i++) {
        const struct vector v = random_vector(&state, _i);
        const uint32_t expected = chain(&v), got = sb_tc_model(&rules, v.c, v.a, v.b);
        if (got != expected)
            ck_abort_msg("kind %d, vector %d: %08x, expected %08x", _i, i, got, expected);
    }
}
END_TEST

/* ---- what each variant does, on a vector of its own ---------------------------------------------- */

/* c; the pair (a, b) at places first..last; pairs at 14 and 15 where they are not zero; the bits under the contract,
 * and under the variant. 0x3980 is 2^-12, 0x3900 is 2^-13. */
static const struct example {
    const char *variant;
    uint32_t c;
    int first, last;
    uint16_t a, b, a14, b14, a15, b15;
    uint32_t contract, other;
} examples[] = {
    /* pieces of 2^-25, 2^-24 and 2^-26 that make the last place of 1 together */
    {"24-bits", 0x3F800000, 0, 3, 0x3980, 0x3900, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    {"23-bits", 0x3F800000, 0, 1, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    {"26-bits", 0x3F800000, 0, 7, 0x3900, 0x3900, 0, 0, 0, 0, 0x3F800000, 0x3F800001},
    /* the same on both sides of a border between steps */
    {"steps-of-8", 0x3F800000, 6, 9, 0x3980, 0x3900, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    {"steps-of-4", 0x3F800000, 2, 5, 0x3980, 0x3900, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    {"24-bits-steps-of-8", 0x3F800000, 7, 8, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    {"23-bits-steps-of-4", 0x3F800000, 3, 4, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800000},
    /* four times 1.5 * 2^-26: to 2^-25, or to nothing */
    {"nearest-terms", 0x3F800000, 0, 3, 0x3940, 0x3900, 0, 0, 0, 0, 0x3F800000, 0x3F800001},
    /* half a place above an odd one */
    {"nearest-sum", 0x3F800001, 0, 0, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800002},
    {"nearest-both", 0x3F800001, 0, 0, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800002},
    {"fma-chain", 0x3F800001, 0, 0, 0x3980, 0x3980, 0, 0, 0, 0, 0x3F800001, 0x3F800002},
    /* 1 - 2^-40: the term is cut to nothing, or to a unit */
    {"down-terms", 0x3F800000, 0, 0, 0xB580, 0x3580, 0, 0, 0, 0, 0x3F800000, 0x3F7FFFFF},
    /* -(1 + 2^-25) */
    {"down-sum", 0xBF800000, 0, 0, 0xB980, 0x3900, 0, 0, 0, 0, 0xBF800000, 0xBF800001},
    {"down-both", 0xBF800000, 0, 0, 0xB980, 0x3900, 0, 0, 0, 0, 0xBF800000, 0xBF800001},
    /* 1.5 * 1.5 - 1.25 and four times 2^-25: the first product is above 2 */
    {"renormalised", 0, 0, 3, 0x3980, 0x3900, 0x3FC0, 0x3FC0, 0xBF80, 0x3FA0, 0x3F800001, 0x3F800000},
    /* 0 * 2^127 beside 2^-30 */
    {"zeros-with-exponents", 0, 0, 0, 0x0000, 0x7F00, 0x3080, 0x3F80, 0, 0, 0x30800000, 0x00000000},
    /* 2^-149 and eight times 2^-152: beside a unit of 2^-151 each of them is nothing */
    {"subnormal-c-normalised", 0x00000001, 0, 7, 0x1980, 0x1980, 0, 0, 0, 0, 0x00000001, 0x00000002},
    /* the contract's own example; the others have its bits further up or down, and are exact under the contract or
     * lose both of the last ones to it */
    {"no-floor", 0, 0, 1, 0x1B81, 0x1B01, 0x1A00, 0x9A00, 0x1800, 0x9800, 0x0000001F, 0x00000020},
    {"floor-132", 0, 0, 1, 0x1B81, 0x1B81, 0x1A80, 0x9A00, 0x1880, 0x9800, 0x00000040, 0x0000003F},
    {"floor-134", 0, 0, 1, 0x1B81, 0x1A81, 0x1A00, 0x9980, 0x1800, 0x9780, 0x00000010, 0x0000000F},
    {"floor-126", 0, 0, 1, 0x1D01, 0x1D01, 0x1C00, 0x9B80, 0x1A00, 0x9980, 0x00001000, 0x00000FFF},
    /* -2^-152 */
    {"minus-zero-of-underflow", 0, 0, 0, 0x9980, 0x1980, 0, 0, 0, 0, 0x00000000, 0x80000000},
    {"minus-zero-of-zeros", 0x80000000, 0, 15, 0x8000, 0x3F80, 0, 0, 0, 0, 0x00000000, 0x80000000},
    {"minus-zero", 0x80000000, 0, 15, 0x8000, 0x3F80, 0, 0, 0, 0, 0x00000000, 0x80000000},
    {"flush-inputs", 0, 0, 0, 0x0001, 0x7F00, 0, 0, 0, 0, 0x3C800000, 0x00000000},
    {"flush-results", 0x00400000, 0, 0, 0, 0, 0, 0, 0, 0, 0x00400000, 0x00000000},
    {"flush-both", 0, 0, 0, 0x0001, 0x7F00, 0, 0, 0, 0, 0x3C800000, 0x00000000},
    /* 2^128 - 2^127 */
    {"products-overflow", 0, 0, 0, 0x5F80, 0x5F80, 0xDF80, 0x5F00, 0, 0, 0x7F000000, 0x7F800000},
    {"saturated", 0, 0, 0, 0x5F80, 0x5F80, 0, 0, 0, 0, 0x7F800000, 0x7F7FFFFF},
    /* 2,197,848,060 units of 2^-25 */
    {"sum-of-32-bits", 0x3FFFFFFF, 0, 15, 0x3FFF, 0x3FFF, 0, 0, 0, 0, 0x4283007F, 0xC279FF00},
    {"nan-7fc00000", 0, 0, 0, 0x7F80, 0x0000, 0, 0, 0, 0, 0x7FFFFFFF, 0x7FC00000},
};
enum { EXAMPLES = sizeof examples / sizeof examples[0] };

static struct vector vector_of(const struct example *e)
{
    struct vector v = {.c = e->c};
    for (int i = e->first; i <= e->last; i++)
        v.a[i] = e->a, v.b[i] = e->b;
    if (e->a14 != 0)
        v.a[14] = e->a14, v.b[14] = e->b14;
    if (e->a15 != 0)
        v.a[15] = e->a15, v.b[15] = e->b15;
    return v;
}

START_TEST(each_variant_does_what_it_says)
{
    const struct example *e = &examples[_i];
    const struct vector v = vector_of(e);
    const struct sb_tc_rules contract = sb_tc_contract(), other = variant(e->variant).rules;
    ck_assert_msg(sb_tc_bf16_k16_f25(v.c, v.a, v.b) == e->contract, "%s: the contract gives %08x", e->variant,
                  sb_tc_bf16_k16_f25(v.c, v.a, v.b));
    ck_assert_msg(sb_tc_model(&contract, v.c, v.a, v.b) == e->contract, "%s", e->variant);
    ck_assert_msg(sb_tc_model(&other, v.c, v.a, v.b) == e->other, "%s gives %08x, expected %08x", e->variant,
                  sb_tc_model(&other, v.c, v.a, v.b), e->other);
}
END_TEST

/* Names are words of a command line, and every variant has its example. */
START_TEST(the_table)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    ck_assert_int_eq(sb_tc_variants(), EXAMPLES);
    for (int i = 0; i < sb_tc_variants(); i++) {
        const struct sb_tc_variant v = sb_tc_variant(i);
        ck_assert(strspn(v.name, letters) == strlen(v.name) && v.name[0] != '\0' && v.reason[0] != '\0');
        int named = 0;
        for (int k = 0; k < EXAMPLES; k++)
            named += strcmp(examples[k].variant, v.name) == 0;
        ck_assert_msg(named == 1, "%s has %d examples", v.name, named);
    }
}
END_TEST

/* Ties, and what lies beside them, in both signs: two terms above and below half a unit of 2^-25. */
START_TEST(roundings_of_a_term)
{
    static const struct {
        uint16_t a; /* times 2^-13: the small term, beside c = 1 and a pair of -1 */
        uint32_t cut, nearest, down;
    } terms[] = {
        {0x3980, 0x33000000, 0x33000000, 0x33000000}, /* 1 unit of 2^-25 */
        {0x3900, 0x00000000, 0x00000000, 0x00000000}, /* half: to even */
        {0x3920, 0x00000000, 0x33000000, 0x00000000}, /* 0.625 */
        {0x39C0, 0x33000000, 0x33800000, 0x33000000}, /* 1.5: to even */
        {0x3A20, 0x33800000, 0x33800000, 0x33800000}, /* 2.5: to even */
        {0x3A40, 0x33C00000, 0x33C00000, 0x33C00000}, /* 3 */
        {0xB980, 0xB3000000, 0xB3000000, 0xB3000000}, /* -1 */
        {0xB900, 0x00000000, 0x00000000, 0xB3000000}, /* -half */
        {0xB920, 0x00000000, 0xB3000000, 0xB3000000}, /* -0.625 */
        {0xB9C0, 0xB3000000, 0xB3800000, 0xB3800000}, /* -1.5 */
        {0x8001, 0x00000000, 0x00000000, 0xB3000000}, /* far below */
    };
    struct sb_tc_rules rules[3] = {sb_tc_contract(), sb_tc_contract(), sb_tc_contract()};
    rules[1].terms = SB_TC_NEAREST_EVEN;
    rules[2].terms = SB_TC_DOWN;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        const uint32_t expected[3] = {terms[i].cut, terms[i].nearest, terms[i].down};
        struct vector v = {.c = 0x3F800000};
        v.a[3] = terms[i].a, v.b[3] = power(1, -13);
        v.a[9] = MINUS_ONE, v.b[9] = ONE;
        for (int k = 0; k < 3; k++)
            ck_assert_msg(sb_tc_model(&rules[k], v.c, v.a, v.b) == expected[k], "term %zu, rounding %d: %08x", i, k,
                          sb_tc_model(&rules[k], v.c, v.a, v.b));
    }
}
END_TEST

/* Rules beyond the limits that the header states: no bits at all rather than wrong ones. */
static const struct {
    int fraction_bits, group;
    bool taken;
} limits[] = {
    {0, 16, true},  {30, 16, true},  {30, 2, true},  {58, 1, true},  {31, 16, false}, {31, 2, false},
    {59, 1, false}, {-1, 16, false}, {25, 0, false}, {25, 3, false}, {25, 32, false}, {25, -1, false},
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

START_TEST(rules_beyond_the_limits_abort)
{
    struct sb_tc_rules rules = sb_tc_contract();
    const struct vector v = {.c = 0x3F800000};
    rules.fraction_bits = limits[_i].fraction_bits;
    rules.group = limits[_i].group;
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(sb_tc_model(&rules, v.c, v.a, v.b) == v.c ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(limits[_i].taken ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                   : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
                  "%d bits, steps of %d: status %x", limits[_i].fraction_bits, limits[_i].group, (unsigned)status);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref tc_model");
    TCase *tc = tcase_create("model");
    tcase_add_loop_test(tc, the_contracts_rules_are_the_contract, 0, KINDS);
    tcase_add_loop_test(tc, fma_chain_is_this_machines, 0, KINDS);
    tcase_add_loop_test(tc, each_variant_does_what_it_says, 0, EXAMPLES);
    tcase_add_test(tc, the_table);
    tcase_add_test(tc, roundings_of_a_term);
    tcase_add_loop_test(tc, rules_beyond_the_limits_abort, 0, LIMITS);
    suite_add_tcase(suite, tc);
    return suite;
}
