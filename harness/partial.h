/* partial.h - in what a run of `check` is less than it could be: a weakened run says so, on the screen and in its
 * report. */
#ifndef SAMEBITS_HARNESS_PARTIAL_H
#define SAMEBITS_HARNESS_PARTIAL_H

#include "ops.h"
#include "options.h"
#include "select.h"

/* "only the 8 cases that --op selects, ...", or "" for a full run. `o` are the options of `check`. */
void sb_partial_text(const struct sb_options *o, const struct sb_selection *cases, const struct sb_op_table *ops,
                     char *buf, size_t size);

#endif
