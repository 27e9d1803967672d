/* wgrad_segments.h - the jagged token axis of a wgrad case: from counts, tokens, first and tail to cu_seqlens. */
#ifndef SAMEBITS_GOLDEN_WGRAD_SEGMENTS_H
#define SAMEBITS_GOLDEN_WGRAD_SEGMENTS_H

#include "op.h"

enum { SB_SEGMENTS_LIMIT = 2048 };

struct sb_segments {
    int64_t E;
    int64_t first, tokens; /* the segments own rows first .. first + tokens - 1 */
    int64_t T;             /* first + tokens + tail */
    int64_t cu[SB_SEGMENTS_LIMIT + 1];
};

/* From the case's parameters alone. False with err where counts cannot be read or does not fit E or tokens. */
bool sb_segments_make(const struct sb_case *c, struct sb_segments *s, struct sb_error *err);

/* Does row k of dy belong to some expert? */
static inline bool sb_segments_own(const struct sb_segments *s, int64_t k)
{
    return k >= s->first && k < s->first + s->tokens;
}

#endif
