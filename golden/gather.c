/* gather.c - see gather.h. */
#include "gather.h"

int32_t sb_gather_row(enum sb_gather kind, const struct sb_rng *rng, int64_t place, int64_t position, int64_t rows)
{
    if (rows == 0)
        return 0;
    switch (kind) {
    case SB_GATHER_IDENTITY:
        return (int32_t)(place % rows);
    case SB_GATHER_REVERSE:
        return (int32_t)(rows - 1 - position % rows);
    case SB_GATHER_REPEAT:
        return (int32_t)(position / 3 % rows);
    case SB_GATHER_ROW0:
        return 0;
    default:
        return (int32_t)sb_rng_below(rng, (uint64_t)place, (uint64_t)rows);
    }
}

void sb_gather_spoil(int32_t *gather, int64_t middle, int32_t in_middle, int64_t last, int32_t at_last)
{
    gather[last] = at_last;
    gather[middle] = in_middle;
}
