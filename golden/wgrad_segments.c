/* wgrad_segments.c - see wgrad_segments.h. */
#include "wgrad_segments.h"

#include "philox.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_COUNTS = 16 };
static const int64_t TOKENS_LIMIT = INT64_C(1) << 26;

/* ---- written out: "162+0+2577" ------------------------------------------------------------------ */

static bool read_list(const char *text, int64_t experts, int64_t *count, struct sb_error *err)
{
    const char *at = text;
    for (int64_t e = 0; e < experts; e++) {
        at = sb_read_length(at, TOKENS_LIMIT, &count[e]);
        if (at == NULL)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=%s: write lengths without leading zeros, as in 162+0+2577",
                           text);
        const bool last = e == experts - 1;
        if (*at != (last ? '\0' : '+'))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=%s does not have E=%" PRId64 " lengths", text, experts);
        at += last ? 0 : 1;
    }
    return true;
}

/* ---- patterns ----------------------------------------------------------------------------------- */

static void spread_equally(int64_t tokens, int64_t experts, int64_t *count)
{
    for (int64_t e = 0; e < experts; e++)
        count[e] = tokens / experts + (e < tokens % experts);
}

/* Weights by the cube of a random byte: a few large experts, many small or empty ones. */
static void spread_skewed(const struct sb_case *c, int64_t tokens, int64_t experts, int64_t *count)
{
    const struct sb_rng rng = {c->seed, STREAM_COUNTS};
    int64_t whole = 0, left = tokens;
    for (int64_t e = 0; e < experts; e++) {
        const int64_t u = (int64_t)sb_rng_below(&rng, (uint64_t)e, 256);
        count[e] = u * u * u + 1;
        whole += count[e];
    }
    for (int64_t e = 0; e < experts; e++) {
        count[e] = tokens * count[e] / whole;
        left -= count[e];
    }
    count[sb_rng_below(&rng, (uint64_t)experts, (uint64_t)experts)] += left;
}

/* Seven eighths to one expert. */
static void spread_hot(const struct sb_case *c, int64_t tokens, int64_t experts, int64_t *count)
{
    const struct sb_rng rng = {c->seed, STREAM_COUNTS};
    spread_equally(tokens / 8, experts, count);
    count[sb_rng_below(&rng, 0, (uint64_t)experts)] += tokens - tokens / 8;
}

static bool spread_ends_empty(int64_t tokens, int64_t experts, int64_t *count, struct sb_error *err)
{
    if (experts < 4)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=ends_empty needs E of at least 4");
    int64_t packed[SB_SEGMENTS_LIMIT];
    spread_equally(tokens, experts - 3, packed);
    int64_t next = 0;
    for (int64_t e = 0; e < experts; e++)
        count[e] = e == 0 || e == experts / 2 || e == experts - 1 ? 0 : packed[next++];
    return true;
}

static bool read_pattern(const struct sb_case *c, const char *name, int64_t experts, int64_t *count,
                         struct sb_error *err)
{
    const int64_t tokens = sb_case_int(c, "tokens");
    if (strcmp(name, "empty") == 0) {
        if (tokens != 0)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=empty leaves no room for tokens");
        memset(count, 0, (size_t)experts * sizeof *count);
        return true;
    }
    if (tokens == 0)
        return sb_fail(
            err, SB_EXIT_BAD_INPUT,
            "counts=%s: write E lengths joined by +, empty, or equal, skewed, hot or ends_empty with tokens=...", name);
    if (strcmp(name, "ends_empty") == 0)
        return spread_ends_empty(tokens, experts, count, err);
    if (strcmp(name, "equal") == 0)
        spread_equally(tokens, experts, count);
    else if (strcmp(name, "skewed") == 0)
        spread_skewed(c, tokens, experts, count);
    else if (strcmp(name, "hot") == 0)
        spread_hot(c, tokens, experts, count);
    else
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=%s is no pattern; known: equal, skewed, hot, ends_empty, empty",
                       name);
    return true;
}

bool sb_segments_make(const struct sb_case *c, struct sb_segments *s, struct sb_error *err)
{
    const char *text = sb_case_text(c, "counts");
    const bool written_out = text[0] >= '0' && text[0] <= '9';
    int64_t count[SB_SEGMENTS_LIMIT];
    s->E = sb_case_int(c, "E");
    if (written_out && sb_case_int(c, "tokens") != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "counts=%s says the lengths: leave tokens away", text);
    if (!(written_out ? read_list(text, s->E, count, err) : read_pattern(c, text, s->E, count, err)))
        return false;
    s->first = sb_case_int(c, "first");
    s->cu[0] = s->first;
    for (int64_t e = 0; e < s->E; e++)
        s->cu[e + 1] = s->cu[e] + count[e];
    s->tokens = s->cu[s->E] - s->first;
    s->T = s->cu[s->E] + sb_case_int(c, "tail");
    if (s->T > TOKENS_LIMIT)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "T=%" PRId64 " rows are more than a case may have (%" PRId64 ")", s->T,
                       TOKENS_LIMIT);
    return true;
}
