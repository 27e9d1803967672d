/* whole.c - see whole.h. */
#include "whole.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/samples.h"
#include "compare.h"
#include "run_case.h"
#include "text.h"

bool sb_whole_is_open(const struct sb_op_row *row, const struct sb_data *expected)
{
    bool sampled = false;
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        sampled = sampled || expected->samples[i].count > 0;
    return sampled && sb_variant_judge(row) != NULL;
}

/* Takes the sampled ones of the judge's outputs. */
static void take(struct sb_whole *w, const struct sb_data *expected, struct sb_tensor kept[SB_MAX_TENSORS])
{
    w->d = *expected;
    memset(w->d.samples, 0, sizeof w->d.samples);
    for (int i = 0; i < SB_MAX_TENSORS; i++) {
        if (expected->samples[i].count == 0)
            continue;
        w->d.out[i] = expected->samples[i].whole;
        w->d.out[i].data = w->computed[i] = kept[i].data;
        kept[i].data = NULL;
    }
}

bool sb_whole_by_judge(const struct sb_op_row *row, const struct sb_case *c, const struct sb_data *expected,
                       const struct sb_memory *memory, struct sb_whole *w, struct sb_result *result, bool *healthy)
{
    struct sb_tensor kept[SB_MAX_TENSORS] = {0};
    const struct sb_variant *judge = sb_variant_judge(row);
    memset(w, 0, sizeof *w);
    *healthy = true;
    if (judge == NULL) {
        result->outcome = SB_NOT_RUN;
        sb_append(result->detail, sizeof result->detail, "the op %s has no judge", row->op->name);
        return false;
    }
    *healthy = sb_run_case_keeping(judge, c, expected, NULL, memory, kept, result);
    const bool passed = *healthy && sb_result_outcome(result) == SB_PASS;
    if (passed)
        take(w, expected, kept);
    sb_tensors_free(kept, SB_MAX_TENSORS);
    return passed;
}

void sb_whole_free(struct sb_whole *w)
{
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        free(w->computed[i]);
    memset(w, 0, sizeof *w);
}

/* ---- who is right --------------------------------------------------------------------------------- */

/* The tiles that kernels work in are multiples of it, and the reference computes as many elements in a moment. */
enum { BLOCK_EDGE = 64 };
enum { MOST_BLOCKS = 8 }; /* that one implementation has computed again */

/* The first element from `first` on in which two dense tensors of one layout differ, or -1. */
static int64_t next_difference(const struct sb_tensor *a, const struct sb_tensor *b, int64_t first)
{
    enum { STRETCH = 1 << 16 };
    const size_t size = sb_dtype_size(a->dtype);
    const int64_t count = sb_tensor_count(a);
    for (int64_t from = first; from < count; from += STRETCH) {
        const int64_t end = count - from < STRETCH ? count : from + STRETCH;
        const unsigned char *const left = a->data, *const right = b->data;
        if (memcmp(left + (size_t)from * size, right + (size_t)from * size, (size_t)(end - from) * size) == 0)
            continue;
        for (int64_t i = from; i < end; i++)
            if (memcmp(left + (size_t)i * size, right + (size_t)i * size, size) != 0)
                return i;
    }
    return -1;
}

/* The block of the last two axes that holds element `i`. */
static struct sb_block block_around(const struct sb_tensor *whole, int64_t i)
{
    const int64_t rows = whole->shape[whole->rank - 2], columns = whole->shape[whole->rank - 1];
    const int64_t row = i / columns % rows / BLOCK_EDGE * BLOCK_EDGE, column = i % columns / BLOCK_EDGE * BLOCK_EDGE;
    return (struct sb_block){.plane = i / columns / rows,
                             .row = row,
                             .row_end = rows - row < BLOCK_EDGE ? rows : row + BLOCK_EDGE,
                             .column = column,
                             .column_end = columns - column < BLOCK_EDGE ? columns : column + BLOCK_EDGE};
}

static void tell_block(const struct sb_block *b, char *text, size_t size)
{
    snprintf(text, size, "rows %" PRId64 "..%" PRId64 ", columns %" PRId64 "..%" PRId64 " of plane %" PRId64, b->row,
             b->row_end - 1, b->column, b->column_end - 1, b->plane);
}

/* What one of the two has in the block, against the reference. */
static bool agrees(const struct sb_case *c, const struct sb_data *block, int i, const struct sb_tensor *out,
                   struct sb_result *result, bool *complete)
{
    return sb_judge_output(c, block, i, out, false, SB_NO_POISON, complete, result);
}

/* The result of a judge that passed, now that it is known to be wrong in a block: `where`. What was sampled stays as it
 * is, the block is no sample of the case. */
static void convict(const struct sb_result *comparison, const char *where, struct sb_result *judged)
{
    judged->outcome = SB_FAIL;
    judged->elements = comparison->elements;
    judged->mismatches = comparison->mismatches;
    judged->samples = comparison->samples;
    memcpy(judged->sample, comparison->sample, sizeof judged->sample);
    memcpy(judged->tensor, comparison->tensor, sizeof judged->tensor);
    memcpy(judged->pattern, comparison->pattern, sizeof judged->pattern);
    sb_append_line(
        judged->detail, sizeof judged->detail,
        "right in the samples of the case, wrong in one that the CPU reference computed afterwards, where an "
        "implementation differs: %s",
        where);
}

/* `block`: data whose output `i` is one sample, computed by the reference at `where`. */
static enum sb_arbitration weigh(const struct sb_case *c, const struct sb_whole *w, const struct sb_data *block, int i,
                                 const struct sb_tensor *out, const char *where, char *text, size_t size,
                                 struct sb_result *judged)
{
    struct sb_result of_judge = {0}, of_other = {0};
    bool complete = true;
    const bool judge_is_right = agrees(c, block, i, &w->d.out[i], &of_judge, &complete);
    const bool other_is_right = agrees(c, block, i, &out[i], &of_other, &complete);
    if (!complete || (judge_is_right && other_is_right)) { /* no memory for the comparison */
        sb_append(text, size,
                  "either this or the device judge is wrong: %s could not be compared with the CPU reference", where);
        return SB_NOT_ARBITRATED;
    }
    if (!judge_is_right)
        convict(&of_judge, where, judged);
    if (!other_is_right)
        sb_append(text, size, "the CPU reference, which computed %s again, sides with %s", where,
                  judge_is_right ? "the device judge"
                                 : "neither: the expected values above, the device judge's, are wrong");
    return judge_is_right ? SB_JUDGE_IS_RIGHT : other_is_right ? SB_JUDGE_IS_WRONG : SB_BOTH_ARE_WRONG;
}

/* Output `i`, which differs in block `b`. */
static enum sb_arbitration arbitrate(const struct sb_case *c, const struct sb_whole *w, int i, struct sb_block b,
                                     const struct sb_tensor *out, char *text, size_t size, struct sb_result *judged)
{
    struct sb_error err = {0};
    char where[160];
    struct sb_data block = w->d;
    block.samples[i] = (struct sb_samples){.whole = w->d.out[i], .count = 1, .block = &b};
    block.samples[i].whole.data = NULL;
    block.out[i] = sb_samples_layout(&block.samples[i]);
    block.out[i].data = malloc(sb_tensor_span_bytes(&block.out[i]));
    tell_block(&b, where, sizeof where);
    enum sb_arbitration a = SB_NOT_ARBITRATED;
    if (block.out[i].data == NULL)
        sb_fail(&err, SB_EXIT_NOTHING_RAN, "no memory");
    else if (c->op->reference_block == NULL)
        sb_fail(&err, SB_EXIT_NOTHING_RAN, "the op has no reference for one place alone");
    else if (c->op->reference_block(c, &w->d, i, &b, block.out[i].data, &err))
        a = weigh(c, w, &block, i, out, where, text, size, judged);
    if (err.text[0] != '\0')
        sb_append(text, size, "either this or the device judge is wrong: %s could not be computed on the CPU (%s)",
                  where, err.text);
    free(block.out[i].data);
    return a;
}

static bool is_among(const struct sb_block *b, const struct sb_block *some, int count)
{
    for (int i = 0; i < count; i++)
        if (b->plane == some[i].plane && b->row == some[i].row && b->column == some[i].column)
            return true;
    return false;
}

/* That the judge is wrong in one place excuses nobody for another. */
static bool is_open(enum sb_arbitration found)
{
    return found == SB_NO_DIFFERENCE || found == SB_JUDGE_IS_WRONG;
}

/* What differs of output `i`, block by block. `found`: so far, in the outputs before. */
static enum sb_arbitration arbitrate_output(const struct sb_case *c, const struct sb_whole *w, int i,
                                            const struct sb_tensor *out, enum sb_arbitration found, char *text,
                                            size_t size, struct sb_result *judged)
{
    struct sb_block seen[MOST_BLOCKS];
    int count = 0;
    for (int64_t at = -1; is_open(found) && count < MOST_BLOCKS;) {
        struct sb_result again = {0};
        at = next_difference(&w->d.out[i], &out[i], at + 1);
        if (at < 0)
            break;
        const struct sb_block b = block_around(&w->d.out[i], at);
        if (is_among(&b, seen, count))
            continue;
        seen[count++] = b;
        text[0] = '\0';
        const bool first = found == SB_NO_DIFFERENCE;
        const enum sb_arbitration a = arbitrate(c, w, i, b, out, text, size, first ? judged : &again);
        if (first) {
            found = a;
        } else if (a == SB_JUDGE_IS_RIGHT || a == SB_BOTH_ARE_WRONG) {
            sb_append(text, size, "; at the first difference the device judge is wrong, and this is right");
            found = SB_BOTH_ARE_WRONG;
        } else {
            text[0] = '\0';
        }
    }
    return found;
}

enum sb_arbitration sb_whole_arbitrate(const struct sb_case *c, const struct sb_whole *w, const struct sb_tensor *out,
                                       char *text, size_t size, struct sb_result *judged)
{
    enum sb_arbitration found = SB_NO_DIFFERENCE;
    text[0] = '\0';
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        if (w->computed[i] != NULL && out[i].data != NULL)
            found = arbitrate_output(c, w, i, out, found, text, size, judged);
    return found;
}
