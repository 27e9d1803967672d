/* gather.h - row indices for the ops that gather: which source row each gathered row comes from. */
#ifndef SAMEBITS_GOLDEN_GATHER_H
#define SAMEBITS_GOLDEN_GATHER_H

#include "philox.h"

/* An op's own patterns, calls to be rejected among them, may follow from SB_GATHER_COUNT on. */
enum sb_gather {
    SB_GATHER_NONE,     /* absent: row i comes from row i */
    SB_GATHER_IDENTITY, /* the same, given as an array; starts over after the last row */
    SB_GATHER_RANDOM,   /* any row, repeats included */
    SB_GATHER_REVERSE,  /* last row first */
    SB_GATHER_REPEAT,   /* each row three times */
    SB_GATHER_ROW0,     /* row 0 everywhere, as padding has it */
    SB_GATHER_COUNT
};

/* The index at `place` of the array, which is the `position`-th that is used: the source row, below `rows`. Patterns
 * that count start at position 0. Random for `kind` from SB_GATHER_COUNT on. 0 where there are no rows: out of range.
 */
int32_t sb_gather_row(enum sb_gather kind, const struct sb_rng *rng, int64_t place, int64_t position, int64_t rows);

/* Makes two indices wrong, of which the lower place has to be reported; one only where the two places are one. */
void sb_gather_spoil(int32_t *gather, int64_t middle, int32_t in_middle, int64_t last, int32_t at_last);

#endif
