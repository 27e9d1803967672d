/* bench_run.h - what can be timed, and timing it: every run on poisoned outputs, every output compared, the subjects
 * in turns. A figure stands only on runs whose bytes were right. */
#ifndef SAMEBITS_HARNESS_BENCH_RUN_H
#define SAMEBITS_HARNESS_BENCH_RUN_H

#include "bench_stats.h"

#include "../golden/op.h"

/* ---- what to time ----------------------------------------------------------------------------------------------- */

/* One thing to time. A GPU's time comes from its own events, so a run says itself how long it took. */
struct sb_bench_subject {
    int64_t work; /* of one run, in units of work (multiply-adds) */
    bool part;    /* of a sample of the call's outputs, not the call */
    bool large;   /* a run may take seconds */
    int threads;
    void *state;
    /* Fills all outputs with this byte, untimed. NULL: no outputs. */
    void (*poison)(const struct sb_bench_subject *s, int byte);
    /* Once. False with err: SB_EXIT_MISMATCH where it failed, else it could not be run. */
    bool (*run)(const struct sb_bench_subject *s, double *seconds, struct sb_error *err);
    /* After each run: has every output byte the expected value? False with err: SB_EXIT_MISMATCH, saying where not, or
     * why it cannot be told. NULL: run looks itself. */
    bool (*check)(const struct sb_bench_subject *s, int poison, struct sb_error *err);
    /* After the last run of all subjects: what check left for then, as check. NULL: nothing. */
    bool (*conclude)(const struct sb_bench_subject *s, struct sb_error *err);
};

struct sb_bench_default {
    const char *call; /* without the op */
    const char *reason;
};

/* What was said of a case when it was opened. */
struct sb_bench_about {
    int64_t work;       /* of the whole call */
    const char *when;   /* "after every run" */
    char compared[300]; /* one line: which bytes are compared with what then */
};

struct sb_bench_plan;
struct sb_bench_result;
struct sb_device;

/* Who is told how far it is. All of it may be NULL. */
struct sb_bench_watch {
    /* The inputs are there; the work and what is compared are known, nothing is computed yet. */
    void (*opened)(void *user, const struct sb_bench_result *result);
    /* What is done next; `takes_long`: seconds at least, so whoever waits should know at once. */
    void (*step)(void *user, const char *what, bool takes_long);
    void *user;
};
void sb_bench_tell(const struct sb_bench_watch *watch, bool takes_long, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One implementation of one op. Its paths are ways to the same bytes: kernels, instruction sets. */
struct sb_bench_impl {
    const char *op, *impl, *summary;
    const char *unit;                     /* "GMAC/s" */
    double unit_work;                     /* work a second that is one unit */
    const struct sb_bench_default *cases; /* timed where the user names none; end with call == NULL */
    const char *const *paths;             /* end with NULL; the first is the yardstick of the others */
    bool threaded;                        /* timed at each number of threads that the user names */
    int warm_ups;                         /* checked runs before the timed ones, on the two poisons in turn; 0: one */
    const void *calls;                    /* of the implementation's own file */

    /* Once before anything else: finds what it runs on; `device` is what the user named. What is not there shows in
     * cannot. False with err: bad usage. NULL: it needs no device. */
    bool (*start)(const struct sb_bench_impl *impl, const char *device, struct sb_error *err);
    /* The GPU it runs on, or NULL. NULL pointer: the processor. */
    const struct sb_device *(*device)(const struct sb_bench_impl *impl);
    /* Why this path cannot run here, or NULL if it can. */
    const char *(*cannot)(const struct sb_bench_impl *impl, int path);
    /* Inputs, and what there is to say. NULL with err: SB_EXIT_NOTHING_RAN where there is nothing to time in this call.
     */
    void *(*open)(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                  struct sb_bench_about *about, struct sb_error *err);
    /* Expected outputs, once before the first subject. False with err: SB_EXIT_MISMATCH where wrong bytes showed
     * already. NULL: open made them. */
    bool (*expect)(void *opened, const struct sb_bench_watch *watch, struct sb_error *err);
    /* `subject` lives as long as the opened case. threads is 1 where the implementation is not threaded. False with
     * err: this path is WRONG (SB_EXIT_MISMATCH) or, for whatever else, does not run on this call. */
    bool (*subject)(void *opened, int path, int threads, struct sb_bench_subject *subject, struct sb_error *err);
    /* After all subjects have concluded: false with err where what they were compared with is wrong itself, so that no
     * figure of the case stands. NULL: it is not. */
    bool (*stands)(void *opened, struct sb_error *err);
    /* What there is to say of the machine while the case was timed: one line, or "". NULL: nothing. */
    void (*remark)(void *opened, char *buf, size_t size);
    void (*close)(void *opened);

    /* What no path can pass, in the same unit and timed in the same turns: its name, what it does, and it. NULL: none.
     */
    const char *ceiling;
    const char *(*ceiling_kind)(const struct sb_bench_impl *impl);
    bool (*ceiling_subject)(void *opened, int threads, struct sb_bench_subject *subject, struct sb_error *err);
};

/* ---- what came out ---------------------------------------------------------------------------------------------- */

enum sb_bench_outcome { SB_BENCH_TIMED, SB_BENCH_WRONG, SB_BENCH_NOT_RUN };
const char *sb_bench_outcome_name(enum sb_bench_outcome outcome); /* "TIMED", "WRONG", "NOT RUN" */

struct sb_bench_row {
    const char *name; /* the path, or the ceiling */
    bool ceiling;
    int threads; /* 0: at none, the path does not run here; 1 where the implementation is not threaded */
    enum sb_bench_outcome outcome;
    char reason[1024]; /* WRONG, NOT RUN */
    bool part;
    int64_t work;                     /* of one run */
    struct sb_bench_figure rate;      /* in the implementation's unit; no samples unless TIMED */
    struct sb_bench_figure processor; /* time that its threads ran over the time they were there: 1 undisturbed */
    struct sb_bench_ratio efficiency; /* rate over threads times the rate of one thread */
    struct sb_bench_ratio of_ceiling; /* rate over the ceiling's on as many threads */
    struct sb_bench_ratio to_yardstick;
};

struct sb_bench_result {
    const struct sb_case *c;
    const char *reason; /* why the case is timed, or "" */
    struct sb_bench_about about;
    enum sb_bench_outcome outcome; /* WRONG: nothing of it was timed, or some row is wrong */
    char why[1024];
    char remark[200];         /* of the machine, or "" */
    struct sb_bench_row *row; /* owned */
    int rows;
};

/* ---- timing ----------------------------------------------------------------------------------------------------- */

enum { SB_BENCH_MAX_PATHS = 8, SB_BENCH_MAX_THREADS = 16 };

struct sb_bench_plan {
    bool path[SB_BENCH_MAX_PATHS]; /* which of the implementation's */
    int threads[SB_BENCH_MAX_THREADS];
    int thread_counts;
    double seconds;  /* spent on each measurement, at least */
    int min_samples; /* of each, at least: 1..SB_BENCH_MAX_SAMPLES */
    struct sb_bench_watch watch;
};

/* Times one case by the plan. False with err where it could not be tried at all (memory); wrong bytes and paths that do
 * not run here are outcomes. Free the result in either case. */
bool sb_bench_case(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                   struct sb_bench_result *result, struct sb_error *err);
void sb_bench_result_free(struct sb_bench_result *result);

/* SB_EXIT_MISMATCH if bytes were wrong anywhere, SB_EXIT_NOTHING_RAN if no path was timed. */
int sb_bench_status(const struct sb_bench_result *result, int count);

#endif
