/* run_case.c - the checked call of a variant. What is watched, on every run:
 *   outputs    filled with a poison, then compared byte for byte (untouched after a rejection); of a sampled one the
 *              samples are compared, and all of it with the run before (see rerun.h)
 *   guards     4 KiB and more on both sides of every output, input, workspace and status word
 *   inputs     the same bytes after the call, gaps included
 *   workspace  filled with garbage (after a prelude: as the prelude left it)
 *   status     poisoned, then compared byte for byte
 *   device     synchronised as a whole, pending errors taken up
 */
#include "run_case.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "../golden/samples.h"
#include "compare.h"
#include "device.h"
#include "rerun.h"
#include "text.h"

enum { RUNS = 2 };

/* No bit in common, so a byte nobody wrote shows in one run at least, whatever the right value is. */
static const unsigned char poisons[RUNS] = {0xA5, 0x5A};
static const unsigned char garbage[RUNS] = {0xFF, 0x3B};

/* In order of severity. CANNOT: this GPU or this call cannot (its memory, or the variant says so); SHORT: another
 * machine or build could, this host lacks memory or kernels. Neither ever hides a fault. */
enum verdict { GOOD, CANNOT, SHORT, WRONG, BROKEN };

struct bench {
    const struct sb_variant *variant;
    const struct sb_memory *m;
    struct sb_result *result;
    int n_in, n_out;
    struct sb_buffer in[SB_MAX_TENSORS], out[SB_MAX_TENSORS], workspace, status;
    void *before[SB_MAX_TENSORS]; /* a sampled output as the last run left it, on the host */
    struct sb_tensor *kept;       /* where the caller wants the outputs of the last run, or NULL */
    struct sb_error err;          /* of the device */
};

/* One call: the tensors of a case in the buffers of the bench. */
struct call {
    const struct sb_case *c;
    const struct sb_data *data;
    struct sb_tensor in[SB_MAX_TENSORS], out[SB_MAX_TENSORS];
    struct sb_scalar scalar[SB_MAX_PARAMS];
    struct sb_gpu_call gpu;
};

static void note(struct bench *b, const char *text)
{
    sb_append_line(b->result->detail, sizeof b->result->detail, "%s", text);
}

static enum verdict broken(struct bench *b)
{
    note(b, b->err.text);
    return BROKEN;
}

static void *host_bytes(const struct bench *b, size_t bytes)
{
    const size_t some = bytes > 0 ? bytes : 1;
    return b->m->host_allocate != NULL ? b->m->host_allocate(some) : malloc(some);
}

/* Names what could not be looked at, so that nobody takes it for looked at. */
static enum verdict short_of_host_memory(struct bench *b, const char *name, size_t bytes)
{
    sb_append_line(b->result->detail, sizeof b->result->detail,
                   "not enough host memory for %zu bytes of %s: its bytes were not compared", bytes, name);
    return SHORT;
}

static size_t bytes_of(const struct sb_tensor *t)
{
    return sb_tensor_span_bytes(t);
}

/* Of output `i` as an implementation writes it. */
static size_t output_bytes(const struct sb_data *data, int i)
{
    return bytes_of(sb_output_whole(data, i));
}

/* ---- buffers -------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes past a 16-byte boundary, as the case asks. */
static size_t misalign(const struct sb_case *c, bool output, int index)
{
    return c->op->misalign != NULL ? (size_t)c->op->misalign(c, output, index) : 0;
}

static bool open_buffers(struct bench *b, const struct sb_case *c, const struct sb_data *data,
                         const struct sb_prelude *prelude, struct sb_error *err)
{
    const struct sb_op *op = c->op;
    for (int i = 0; i < b->n_in; i++) {
        if (data->in[i].data == NULL && (prelude == NULL || prelude->data->in[i].data == NULL))
            continue;
        const size_t mine = data->in[i].data != NULL ? bytes_of(&data->in[i]) : 0;
        const size_t other = prelude != NULL && prelude->data->in[i].data != NULL ? bytes_of(&prelude->data->in[i]) : 0;
        if (!sb_buffer_open(&b->in[i], b->m, op->inputs[i].name, larger(mine, other), misalign(c, false, i), err))
            return false;
    }
    for (int i = 0; i < b->n_out; i++) {
        if (sb_tensor_absent(&op->outputs[i], &data->out[i]))
            continue;
        const size_t other = prelude != NULL ? output_bytes(prelude->data, i) : 0;
        if (!sb_buffer_open(&b->out[i], b->m, op->outputs[i].name, larger(output_bytes(data, i), other),
                            misalign(c, true, i), err))
            return false;
    }
    return sb_buffer_open(&b->status, b->m, "the status word", sizeof(struct sb_status), 0, err);
}

static void close_buffers(struct bench *b)
{
    for (int i = 0; i < SB_MAX_TENSORS; i++) {
        sb_buffer_close(&b->in[i], b->m);
        sb_buffer_close(&b->out[i], b->m);
        free(b->before[i]);
    }
    sb_buffer_close(&b->workspace, b->m);
    sb_buffer_close(&b->status, b->m);
}

static struct sb_tensor on_device(const struct sb_tensor *host, const struct sb_buffer *buffer, const char *name)
{
    struct sb_tensor t = *host;
    t.name = name;
    t.data = buffer->base != NULL ? sb_buffer_data(buffer) : NULL;
    return t;
}

static void build_call(struct call *call, const struct bench *b, const struct sb_case *c, const struct sb_data *data)
{
    memset(call, 0, sizeof *call);
    call->c = c;
    call->data = data;
    for (int i = 0; i < b->n_in; i++) {
        call->in[i] = on_device(&data->in[i], &b->in[i], c->op->inputs[i].name);
        if (data->in[i].data == NULL)
            call->in[i].data = NULL;
    }
    for (int i = 0; i < b->n_out; i++)
        call->out[i] = on_device(sb_output_whole(data, i), &b->out[i], c->op->outputs[i].name);
    int scalars = 0;
    for (int i = 0; c->op->params[i].name != NULL; i++)
        if (c->op->params[i].kind != SB_PARAM_TEXT)
            call->scalar[scalars++] = (struct sb_scalar){c->op->params[i].name, c->param[i].value};
    call->gpu = (struct sb_gpu_call){.in = call->in,
                                     .n_in = b->n_in,
                                     .out = call->out,
                                     .n_out = b->n_out,
                                     .scalar = call->scalar,
                                     .n_scalar = scalars,
                                     .status = sb_buffer_data(&b->status),
                                     .stream = b->m->stream};
    call->gpu.workspace_bytes = b->variant->workspace != NULL ? b->variant->workspace(&call->gpu) : 0;
}

/* ---- before and after one call -------------------------------------------------------------------- */

/* Inputs in, outputs and status poisoned, guards renewed. The workspace gets `waste` bytes, or stays (waste < 0). */
static bool lay_out(struct bench *b, struct call *call, int poison, int waste)
{
    const struct sb_memory *m = b->m;
    struct sb_error *err = &b->err;
    for (int i = 0; i < b->n_in; i++) {
        const struct sb_tensor *host = &call->data->in[i];
        if (b->in[i].base == NULL)
            continue;
        const size_t bytes = host->data != NULL ? bytes_of(host) : 0;
        if (!sb_buffer_place(&b->in[i], m, bytes, err))
            return false;
        if (bytes > 0 && !m->upload(sb_buffer_data(&b->in[i]), host->data, bytes, err))
            return false;
    }
    for (int i = 0; i < b->n_out; i++) {
        if (b->out[i].base == NULL)
            continue;
        const size_t bytes = output_bytes(call->data, i);
        if (!sb_buffer_place(&b->out[i], m, bytes, err) || !m->fill(sb_buffer_data(&b->out[i]), poison, bytes, err))
            return false;
    }
    if (waste >= 0 && !m->fill(b->workspace.base, waste, b->workspace.total, err))
        return false;
    if (!sb_buffer_place(&b->workspace, m, call->gpu.workspace_bytes, err))
        return false;
    call->gpu.workspace = sb_buffer_data(&b->workspace);
    return sb_buffer_place(&b->status, m, sizeof(struct sb_status), err) &&
           m->fill(sb_buffer_data(&b->status), poison, sizeof(struct sb_status), err) && m->synchronise(err);
}

static enum verdict one_guard(struct bench *b, const struct sb_buffer *buffer, const char *kind)
{
    bool intact = false;
    char text[400];
    if (buffer->base == NULL)
        return GOOD;
    if (!sb_buffer_guards(buffer, b->m, &intact, text, sizeof text, &b->err))
        return broken(b);
    if (intact)
        return GOOD;
    sb_append_line(b->result->detail, sizeof b->result->detail, "%s%s", kind, text);
    return WRONG;
}

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

static enum verdict check_guards(struct bench *b)
{
    enum verdict v = GOOD;
    for (int i = 0; i < b->n_out && v != BROKEN; i++)
        v = worse(v, one_guard(b, &b->out[i], "output "));
    for (int i = 0; i < b->n_in && v != BROKEN; i++)
        v = worse(v, one_guard(b, &b->in[i], "input "));
    if (v != BROKEN)
        v = worse(v, one_guard(b, &b->workspace, ""));
    if (v != BROKEN)
        v = worse(v, one_guard(b, &b->status, ""));
    return v;
}

static enum verdict check_input(struct bench *b, const struct sb_tensor *host, const struct sb_buffer *buffer)
{
    const size_t bytes = bytes_of(host);
    unsigned char *now = host_bytes(b, bytes);
    if (now == NULL)
        return short_of_host_memory(b, buffer->name, bytes);
    enum verdict v = GOOD;
    if (!b->m->download(now, sb_buffer_data(buffer), bytes, &b->err))
        v = broken(b);
    else if (memcmp(now, host->data, bytes) != 0) {
        size_t first = 0, changed = 0;
        for (size_t i = bytes; i-- > 0;)
            if (now[i] != ((const unsigned char *)host->data)[i]) {
                first = i;
                changed++;
            }
        sb_append_line(b->result->detail, sizeof b->result->detail,
                       "the call changed its input %s: %zu bytes, the first at byte %zu", buffer->name, changed, first);
        v = WRONG;
    }
    free(now);
    return v;
}

static enum verdict check_inputs(struct bench *b, const struct call *call)
{
    enum verdict v = GOOD;
    for (int i = 0; i < b->n_in && v != BROKEN; i++)
        if (call->in[i].data != NULL)
            v = worse(v, check_input(b, &call->data->in[i], &b->in[i]));
    return v;
}

/* Brings output `i` whole to the host. */
static enum verdict fetch(struct bench *b, int i, struct sb_tensor *out)
{
    const size_t bytes = bytes_of(out);
    out->data = host_bytes(b, bytes);
    if (out->data == NULL)
        return short_of_host_memory(b, b->out[i].name, bytes);
    return b->m->download(out->data, sb_buffer_data(&b->out[i]), bytes, &b->err) ? GOOD : broken(b);
}

/* The same for an output that is expected in samples: what no sample holds is held to the run before. */
static enum verdict fetch_sampled(struct bench *b, int i, int run, struct sb_tensor *out)
{
    if (b->before[i] == NULL) {
        const enum verdict v = fetch(b, i, out);
        b->before[i] = out->data;
        return v;
    }
    struct sb_rerun rerun = {
        .before = b->before[i], .poison_before = poisons[(run - 1) % RUNS], .poison = poisons[run % RUNS]};
    out->data = b->before[i];
    const size_t room = larger(1, bytes_of(out) < SB_RERUN_CHUNK ? bytes_of(out) : SB_RERUN_CHUNK);
    void *chunk = host_bytes(b, room);
    if (chunk == NULL)
        return short_of_host_memory(b, b->out[i].name, room);
    const bool read = sb_rerun_compare(&rerun, out, sb_buffer_data(&b->out[i]), b->m, chunk, room, &b->err);
    free(chunk);
    if (!read)
        return broken(b);
    sb_rerun_tell(&rerun, out, run, b->result);
    return rerun.unwritten + rerun.different > 0 ? WRONG : GOOD;
}

/* The status that the call gave: on the device, or found on the host. */
static enum verdict read_status(struct bench *b, const struct sb_status *from_launch, int poison,
                                struct sb_status *status)
{
    if (!b->m->download(status, sb_buffer_data(&b->status), sizeof *status, &b->err))
        return broken(b);
    if (from_launch->code == SB_OK)
        return GOOD;
    /* Found on the host: the device's word may be left alone, or say the same. */
    struct sb_status unwritten;
    memset(&unwritten, poison, sizeof unwritten);
    const bool fits =
        memcmp(status, &unwritten, sizeof *status) == 0 || memcmp(status, from_launch, sizeof *status) == 0;
    if (!fits)
        note(b, "the status word on the device is neither untouched nor the one the call returned");
    *status = *from_launch;
    return fits ? GOOD : WRONG;
}

/* Of the outputs that were brought to the host those of the last run stay for whoever asked; `before` stays as well. */
static void keep_or_free(struct bench *b, struct sb_tensor *out)
{
    for (int i = 0; i < b->n_out; i++) {
        if (out[i].data == b->before[i])
            continue;
        if (b->kept != NULL)
            b->kept[i] = out[i];
        else
            free(out[i].data);
    }
}

static void hand_over_sampled(struct bench *b, const struct sb_data *expected)
{
    for (int i = 0; b->kept != NULL && i < b->n_out; i++) {
        if (b->before[i] == NULL)
            continue;
        b->kept[i] = *sb_output_whole(expected, i);
        b->kept[i].data = b->before[i];
        b->before[i] = NULL;
    }
}

/* Brings status and outputs to the host and lets the judge look at them. */
static enum verdict check_outputs(struct bench *b, const struct call *call, const struct sb_status *from_launch,
                                  int run)
{
    const int poison = poisons[run % RUNS];
    struct sb_tensor out[SB_MAX_TENSORS] = {0};
    struct sb_status status;
    bool complete = true;
    if (b->kept != NULL) /* a large one is held once, not twice */
        sb_tensors_free(b->kept, b->n_out);
    enum verdict v = read_status(b, from_launch, poison, &status);
    for (int i = 0; i < b->n_out && v != BROKEN; i++) {
        out[i] = call->out[i];
        out[i].data = NULL;
        if (b->out[i].base == NULL)
            continue;
        const bool sampled = call->data->samples[i].count > 0;
        v = worse(v, sampled ? fetch_sampled(b, i, run, &out[i]) : fetch(b, i, &out[i]));
        complete = complete && out[i].data != NULL;
    }
    if (v != BROKEN && complete) {
        struct sb_result judged = *b->result;
        judged.bytes_compared = 0;
        sb_judge_outputs(call->c, call->data, out, false, &status, poison, &judged);
        *b->result = judged;
        v = worse(v, judged.outcome == SB_PASS ? GOOD : WRONG);
    }
    keep_or_free(b, out);
    return v;
}

/* ---- runs ----------------------------------------------------------------------------------------- */

static enum verdict launch(struct bench *b, struct call *call, const char *which, struct sb_gpu_result *launched)
{
    const int64_t before = b->m->launches();
    *launched = b->variant->run(&call->gpu);
    if (before >= 0)
        b->result->launches = b->m->launches() - before;
    if (launched->cuda_error != 0) {
        sb_append_line(b->result->detail, sizeof b->result->detail, "%sthe launch failed: CUDA error %d, %s", which,
                       launched->cuda_error, b->m->error_text(launched->cuda_error));
        return BROKEN;
    }
    if (!b->m->synchronise(&b->err)) {
        sb_append_line(b->result->detail, sizeof b->result->detail, "%s%s", which, b->err.text);
        return BROKEN;
    }
    return GOOD;
}

static enum verdict checked_run(struct bench *b, struct call *call, int run, int runs, int waste)
{
    struct sb_gpu_result launched;
    const unsigned char poison = poisons[run % RUNS];
    if (!lay_out(b, call, poison, waste))
        return broken(b);
    enum verdict v = launch(b, call, "", &launched);
    if (v == GOOD)
        v = check_guards(b);
    if (v != BROKEN)
        v = worse(v, check_inputs(b, call));
    if (v != BROKEN)
        v = worse(v, check_outputs(b, call, &launched.status, run));
    if (v == WRONG || v == BROKEN)
        sb_append_line(b->result->detail, sizeof b->result->detail, "in run %d of %d, outputs poisoned with 0x%02X",
                       run + 1, runs, (unsigned)poison);
    return v;
}

static enum verdict all_runs(struct bench *b, const struct sb_case *c, const struct sb_data *expected,
                             const struct sb_prelude *prelude)
{
    struct call call, first;
    struct sb_error err = {0};
    const char *reason = NULL;
    build_call(&call, b, c, expected);
    if (prelude != NULL)
        build_call(&first, b, prelude->c, prelude->data);
    if (b->variant->cannot != NULL)
        reason = b->variant->cannot(&call.gpu, b->m->compute_capability);
    if (reason != NULL) {
        sb_append(b->result->detail, sizeof b->result->detail, "%s", reason);
        return CANNOT;
    }
    const size_t workspace = larger(call.gpu.workspace_bytes, prelude != NULL ? first.gpu.workspace_bytes : 0);
    if (!sb_buffer_open(&b->workspace, b->m, "the workspace", workspace, 0, &err)) {
        sb_append(b->result->detail, sizeof b->result->detail, "%s", err.text);
        return CANNOT;
    }
    const int64_t repeat = sb_case_has(c, "repeat") ? sb_case_int(c, "repeat") : RUNS;
    const int runs = repeat > RUNS ? (int)repeat : RUNS;
    enum verdict v = GOOD;
    for (int run = 0; run < runs && v == GOOD; run++) {
        int waste = garbage[run % RUNS];
        if (prelude != NULL) {
            struct sb_gpu_result launched;
            if (!lay_out(b, &first, poisons[run % RUNS], waste))
                return broken(b);
            v = launch(b, &first, "in the larger call made first: ", &launched);
            waste = -1;
        }
        if (v == GOOD)
            v = checked_run(b, &call, run, runs, waste);
    }
    return v;
}

bool sb_run_case(const struct sb_variant *variant, const struct sb_case *c, const struct sb_data *expected,
                 const struct sb_prelude *prelude, const struct sb_memory *memory, struct sb_result *result)
{
    return sb_run_case_keeping(variant, c, expected, prelude, memory, NULL, result);
}

bool sb_run_case_keeping(const struct sb_variant *variant, const struct sb_case *c, const struct sb_data *expected,
                         const struct sb_prelude *prelude, const struct sb_memory *memory,
                         struct sb_tensor kept[SB_MAX_TENSORS], struct sb_result *result)
{
    struct bench b = {.variant = variant,
                      .m = memory,
                      .result = result,
                      .kept = kept,
                      .n_in = sb_op_input_count(c->op),
                      .n_out = sb_op_output_count(c->op)};
    struct sb_error err = {0};
    const double start = sb_seconds();
    result->launches = -1;
    enum verdict v = CANNOT;
    if (variant->run == NULL) {
        sb_append(result->detail, sizeof result->detail, "built without CUDA");
        v = SHORT;
    } else if (!sb_targets_cover(variant->targets, memory->compute_capability)) {
        sb_append(result->detail, sizeof result->detail, "written for %s, this GPU is sm_%d", variant->targets,
                  memory->compute_capability);
    } else if (!open_buffers(&b, c, expected, prelude, &err)) {
        sb_append(result->detail, sizeof result->detail, "%s", err.text);
    } else {
        v = all_runs(&b, c, expected, prelude);
    }
    hand_over_sampled(&b, expected);
    close_buffers(&b);
    static const enum sb_outcome outcomes[] = {
        [GOOD] = SB_PASS, [CANNOT] = SB_SKIP, [SHORT] = SB_NOT_RUN, [WRONG] = SB_FAIL, [BROKEN] = SB_FAIL};
    result->outcome = outcomes[v];
    result->seconds = v == CANNOT || v == SHORT ? -1 : sb_seconds() - start;
    return v != BROKEN;
}
