/* test_reports_fixture.h - made-up reports for the tests of reports/. */
#ifndef SAMEBITS_TESTS_REPORTS_FIXTURE_H
#define SAMEBITS_TESTS_REPORTS_FIXTURE_H

#include "../reports/report.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { FIXTURE_FAILURE_SAMPLES = 3 };

static inline void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

static inline struct sb_result made_result(const char *op, const char *variant, enum sb_outcome outcome, int number)
{
    struct sb_result result = {.outcome = outcome, .launches = 1, .seconds = 0.25};
    copy_text(result.op, sizeof result.op, op);
    copy_text(result.variant, sizeof result.variant, variant);
    copy_text(result.device, sizeof result.device, "0: a made-up GPU (sm_90)");
    copy_text(result.judge, sizeof result.judge, "stored golden");
    snprintf(result.case_id, sizeof result.case_id, "%s:number=%d", op, number);
    snprintf(result.repeat, sizeof result.repeat, "samebits check --case '%s:number=%d'", op, number);
    if (outcome == SB_PASS || outcome == SB_FAIL)
        result.bytes_compared = 4096;
    if (outcome == SB_SKIP)
        copy_text(result.detail, sizeof result.detail, "the made-up reason to skip");
    if (outcome == SB_NOT_RUN)
        copy_text(result.detail, sizeof result.detail, "the made-up reason not to run");
    if (outcome != SB_FAIL)
        return result;
    copy_text(result.detail, sizeof result.detail, "the values differ");
    copy_text(result.tensor, sizeof result.tensor, "dw");
    copy_text(result.pattern, sizeof result.pattern, "one row: e=1 m=3");
    result.elements = 1024;
    result.mismatches = 12;
    result.samples = FIXTURE_FAILURE_SAMPLES;
    for (int i = 0; i < result.samples; i++) {
        snprintf(result.sample[i].index, sizeof result.sample[i].index, "[e=1, m=3, n=%d]", i * 50);
        copy_text(result.sample[i].expected, sizeof result.sample[i].expected, "0x3f800000 (1)");
        copy_text(result.sample[i].actual, sizeof result.sample[i].actual, "0x3f800001 (1.00000012)");
        copy_text(result.sample[i].distance, sizeof result.sample[i].distance, "1 ulp");
    }
    return result;
}

static inline void add_result(struct sb_report *r, const char *op, const char *variant, enum sb_outcome outcome,
                              int number)
{
    const struct sb_result result = made_result(op, variant, outcome, number);
    ck_assert(sb_report_add(r, &result));
}

static inline void add_path(struct sb_report *r, const char *op, const char *variant, const char *target,
                            int64_t executed, const char *note)
{
    struct sb_ledger line = {.compiled = true, .executed = executed, .passed = executed};
    copy_text(line.op, sizeof line.op, op);
    copy_text(line.variant, sizeof line.variant, variant);
    copy_text(line.target, sizeof line.target, target);
    copy_text(line.note, sizeof line.note, note);
    ck_assert(sb_report_add_ledger(r, &line));
}

static inline struct sb_report made_head(void)
{
    struct sb_report r = {.finished = true};
    copy_text(r.version, sizeof r.version, "0.1.0");
    copy_text(r.commit, sizeof r.commit, "0123456789ab");
    copy_text(r.compiler, sizeof r.compiler, "a made-up C compiler");
    copy_text(r.cuda_compiler, sizeof r.cuda_compiler, "a made-up CUDA compiler");
    copy_text(r.targets, sizeof r.targets, "sm_90a, sm_100f");
    copy_text(r.contracts, sizeof r.contracts, "e8m0_upcast 1, scale_pack 1");
    copy_text(r.suites, sizeof r.suites, "smoke, seed");
    copy_text(r.device, sizeof r.device, "0: the device line");
    copy_text(r.driver, sizeof r.driver, "the driver line");
    copy_text(r.host, sizeof r.host, "the host line");
    copy_text(r.started, sizeof r.started, "2026-01-02T03:04:05Z");
    copy_text(r.command, sizeof r.command, "samebits check --suite smoke");
    return r;
}

/* Passes only: three paths, two of them executed. */
static inline struct sb_report made_green(void)
{
    struct sb_report r = made_head();
    for (int i = 0; i < 5; i++)
        add_result(&r, "e8m0_upcast", "fused", SB_PASS, i);
    add_result(&r, "scale_pack", "gather", SB_PASS, 9);
    add_path(&r, "e8m0_upcast", "fused", "sm_90a", 5, "");
    add_path(&r, "scale_pack", "gather", "sm_90a", 1, "");
    add_path(&r, "scale_pack", "gather", "sm_100", 0, "no such GPU in this machine");
    copy_text(r.verdict, sizeof r.verdict, "all six results agree");
    return r;
}

/* Every outcome, one result each. */
static inline struct sb_report made_mixed(void)
{
    struct sb_report r = made_head();
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++)
        add_result(&r, "wgrad_varlen_k", "mma_sync", (enum sb_outcome)outcome, outcome);
    add_path(&r, "wgrad_varlen_k", "mma_sync", "sm_90a", 2, "");
    add_path(&r, "wgrad_varlen_k", "mma_sync", "sm_100", 0, "no such GPU in this machine");
    r.exit_status = 1;
    copy_text(r.verdict, sizeof r.verdict, "one of two results differs");
    return r;
}

static inline struct sb_report made_failures(int failures)
{
    struct sb_report r = made_head();
    for (int i = 0; i < failures; i++)
        add_result(&r, "wgrad_varlen_k", "mma_sync", SB_FAIL, i);
    r.exit_status = 1;
    copy_text(r.verdict, sizeof r.verdict, "nothing agrees");
    return r;
}

/* What a renderer writes into a file, as a string the caller frees. */
typedef bool renderer(FILE *f, const struct sb_report *r, size_t parameter);

static inline char *rendered(renderer *render, const struct sb_report *r, size_t parameter, bool *good)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(f);
    const bool result = render(f, r, parameter);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_uint_eq(strlen(text), size);
    if (good != NULL)
        *good = result;
    char *const copy = strdup(text); /* gcc takes the stream's own pointer for a dangling one */
    ck_assert_ptr_nonnull(copy);
    free(text);
    return copy;
}

static inline int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Whether `first` stands before `second`, both being there. */
static inline bool in_order(const char *text, const char *first, const char *second)
{
    const char *const a = strstr(text, first), *const b = strstr(text, second);
    return a != NULL && b != NULL && a < b;
}

#endif
