/* Cases of which the CPU knows samples alone, compared whole with the op's judge: what no sample holds is seen, a judge
 * that is wrong convicts nobody, and whatever keeps it from vouching is said. Implementations compute with the plain
 * reference on host memory. This program is its own worker where a judge crashes or hangs. */
#include "../golden/ops.h"
#include "../golden/samples.h"
#include "../harness/memory.h"
#include "../harness/run_case.h"
#include "../harness/supervise.h"
#include "../harness/whole.h"
#include "../harness/worker.h"
#include "../ref/wgrad_varlen_k.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASSERT_HAS(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' lacks '%s'", text, part)

enum { E = 4, M = 256, N = 256, WHOLE = E * M * N, WHOLE_BYTES = WHOLE * 4 + (int)sizeof(struct sb_status) };
static const char sampled_id[] = "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,sample=12";
static const char rejected_id[] = "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,break=descending,sample=12";
static const char whole_id[] = "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1";
static const char judge_label[] = "device judge, held to the sampled reference";

/* Two places of dw that no sample holds, in different blocks of 64, and one that a sample holds. */
static int64_t outside, elsewhere, inside;
static int calls, judge_calls;

static struct sb_gpu_result right(const struct sb_gpu_call *call)
{
    const struct sb_tensor *dy = sb_call_in(call, "dy"), *x = sb_call_in(call, "x"), *dw = sb_call_out(call, "dw");
    const struct sb_wgrad_args args = {.dy = dy->data,
                                       .x = x->data,
                                       .cu_seqlens = sb_call_in(call, "cu_seqlens")->data,
                                       .T = dy->shape[0],
                                       .Tx = x->shape[0],
                                       .M = M,
                                       .N = N,
                                       .E = E,
                                       .ld_dy = M,
                                       .ld_x = N,
                                       .out_dtype = dw->dtype};
    *call->status = sb_ref_wgrad_varlen_k(&args, dw->data);
    calls++;
    return (struct sb_gpu_result){0, {SB_OK, 0, {0, 0, 0}, 0}};
}

static uint32_t *element(const struct sb_gpu_call *call, int64_t place)
{
    return (uint32_t *)sb_call_out(call, "dw")->data + place;
}

static struct sb_gpu_result flipped(const struct sb_gpu_call *call, int64_t place, uint32_t bits)
{
    const struct sb_gpu_result r = right(call);
    *element(call, place) ^= bits;
    return r;
}

static struct sb_gpu_result wrong_outside(const struct sb_gpu_call *call)
{
    return flipped(call, outside, 1);
}

static struct sb_gpu_result wrong_outside_otherwise(const struct sb_gpu_call *call)
{
    return flipped(call, outside, 6);
}

static struct sb_gpu_result wrong_inside(const struct sb_gpu_call *call)
{
    return flipped(call, inside, 1);
}

static struct sb_gpu_result wrong_elsewhere(const struct sb_gpu_call *call)
{
    return flipped(call, elsewhere, 1);
}

static struct sb_gpu_result unwritten_outside(const struct sb_gpu_call *call)
{
    const uint32_t kept = *element(call, outside);
    const struct sb_gpu_result r = right(call);
    *element(call, outside) = kept;
    return r;
}

static struct sb_gpu_result overruns(const struct sb_gpu_call *call)
{
    return flipped(call, WHOLE, 1);
}

static struct sb_gpu_result device_error(const struct sb_gpu_call *call)
{
    (void)call;
    return (struct sb_gpu_result){700, {SB_OK, 0, {0, 0, 0}, 0}};
}

static struct sb_gpu_result crashes(const struct sb_gpu_call *call)
{
    (void)call;
    raise(SIGSEGV);
    return (struct sb_gpu_result){0};
}

/* Right at first; the next call is that of the run that starts over on samples. */
static struct sb_gpu_result crashes_later(const struct sb_gpu_call *call)
{
    static int own_calls;
    return ++own_calls == 1 ? right(call) : crashes(call);
}

static struct sb_gpu_result hangs(const struct sb_gpu_call *call)
{
    (void)call;
    while (getpid() > 0)
        pause();
    return (struct sb_gpu_result){0};
}

static struct sb_gpu_result good_judge(const struct sb_gpu_call *call)
{
    judge_calls++;
    return right(call);
}

/* Right in the first worker, which finds the file, and wrong where a sample shows it in the next. */
static const char first_worker[] = "test_harness_run_case_whole.first";
static struct sb_gpu_result errs_later(const struct sb_gpu_call *call)
{
    static bool first;
    first = first || unlink(first_worker) == 0;
    return first ? right(call) : wrong_inside(call);
}

static size_t huge_workspace(const struct sb_gpu_call *call)
{
    (void)call;
    return (size_t)1 << 40;
}

static const char *refuses(const struct sb_gpu_call *call, int compute_capability)
{
    (void)call;
    (void)compute_capability;
    return "needs a GPU with wings";
}

/* ---- tables: one judge each, the same others ------------------------------------------------------- */

enum judge_kind {
    GOOD,
    NONE,
    WRONG_INSIDE,
    WRONG_OUTSIDE,
    LARGE,
    REFUSES,
    NOT_HERE,
    BROKEN,
    CRASHES,
    HANGS,
    ERRS_LATER,
    JUDGES
};

/* The judge stands in the middle, so that its result must wait for others and others for it. */
#define VARIANTS(function, ...)                                                                                        \
    {                                                                                                                  \
        {.name = "right", .targets = "any", .summary = "test", .run = right},                                          \
            {.name = "wrong", .targets = "any", .summary = "test", .run = wrong_outside},                              \
            {.name = "judge", .summary = "test", .run = function, __VA_ARGS__},                                        \
            {.name = "otherwise", .targets = "any", .summary = "test", .run = wrong_outside_otherwise},                \
            {.name = "inside", .targets = "any", .summary = "test", .run = wrong_inside},                              \
            {.name = "elsewhere", .targets = "any", .summary = "test", .run = wrong_elsewhere},                        \
            {.name = "unwritten", .targets = "any", .summary = "test", .run = unwritten_outside},                      \
            {.name = "overruns", .targets = "any", .summary = "test", .run = overruns},                                \
            {.name = "crashes", .targets = "any", .summary = "test", .run = crashes},                                  \
            {.name = "crashes_later", .targets = "any", .summary = "test", .run = crashes_later},                      \
            {.name = "other_gpu", .targets = "sm_100f", .summary = "test", .run = right},                              \
            {.name = "uncompiled", .targets = "any", .summary = "test"},                                               \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

static const struct sb_variant variants[JUDGES][13] = {
    [GOOD] = VARIANTS(good_judge, .targets = "any", .judge = true),
    [NONE] = VARIANTS(good_judge, .targets = "any"),
    [WRONG_INSIDE] = VARIANTS(wrong_inside, .targets = "any", .judge = true),
    [WRONG_OUTSIDE] = VARIANTS(wrong_outside, .targets = "any", .judge = true),
    [LARGE] = VARIANTS(good_judge, .targets = "any", .judge = true, .workspace = huge_workspace),
    [REFUSES] = VARIANTS(good_judge, .targets = "any", .judge = true, .cannot = refuses),
    [NOT_HERE] = VARIANTS(good_judge, .targets = "sm_100f", .judge = true),
    [BROKEN] = VARIANTS(device_error, .targets = "any", .judge = true),
    [CRASHES] = VARIANTS(crashes, .targets = "any", .judge = true),
    [HANGS] = VARIANTS(hangs, .targets = "any", .judge = true),
    [ERRS_LATER] = VARIANTS(errs_later, .targets = "any", .judge = true),
};

static struct sb_op op; /* wgrad_varlen_k, as a test may change it */
static const struct sb_op *const op_array[] = {&op};
static struct sb_op_row row;
static const struct sb_op_table table = {&row, {op_array, 1}};

static void find_places(void)
{
    enum { TILE = 64 * 64, OF = 9 };
    struct sb_case c;
    struct sb_samples s;
    struct sb_error err = {0};
    int64_t block;
    static bool held[WHOLE];
    if (!sb_case_parse(&c, &table.list, sampled_id, &err) || !sb_case_samples(&c, 0, &s, &err))
        abort(); /* in a worker too, which knows no asserts */
    memset(held, 0, sizeof held);
    for (int64_t i = 0; i < s.count * TILE; i++)
        held[sb_samples_place(&s, i, &block)] = true;
    inside = sb_samples_place(&s, OF * TILE + 5 * 64 + 7, &block);
    for (outside = (int64_t)2 * M * N + 70 * N + 130; held[outside];)
        outside++;
    for (elsewhere = outside + 64 * N; held[elsewhere];)
        elsewhere++;
    sb_samples_free(&s);
}

static void set_up(enum judge_kind judge)
{
    op = sb_op_wgrad_varlen_k;
    row = (struct sb_op_row){&op, variants[judge]};
    find_places();
    calls = judge_calls = 0;
}

/* ---- one job, in this process or in a worker -------------------------------------------------------- */

enum { MAX_RESULTS = 16 };
struct seen {
    int count;
    struct sb_result result[MAX_RESULTS];
    enum sb_message_kind last; /* after which the worker said no more */
};

static const struct sb_result *find(const struct seen *seen, const char *variant)
{
    const struct sb_result *found = NULL;
    for (int i = 0; i < seen->count; i++)
        if (strcmp(seen->result[i].variant, variant) == 0) {
            ck_assert_msg(found == NULL, "two results for %s", variant);
            found = &seen->result[i];
        }
    return found;
}

static const struct sb_result *of(const struct seen *seen, const char *variant)
{
    const struct sb_result *found = find(seen, variant);
    ck_assert_msg(found != NULL, "no result for %s", variant);
    return found;
}

static struct sb_job job_of(const char *id, const char *names)
{
    struct sb_job job = {0};
    char words[200], *save = NULL;
    snprintf(job.case_id, sizeof job.case_id, "%s", id);
    snprintf(words, sizeof words, "%s", names);
    for (char *word = strtok_r(words, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
        ck_assert(sb_job_add_variant(&job, word));
    return job;
}

static struct seen serve_in(const struct sb_memory *memory, const char *id, const char *names)
{
    const struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host (sm_0)"};
    const struct sb_job job = job_of(id, names);
    static struct seen seen;
    struct sb_message m;
    char *line = NULL;
    size_t size = 0;
    FILE *jobs = tmpfile(), *out = tmpfile();
    memset(&seen, 0, sizeof seen);
    ck_assert(sb_job_write(jobs, &job));
    rewind(jobs);
    ck_assert_int_eq(sb_worker_serve(&table, memory, &hello, jobs, out), 0);
    rewind(out);
    while (getline(&line, &size, out) > 0) {
        ck_assert(sb_message_parse(line, &m));
        seen.last = m.kind;
        if (m.kind == SB_MSG_RESULT)
            seen.result[seen.count++] = m.result;
    }
    free(line);
    fclose(jobs);
    fclose(out);
    return seen;
}

static struct seen serve(enum judge_kind judge, const char *id, const char *names)
{
    const struct sb_memory host = sb_memory_host();
    set_up(judge);
    return serve_in(&host, id, names);
}

static void expect_whole(const struct sb_result *r, enum sb_outcome outcome)
{
    ck_assert_msg(r->outcome == outcome, "%s: %s", r->variant, r->detail);
    ck_assert_str_eq(r->judge, judge_label);
    ck_assert_str_eq(r->sampled, "");
    ck_assert_str_eq(r->not_whole, "");
    ck_assert_int_eq(r->bytes_compared, WHOLE_BYTES);
    ck_assert(sb_by_device_judge(r));
}

static void expect_samples(const struct sb_result *r, enum sb_outcome outcome, const char *why)
{
    ck_assert_msg(r->outcome == outcome, "%s: %s", r->variant, r->detail);
    ck_assert_str_eq(r->judge, "sampled reference");
    ASSERT_HAS(r->sampled, "12 tiles of 64x64, ");
    ASSERT_HAS(r->not_whole, why);
    ck_assert_int_lt(r->bytes_compared, WHOLE_BYTES / 2);
    ck_assert(!sb_by_device_judge(r));
    if (outcome == SB_PASS)
        ck_assert_str_eq(r->detail, "");
}

static const char *place_text(int64_t place)
{
    static char text[64];
    snprintf(text, sizeof text, "[e=%d, m=%d, n=%d]", (int)(place / (M * N)), (int)(place / N % M), (int)(place % N));
    return text;
}

/* ---- a judge that is right -------------------------------------------------------------------------- */

START_TEST(what_no_sample_holds_is_seen)
{
    const struct seen without = serve(NONE, sampled_id, "wrong");
    ck_assert_int_eq(of(&without, "wrong")->outcome, SB_PASS); /* the limit of samples */
    const struct seen seen = serve(GOOD, sampled_id, "right,wrong,judge");
    const struct sb_result *wrong = of(&seen, "wrong");
    expect_whole(of(&seen, "right"), SB_PASS);
    ck_assert_str_eq(of(&seen, "right")->detail, "");
    expect_whole(wrong, SB_FAIL);
    ck_assert_int_eq(wrong->mismatches, 1);
    ck_assert_int_eq(wrong->elements, WHOLE);
    ck_assert_str_eq(wrong->tensor, "dw");
    ck_assert_str_eq(wrong->sample[0].index, place_text(outside));
    ASSERT_HAS(wrong->detail, "in run 1 of 2");
    ASSERT_HAS(wrong->detail, "the CPU reference, which computed rows ");
    ASSERT_HAS(wrong->detail, " of plane 2 again, sides with the device judge");
    expect_samples(of(&seen, "judge"), SB_PASS, "");
    ck_assert_str_eq(of(&seen, "judge")->not_whole, "");
    ck_assert_int_eq(seen.count, 3);
    ck_assert_str_eq(seen.result[2].variant, "judge"); /* the others might have proved it wrong */
    ck_assert_int_eq(judge_calls, 2);
}
END_TEST

START_TEST(other_faults_are_seen_as_ever)
{
    const struct seen seen = serve(GOOD, sampled_id, "inside,unwritten,overruns,elsewhere");
    expect_whole(of(&seen, "inside"), SB_FAIL);
    expect_whole(of(&seen, "elsewhere"), SB_FAIL);
    expect_whole(of(&seen, "unwritten"), SB_FAIL);
    ASSERT_HAS(of(&seen, "unwritten")->pattern, "never written (still the poison 0xA5)");
    ck_assert_str_eq(of(&seen, "unwritten")->sample[0].index, place_text(outside));
    expect_whole(of(&seen, "overruns"), SB_FAIL);
    ASSERT_HAS(of(&seen, "overruns")->detail, "output dw was overrun after its memory");
    ck_assert_ptr_null(strstr(of(&seen, "overruns")->detail, "CPU reference")); /* every output is right */
}
END_TEST

START_TEST(left_out_it_works_all_the_same)
{
    const struct seen seen = serve(GOOD, sampled_id, "right,wrong");
    expect_whole(of(&seen, "right"), SB_PASS);
    expect_whole(of(&seen, "wrong"), SB_FAIL);
    ck_assert_int_eq(seen.count, 2); /* it has no result: nobody asked for it, and nothing is wrong with it */
    ck_assert_int_eq(judge_calls, 2);
}
END_TEST

START_TEST(it_is_not_run_for_nobody)
{
    struct seen seen = serve(GOOD, sampled_id, "judge");
    expect_samples(of(&seen, "judge"), SB_PASS, "");
    ck_assert_int_eq(judge_calls, 2); /* as an implementation like any other */
    seen = serve(GOOD, sampled_id, "ref,other_gpu,uncompiled");
    ck_assert_int_eq(judge_calls, 0);
    ck_assert_int_eq(of(&seen, "other_gpu")->outcome, SB_SKIP);
    ASSERT_HAS(of(&seen, "other_gpu")->detail, "written for sm_100f, this GPU is sm_0");
    ck_assert_int_eq(of(&seen, "uncompiled")->outcome, SB_NOT_RUN);
    seen = serve(GOOD, whole_id, "right,judge");
    ck_assert_int_eq(judge_calls, 2);
    ck_assert_str_eq(of(&seen, "right")->judge, "reference");
    ck_assert_str_eq(seen.result[1].variant, "judge");
    seen = serve(GOOD, rejected_id, "right");
    ck_assert_int_eq(judge_calls, 0);
    ck_assert_int_eq(of(&seen, "right")->outcome, SB_PASS);
    seen = serve(NONE, sampled_id, "right");
    expect_samples(of(&seen, "right"), SB_PASS, "");
    ck_assert_str_eq(of(&seen, "right")->not_whole, ""); /* the op has no judge that could */
}
END_TEST

/* ---- a judge that is wrong -------------------------------------------------------------------------- */

START_TEST(wrong_in_a_sample)
{
    for (int selected = 0; selected < 2; selected++) {
        const struct seen seen = serve(WRONG_INSIDE, sampled_id, selected ? "right,wrong,judge" : "right,wrong");
        expect_samples(of(&seen, "judge"), SB_FAIL, ""); /* shown in either */
        ck_assert_str_eq(seen.result[0].variant, "judge");
        ASSERT_HAS(of(&seen, "judge")->sample[0].index, place_text(inside));
        expect_samples(of(&seen, "right"), SB_PASS, "the device judge failed: see its own result");
        expect_samples(of(&seen, "wrong"), SB_PASS, "the device judge failed: see its own result");
        ck_assert_int_eq(seen.count, 3);
    }
}
END_TEST

START_TEST(wrong_outside_the_samples)
{
    for (int selected = 0; selected < 2; selected++) {
        const struct seen seen =
            serve(WRONG_OUTSIDE, sampled_id, selected ? "wrong,judge,right,elsewhere" : "wrong,right,elsewhere");
        const struct sb_result *judge = of(&seen, "judge");
        expect_whole(of(&seen, "wrong"), SB_PASS); /* wrong alike: the supervisor knows better, see below */
        expect_samples(of(&seen, "right"), SB_PASS, "the device judge is wrong: see its own result");
        expect_samples(of(&seen, "elsewhere"), SB_PASS, "the device judge is wrong: see its own result");
        ck_assert_int_eq(judge->outcome, SB_FAIL);
        ck_assert_int_eq(judge->mismatches, 1);
        ck_assert_int_eq(judge->elements, 64 * 64);
        ck_assert_str_eq(judge->tensor, "dw");
        ASSERT_HAS(judge->sample[0].index, place_text(outside));
        ASSERT_HAS(judge->sampled, "12 tiles of 64x64, "); /* as the bytes: what the case is sampled in */
        ck_assert_int_eq(judge->bytes_compared, 12 * 64 * 64 * 4 + (int)sizeof(struct sb_status));
        ASSERT_HAS(judge->detail, "right in the samples of the case, wrong in one that the CPU reference computed");
        ASSERT_HAS(judge->detail, " of plane 2\nfound by right");
        ck_assert_int_eq(seen.count, 4);
    }
}
END_TEST

START_TEST(a_wrong_judge_excuses_nobody)
{
    struct seen seen = serve(WRONG_OUTSIDE, sampled_id, "otherwise");
    ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
    ck_assert_int_eq(of(&seen, "otherwise")->outcome, SB_FAIL);
    ASSERT_HAS(of(&seen, "otherwise")->detail, "sides with neither");
    seen = serve(WRONG_OUTSIDE, sampled_id, "elsewhere"); /* right at the first difference, wrong at the next */
    ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
    ASSERT_HAS(of(&seen, "judge")->sample[0].index, place_text(outside));
    expect_whole(of(&seen, "elsewhere"), SB_FAIL);
    ASSERT_HAS(of(&seen, "elsewhere")->detail, "again, sides with the device judge; at the first difference the device "
                                               "judge is wrong, and this is right");
    ck_assert_int_eq(seen.count, 2);
    seen = serve(WRONG_OUTSIDE, sampled_id, "inside");
    ck_assert_int_eq(of(&seen, "inside")->outcome, SB_FAIL);
    seen = serve(WRONG_OUTSIDE, sampled_id, "overruns");
    expect_samples(of(&seen, "overruns"), SB_FAIL, "the device judge is wrong");
    ASSERT_HAS(of(&seen, "overruns")->detail, "output dw was overrun after its memory");
}
END_TEST

static bool fails(const struct sb_case *c, const struct sb_data *d, int index, const struct sb_block *block,
                  void *packed, struct sb_error *err)
{
    (void)c, (void)d, (void)index, (void)block, (void)packed;
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for tiles");
}

START_TEST(without_the_reference_both_may_be_wrong)
{
    const struct sb_memory host = sb_memory_host();
    for (int i = 0; i < 2; i++) {
        set_up(i == 0 ? GOOD : WRONG_OUTSIDE);
        op.reference_block = i == 0 ? NULL : fails;
        const struct seen seen = serve_in(&host, sampled_id, i == 0 ? "wrong" : "right");
        expect_whole(&seen.result[0], SB_FAIL);
        ASSERT_HAS(seen.result[0].detail, "either this or the device judge is wrong: rows ");
        ASSERT_HAS(seen.result[0].detail,
                   i == 0 ? "(the op has no reference for one place alone)" : "(no memory for tiles)");
    }
}
END_TEST

/* ---- a judge that cannot ---------------------------------------------------------------------------- */

static void *up_to_a_gigabyte(size_t bytes)
{
    const struct sb_memory host = sb_memory_host();
    return bytes < (size_t)1 << 30 ? host.allocate(bytes) : NULL;
}

START_TEST(what_it_cannot_is_said)
{
    static const struct {
        enum judge_kind judge;
        const char *why;
    } row_of[] = {{LARGE, "the device judge cannot: not enough device memory for the workspace ("},
                  {REFUSES, "the device judge cannot: needs a GPU with wings"},
                  {NOT_HERE, "the device judge cannot: written for sm_100f, this GPU is sm_0"}};
    struct sb_memory memory = sb_memory_host();
    memory.allocate = up_to_a_gigabyte;
    for (int i = 0; i < 3; i++) {
        set_up(row_of[i].judge);
        struct seen seen = serve_in(&memory, sampled_id, "right,wrong");
        expect_samples(of(&seen, "right"), SB_PASS, row_of[i].why);
        expect_samples(of(&seen, "wrong"), SB_PASS, row_of[i].why);
        ck_assert_int_eq(seen.count, 2);
        seen = serve_in(&memory, sampled_id, "right,judge");
        ck_assert_int_eq(of(&seen, "judge")->outcome, SB_SKIP);
        ck_assert_str_eq(of(&seen, "judge")->judge, ""); /* compared with nothing */
        expect_samples(of(&seen, "right"), SB_PASS, row_of[i].why);
    }
}
END_TEST

/* Requests of host memory that are granted before one is not, and after it all are. */
static int granted;
static void *refuse_once(size_t bytes)
{
    return granted-- == 0 ? NULL : malloc(bytes);
}

/* The judge takes three inputs and one output a run, in two runs; then comes the first that is compared with it. */
START_TEST(too_little_host_memory)
{
    struct sb_memory memory = sb_memory_host();
    memory.host_allocate = refuse_once;
    for (int refused = 0; refused < 12; refused++) {
        set_up(GOOD);
        granted = refused;
        const struct seen seen = serve_in(&memory, sampled_id, "right,judge");
        const bool in_judge = refused < 8;
        expect_samples(of(&seen, "right"), SB_PASS,
                       in_judge ? "the device judge cannot: not enough host memory for "
                                : "not enough host memory for the device judge's outputs beside others");
        ck_assert_int_eq(of(&seen, "judge")->outcome, in_judge ? SB_NOT_RUN : SB_PASS);
    }
    set_up(GOOD);
    granted = 100;
    const struct seen enough = serve_in(&memory, sampled_id, "right");
    expect_whole(of(&enough, "right"), SB_PASS);
}
END_TEST

START_TEST(a_device_that_fails_in_it)
{
    const struct seen seen = serve(BROKEN, sampled_id, "right");
    ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(seen.last, SB_MSG_RETIRE);
}
END_TEST

/* ---- under the supervisor ---------------------------------------------------------------------------- */

static void on_result(void *user, struct sb_result *r)
{
    struct seen *seen = user;
    ck_assert_int_lt(seen->count, MAX_RESULTS);
    seen->result[seen->count++] = *r;
}

static struct seen supervised(enum judge_kind judge, const char *names, double limit)
{
    static char program[] = "test", worker[] = "worker", kind[16];
    static char *const argv[] = {program, worker, kind, NULL};
    struct sb_supervisor s = {
        .program = "/proc/self/exe", .argv = argv, .device = "host", .limit_seconds = limit, .needs_device = true};
    const struct sb_job job = job_of(sampled_id, names);
    struct sb_error err = {0};
    static struct seen seen;
    memset(&seen, 0, sizeof seen);
    snprintf(kind, sizeof kind, "%d", (int)judge);
    ck_assert_int_eq(sb_supervisor_run(&s, &job, on_result, &seen, &err), SB_JOB_DONE);
    sb_supervisor_close(&s);
    return seen;
}

/* It fails once, is not asked again, and the others are compared with what is left. */
START_TEST(it_crashes_or_hangs_or_breaks_the_device)
{
    static const char *const detail[] = {
        [CRASHES] = "the worker ended with ", [HANGS] = "did not finish within 6 s ", [BROKEN] = "CUDA error 700"};
    for (int kind = BROKEN; kind <= HANGS; kind++)
        for (int selected = 0; selected < 2; selected++) {
            const struct seen seen =
                supervised((enum judge_kind)kind, selected ? "ref,right,judge,wrong" : "right,wrong", 6);
            ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
            ASSERT_HAS(of(&seen, "judge")->detail, detail[kind]);
            expect_samples(of(&seen, "right"), SB_PASS, "the device judge failed: see its own result");
            expect_samples(of(&seen, "wrong"), SB_PASS, "the device judge failed: see its own result");
            ck_assert_int_eq(seen.count, selected ? 4 : 3);
        }
}
END_TEST

/* A new worker asks the judge again; its own result still comes once. */
START_TEST(another_crashes)
{
    for (int selected = 0; selected < 2; selected++) {
        struct seen seen = supervised(GOOD, selected ? "judge,wrong,crashes,right" : "wrong,crashes,right", 60);
        expect_whole(of(&seen, "wrong"), SB_FAIL);
        expect_whole(of(&seen, "right"), SB_PASS);
        ck_assert_int_eq(of(&seen, "crashes")->outcome, SB_FAIL);
        ck_assert_int_eq(seen.count, selected ? 4 : 3);
        if (selected)
            expect_samples(of(&seen, "judge"), SB_PASS, "");
        seen = supervised(WRONG_OUTSIDE, selected ? "right,judge,crashes,inside" : "right,crashes,inside", 60);
        ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
        expect_samples(of(&seen, "right"), SB_PASS, "the device judge is wrong");
        expect_samples(of(&seen, "inside"), SB_FAIL, "the device judge failed: see its own result");
        ck_assert_int_eq(seen.count, 4);
        seen = supervised(GOOD, selected ? "crashes,judge" : "crashes", 60);
        ck_assert_int_eq(of(&seen, "crashes")->outcome, SB_FAIL);
        ck_assert_int_eq(seen.count, 1 + selected);
        if (selected)
            expect_samples(of(&seen, "judge"), SB_PASS, "");
    }
}
END_TEST

/* Whoever gave the bytes of a judge that another proves wrong is wrong as well, whoever died in between. */
START_TEST(it_takes_its_likes_along)
{
    static const char *const jobs[] = {"wrong,right", "wrong,crashes,right", "wrong,judge,crashes,otherwise"};
    for (int i = 0; i < 3; i++) {
        const struct seen seen = supervised(WRONG_OUTSIDE, jobs[i], 60);
        ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
        expect_whole(of(&seen, "wrong"), SB_FAIL);
        ASSERT_HAS(of(&seen, "wrong")->detail, "every byte was the device judge's, which was found to be wrong");
        if (i < 2)
            expect_samples(of(&seen, "right"), SB_PASS, "the device judge is wrong: see its own result");
        ck_assert_int_eq(seen.count, 3 + (i > 0));
    }
    /* One that fails by itself, in a later worker, has proved nothing against them. */
    FILE *f = fopen(first_worker, "w");
    ck_assert(f != NULL && fclose(f) == 0);
    const struct seen seen = supervised(ERRS_LATER, "right,crashes,inside", 60);
    ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
    expect_whole(of(&seen, "right"), SB_PASS);
    expect_samples(of(&seen, "inside"), SB_FAIL, "the device judge failed: see its own result");
}
END_TEST

/* Starting over on samples is its own doing, not the judge's, whose result went out before. */
START_TEST(a_crash_when_it_starts_over)
{
    const struct seen seen = supervised(WRONG_OUTSIDE, "crashes_later", 60);
    ck_assert_int_eq(of(&seen, "judge")->outcome, SB_FAIL);
    ASSERT_HAS(of(&seen, "judge")->detail, "\nfound by crashes_later");
    ck_assert_int_eq(of(&seen, "crashes_later")->outcome, SB_FAIL);
    ASSERT_HAS(of(&seen, "crashes_later")->detail, "the worker ended with ");
    ck_assert_int_eq(seen.count, 2);
}
END_TEST

/* ---- the table ---------------------------------------------------------------------------------------- */

START_TEST(an_op_has_one_judge_at_most)
{
    const struct sb_op_table *ops = sb_op_table();
    for (int k = 0; k < ops->list.count; k++) {
        int judges = 0;
        for (const struct sb_variant *v = ops->row[k].variants; v->name != NULL; v++)
            judges += v->judge;
        ck_assert_int_le(judges, 1);
        const struct sb_variant *judge = sb_variant_judge(&ops->row[k]);
        ck_assert_int_eq(judge != NULL, judges == 1);
        /* Wherever samples are all that is known somebody can vouch for the rest, and be called to order. */
        ck_assert(ops->row[k].op->samples == NULL || (judge != NULL && strcmp(judge->targets, "any") == 0));
        ck_assert((ops->row[k].op->samples == NULL) == (ops->row[k].op->reference_block == NULL));
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("run_case on whole outputs");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, what_no_sample_holds_is_seen);
    tcase_add_test(t, other_faults_are_seen_as_ever);
    tcase_add_test(t, left_out_it_works_all_the_same);
    tcase_add_test(t, it_is_not_run_for_nobody);
    tcase_add_test(t, wrong_in_a_sample);
    tcase_add_test(t, wrong_outside_the_samples);
    tcase_add_test(t, a_wrong_judge_excuses_nobody);
    tcase_add_test(t, without_the_reference_both_may_be_wrong);
    tcase_add_test(t, what_it_cannot_is_said);
    tcase_add_test(t, too_little_host_memory);
    tcase_add_test(t, a_device_that_fails_in_it);
    tcase_add_test(t, it_crashes_or_hangs_or_breaks_the_device);
    tcase_add_test(t, another_crashes);
    tcase_add_test(t, it_takes_its_likes_along);
    tcase_add_test(t, a_crash_when_it_starts_over);
    tcase_add_test(t, an_op_has_one_judge_at_most);
    suite_add_tcase(s, t);
    return s;
}

static int serve_as_worker(enum judge_kind judge)
{
    const struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host (sm_0)"};
    const struct sb_memory memory = sb_memory_host();
    FILE *out = fdopen(SB_WORKER_FD, "w");
    set_up(judge);
    return out == NULL ? 2 : sb_worker_serve(&table, &memory, &hello, stdin, out);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "worker") == 0)
        return serve_as_worker((enum judge_kind)atoi(argv[2]));
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int ran = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return ran > 0 && failed == 0 ? 0 : 1;
}
