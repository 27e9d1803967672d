/* verdict.h - from results to a ledger, a verdict and an exit status. */
#ifndef SAMEBITS_HARNESS_VERDICT_H
#define SAMEBITS_HARNESS_VERDICT_H

#include "ops.h"
#include "protocol.h"
#include "select.h"

#include "../reports/report.h"

/* What --require asked for. */
struct sb_require {
    int64_t passes; /* at least so many */
    bool gpu;       /* every selected op has executed an implementation on a GPU */
};

/* "N" or "gpu", comma-separated or repeated. */
bool sb_require_parse(struct sb_require *r, const struct sb_options *o, struct sb_error *err);

/* What the ledger needs to know beyond the results. */
struct sb_ledger_facts {
    const struct sb_selection *cases;
    const struct sb_op_table *table;
    const char *const *targets_here; /* targets of the GPUs in use ("sm_90a") */
    int targets_here_count;
    bool interrupted;                                           /* what has no result was not reached */
    const char *no_gpu;                                         /* why no GPU is in use, or NULL */
    const char *(*deselected)(void *user, const char *variant); /* why the command line leaves a variant out, or NULL */
    void *user;
};

/* One line for each (op, variant, target) of the selected ops, executed or not. */
bool sb_ledger_fill(struct sb_report *r, const struct sb_ledger_facts *facts);

/* Sets exit_status and verdict from the results. `bad_input`: which input could not be used, short, or NULL. `partial`:
 * in what the run was weakened, or "". Relations that hold are no verdict on bits. A PASS without a kernel is called
 * "PASS on CPU only". */
void sb_verdict(struct sb_report *r, const struct sb_require *require, const struct sb_selection *cases,
                const struct sb_op_table *table, const char *bad_input, const char *partial);

#endif
