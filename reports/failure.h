/* failure.h - one failing result as plain, aligned lines, for the terminal and for a page. Internal to reports/. */
#ifndef SAMEBITS_REPORTS_FAILURE_H
#define SAMEBITS_REPORTS_FAILURE_H

#include "report.h"
#include "text.h"

/* Device and judge, detail (at most `detail_limit` bytes of it), how much differs, the pattern, the samples, warnings.
 * Every line starts with `indent` spaces and ends with a newline. The caller names the case before and the repeat
 * command after. `result` is settled. */
void sb_page_failure(struct sb_page *p, const struct sb_result *result, int indent, size_t detail_limit);

/* What was compared of a sampled result, and why not all of it. */
void sb_page_sampled(struct sb_page *p, const struct sb_result *result);

#endif
