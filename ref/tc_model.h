/* tc_model.h - contract TC with its rules as parameters: what other arithmetics would give for the same operands.
 * For telling arithmetics apart, never for making expected bytes: slow and plain. It shares no code with
 * tc_bf16_k16_f25.c, so that with the contract's own rules it is a second opinion on it. */
#ifndef SAMEBITS_REF_TC_MODEL_H
#define SAMEBITS_REF_TC_MODEL_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the bits below the last place. */
enum sb_tc_rounding {
    SB_TC_TOWARD_ZERO,  /* cut by magnitude */
    SB_TC_NEAREST_EVEN, /* ties to even */
    SB_TC_DOWN,         /* toward minus infinity: what a shift of a two's complement number does */
    SB_TC_STICKY,       /* cut, and the last place set where anything was lost: a later rounding is then exact */
};

enum { SB_TC_NO_FLOOR = -100000 };

struct sb_tc_rules {
    int fraction_bits; /* terms are kept to multiples of 2^(e_max - fraction_bits); 0..30, with group 1 up to 58 */
    int group;         /* pairs added to c in one step, k ascending: 16, 8, 4, 2 or 1 */
    enum sb_tc_rounding terms, sum;
    bool zeros_have_exponents;   /* a zero takes part in e_max with exponent -126 (and its partner's) */
    bool subnormal_c_normalised; /* a subnormal c counts in e_max with the exponent of its first bit */
    bool renormalised;           /* a product of 2 or more counts with an exponent one higher in e_max */
    int lowest_e_max;            /* or SB_TC_NO_FLOOR */
    int sum_bits;                /* the sum wraps to so many bits, two's complement; 0: it is exact */
    bool minus_zero_of_underflow, minus_zero_of_zeros;
    bool flush_inputs, flush_results; /* subnormals are zeros of their sign */
    bool products_overflow;           /* a product of 2^128 or more is an infinity by itself */
    bool saturated;                   /* a sum of 2^128 or more is the largest finite number */
    uint32_t nan;
};

/* The contract's own. */
struct sb_tc_rules sb_tc_contract(void);

/* Bits of c + sum a[i] * b[i] under these rules; rules beyond the limits above abort. */
uint32_t sb_tc_model(const struct sb_tc_rules *rules, uint32_t c, const uint16_t a[16], const uint16_t b[16]);

/* Arithmetics that differ from the contract in a rule or two: published of other hardware or by models of this one,
 * and mistakes that an implementation may make. Each gives other bits than the others for some operands. */
struct sb_tc_variant {
    const char *name;   /* "24-bits": letters, digits, dashes */
    const char *reason; /* one line */
    struct sb_tc_rules rules;
};

int sb_tc_variants(void);
struct sb_tc_variant sb_tc_variant(int index); /* 0 .. sb_tc_variants() - 1 */

#ifdef __cplusplus
}
#endif
#endif
