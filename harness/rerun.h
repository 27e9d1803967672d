/* rerun.h - an output of which only samples are expected, after a run, against the run before. Both runs must have
 * given the same bits everywhere, and their outputs were filled with poisons that share no bit: an element that nobody
 * wrote differs, wherever it is. */
#ifndef SAMEBITS_HARNESS_RERUN_H
#define SAMEBITS_HARNESS_RERUN_H

#include "memory.h"
#include "../ref/types.h"
#include "../reports/report.h"

/* What comes from the device at a time: the host holds such an output once, not twice. */
enum { SB_RERUN_CHUNK = 64 << 20 };

struct sb_rerun {
    void *before;              /* the whole output of the run before, dense */
    int poison_before, poison; /* the bytes that it and this run's output were filled with */
    int64_t unwritten, first_unwritten;
    int64_t different, first_different; /* other than unwritten */
};

/* Compares `t`, whose elements of this run stand at `device`, with `before`, and leaves this run's there. `chunk` is
 * room for `room` bytes, or for all of the output. False with err after a device error. */
bool sb_rerun_compare(struct sb_rerun *r, const struct sb_tensor *t, const void *device, const struct sb_memory *m,
                      void *chunk, size_t room, struct sb_error *err);

/* Lines for the detail of a result; nothing where all is the same. `run` counts from 0. */
void sb_rerun_tell(const struct sb_rerun *r, const struct sb_tensor *t, int run, struct sb_result *result);

#endif
