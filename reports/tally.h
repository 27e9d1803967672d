/* tally.h - what the renderers show, counted once: paths, reasons, the ledger, the verdict. Internal to reports/.
 *
 * Counts are taken from the results themselves, through sb_result_outcome, never from `count` or the verdict's text:
 * a page cannot show more passes than it has passing results. */
#ifndef SAMEBITS_REPORTS_TALLY_H
#define SAMEBITS_REPORTS_TALLY_H

#include "report.h"

/* Items put together by equal keys, in order of first appearance. */
struct sb_groups {
    int groups, items;
    int *first;    /* [groups] the first item of each */
    int64_t *size; /* [groups] how many items */
    int *group_of; /* [items] -1: left out */
};

/* One op x variant. `launches_least` is -1 where no result knows its launches. */
struct sb_path {
    const char *op, *variant; /* of the report */
    int64_t count[SB_OUTCOME_COUNT];
    int64_t bytes_compared; /* by results that passed */
    int64_t launches_least, launches_most;
    int op_order, order; /* of first appearance */
};

struct sb_tally {
    int64_t count[SB_OUTCOME_COUNT];
    int64_t ignored_cases, ignored_ids;
    int64_t sampled;   /* results that were compared on samples alone */
    int64_t not_whole; /* of those, results that a device judge could have vouched for whole, but did not */
    int64_t by_judge;  /* results that were compared whole with a device judge's outputs */
    int paths;
    struct sb_path *path; /* in order of first appearance of the op, then of the variant */
    int failures;
    int *failure;             /* indices of results: the first two of every path, then the others, each in order */
    struct sb_groups reasons; /* SKIP and NOT RUN results with one outcome and reason; items: results */
    int *reason_ops, *reason_paths; /* [reasons.groups] how many ops and how many paths have it */
    struct sb_groups absences; /* ledger lines with executed == 0 and one target, compiled and note; items: ledgers */
    int *shown_with; /* [absences.groups] the first group that differs in nothing but the target (itself: none) */
};

/* False: no memory, nothing to free. The tally points into the report. */
bool sb_tally_make(struct sb_tally *t, const struct sb_report *r);
void sb_tally_free(struct sb_tally *t);

/* Whether ledger line `a` is of the op of ledger line `b` (the names shown together). */
bool sb_same_op(const struct sb_ledger *a, const struct sb_ledger *b);

/* What the page may say in one word and one line. */
struct sb_conclusion {
    const char *word; /* "PASS", "PASS on CPU only" (no kernel passed anything), "FAIL", "BAD INPUT", "NOTHING RAN",
                         "LESS THAN REQUIRED", "NO VERDICT" */
    bool good;        /* finished, exit status 0, something other than relations passed, nothing failed */
    char line[512];   /* the report's own verdict, or why there is none, or what contradicts it */
    char meaning[96]; /* "exit 1: a mismatch", or "" where no verdict stands */
};
struct sb_conclusion sb_conclude(const struct sb_report *r, const struct sb_tally *t);

#endif
