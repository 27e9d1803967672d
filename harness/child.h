/* child.h - the process behind a supervisor: start, read lines, end. */
#ifndef SAMEBITS_HARNESS_CHILD_H
#define SAMEBITS_HARNESS_CHILD_H

#include "supervise.h"

bool sb_child_start(struct sb_supervisor *s, struct sb_error *err);

enum sb_child_read { SB_READ_LINE, SB_READ_END, SB_READ_LATE, SB_READ_INTERRUPTED };
/* Waits for the next line until `deadline` (sb_seconds()). The line is copied into *line (owned by the caller). */
enum sb_child_read sb_child_read(struct sb_supervisor *s, double deadline, char **line);

bool sb_child_send(struct sb_supervisor *s, const struct sb_job *job);

/* Reaps the child, killing it first if `kill_it` or if it does not end by itself within some seconds. `how` says how it
 * ended: "signal 11 (Segmentation fault)", "exit status 1". */
void sb_child_end(struct sb_supervisor *s, bool kill_it, char *how, size_t how_size);

#endif
