/* harness_fake.h - a made-up op on host memory, and implementations of it that misbehave in every way the runner has
 * to notice. dst[i] = 3 * src[i] + 1, total = n. reject=1 makes the call one that must be rejected; after=M asks for a
 * larger call in the same buffers first; scale is optional and unused. */
#ifndef SAMEBITS_TESTS_HARNESS_FAKE_H
#define SAMEBITS_TESTS_HARNESS_FAKE_H

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../harness/ops.h"

/* ---- the golden side ------------------------------------------------------------------------------ */

static const char *const fake_break[] = {"none", "generator", "reference", "hang", NULL};

static const struct sb_param_spec fake_params[] = {
    {.name = "n", .kind = SB_PARAM_INT, .standard = NULL, .min = 0, .max = 1 << 20, .help = "elements"},
    {.name = "reject", .kind = SB_PARAM_INT, .standard = "0", .min = 0, .max = 1, .help = "a call to be rejected"},
    {.name = "after",
     .kind = SB_PARAM_INT,
     .standard = "0",
     .min = 0,
     .max = 1 << 20,
     .help = "elements of a call made first"},
    {.name = "repeat", .kind = SB_PARAM_INT, .standard = "1", .min = 1, .max = 100, .help = "runs"},
    {.name = "misalign", .kind = SB_PARAM_INT, .standard = "0", .min = 0, .max = 15, .help = "bytes src is off by"},
    {.name = "misalign_out", .kind = SB_PARAM_INT, .standard = "0", .min = 0, .max = 12, .help = "bytes dst is off by"},
    {.name = "broken",
     .kind = SB_PARAM_ENUM,
     .standard = "none",
     .choices = fake_break,
     .help = "what goes wrong here"},
    {.name = NULL},
};
static const struct sb_tensor_spec fake_inputs[] = {
    {"src", "numbers", false}, {"scale", "absent", true}, {NULL, NULL, false}};
static const struct sb_tensor_spec fake_outputs[] = {
    {"dst", "3 * src + 1", false}, {"total", "n", false}, {NULL, NULL, false}};
static const struct sb_case_row fake_cases[] = {
    {"n=1000", SB_SMOKE | SB_STANDARD, "the plain case"},
    {"n=0", SB_SMOKE, "no element"},
    {"n=16,reject=1", SB_STANDARD, "rejected"},
    {"n=20,after=500", SB_STANDARD, "a stale tail"},
    {"n=3,reject=1", SB_ARGUMENTS, "refused for an argument"},
    {NULL, 0, NULL},
};

static bool fake_generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const int64_t n = sb_case_int(c, "n");
    memset(d, 0, sizeof *d);
    if (strcmp(sb_case_text(c, "broken"), "generator") == 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "the generator has no such numbers");
    if (!sb_tensor_alloc(&d->in[0], "src", SB_I32, 1, &n, err))
        return false;
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)d->in[0].data)[i] = (int32_t)(i * 7919 + 12345);
    return true;
}

static bool fake_reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const int64_t n = sb_case_int(c, "n");
    const char *broken = sb_case_text(c, "broken");
    if (strcmp(broken, "reference") == 0)
        raise(SIGSEGV);
    while (strcmp(broken, "hang") == 0)
        pause();
    d->status = sb_status_ok();
    if (sb_case_int(c, "reject") != 0) {
        d->status = sb_reject(SB_BAD_ARGUMENT, 1, n, 0);
        d->out[0] = (struct sb_tensor){.name = "dst", .dtype = SB_I32, .rank = 1, .shape = {n}};
        d->out[1] = (struct sb_tensor){.name = "total", .dtype = SB_I64, .rank = 0};
        return true;
    }
    if (!sb_tensor_alloc(&d->out[0], "dst", SB_I32, 1, &n, err) ||
        !sb_tensor_alloc(&d->out[1], "total", SB_I64, 0, NULL, err))
        return false;
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)d->out[0].data)[i] = 3 * ((const int32_t *)d->in[0].data)[i] + 1;
    memcpy(d->out[1].data, &n, sizeof n);
    return true;
}

/* Holds for any permutation of dst. */
static bool fake_relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why,
                           size_t size)
{
    int64_t want = 0, have = 0;
    for (int64_t i = 0; i < sb_case_int(c, "n"); i++) {
        want += 3 * ((const int32_t *)d->in[0].data)[i] + 1;
        have += ((const int32_t *)out[0].data)[i];
    }
    snprintf(why, size, "sum %" PRId64 " is not %" PRId64, have, want);
    return want == have;
}

static const char *fake_prelude(const struct sb_case *c, char *id, size_t size)
{
    if (sb_case_int(c, "after") == 0)
        return NULL;
    snprintf(id, size, "fake/n=%" PRId64, sb_case_int(c, "after"));
    return id;
}

/* src and dst, both the first of their kind. */
static int fake_misalign(const struct sb_case *c, bool output, int index)
{
    return index == 0 ? (int)sb_case_int(c, output ? "misalign_out" : "misalign") : 0;
}

static const struct sb_op fake_op = {.name = "fake",
                                     .contract = "fake",
                                     .contract_version = 1,
                                     .summary = "an op for tests",
                                     .params = fake_params,
                                     .inputs = fake_inputs,
                                     .outputs = fake_outputs,
                                     .cases = fake_cases,
                                     .generate = fake_generate,
                                     .reference = fake_reference,
                                     .relations = fake_relations,
                                     .prelude = fake_prelude,
                                     .misalign = fake_misalign};

/* ---- implementations ------------------------------------------------------------------------------ */

struct fake_view {
    int32_t *src, *dst;
    int64_t n;
    int64_t *total;
    struct sb_status *status;
    unsigned char *workspace;
};

static struct fake_view fake_view(const struct sb_gpu_call *call)
{
    return (struct fake_view){sb_call_in(call, "src")->data,
                              sb_call_out(call, "dst")->data,
                              sb_call_int(call, "n"),
                              sb_call_out(call, "total")->data,
                              call->status,
                              call->workspace};
}

enum { FAKE_WORKSPACE = 64 };

static size_t fake_workspace(const struct sb_gpu_call *call)
{
    (void)call;
    return FAKE_WORKSPACE;
}

static const struct sb_gpu_result fake_success = {0, {SB_OK, 0, {0, 0, 0}, 0}};

static struct sb_gpu_result fake_right(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    if (sb_call_int(call, "reject") != 0) {
        *v.status = sb_reject(SB_BAD_ARGUMENT, 1, v.n, 0);
        return fake_success;
    }
    for (int64_t i = 0; i < v.n; i++) {
        int32_t each; /* src may be misaligned */
        memcpy(&each, (const char *)v.src + 4 * i, sizeof each);
        v.dst[i] = 3 * each + 1;
    }
    *v.total = v.n;
    memset(v.workspace, 0x77, FAKE_WORKSPACE);
    *v.status = sb_status_ok();
    return fake_success;
}

/* Rejects on the host and leaves the device alone. */
static struct sb_gpu_result fake_host_reject(const struct sb_gpu_call *call)
{
    if (sb_call_int(call, "reject") != 0)
        return (struct sb_gpu_result){0, sb_reject(SB_BAD_ARGUMENT, 1, sb_call_int(call, "n"), 0)};
    return fake_right(call);
}

static struct sb_gpu_result fake_wrong_last(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    const struct fake_view v = fake_view(call);
    v.dst[v.n - 1] ^= 1;
    return r;
}

/* The right answer is in the buffer from the run before: only a poison shows that nobody wrote it. */
static struct sb_gpu_result fake_short_tail(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    for (int64_t i = 0; i + 5 < v.n; i++)
        v.dst[i] = 3 * v.src[i] + 1;
    *v.total = v.n;
    *v.status = sb_status_ok();
    return fake_success;
}

/* Leaves one byte unwritten whose right value is one of the poisons: the other poison has to show it. */
static struct sb_gpu_result fake_lucky_byte(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    unsigned char kept[4];
    memcpy(kept, &v.dst[0], sizeof kept);
    const struct sb_gpu_result r = fake_right(call);
    unsigned char *now = (unsigned char *)v.dst;
    now[0] = kept[0] == 0xA5 ? now[0] : kept[0];
    return r;
}

static struct sb_gpu_result fake_overrun_after(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    const struct fake_view v = fake_view(call);
    v.dst[v.n] = 0;
    return r;
}

static struct sb_gpu_result fake_overrun_before(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    fake_view(call).dst[-2] = 0;
    return r;
}

static struct sb_gpu_result fake_overrun_workspace(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    call->workspace == NULL ? abort() : memset((char *)call->workspace + FAKE_WORKSPACE, 0, 3);
    return r;
}

static struct sb_gpu_result fake_overrun_input(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    const struct fake_view v = fake_view(call);
    v.src[v.n] = 0;
    return r;
}

static struct sb_gpu_result fake_overrun_status(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    memset(call->status + 1, 0, 2);
    return r;
}

static struct sb_gpu_result fake_changes_input(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    fake_view(call).src[3] ^= 0x100;
    return r;
}

static struct sb_gpu_result fake_writes_on_reject(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    const struct sb_gpu_result r = fake_right(call);
    if (sb_call_int(call, "reject") != 0)
        v.dst[2] = 7;
    return r;
}

static struct sb_gpu_result fake_wrong_where(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    call->status->where[1] += 1;
    return r;
}

static struct sb_gpu_result fake_no_status(const struct sb_gpu_call *call)
{
    struct sb_status before = *call->status;
    const struct sb_gpu_result r = fake_right(call);
    *call->status = before;
    return r;
}

static struct sb_gpu_result fake_wants_zeros(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    const int64_t start = v.workspace[0];
    const struct sb_gpu_result r = fake_right(call);
    *v.total = v.n + start;
    return r;
}

/* Counts on a workspace that was never used: fails after a larger call only. */
static struct sb_gpu_result fake_wants_unused(const struct sb_gpu_call *call)
{
    const struct fake_view v = fake_view(call);
    const bool dirty = v.workspace[5] == 0x77;
    const struct sb_gpu_result r = fake_right(call);
    if (dirty)
        v.dst[0]++;
    return r;
}

static struct sb_gpu_result fake_other_order(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = fake_right(call);
    const struct fake_view v = fake_view(call);
    const int32_t first = v.dst[0];
    v.dst[0] = v.dst[v.n - 1];
    v.dst[v.n - 1] = first;
    return r;
}

/* Right in the first two runs, wrong from the third on. */
static struct sb_gpu_result fake_flaky(const struct sb_gpu_call *call)
{
    static int calls;
    const struct sb_gpu_result r = fake_right(call);
    if (++calls > 2)
        fake_view(call).dst[1]++;
    return r;
}

static struct sb_gpu_result fake_error(const struct sb_gpu_call *call)
{
    (void)call;
    return (struct sb_gpu_result){700, {SB_OK, 0, {0, 0, 0}, 0}};
}

static struct sb_gpu_result fake_nothing(const struct sb_gpu_call *call)
{
    (void)call;
    return fake_success;
}

static struct sb_gpu_result fake_crash(const struct sb_gpu_call *call)
{
    (void)call;
    raise(SIGSEGV);
    return fake_success;
}

static struct sb_gpu_result fake_hang(const struct sb_gpu_call *call)
{
    (void)call;
    while (getpid() > 0)
        pause();
    return fake_success;
}

/* Prints what looks like a message of the worker. */
static struct sb_gpu_result fake_chatty(const struct sb_gpu_call *call)
{
    printf("{\"record\":\"done\",\"name\":\"\",\"slow\":false,\"usable\":false,\"exit\":0,\"device\":\"\",\"text\":"
           "\"\"}\n");
    fflush(stdout);
    return fake_right(call);
}

static struct sb_gpu_result fake_exits(const struct sb_gpu_call *call)
{
    (void)call;
    _exit(0);
    return fake_success;
}

static struct sb_gpu_result fake_misaligned(const struct sb_gpu_call *call)
{
    const int64_t in = (int64_t)((uintptr_t)sb_call_in(call, "src")->data % 16);
    const int64_t out = (int64_t)((uintptr_t)sb_call_out(call, "dst")->data % 16);
    const int64_t other = (int64_t)((uintptr_t)sb_call_out(call, "total")->data % 16);
    const struct sb_gpu_result r = fake_right(call);
    if (in != sb_call_int(call, "misalign") || out != sb_call_int(call, "misalign_out") || other != 0)
        *fake_view(call).total = -1 - in - out;
    return r;
}

static const char *fake_refuse(const struct sb_gpu_call *call, int compute_capability)
{
    (void)call;
    (void)compute_capability;
    return "needs a GPU with wings";
}

#define FAKE(word)                                                                                                     \
    {                                                                                                                  \
        .name = #word, .targets = "any", .summary = "test", .run = fake_##word, .workspace = fake_workspace            \
    }

static const struct sb_variant fake_variants[] = {
    FAKE(right),
    FAKE(host_reject),
    FAKE(wrong_last),
    FAKE(short_tail),
    FAKE(lucky_byte),
    FAKE(overrun_after),
    FAKE(overrun_before),
    FAKE(overrun_workspace),
    FAKE(overrun_input),
    FAKE(overrun_status),
    FAKE(changes_input),
    FAKE(writes_on_reject),
    FAKE(wrong_where),
    FAKE(no_status),
    FAKE(wants_zeros),
    FAKE(wants_unused),
    FAKE(other_order),
    FAKE(flaky),
    FAKE(error),
    FAKE(nothing),
    FAKE(crash),
    FAKE(hang),
    FAKE(chatty),
    FAKE(exits),
    FAKE(misaligned),
    {.name = "refuses",
     .targets = "any",
     .summary = "test",
     .run = fake_right,
     .workspace = fake_workspace,
     .cannot = fake_refuse},
    {.name = "elsewhere", .targets = "sm_100f", .summary = "test", .run = fake_right, .workspace = fake_workspace},
    {.name = "uncompiled", .targets = "any", .summary = "test"},
    {0},
};

static const struct sb_op *const fake_ops[] = {&fake_op};
static const struct sb_op_row fake_rows[] = {{&fake_op, fake_variants}};
static const struct sb_op_table fake_table = {fake_rows, {fake_ops, 1}};

#endif
