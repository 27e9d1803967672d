/* compare.h - the judge: are two tensors the same bits? And, where they are not, how they differ. */
#ifndef SAMEBITS_HARNESS_COMPARE_H
#define SAMEBITS_HARNESS_COMPARE_H

#include "../golden/op.h"
#include "../reports/report.h"

enum { SB_NO_POISON = -1 };

/* What helps to say where a difference lies. None of it takes part in the verdict. */
struct sb_compare_hints {
    int poison;             /* the byte `actual` was filled with before the run, or SB_NO_POISON */
    const int32_t *segment; /* ascending offsets [segments + 1], or NULL: applies to tensors as long as the last one */
    int64_t segments;
    int64_t packed_cols;              /* cols of a packed 128x4 tensor, 0: none */
    const struct sb_samples *samples; /* the elements are these blocks of a larger tensor: places are named in that; or
                                       * NULL */
};

struct sb_difference {
    bool same_dtype, same_shape;
    int64_t elements, mismatches; /* compared (0 where dtype or shape differ); different */
    int samples;
    struct sb_sample sample[SB_MAX_SAMPLES]; /* the first few */
    char pattern[160];
    char text[400]; /* one line: name, counts, share; or the two shapes */
};

/* True if and only if dtype and shape agree and every element has the same bits (NaN payloads, signs of zero
 * included; bytes in stride gaps are no elements). An empty tensor equals another empty one of its shape. Host
 * memory. `hints` may be NULL. On true only the counts of `d` are meant to be read. */
bool sb_compare(const struct sb_tensor *expected, const struct sb_tensor *actual, const struct sb_compare_hints *hints,
                struct sb_difference *d);

/* Bits of one element, zero-extended. */
uint64_t sb_element_bits(const struct sb_tensor *t, int64_t logical);

/* describe.c: fills in samples, pattern and text for tensors of one dtype and shape that differ. */
void sb_describe(const struct sb_tensor *expected, const struct sb_tensor *actual, const struct sb_compare_hints *hints,
                 struct sb_difference *d);

/* Distance in units in the last place for SB_F32 and SB_BF16 ("3", "sign of zero", "other sign", "NaN payload", "NaN"),
 * else "". */
void sb_ulp_text(enum sb_dtype dtype, uint64_t expected, uint64_t actual, char *buf, size_t size);
/* "0x3f800000 (1)". */
void sb_value_text(enum sb_dtype dtype, uint64_t bits, char *buf, size_t size);
/* "[e=1, m=0, n=17]", "[4711]". */
void sb_index_text(const struct sb_tensor *t, const struct sb_compare_hints *hints, int64_t logical, char *buf,
                   size_t size);

#endif
