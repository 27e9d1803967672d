/* probe_capture.h - recorded dot products of a run, a folder each implementation, there only when whole.
 *
 * Each is written as DIR/NAME.unfinished-PID, which holds a file SB_PROBE_UNFINISHED until all of it is there, and
 * renamed to DIR/NAME at the end. */
#ifndef SAMEBITS_HARNESS_PROBE_CAPTURE_H
#define SAMEBITS_HARNESS_PROBE_CAPTURE_H

#include "probe_run.h"

/* Before the run, which may be long: can DIR be written to, and is no implementation's folder there already? Leaves
 * nothing behind. */
bool sb_probe_capture_check(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err);

/* After the run. What did not finish is left out. False with err: no folder is there that was not written whole. */
bool sb_probe_capture_write(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err);

#endif
