/* probe_replay.h - recorded dot products held to contract TC. */
#ifndef SAMEBITS_HARNESS_PROBE_REPLAY_H
#define SAMEBITS_HARNESS_PROBE_REPLAY_H

#include <stdbool.h>

#include "../golden/error.h"

/* Every set in `dir` and below it (probe_files.h); results on stdout, as text or as one JSON object. Returns the exit
 * status: 0 all are what the contract gives, 1 some are not, 2 with err: what could not be read. */
int sb_probe_replay(const char *dir, bool as_json, struct sb_error *err);

#endif
