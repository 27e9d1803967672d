/* probe_run.h - batches of seeded vectors through the yardstick and the arithmetics to be judged; bits compared. */
#ifndef SAMEBITS_HARNESS_PROBE_RUN_H
#define SAMEBITS_HARNESS_PROBE_RUN_H

#include "../golden/tc_vectors.h"
#include "probe_impl.h"

/* One dot product and what became of it. */
struct sb_probe_vector {
    enum sb_tc_class cls;
    int64_t tile; /* -1: recorded elsewhere */
    int row, col;
    uint32_t c;
    uint16_t a[SB_TC_K], b[SB_TC_K];
    uint32_t expected, got;
};

struct sb_probe_list {
    struct sb_probe_vector *v;
    int count, room;
};
/* False: out of memory. */
bool sb_probe_list_add(struct sb_probe_list *list, const struct sb_probe_vector *v);
void sb_probe_list_free(struct sb_probe_list *list);

enum {
    SB_PROBE_UNWRITTEN = 0xFF, /* each byte of d before a run: a NaN that the contract never gives */
    SB_PROBE_KEPT = 256,       /* of a class, different ones and right ones, for explaining */
    SB_PROBE_KEPT_OF_TILE = 8, /* so that they come from many tiles */
    SB_PROBE_CAPTURED = 64,    /* of a class, whatever they gave, each from another tile while there are enough */
};

struct sb_probe_count {
    int64_t compared, skipped, differ;
};

/* What one arithmetic did. */
struct sb_probe_outcome {
    const struct sb_probe_impl *impl;
    char device[400]; /* or why it did not run */
    bool runs;        /* it can run here */
    char error[400];  /* it did not finish, and why; or "" */
    struct sb_probe_count cls[SB_TC_CLASSES], all;
    double seconds;
    struct sb_probe_list differ, right, captured;
};

struct sb_probe_plan {
    uint64_t seed;
    int64_t count;                  /* dot products of a class, at least; rounded up to whole tiles */
    bool wanted[SB_TC_CLASSES];     /* classes */
    bool capture;                   /* fill in `captured` */
    struct sb_probe_outcome *judge; /* those with runs == true take part */
    int judges;
    void (*step)(void *user, enum sb_tc_class cls); /* before each batch, or NULL */
    void *user;
};

struct sb_probe_totals {
    int64_t dots;   /* made, and computed by the yardstick */
    double seconds; /* for both */
    int threads;
    bool interrupted;
};

/* False with err: out of memory. */
bool sb_probe_run(const struct sb_probe_plan *plan, struct sb_probe_totals *totals, struct sb_error *err);
void sb_probe_outcome_free(struct sb_probe_outcome *o);

#endif
