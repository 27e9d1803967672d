/* tc_exact.h - contract TC in arbitrary-precision integers (GMP): a second opinion on ref/, written from CONTRACTS.md
 * alone. What the contract fixes stands in a struct, so that a planted change of the contract is a value of it. */
#ifndef SAMEBITS_TESTS_TC_EXACT_H
#define SAMEBITS_TESTS_TC_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_rounding { TC_TOWARD_ZERO, TC_NEAREST_EVEN, TC_DOWN };

enum { TC_PAIRS = 16, TC_NO_FLOOR = -10000 };

/* The tests take one in so many: all, but under the sanitizers, which look for more than bits and are slow at it, and
 * where a planted fault is to be seen. */
#if !defined(TC_ONE_IN) && defined(__SANITIZE_ADDRESS__)
#define TC_ONE_IN 5
#elif !defined(TC_ONE_IN)
#define TC_ONE_IN 1
#endif

struct tc_rules {
    int pairs_fused;                /* 16. 8 or 4: in two or four sums, each handing an f32 on to the next */
    int fraction_bits;              /* 25: terms are multiples of 2^(e_max - 25) */
    int lowest_e_max;               /* -133, or TC_NO_FLOOR */
    uint32_t nan;                   /* 0x7FFFFFFF */
    enum tc_rounding terms;         /* toward zero */
    enum tc_rounding sum;           /* toward zero */
    bool zero_products_count;       /* no: a product of a zero has no say in e_max, the zero's exponent being -126 */
    bool zero_c_counts;             /* no: nor has c = 0, with -126 */
    bool products_normalised;       /* no: a product's exponent is the sum of two, wherever its leading bit stands */
    bool c_normalised;              /* no: a subnormal c has the exponent -126 */
    bool products_overflow;         /* no: a finite product of 2^128 or more is an infinity by itself */
    bool saturates;                 /* no: a sum of 2^128 or more becomes the largest finite number */
    bool subnormal_inputs_dropped;  /* no: they are taken for zeros */
    bool subnormal_results_dropped; /* no: they become +0 */
    bool minus_zero_sums;           /* no: a negative sum that is cut to zero gives -0 */
    bool minus_zero_terms;          /* no: a sum of -0 alone gives -0 */
};

extern const struct tc_rules tc_contract;

/* One dot product: c f32 bits, a and b bf16 bits. */
struct tc_dot {
    uint32_t c;
    uint16_t a[TC_PAIRS], b[TC_PAIRS];
};

uint32_t tc_exact(const struct tc_rules *rules, const struct tc_dot *dot);

/* The two operations beside contract TC in section 4: an IEEE f32 addition to nearest even, every NaN being 0x7FFFFFFF,
 * and f32 to bf16, to nearest even, every NaN being 0x7FFF. */
uint32_t tc_exact_add(uint32_t x, uint32_t y);
uint16_t tc_exact_bf16(uint32_t x);

/* c and the pairs that are not +0 times +0, for a message. Returns text. */
const char *tc_dot_text(const struct tc_dot *dot, char *text, size_t size);

/* The bits of sign * significand * 2^(exponent - 7), and of the same with 23. A significand without its leading bit
 * (the eighth, the 24th) goes with the exponent -126 alone. */
static inline uint16_t tc_bf16(bool negative, int exponent, uint32_t significand)
{
    return (uint16_t)((negative ? 0x8000u : 0u) + ((uint32_t)(exponent + 126) << 7) + significand);
}

static inline uint32_t tc_f32(bool negative, int exponent, uint32_t significand)
{
    return (negative ? 0x80000000u : 0u) + ((uint32_t)(exponent + 126) << 23) + significand;
}

#endif
