/* Timing variants of wgrad_varlen_k, on host memory and by a clock that each step moves on: what the clock runs over,
 * what is compared when, and that a wrong byte leaves no figure. */
#include "../harness/bench_gpu.h"
#include "../ref/wgrad_varlen_k.h"

#include <stdlib.h>

#include "bench_results.h"
#include "check_main.h"

/* ---- memory whose clock is its own ------------------------------------------------------------------------------ */

enum { MOST_RUNS = 64, WARM_UPS = SB_BENCH_GPU_WARM_UPS, SAMPLES = 5, LAST = WARM_UPS + SAMPLES - 1 };
static const double call_takes = 0.5, copy_takes = 100; /* seconds */

static struct {
    double now, begin, end;
    const void *filled; /* last */
    int64_t allocations_left;
} device;

static void *limited_allocate(size_t bytes)
{
    return device.allocations_left-- > 0 ? sb_memory_host().allocate(bytes) : NULL;
}

static bool slow_copy(void *to, const void *from, size_t bytes, struct sb_error *err)
{
    (void)err;
    device.now += copy_takes;
    memcpy(to, from, bytes);
    return true;
}

static bool slow_fill(void *p, int byte, size_t bytes, struct sb_error *err)
{
    (void)err;
    device.now += copy_takes;
    if (bytes > sizeof(struct sb_status))
        device.filled = p;
    memset(p, byte, bytes);
    return true;
}

static bool time_begin(const struct sb_memory *m, struct sb_error *err)
{
    (void)m;
    (void)err;
    device.begin = device.now;
    return true;
}

static bool time_end(const struct sb_memory *m, struct sb_error *err)
{
    (void)m;
    (void)err;
    device.end = device.now;
    return true;
}

static bool time_read(const struct sb_memory *m, double *seconds, struct sb_error *err)
{
    (void)m;
    (void)err;
    *seconds = device.end - device.begin;
    return true;
}

/* ---- variants --------------------------------------------------------------------------------------------------- */

static enum {
    RIGHT,
    FLIP_LAST,      /* the last output, in run `wrong_run` or in all */
    FLIP_UNSAMPLED, /* an output that no sample holds */
    FLIP_SAMPLED,   /* the first of all, which a sample holds */
    FLIP_BUT_ONCE,  /* an output that no sample holds, in all runs but `wrong_run` */
    KEEP_5A,        /* a byte is not written where it holds 5A: only one of two poisons shows it */
    KEEP_A5,
    NO_STATUS,
    CHANGE_INPUT,
    FAIL_TO_LAUNCH,
    REJECT
} fault;
enum { EVERY_RUN = -1, UNSAMPLED = 70 };
static int wrong_run;

/* What the tested variant was given. */
static struct {
    int runs;
    const void *dy[MOST_RUNS], *x[MOST_RUNS], *dw[MOST_RUNS];
    bool poisoned, dw_filled_last;
} seen;

static struct sb_gpu_result right(const struct sb_gpu_call *call)
{
    const struct sb_tensor *dy = sb_call_in(call, "dy"), *x = sb_call_in(call, "x");
    const struct sb_tensor *cu = sb_call_in(call, "cu_seqlens"), *dw = sb_call_out(call, "dw");
    const struct sb_wgrad_args args = {.dy = dy->data,
                                       .x = x->data,
                                       .cu_seqlens = cu->data,
                                       .x_gather_idx = sb_call_in(call, "x_gather_idx")->data,
                                       .main_grad = sb_call_in(call, "main_grad")->data,
                                       .T = dy->shape[0],
                                       .Tx = x->shape[0],
                                       .M = dy->shape[1],
                                       .N = x->shape[1],
                                       .E = cu->shape[0] - 1,
                                       .ld_dy = dy->shape[1],
                                       .ld_x = x->shape[1],
                                       .out_dtype = dw->dtype};
    device.now += call_takes;
    *call->status = sb_ref_wgrad_varlen_k(&args, dw->data);
    return (struct sb_gpu_result){0, {SB_OK, 0, {0, 0, 0}, 0}};
}

static void note_call(const struct sb_gpu_call *call)
{
    ck_assert_int_lt(seen.runs, MOST_RUNS);
    const struct sb_tensor *dw = sb_call_out(call, "dw");
    const unsigned char *bytes = dw->data;
    seen.dy[seen.runs] = sb_call_in(call, "dy")->data;
    seen.x[seen.runs] = sb_call_in(call, "x")->data;
    seen.dw[seen.runs] = dw->data;
    for (size_t i = 0; i < sb_tensor_span_bytes(dw); i++)
        seen.poisoned = seen.poisoned && (bytes[i] == 0xA5 || bytes[i] == 0x5A) && bytes[i] == bytes[0];
    seen.dw_filled_last = seen.dw_filled_last || device.filled == dw->data;
}

static struct sb_gpu_result tested(const struct sb_gpu_call *call)
{
    unsigned char *bytes = sb_call_out(call, "dw")->data;
    const struct sb_status before = *call->status;
    const unsigned char kept = bytes[3];
    const int64_t last = sb_tensor_count(sb_call_out(call, "dw")) - 1;
    note_call(call);
    const bool now = wrong_run == EVERY_RUN || wrong_run == seen.runs;
    seen.runs++;
    if (fault == FAIL_TO_LAUNCH)
        return (struct sb_gpu_result){700, sb_status_ok()};
    if (fault == REJECT)
        return (struct sb_gpu_result){0, sb_reject(SB_BAD_ARGUMENT, 1, 2, 3)};
    const struct sb_gpu_result r = right(call);
    const int64_t flipped = fault == FLIP_LAST ? last : fault == FLIP_UNSAMPLED ? UNSAMPLED : 0;
    if (now && (fault == FLIP_LAST || fault == FLIP_UNSAMPLED || fault == FLIP_SAMPLED))
        bytes[4 * flipped] ^= 1;
    if (!now && fault == FLIP_BUT_ONCE)
        bytes[4 * UNSAMPLED] ^= 1;
    if ((fault == KEEP_5A && kept == 0x5A) || (fault == KEEP_A5 && kept == 0xA5))
        bytes[3] = kept;
    if (fault == NO_STATUS)
        *call->status = before;
    if (fault == CHANGE_INPUT && now)
        *(unsigned char *)sb_call_in(call, "dy")->data ^= 0x80;
    return r;
}

static const char *never(const struct sb_gpu_call *call, int compute_capability)
{
    return sb_call_int(call, "M") > 0 && compute_capability == 0 ? "not of this shape" : NULL;
}

static int judge_wrong_at = -1;

static struct sb_gpu_result judge(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    if (judge_wrong_at >= 0)
        ((uint32_t *)sb_call_out(call, "dw")->data)[judge_wrong_at] ^= 1;
    return r;
}

static const struct sb_variant without_judge[] = {
    {.name = "right", .targets = "any", .run = right},
    {.name = "tested", .targets = "any", .run = tested},
    {.name = "elsewhere", .targets = "sm_90a", .run = right},
    {.name = "other", .targets = "any", .run = right, .cannot = never},
    {.name = "uncompiled", .targets = "any"},
    {0},
};
static const struct sb_variant with_judge[] = {
    {.name = "tested", .targets = "any", .run = tested},
    {.name = "judge", .targets = "any", .judge = true, .run = judge},
    {0},
};
enum { TESTED_ALONE = 1 << 1, JUDGED_TESTED_ALONE = 1 << 0, ALL = 0xFF }; /* bits of paths */

/* ---- timing them ------------------------------------------------------------------------------------------------ */

static struct sb_memory memory;
static struct sb_bench_gpu gpu;
static struct sb_op_row row;
static const char *paths[SB_BENCH_MAX_PATHS + 1];
static int64_t l2_bytes;

static struct sb_bench_impl impl_of(const struct sb_variant *variants)
{
    const struct sb_bench_impl *real = sb_bench_wgrad_varlen_k_gpu();
    struct sb_bench_impl impl = *real;
    gpu = *(const struct sb_bench_gpu *)real->calls;
    row = (struct sb_op_row){gpu.row->op, variants};
    memory = sb_memory_host();
    memory.allocate = limited_allocate;
    memory.upload = slow_copy;
    memory.download = slow_copy;
    memory.fill = slow_fill;
    memory.time_begin = time_begin;
    memory.time_end = time_end;
    memory.time_read = time_read;
    gpu.row = &row;
    gpu.memory = &memory;
    gpu.l2_bytes = l2_bytes;
    sb_bench_gpu_paths(&row, paths);
    impl.paths = paths;
    impl.calls = &gpu;
    impl.ceiling = NULL; /* it takes a GPU */
    return impl;
}

static struct sb_bench_result timed(const struct sb_variant *variants, unsigned chosen, const char *id)
{
    static struct sb_case c;
    static struct sb_bench_impl impl;
    struct sb_bench_result r;
    struct sb_error err = {0};
    struct sb_bench_plan plan = {.threads = {1}, .thread_counts = 1, .min_samples = SAMPLES};
    for (int i = 0; i < SB_BENCH_MAX_PATHS; i++)
        plan.path[i] = (chosen >> i & 1) != 0;
    impl = impl_of(variants);
    memset(&seen, 0, sizeof seen);
    seen.poisoned = true;
    device.filled = NULL;
    if (device.allocations_left <= 0)
        device.allocations_left = INT64_MAX;
    c = parsed(id);
    ck_assert_msg(sb_bench_case(&impl, &plan, &c, &r, &err), "%s", err.text);
    return r;
}

static struct sb_bench_result with_fault(int wanted, int run, const struct sb_variant *variants, unsigned chosen,
                                         const char *id)
{
    fault = wanted;
    wrong_run = run;
    const struct sb_bench_result r = timed(variants, chosen, id);
    fault = RIGHT;
    return r;
}

static const char small[] = "wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5";
static const char sampled[] = "wgrad_varlen_k/M=72,N=136,E=3,counts=17+0+5,sample=1"; /* [0, 0..63, 0..63] */
static const int64_t small_macs = 22 * 72 * 40;

/* The clock runs over the call alone: not over poisoning, copies, comparisons. */
START_TEST(the_call_alone_is_timed)
{
    struct sb_bench_result r = with_fault(RIGHT, 0, without_judge, ALL, small);
    const struct sb_bench_row *one = row_of(&r, "tested", 1);
    ck_assert_msg(sb_bench_status(&r, 1) == 0, "%s", r.why);
    ck_assert_int_eq(one->rate.samples, SAMPLES);
    ck_assert_int_eq(seen.runs, WARM_UPS + SAMPLES);
    ck_assert(seen.poisoned);
    ck_assert_int_eq(r.about.work, small_macs);
    ck_assert(near(one->rate.median, (double)small_macs / call_takes / 0.5e12) && one->rate.mad == 0);
    ck_assert(one->to_yardstick.known && near(one->to_yardstick.value, 1) && !one->to_yardstick.resolved);
    ck_assert(!one->efficiency.known);
    const struct sb_bench_impl impl = impl_of(without_judge);
    const char *text = printed(&impl, &r);
    ck_assert_msg(strstr(text, "compared after every run: all outputs with the reference's") != NULL, "%s", text);
    ck_assert_msg(strstr(text, " ms a run ") != NULL && strstr(text, "thread") == NULL, "%s", text);
    ck_assert_msg(strstr(text, " 500 ") != NULL, "%s", text);
    const struct sb_bench_plan plan = {.min_samples = SAMPLES};
    json_t *all = sb_bench_json(&impl, &plan, &r, 1), *found = json_row(all, "tested", 0);
    ck_assert(json_is_null(json_object_get(found, "threads")));
    ck_assert(json_is_null(json_object_get(json_object_get(found, "rate"), "per_thread")));
    ck_assert(json_is_null(json_object_get(json_object_get(all, "machine"), "gpu")));
    json_decref(all);
    sb_bench_result_free(&r);
}
END_TEST

/* Without a test's clock: the host memory's own moves on. */
START_TEST(host_memory_has_a_clock)
{
    const struct sb_memory m = sb_memory_host();
    struct sb_error err = {0};
    double empty = -1, some = -1;
    volatile double sum = 0;
    ck_assert(m.time_begin(&m, &err) && m.time_end(&m, &err) && m.time_read(&m, &empty, &err));
    ck_assert(m.time_begin(&m, &err));
    for (int i = 0; i < 1000000; i++)
        sum = sum + i;
    ck_assert(m.time_end(&m, &err) && m.time_read(&m, &some, &err));
    ck_assert_msg(empty >= 0 && some > empty && some < 60, "%g, %g", empty, some);
}
END_TEST

static void is_wrong(struct sb_bench_result *r, const char *words)
{
    const struct sb_bench_row *one = row_of(r, "tested", 1);
    ck_assert_msg(one->outcome == SB_BENCH_WRONG, "fault %d, run %d was not seen", (int)fault, wrong_run);
    ck_assert_msg(strstr(one->reason, words) != NULL, "%s", one->reason);
    ck_assert_int_eq(one->rate.samples, 0);
    ck_assert_int_eq(sb_bench_status(r, 1), SB_EXIT_MISMATCH);
    sb_bench_result_free(r);
}

START_TEST(a_wrong_output_in_any_run)
{
    for (int slots = 1; slots <= 3; slots += 2)
        for (int run = EVERY_RUN; run <= LAST; run++) {
            l2_bytes = slots == 1 ? 0 : 20000; /* the call has 39 kB */
            struct sb_bench_result r = with_fault(FLIP_LAST, run, without_judge, ALL, small);
            ck_assert_int_eq(row_of(&r, "right", 1)->outcome, SB_BENCH_TIMED);
            is_wrong(&r, "[e=2, m=71, n=39]");
        }
    l2_bytes = 0;
}
END_TEST

/* Of a sampled case the first two runs and the last are compared, whole; what lies between is said to be not. */
START_TEST(sampled_cases_first_and_last)
{
    static const struct {
        const struct sb_variant *variants;
        unsigned chosen;
    } ways[] = {{without_judge, ALL}, {without_judge, TESTED_ALONE}, {with_judge, JUDGED_TESTED_ALONE}};
    for (int slots = 1; slots <= 3; slots += 2)
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            static const int compared[] = {1, LAST};
            l2_bytes = slots == 1 ? 0 : 80000; /* the call has 127 kB */
            for (int i = 0; i < 2; i++) {
                struct sb_bench_result r =
                    with_fault(FLIP_UNSAMPLED, compared[i], ways[way].variants, ways[way].chosen, sampled);
                is_wrong(&r, "[e=0, m=0, n=70]");
                r = with_fault(FLIP_SAMPLED, compared[i], ways[way].variants, ways[way].chosen, sampled);
                is_wrong(&r, "[e=0, m=0, n=0]");
            }
            struct sb_bench_result r = with_fault(FLIP_SAMPLED, 0, ways[way].variants, ways[way].chosen, sampled);
            is_wrong(&r, "[e=0, m=0, n=0]");
            r = with_fault(FLIP_LAST, 3, ways[way].variants, ways[way].chosen, sampled);
            ck_assert_int_eq(row_of(&r, "tested", 1)->outcome, SB_BENCH_TIMED);
            ck_assert_str_eq(r.about.when, "after the first two runs and the last");
            sb_bench_result_free(&r);
        }
    l2_bytes = 0;
}
END_TEST

/* An output that no sample holds, wrong in every run alike: the judge sees it, or another path that is right. */
START_TEST(sampled_cases_are_compared_whole)
{
    struct sb_bench_result r = with_fault(FLIP_UNSAMPLED, EVERY_RUN, with_judge, JUDGED_TESTED_ALONE, sampled);
    ck_assert_msg(strstr(r.about.compared, "all outputs with those of judge on this GPU") != NULL, "%s",
                  r.about.compared);
    ck_assert_str_eq(r.why, "");
    ck_assert_ptr_nonnull(strstr(row_of(&r, "tested", 1)->reason, "[e=0, m=0, n=70]"));
    is_wrong(&r, "again, sides with the device judge");
    r = with_fault(FLIP_SAMPLED, EVERY_RUN, without_judge, TESTED_ALONE, sampled);
    is_wrong(&r, "[e=0, m=0, n=0]");
    r = with_fault(FLIP_UNSAMPLED, EVERY_RUN, without_judge, ALL, sampled);
    ck_assert_msg(strstr(r.about.compared, "1 tile") != NULL && strstr(r.about.compared, "all others with") != NULL,
                  "%s", r.about.compared);
    ck_assert_int_eq(row_of(&r, "right", 1)->outcome, SB_BENCH_TIMED);
    is_wrong(&r, "[e=0, m=0, n=70]");
}
END_TEST

/* Whoever judges must be right itself where it can be told. */
START_TEST(a_wrong_judge)
{
    judge_wrong_at = 5;
    struct sb_bench_result r = with_fault(RIGHT, 0, with_judge, ALL, sampled);
    judge_wrong_at = -1;
    ck_assert_int_eq(r.outcome, SB_BENCH_WRONG);
    ck_assert_msg(strstr(r.why, "judge, which all outputs were to be compared with") != NULL, "%s", r.why);
    ck_assert_int_eq(seen.runs, 0);
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
    sb_bench_result_free(&r);
}
END_TEST

/* It is found out by a path that differs where no sample is; then no figure stands, also of whoever agreed with it. */
START_TEST(a_judge_that_a_path_proves_wrong)
{
    static const struct {
        int fault, run;
        unsigned chosen;
        enum sb_bench_outcome tested;
    } ways[] = {{RIGHT, 0, ALL, SB_BENCH_NOT_RUN},
                {RIGHT, 0, JUDGED_TESTED_ALONE, SB_BENCH_NOT_RUN},
                {FLIP_BUT_ONCE, LAST, ALL, SB_BENCH_NOT_RUN}, /* the judge's own figure is taken by then */
                {FLIP_LAST, EVERY_RUN, ALL, SB_BENCH_WRONG}}; /* right at the first difference, not at the next */
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        judge_wrong_at = UNSAMPLED;
        struct sb_bench_result r = with_fault(ways[i].fault, ways[i].run, with_judge, ways[i].chosen, sampled);
        judge_wrong_at = -1;
        ck_assert_int_eq(r.outcome, SB_BENCH_WRONG);
        ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_MISMATCH);
        ck_assert_msg(strstr(r.why, "judge, which all outputs were compared with, is wrong: ") != NULL &&
                          strstr(r.why, "first at [e=0, m=0, n=70]") != NULL,
                      "%s", r.why);
        ck_assert_int_eq(row_of(&r, "tested", 1)->outcome, ways[i].tested);
        for (int k = 0; k < r.rows; k++) {
            ck_assert(r.row[k].outcome != SB_BENCH_TIMED && r.row[k].rate.samples == 0);
            ck_assert(!r.row[k].to_yardstick.known);
        }
        if (ways[i].chosen == ALL)
            ck_assert_str_eq(row_of(&r, "judge", 1)->reason, r.why);
        sb_bench_result_free(&r);
    }
}
END_TEST

/* A byte that is not written where the poison happens to be right. */
START_TEST(unwritten_outputs)
{
    static const char *const ids[] = {small, sampled};
    static const int64_t bytes[] = {39504, 126672}; /* of a call */
    for (int slots = 1; slots <= 3; slots++)
        for (int i = 0; i < 2; i++) {
            l2_bytes = slots * bytes[i] / 4;
            struct sb_bench_result r = with_fault(KEEP_5A, 0, without_judge, ALL, ids[i]);
            is_wrong(&r, "[e=0, m=0, n=0]");
            r = with_fault(KEEP_A5, 0, without_judge, ALL, ids[i]);
            is_wrong(&r, "[e=0, m=0, n=0]");
        }
    l2_bytes = 0;
}
END_TEST

START_TEST(other_faults)
{
    struct sb_bench_result r = with_fault(NO_STATUS, 0, without_judge, ALL, small);
    is_wrong(&r, "status");
    r = with_fault(NO_STATUS, 0, without_judge, ALL, sampled);
    is_wrong(&r, "status");
    r = with_fault(FAIL_TO_LAUNCH, 0, without_judge, ALL, small);
    is_wrong(&r, "CUDA error 700");
    r = with_fault(REJECT, 0, without_judge, ALL, small);
    is_wrong(&r, "rejects a call that the contract takes");
    /* In the last run: no output shows it. Whose fault it was is not known, so no path has a figure. */
    r = with_fault(CHANGE_INPUT, LAST, without_judge, ALL, small);
    ck_assert_int_eq(row_of(&r, "right", 1)->outcome, SB_BENCH_WRONG);
    is_wrong(&r, "changed the input dy");
    l2_bytes = 20000;
    r = with_fault(CHANGE_INPUT, LAST - 1, without_judge, ALL, small); /* of a copy that is not the first */
    l2_bytes = 0;
    is_wrong(&r, "changed the input dy");
}
END_TEST

static int different(const void *const *p, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || p[k] == p[i];
        n += !again;
    }
    return n;
}

/* Copies enough to fill four caches, in turn; and none whose outputs were just filled, which would lie in the cache. */
START_TEST(copies_take_turns)
{
    const int64_t bytes = 22 * (72 + 40) * 2 + 4 * 4 + 3 * 72 * 40 * 4;
    for (int slots = 1; slots <= 4; slots++) {
        l2_bytes = (slots * bytes) / 4; /* rounded down */
        struct sb_bench_result r = with_fault(RIGHT, 0, without_judge, ALL, small);
        ck_assert_msg(sb_bench_status(&r, 1) == 0, "%s", r.why);
        ck_assert(seen.poisoned && seen.dw_filled_last == (slots == 1));
        ck_assert_int_eq(different(seen.dy, seen.runs), slots);
        ck_assert_int_eq(different(seen.x, seen.runs), slots);
        ck_assert_int_eq(different(seen.dw, seen.runs), slots);
        ck_assert_int_eq(different(seen.dw + 1, slots), slots); /* none comes back before all had their turn */
        sb_bench_result_free(&r);
    }
    l2_bytes = 0;
}
END_TEST

START_TEST(what_does_not_run)
{
    struct sb_bench_result r = with_fault(RIGHT, 0, without_judge, ALL, small);
    const struct sb_bench_row *shape = row_of(&r, "other", 1);
    ck_assert(shape->outcome == SB_BENCH_NOT_RUN && strstr(shape->reason, "not of this shape") != NULL);
    ck_assert(row_of(&r, "elsewhere", 0)->outcome == SB_BENCH_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(row_of(&r, "elsewhere", 0)->reason, "written for sm_90a"));
    ck_assert_ptr_nonnull(strstr(row_of(&r, "uncompiled", 0)->reason, "built without CUDA"));
    ck_assert_int_eq(sb_bench_status(&r, 1), 0);
    sb_bench_result_free(&r);
    r = with_fault(RIGHT, 0, without_judge, 1 << 3, small);
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_NOTHING_RAN);
    sb_bench_result_free(&r);
    for (int left = 1; left <= 5; left++) { /* three inputs, then outputs and status of "right" */
        device.allocations_left = left;
        r = with_fault(RIGHT, 0, without_judge, ALL, small);
        device.allocations_left = 0;
        ck_assert_int_eq(sb_bench_status(&r, 1), left == 5 ? 0 : SB_EXIT_NOTHING_RAN);
        const char *why = left < 3 ? r.why : row_of(&r, "tested", 1)->reason;
        ck_assert_msg(strstr(why, "not enough device memory for") != NULL, "%s", why);
        ck_assert(left < 3 || row_of(&r, "tested", 1)->outcome == SB_BENCH_NOT_RUN);
        sb_bench_result_free(&r);
    }
}
END_TEST

START_TEST(without_a_gpu)
{
    struct sb_bench_result r;
    struct sb_error err = {0};
    const struct sb_case c = parsed(small);
    const struct sb_bench_plan plan = {.path = {true, true}, .threads = {1}, .thread_counts = 1, .min_samples = 5};
    const struct sb_bench_impl impl = impl_of(without_judge);
    gpu.memory = NULL;
    gpu.why = "no GPU in this test";
    ck_assert(sb_bench_case(&impl, &plan, &c, &r, &err));
    ck_assert_int_eq(sb_bench_status(&r, 1), SB_EXIT_NOTHING_RAN);
    ck_assert_ptr_nonnull(strstr(printed(&impl, &r), "NOT RUN: no GPU in this test"));
    sb_bench_result_free(&r);
}
END_TEST

START_TEST(calls_that_are_not_timed)
{
    static const struct {
        const char *id, *words;
    } calls[] = {{"wgrad_varlen_k/M=24,N=24,E=4,counts=empty", "nothing to compute"},
                 {"wgrad_varlen_k/M=12,N=24,E=2,counts=10+20", "rejected"},
                 {"wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=descending", "made to be rejected"},
                 {"wgrad_varlen_k/M=16,N=16,E=2,counts=10+20,accumulate=1,in_place=1", "in_place=1"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct sb_bench_result r = with_fault(RIGHT, 0, without_judge, ALL, calls[i].id);
        ck_assert_int_eq(r.outcome, SB_BENCH_NOT_RUN);
        ck_assert_msg(strstr(r.why, calls[i].words) != NULL, "%s", r.why);
        ck_assert_int_eq(seen.runs, 0);
        sb_bench_result_free(&r);
    }
}
END_TEST

/* The production shapes all are there, under the ids that the suite gives them. */
START_TEST(default_cases)
{
    int production = 0, listed = 0;
    const struct sb_op *op = sb_op_row_find(sb_op_table(), "wgrad_varlen_k")->op;
    for (const struct sb_case_row *one = op->cases; one->call != NULL; one++)
        production += (one->suites & SB_PRODUCTION) != 0;
    for (const struct sb_bench_default *one = sb_bench_wgrad_varlen_k_gpu()->cases; one->call != NULL; one++) {
        char id[SB_ID_SIZE];
        snprintf(id, sizeof id, "wgrad_varlen_k/%s", one->call);
        const struct sb_case c = parsed(id);
        ck_assert_str_eq(c.id, id);
        ck_assert_str_ne(one->reason, "");
        ck_assert(strlen(one->reason) < sizeof c.reason);
        listed += (c.suites & SB_PRODUCTION) != 0;
    }
    ck_assert(production > 0);
    ck_assert_int_eq(listed, production);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("bench_gpu");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120); /* others may use the machine */
    tcase_add_test(t, the_call_alone_is_timed);
    tcase_add_test(t, host_memory_has_a_clock);
    tcase_add_test(t, a_wrong_output_in_any_run);
    tcase_add_test(t, sampled_cases_first_and_last);
    tcase_add_test(t, sampled_cases_are_compared_whole);
    tcase_add_test(t, a_wrong_judge);
    tcase_add_test(t, a_judge_that_a_path_proves_wrong);
    tcase_add_test(t, unwritten_outputs);
    tcase_add_test(t, other_faults);
    tcase_add_test(t, copies_take_turns);
    tcase_add_test(t, what_does_not_run);
    tcase_add_test(t, without_a_gpu);
    tcase_add_test(t, calls_that_are_not_timed);
    tcase_add_test(t, default_cases);
    suite_add_tcase(s, t);
    return s;
}
