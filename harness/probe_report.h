/* probe_report.h - what a probe found: table, failures, verdict; as text and as JSON. */
#ifndef SAMEBITS_HARNESS_PROBE_REPORT_H
#define SAMEBITS_HARNESS_PROBE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "probe_explain.h"

struct sb_probe_verdict {
    int exit_status;
    char text[2048]; /* one line */
};

/* `named`: the arithmetics were named on the command line, so each of them has to run. `partial`: in what the run was
 * weakened, or "". */
struct sb_probe_verdict sb_probe_verdict(const struct sb_probe_plan *plan, bool named, const char *partial);

/* Prints program, machine and operands, a line per arithmetic and class, failures with a small vector and an
 * explanation, what did not run, and the yardstick's rate. */
void sb_probe_print(FILE *f, const struct sb_probe_plan *plan, const struct sb_probe_totals *totals);

/* NULL: out of memory. */
json_t *sb_probe_json(const struct sb_probe_plan *plan, const struct sb_probe_totals *totals,
                      const struct sb_probe_verdict *verdict);
json_t *sb_probe_vector_json(const struct sb_probe_vector *v);
json_t *sb_probe_explanation_json(const struct sb_probe_explanation *e);

/* "PASS: ... (exit 0: ...)", after an empty line. */
void sb_probe_print_verdict(FILE *f, const struct sb_probe_verdict *verdict);

#endif
