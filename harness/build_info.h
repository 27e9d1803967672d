/* build_info.h - what was built from what, on which machine: the head of a report, and `info`. */
#ifndef SAMEBITS_HARNESS_BUILD_INFO_H
#define SAMEBITS_HARNESS_BUILD_INFO_H

#include "ops.h"

#include "../reports/report.h"

/* Fills in version, commit, compilers, targets, contracts, driver, host and started. */
void sb_build_info(struct sb_report *r, const struct sb_op_table *table);

/* Kernel, machine and processors; no host name, since reports are pasted in public. Returns buf. */
const char *sb_host_text(char *buf, size_t size);

#endif
