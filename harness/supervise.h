/* supervise.h - runs jobs in a spawned child, so that a crash or a hang is one result and the run goes on. */
#ifndef SAMEBITS_HARNESS_SUPERVISE_H
#define SAMEBITS_HARNESS_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "protocol.h"

enum { SB_WORKER_FD = 3, SB_SLOW_FACTOR = 5 };

struct sb_supervisor {
    /* Set by the caller. */
    const char *program;  /* path of the executable to start */
    char *const *argv;    /* its arguments, NULL-terminated; it must serve jobs on stdin, messages on SB_WORKER_FD */
    const char *device;   /* for results of a child that died: "0: NVIDIA H200 (sm_90)" */
    double limit_seconds; /* for one variant; preparing a case and work on the CPU get SB_SLOW_FACTOR times as long */
    bool needs_device;    /* without a usable GPU the GPU variants of a job are not run, with the worker's reason */

    /* The child. */
    pid_t pid; /* 0: none */
    int to_child, from_child;
    char *line; /* what was read, up to a whole line */
    size_t used, room;
    struct sb_message hello;
};

/* What became of a job. */
enum sb_job_end {
    SB_JOB_DONE,
    SB_JOB_BAD_INPUT,   /* the case could not be prepared (a damaged golden, ...): `err` says why */
    SB_JOB_INTERRUPTED, /* SIGINT or SIGTERM: what has no result yet has none */
    SB_JOB_NO_WORKER,   /* no child can be started: `err` says why */
};

/* Told of each result; case, op, variant and device are filled in for a crashed variant too. */
typedef void (*sb_result_fn)(void *user, struct sb_result *result);

/* Starts the child where there is none and waits for its hello. */
enum sb_job_end sb_supervisor_start(struct sb_supervisor *s, struct sb_error *err);

/* Runs a job to its end. Exactly one result for each variant of the job, except after an interrupt; and one of the op's
 * judge where that failed, also if the job does not name it. A crash, a hang or a message that is none gives SB_FAIL
 * for the variant under way; a new child does the rest, without the judge where that was it. A PASS by the outputs of
 * the judge is told when the case is over, and as a FAIL where a variant after it proved the judge wrong. */
enum sb_job_end sb_supervisor_run(struct sb_supervisor *s, const struct sb_job *job, sb_result_fn on_result, void *user,
                                  struct sb_error *err);

/* Ends the child: asks it first, then kills it. */
void sb_supervisor_close(struct sb_supervisor *s);

#endif
