/* probe_explain.h - differences from contract TC explained: a small failing vector, and the arithmetic that gives them.
 */
#ifndef SAMEBITS_HARNESS_PROBE_EXPLAIN_H
#define SAMEBITS_HARNESS_PROBE_EXPLAIN_H

#include <stdio.h>

#include "probe_run.h"

enum { SB_PROBE_MAX_VARIANTS = SB_PROBE_MAX_IMPLS };

/* How ref/tc_model.h's variants fare on what was kept. A variant explains all where it gives every kept result, the
 * different ones and those that were right. */
struct sb_probe_explanation {
    int kept, kept_right;
    int best;        /* variant with most different ones, then with most right ones; -1: none gives any */
    int best_differ; /* different results that it gives */
    int best_right;  /* right ones that it gives too */
    int all;         /* variants that explain all ... */
    const char *name[SB_PROBE_MAX_VARIANTS]; /* ... and their names */
};
struct sb_probe_explanation sb_probe_explain(const struct sb_probe_list *differ, const struct sb_probe_list *right);

/* One or two lines: "all 256 ... is what 24-bits gives (terms kept to ...)". Returns buf. */
const char *sb_probe_explanation_text(const struct sb_probe_explanation *e, char *buf, size_t size);

/* The smallest failing vector that could be made of those kept, by zeroing pairs and c and simplifying numbers while
 * `impl`, alone on it, still differs. False where none of those tried fails again alone: `small` is then the first kept
 * one as it was. `differ` holds at least one. */
bool sb_probe_minimise(const struct sb_probe_impl *impl, const struct sb_probe_list *differ,
                       struct sb_probe_vector *small);

/* c, the pairs that are not zero, expected and got, in hex and as numbers; lines indented by four. */
void sb_probe_vector_print(FILE *f, const struct sb_probe_vector *v);

#endif
