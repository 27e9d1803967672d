/* worker.h - the child that does the work: reads jobs, writes messages. */
#ifndef SAMEBITS_HARNESS_WORKER_H
#define SAMEBITS_HARNESS_WORKER_H

#include "memory.h"
#include "ops.h"
#include "protocol.h"

/* Serves jobs until the end of `jobs`, or until the device fails (after a RETIRE message). `memory` may be NULL: a
 * worker for work on the CPU alone. `hello` is sent first; its device names results of GPU variants. */
int sb_worker_serve(const struct sb_op_table *table, const struct sb_memory *memory, const struct sb_message *hello,
                    FILE *jobs, FILE *out);

#endif
