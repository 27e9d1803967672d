/* whole.h - all of the outputs of a case of which the reference knows samples alone: computed on the device by the op's
 * judge, a variant on ordinary cores, and held to those samples. Where an implementation differs from them, the
 * reference computes that place on the CPU and says who is right. */
#ifndef SAMEBITS_HARNESS_WHOLE_H
#define SAMEBITS_HARNESS_WHOLE_H

#include "../reports/report.h"
#include "memory.h"
#include "ops.h"

struct sb_whole {
    struct sb_data d;               /* expected data, nothing sampled. All but `computed` is borrowed from the sampled
                                     * data it was made of: those must outlive it */
    void *computed[SB_MAX_TENSORS]; /* the outputs that are the judge's, owned */
};

/* Is anything sampled in `expected`, and has the op a judge? Whether it can run here only running it tells. */
bool sb_whole_is_open(const struct sb_op_row *row, const struct sb_data *expected);

/* Runs the judge of `row` as sb_run_case runs any variant (poisons, guards, the samples, run against run) and keeps its
 * outputs. True: it passed, and w->d are data to compare with in full, as those of a case that is not sampled; to be
 * freed with sb_whole_free(). False: `w` is empty, and `result` says why: FAIL, or SKIP or NOT RUN (memory, this GPU,
 * no judge). *healthy: false where the device can no longer be trusted.
 *
 * Sets of `result` what sb_run_case sets; leaves the names alone. */
bool sb_whole_by_judge(const struct sb_op_row *row, const struct sb_case *c, const struct sb_data *expected,
                       const struct sb_memory *memory, struct sb_whole *w, struct sb_result *result, bool *healthy);
void sb_whole_free(struct sb_whole *w);

enum sb_arbitration {
    SB_NO_DIFFERENCE,  /* the same bits, or outputs that are not there */
    SB_NOT_ARBITRATED, /* the reference cannot compute that place */
    SB_JUDGE_IS_RIGHT,
    SB_JUDGE_IS_WRONG, /* and the implementation is right there */
    SB_BOTH_ARE_WRONG, /* there, or the implementation in one of the next places where they differ */
};

/* Who is right at the first place where `out`, all outputs of an implementation on the host, differs from the judge's:
 * the reference computes the block around it, and where the judge is wrong a few more that differ. `text` becomes a
 * line for the detail of the implementation's result, or "". Where the judge is wrong, `judged`, the result of its run,
 * becomes a FAIL that shows where. */
enum sb_arbitration sb_whole_arbitrate(const struct sb_case *c, const struct sb_whole *w, const struct sb_tensor *out,
                                       char *text, size_t size, struct sb_result *judged);

#endif
