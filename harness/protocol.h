/* protocol.h - what a supervisor and its worker say to each other: one JSON object a line, jobs down, messages up. */
#ifndef SAMEBITS_HARNESS_PROTOCOL_H
#define SAMEBITS_HARNESS_PROTOCOL_H

#include <stdio.h>

#include "../golden/op.h"
#include "../reports/report.h"

enum { SB_JOB_VARIANTS = 16, SB_PATH_SIZE = 1024 };

/* One case and what to run on it. "ref" and "relations" are variants too. */
struct sb_job {
    char case_id[SB_ID_SIZE];
    char stored[SB_PATH_SIZE];      /* golden file that holds the expected bytes, or "": compute them */
    char manifest[SB_PATH_SIZE];    /* manifest of the set that file belongs to, or "" */
    char golden_root[SB_PATH_SIZE]; /* folder with digests/SUITE.json, or "" */
    char no_judge[160];             /* why the op's judge is not to be asked (any more), or "" */
    int variants;
    char variant[SB_JOB_VARIANTS][32];
};

/* Does this implementation run on the CPU, and not on a device? */
bool sb_on_cpu(const char *variant);
bool sb_job_wants_device(const struct sb_job *job);
/* False: the job is full. */
bool sb_job_add_variant(struct sb_job *job, const char *variant);

/* Texts that are not UTF-8 arrive with U+FFFD in place of what is wrong: a job must not name such a path. */
bool sb_job_write(FILE *f, const struct sb_job *job);
bool sb_job_parse(const char *line, struct sb_job *job);

enum sb_message_kind {
    SB_MSG_HELLO,  /* the worker is up; `device`, and whether its GPU can be used (else `text`) */
    SB_MSG_BEGIN,  /* `name`: a variant, or "prepare": generating inputs, computing the reference */
    SB_MSG_JUDGE,  /* `name`: the op's judge, on whose outputs the results to come shall rest, selected or not */
    SB_MSG_RESULT, /* `result` */
    SB_MSG_DONE,   /* the job is finished */
    SB_MSG_ERROR,  /* the case cannot be run at all: `text`, `exit` */
    SB_MSG_RETIRE, /* the device failed: the worker ends itself; what has no result yet is still to be run */
};

struct sb_message {
    enum sb_message_kind kind;
    char name[32];
    bool slow; /* BEGIN: work on the CPU, with a longer time limit */
    bool usable;
    int exit;
    char device[96];
    char text[1024];
    struct sb_result result;
};

/* Writes one line and flushes it. Texts may be cut inside a character: what is left of it is U+FFFD. */
bool sb_message_write(FILE *f, const struct sb_message *m);
bool sb_message_parse(const char *line, struct sb_message *m);

#endif
