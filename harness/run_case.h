/* run_case.h - one implementation on one case: poison, guards, the calls, and every comparison. */
#ifndef SAMEBITS_HARNESS_RUN_CASE_H
#define SAMEBITS_HARNESS_RUN_CASE_H

#include "../golden/op.h"
#include "../gpu/variant.h"
#include "../reports/report.h"
#include "memory.h"

/* A call to be made first in the same buffers, as op->prelude names it. */
struct sb_prelude {
    const struct sb_case *c;
    const struct sb_data *data; /* inputs, and outputs for their sizes */
};

/* Runs `variant` on the inputs of `expected` and compares status and outputs with those of `expected`; outputs of a
 * rejected call (data == NULL) must keep every byte. At least two runs, with poisons that share no byte; as many as
 * the case's `repeat` says, if it has that parameter. Of an output that is expected in samples the samples are compared
 * in every run, and every element must be written and hold the same bits in all runs. `prelude` may be NULL. A variant
 * that is not written for this GPU is SB_SKIP.
 *
 * Sets result->outcome, detail, the comparison's fields, launches and seconds; leaves the names alone. Returns false
 * when the device can no longer be trusted (an error that stays): the process should end. */
bool sb_run_case(const struct sb_variant *variant, const struct sb_case *c, const struct sb_data *expected,
                 const struct sb_prelude *prelude, const struct sb_memory *memory, struct sb_result *result);

/* The same, and hands over all of the outputs as the last run left them: host copies in `kept` (all zero before), to be
 * freed with sb_tensors_free(). data == NULL where an output was not brought to the host. */
bool sb_run_case_keeping(const struct sb_variant *variant, const struct sb_case *c, const struct sb_data *expected,
                         const struct sb_prelude *prelude, const struct sb_memory *memory,
                         struct sb_tensor kept[SB_MAX_TENSORS], struct sb_result *result);

/* Compares host data with the expected outputs and status: the same verdict for implementations that run on the host
 * (the reference against a stored golden). `packed`: of a sampled output `out` has the blocks alone. Sets outcome
 * (SB_PASS or SB_FAIL) and the fields of the comparison. */
void sb_judge_outputs(const struct sb_case *c, const struct sb_data *expected, const struct sb_tensor *out, bool packed,
                      const struct sb_status *status, int poison, struct sb_result *result);

/* Says in the result what part of output `i` is compared, where the expected data hold samples of it alone. */
void sb_tell_samples(const struct sb_data *expected, int i, struct sb_result *result);

/* One output alone: true if it is the same. Where samples of it are expected it is those samples, `packed`, or whole;
 * the shape does not always tell which. `complete` becomes false where it is missing or of another layout; what differs
 * is added to the result. */
bool sb_judge_output(const struct sb_case *c, const struct sb_data *expected, int i, const struct sb_tensor *out,
                     bool packed, int poison, bool *complete, struct sb_result *result);
/* Adds to the detail of a FAIL whether complete, accepted outputs satisfy the contract's relations all the same. */
void sb_judge_relations(const struct sb_case *c, const struct sb_data *expected, const struct sb_tensor *out,
                        struct sb_result *result);

/* An optional tensor that a case lacks. Outputs of a rejected call have no data either, but they do have a size. */
bool sb_tensor_absent(const struct sb_tensor_spec *spec, const struct sb_tensor *t);

/* Has the case's op a parameter of this name? */
bool sb_case_has(const struct sb_case *c, const char *name);

double sb_seconds(void); /* monotonic clock */

#endif
