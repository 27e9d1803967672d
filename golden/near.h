/* near.h - the names nearest to one that nobody knows: for messages. */
#ifndef SAMEBITS_GOLDEN_NEAR_H
#define SAMEBITS_GOLDEN_NEAR_H

#include <stddef.h>

/* Starts as {.wanted = what was typed}: offer each candidate, then list. What is far off is not kept. */
enum { SB_NEAR = 3 };
struct sb_near {
    const char *wanted;
    const char *name[SB_NEAR]; /* nearest first, of equals the first met; NULL behind the last */
    int distance[SB_NEAR];
};
void sb_near_offer(struct sb_near *near, const char *name); /* keeps the pointer */
/* "N, cols", or "" where nothing is near. Returns buf. */
const char *sb_near_list(const struct sb_near *near, char *buf, size_t size);

#endif
