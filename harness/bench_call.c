/* bench_call.c - see bench_call.h. */
#include "bench_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/samples.h"
#include "bench_clock.h"
#include "bench_compare.h"
#include "run_case.h"
#include "text.h"

enum { CACHES = 4 };          /* all copies together are so many times as large as the L2 cache */
enum { MAX_SLOTS = 4096 };    /* copies: of tiny calls all of them may stay in the cache */
enum { CHUNK = 64 << 20 };    /* what comes from the device at a time */
enum { GARBAGE = 0x3B };      /* what a workspace holds at first */
enum { FIRST_POISON = 0x5A }; /* of the first copy; the next one's has no bit in common, and so on */

/* One tensor in device memory, once a slot. */
struct copies {
    unsigned char *base; /* NULL: an absent one */
    size_t bytes, offset, stride;
};

struct sb_bench_call {
    const struct sb_bench_gpu *gpu;
    const struct sb_memory *m;
    const struct sb_case *c;
    struct sb_data data; /* inputs and, once expected, outputs */
    int n_in, n_out, slots;
    bool every_run; /* compared after every run: nothing is sampled */
    struct copies in[SB_MAX_TENSORS];
    struct sb_scalar scalar[SB_MAX_PARAMS];
    int n_scalar;
    struct sb_whole whole;                  /* by the judge; its d is empty where there is none */
    struct sb_error convicted;              /* the judge, by a path that differs from it and is right; or empty */
    struct sb_tensor first[SB_MAX_TENSORS]; /* without a judge: the first sampled output that is right in its samples */
    void *chunk;
    enum { NOT_LOOKED_AT, KEPT, CHANGED } inputs;
    struct sb_error changed;
    struct sb_bench_timed *timed;
};

struct sb_bench_timed {
    struct sb_bench_call *call;
    const struct sb_variant *variant;
    struct copies out[SB_MAX_TENSORS], workspace, status;
    unsigned char *poison;  /* of each slot's outputs */
    int runs, slot;         /* so far; of the last one */
    double last;            /* seconds of the last run */
    struct sb_error broken; /* poisoning failed */
    struct sb_bench_timed *next;
};

/* ---- device memory ---------------------------------------------------------------------------------------------- */

static bool make_copies(const struct sb_memory *m, const char *name, size_t bytes, size_t offset, int slots,
                        struct copies *copies, struct sb_error *err)
{
    const size_t alignment = 256;
    copies->bytes = bytes;
    copies->offset = offset;
    copies->stride = (bytes + offset + alignment) / alignment * alignment;
    copies->base = m->allocate(copies->stride * (size_t)slots);
    return copies->base != NULL ||
           sb_fail(err, SB_EXIT_NOTHING_RAN, "not enough device memory for %s (%d of %zu bytes)", name, slots,
                   copies->stride);
}

static void *at_slot(const struct copies *copies, int slot)
{
    return copies->base == NULL ? NULL : copies->base + (size_t)slot * copies->stride + copies->offset;
}

static void release(const struct sb_memory *m, struct copies *copies)
{
    if (copies->base != NULL)
        m->release(copies->base);
    copies->base = NULL;
}

static void close_timed(struct sb_bench_timed *t)
{
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        release(t->call->m, &t->out[i]);
    release(t->call->m, &t->workspace);
    release(t->call->m, &t->status);
    free(t->poison);
    free(t);
}

void sb_bench_call_close(struct sb_bench_call *call)
{
    while (call->timed != NULL) {
        struct sb_bench_timed *t = call->timed;
        call->timed = t->next;
        close_timed(t);
    }
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        release(call->m, &call->in[i]);
    sb_tensors_free(call->first, SB_MAX_TENSORS);
    sb_whole_free(&call->whole);
    sb_data_free(&call->data);
    free(call->chunk);
    free(call);
}

/* ---- the case --------------------------------------------------------------------------------------------------- */

static const struct sb_variant *usable_judge(const struct sb_bench_gpu *gpu)
{
    const struct sb_variant *judge = sb_variant_judge(gpu->row);
    const bool usable =
        judge != NULL && judge->run != NULL && sb_targets_cover(judge->targets, gpu->memory->compute_capability);
    return usable ? judge : NULL;
}

static const char *samples_of(const struct sb_case *c, char *buf, size_t size)
{
    struct sb_samples s = {0};
    struct sb_error ignored;
    buf[0] = '\0';
    for (int i = 0; i < sb_op_output_count(c->op) && buf[0] == '\0'; i++) {
        if (sb_case_samples(c, i, &s, &ignored) && s.count > 0)
            sb_samples_text(&s, buf, size);
        sb_samples_free(&s);
    }
    return buf;
}

static void tell_compared(const struct sb_bench_call *call, struct sb_bench_about *about)
{
    char samples[120];
    const size_t size = sizeof about->compared;
    const struct sb_variant *judge = usable_judge(call->gpu);
    about->when = call->every_run ? "after every run" : "after the first two runs and the last";
    if (call->every_run)
        snprintf(about->compared, size, "all outputs with the reference's");
    else if (judge != NULL)
        snprintf(about->compared, size, "all outputs with those of %s on this GPU, confirmed by the reference in %s",
                 judge->name, samples_of(call->c, samples, sizeof samples));
    else
        snprintf(about->compared, size,
                 "%s with the reference's, all others with those of the first path that is right there",
                 samples_of(call->c, samples, sizeof samples));
}

/* Everything that is no text, as an adapter looks it up. */
static void take_scalars(struct sb_bench_call *call)
{
    const struct sb_case *c = call->c;
    for (int i = 0; c->op->params[i].name != NULL; i++)
        if (c->op->params[i].kind != SB_PARAM_TEXT)
            call->scalar[call->n_scalar++] = (struct sb_scalar){c->op->params[i].name, c->param[i].value};
}

struct sb_bench_call *sb_bench_call_open(const struct sb_bench_gpu *gpu, const struct sb_case *c,
                                         struct sb_bench_about *about, struct sb_error *err)
{
    const char *unfit = gpu->unfit != NULL ? gpu->unfit(c) : NULL;
    struct sb_bench_call *call = calloc(1, sizeof *call);
    if (unfit != NULL || call == NULL) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "%s", unfit != NULL ? unfit : "no memory");
        free(call);
        return NULL;
    }
    call->gpu = gpu;
    call->m = gpu->memory;
    call->c = c;
    call->n_in = sb_op_input_count(c->op);
    call->n_out = sb_op_output_count(c->op);
    call->every_run = !sb_case_is_sampled(c);
    take_scalars(call);
    bool ok = c->op->generate(c, &call->data, err);
    if (ok) {
        about->work = gpu->work(c, &call->data);
        ok = about->work > 0 || sb_fail(err, SB_EXIT_NOTHING_RAN, "there is nothing to compute");
    }
    if (ok) {
        tell_compared(call, about);
        return call;
    }
    sb_bench_call_close(call);
    return NULL;
}

/* ---- what is expected ------------------------------------------------------------------------------------------- */

static bool by_reference(struct sb_bench_call *call, const struct sb_bench_watch *watch, struct sb_error *err)
{
    char text[400];
    const struct sb_case *c = call->c;
    sb_bench_tell(watch, false, "the reference computes %s",
                  call->every_run ? "all outputs" : samples_of(c, text, sizeof text));
    if (!c->op->reference(c, &call->data, err))
        return false;
    return call->data.status.code == SB_OK || sb_fail(err, SB_EXIT_NOTHING_RAN, "the call is rejected: %s",
                                                      sb_status_text(&call->data.status, text, sizeof text));
}

static bool by_judge(struct sb_bench_call *call, const struct sb_variant *judge, const struct sb_bench_watch *watch,
                     struct sb_error *err)
{
    struct sb_result r = {0};
    bool healthy = true;
    sb_bench_tell(watch, true, "%s computes all outputs, twice", judge->name);
    if (sb_whole_by_judge(call->gpu->row, call->c, &call->data, call->m, &call->whole, &r, &healthy))
        return true;
    if (r.mismatches > 0)
        sb_append_line(r.detail, sizeof r.detail, "%s: %" PRId64 " of %" PRId64 " elements differ from the reference's",
                       r.tensor, r.mismatches, r.elements);
    return sb_fail(err, r.outcome == SB_FAIL ? SB_EXIT_MISMATCH : SB_EXIT_NOTHING_RAN,
                   "%s, which all outputs were to be compared with: %s", judge->name, r.detail);
}

/* Copies enough that a slot's data have left the cache when its turn comes again. */
static int slots_for(const struct sb_bench_call *call)
{
    size_t bytes = 1;
    for (int i = 0; i < call->n_in; i++)
        bytes += call->data.in[i].data != NULL ? sb_tensor_span_bytes(&call->data.in[i]) : 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += sb_tensor_span_bytes(sb_output_whole(&call->data, i));
    const size_t wanted = ((size_t)call->gpu->l2_bytes * CACHES + bytes - 1) / bytes;
    return wanted < 1 ? 1 : wanted > MAX_SLOTS ? MAX_SLOTS : (int)wanted;
}

static size_t misalign(const struct sb_case *c, bool output, int index)
{
    return c->op->misalign != NULL ? (size_t)c->op->misalign(c, output, index) : 0;
}

static bool upload_inputs(struct sb_bench_call *call, struct sb_error *err)
{
    for (int i = 0; i < call->n_in; i++) {
        const struct sb_tensor *host = &call->data.in[i];
        if (host->data == NULL)
            continue;
        if (!make_copies(call->m, call->c->op->inputs[i].name, sb_tensor_span_bytes(host), misalign(call->c, false, i),
                         call->slots, &call->in[i], err))
            return false;
        for (int slot = 0; slot < call->slots; slot++)
            if (!call->m->upload(at_slot(&call->in[i], slot), host->data, call->in[i].bytes, err))
                return false;
    }
    return true;
}

bool sb_bench_call_expect(struct sb_bench_call *call, const struct sb_bench_watch *watch, struct sb_error *err)
{
    const struct sb_variant *judge = usable_judge(call->gpu);
    sb_bench_clock_start();
    if (!by_reference(call, watch, err) || (!call->every_run && judge != NULL && !by_judge(call, judge, watch, err)))
        return false;
    call->chunk = malloc(CHUNK);
    if (call->chunk == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory to compare in");
    call->slots = slots_for(call);
    return upload_inputs(call, err);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

/* Are these bytes on the device those on the host? False with err after a device error. */
static bool same_bytes(struct sb_bench_call *call, const void *host, const void *device, size_t bytes, bool *same,
                       struct sb_error *err)
{
    *same = true;
    for (size_t from = 0, part; from < bytes && *same; from += part) {
        part = bytes - from < CHUNK ? bytes - from : CHUNK;
        if (!call->m->download(call->chunk, (const char *)device + from, part, err))
            return false;
        *same = memcmp((const char *)host + from, call->chunk, part) == 0;
    }
    return true;
}

/* Output `i` of a slot, whole, on the host. */
static bool fetch(const struct sb_bench_timed *t, int i, struct sb_tensor *out, struct sb_error *err)
{
    *out = *sb_output_whole(&t->call->data, i);
    out->name = t->call->c->op->outputs[i].name;
    out->data = malloc(t->out[i].bytes + 1);
    if (out->data == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for %zu bytes of %s", t->out[i].bytes, out->name);
    return t->call->m->download(out->data, at_slot(&t->out[i], t->slot), t->out[i].bytes, err);
}

bool sb_bench_call_stands(const struct sb_bench_call *call, struct sb_error *err)
{
    return call->convicted.text[0] == '\0' || sb_fail(err, call->convicted.exit, "%s", call->convicted.text);
}

static void convict_judge(struct sb_bench_call *call, const struct sb_result *judged)
{
    sb_fail(&call->convicted, SB_EXIT_MISMATCH,
            "%s, which all outputs were compared with, is wrong: %s; first at %s of %s", usable_judge(call->gpu)->name,
            judged->detail, judged->sample[0].index, judged->tensor);
}

/* Output `i`, whole on the host, differs from the judge's, but where the reference sides with it it is not wrong. */
static void ask_reference(const struct sb_bench_timed *t, int i, const struct sb_tensor *fetched, struct sb_error *err)
{
    char text[400];
    struct sb_bench_call *call = t->call;
    struct sb_result judged = {0};
    struct sb_tensor out[SB_MAX_TENSORS] = {0};
    out[i] = *fetched;
    const enum sb_arbitration a = sb_whole_arbitrate(call->c, &call->whole, out, text, sizeof text, &judged);
    if (text[0] != '\0')
        sb_append(err->text, sizeof err->text, "; %s", text);
    if (a == SB_JUDGE_IS_WRONG || a == SB_BOTH_ARE_WRONG)
        convict_judge(call, &judged);
    if (a != SB_JUDGE_IS_WRONG)
        return;
    *err = call->convicted;
    err->exit = SB_EXIT_NOTHING_RAN;
}

/* False with err, always: they differ. */
static bool tell_difference(const struct sb_bench_timed *t, int i, const struct sb_tensor *expected,
                            struct sb_error *err)
{
    struct sb_tensor out;
    const bool fetched = fetch(t, i, &out, err);
    if (fetched && sb_bench_compare(expected, &out, t->poison[t->slot], err))
        sb_fail(err, SB_EXIT_MISMATCH, "%s differed when it was read first, not when it was read again", out.name);
    err->exit = SB_EXIT_MISMATCH;
    if (fetched && t->call->whole.computed[i] != NULL)
        ask_reference(t, i, &out, err);
    free(out.data);
    return false;
}

/* Without a judge: the samples decide, and the first output that is right there is expected from then on. */
static bool compare_first(const struct sb_bench_timed *t, int i, struct sb_error *err)
{
    struct sb_bench_call *call = t->call;
    const struct sb_samples *samples = &call->data.samples[i];
    struct sb_tensor out, packed = call->data.out[i];
    packed.data = malloc(sb_tensor_span_bytes(&packed) + 1);
    bool ok = packed.data != NULL || sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for the samples");
    out.data = NULL;
    ok = ok && fetch(t, i, &out, err);
    if (ok) {
        sb_samples_gather(samples, out.data, packed.data);
        ok = sb_bench_compare_samples(samples, &call->data.out[i], &packed, t->poison[t->slot], err);
    }
    free(packed.data);
    if (ok)
        call->first[i] = out;
    else
        free(out.data);
    return ok;
}

static const struct sb_tensor *expected_of(const struct sb_bench_call *call, int i)
{
    if (call->data.samples[i].count == 0)
        return &call->data.out[i];
    return call->whole.computed[i] != NULL ? &call->whole.d.out[i] : &call->first[i];
}

/* All outputs of the last run. */
static bool compare_outputs(const struct sb_bench_timed *t, struct sb_error *err)
{
    for (int i = 0; i < t->call->n_out; i++) {
        const struct sb_tensor *expected = expected_of(t->call, i);
        bool same = true;
        if (t->out[i].base == NULL)
            continue;
        if (expected->data == NULL) {
            if (!compare_first(t, i, err))
                return false;
            continue;
        }
        if (!same_bytes(t->call, expected->data, at_slot(&t->out[i], t->slot), t->out[i].bytes, &same, err))
            return false;
        if (!same)
            return tell_difference(t, i, expected, err);
    }
    return true;
}

static bool compare_status(const struct sb_bench_timed *t, struct sb_error *err)
{
    char text[400];
    struct sb_status status;
    if (!t->call->m->download(&status, at_slot(&t->status, t->slot), sizeof status, err))
        return false;
    return memcmp(&status, &t->call->data.status, sizeof status) == 0 ||
           sb_fail(err, SB_EXIT_MISMATCH, "another status than ok, or none: %s",
                   sb_status_text(&status, text, sizeof text));
}

/* Once a case: whoever changed an input has also changed what the others were timed on. */
static bool compare_inputs(struct sb_bench_call *call, struct sb_error *err)
{
    for (int i = 0; i < call->n_in; i++)
        for (int slot = 0; slot < call->slots && call->in[i].base != NULL; slot++) {
            bool same;
            if (!same_bytes(call, call->data.in[i].data, at_slot(&call->in[i], slot), call->in[i].bytes, &same, err))
                return false;
            if (!same)
                return sb_fail(err, SB_EXIT_MISMATCH, "one of the paths changed the input %s",
                               call->c->op->inputs[i].name);
        }
    return true;
}

/* ---- the subject ------------------------------------------------------------------------------------------------ */

static bool fill_slot(struct sb_bench_timed *t, int slot, int byte, struct sb_error *err)
{
    const struct sb_memory *m = t->call->m;
    t->poison[slot] = (unsigned char)byte;
    for (int i = 0; i < t->call->n_out; i++)
        if (t->out[i].base != NULL && !m->fill(at_slot(&t->out[i], slot), byte, t->out[i].bytes, err))
            return false;
    return m->fill(at_slot(&t->status, slot), byte, t->status.bytes, err);
}

/* Where there are several slots, the one that was used last is filled anew and waits for its next turn: outputs just
 * filled would lie in the cache. */
static void poison(const struct sb_bench_subject *s, int byte)
{
    struct sb_bench_timed *t = s->state;
    const int before = t->slot;
    bool ok = true;
    t->slot = t->runs % t->call->slots;
    if (t->call->slots == 1)
        ok = fill_slot(t, 0, byte, &t->broken);
    else if (t->runs > 0)
        ok = fill_slot(t, before, t->poison[before], &t->broken);
    if (ok)
        t->broken.text[0] = '\0';
}

struct tensors {
    struct sb_tensor in[SB_MAX_TENSORS], out[SB_MAX_TENSORS];
};

static struct sb_gpu_call call_of(const struct sb_bench_timed *t, int slot, struct tensors *tensors)
{
    const struct sb_bench_call *call = t->call;
    for (int i = 0; i < call->n_in; i++) {
        tensors->in[i] = call->data.in[i];
        tensors->in[i].name = call->c->op->inputs[i].name;
        tensors->in[i].data = at_slot(&call->in[i], slot);
    }
    for (int i = 0; i < call->n_out; i++) {
        tensors->out[i] = *sb_output_whole(&call->data, i);
        tensors->out[i].name = call->c->op->outputs[i].name;
        tensors->out[i].data = at_slot(&t->out[i], slot);
    }
    return (struct sb_gpu_call){.in = tensors->in,
                                .n_in = call->n_in,
                                .out = tensors->out,
                                .n_out = call->n_out,
                                .scalar = call->scalar,
                                .n_scalar = call->n_scalar,
                                .workspace = at_slot(&t->workspace, slot),
                                .workspace_bytes = t->workspace.bytes,
                                .status = at_slot(&t->status, slot),
                                .stream = call->m->stream};
}

static bool launched_well(const struct sb_bench_timed *t, const struct sb_gpu_result *launched, struct sb_error *err)
{
    char text[400];
    if (launched->cuda_error != 0)
        return sb_fail(err, SB_EXIT_MISMATCH, "the launch failed: CUDA error %d, %s", launched->cuda_error,
                       t->call->m->error_text(launched->cuda_error));
    return launched->status.code == SB_OK ||
           sb_fail(err, SB_EXIT_MISMATCH, "rejects a call that the contract takes: %s",
                   sb_status_text(&launched->status, text, sizeof text));
}

static bool run(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    const double worth_a_reading = 2e-3; /* a shorter run may be over before the clock is read */
    struct sb_bench_timed *t = s->state;
    const struct sb_memory *m = t->call->m;
    struct tensors tensors;
    const struct sb_gpu_call call = call_of(t, t->slot, &tensors);
    t->runs++;
    if (t->broken.text[0] != '\0')
        return sb_fail(err, SB_EXIT_MISMATCH, "%s", t->broken.text);
    if (!m->time_begin(m, err))
        return false;
    const struct sb_gpu_result launched = t->variant->run(&call);
    if (!m->time_end(m, err))
        return false;
    if (t->last >= worth_a_reading)
        sb_bench_clock_read();
    if (!launched_well(t, &launched, err) || !m->time_read(m, seconds, err) || !m->synchronise(err))
        return false;
    t->last = *seconds;
    return true;
}

static bool check(const struct sb_bench_subject *s, int byte, struct sb_error *err)
{
    const struct sb_bench_timed *t = s->state;
    (void)byte; /* each slot has its own */
    const bool judge_stands = t->call->convicted.text[0] == '\0';
    if (!judge_stands) /* there is nothing left to compare with */
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s", t->call->convicted.text);
    return compare_status(t, err) &&
           ((!t->call->every_run && t->runs > SB_BENCH_GPU_WARM_UPS) || compare_outputs(t, err));
}

static bool conclude(const struct sb_bench_subject *s, struct sb_error *err)
{
    const struct sb_bench_timed *t = s->state;
    struct sb_bench_call *call = t->call;
    const bool judge_stands = call->convicted.text[0] == '\0';
    if (!call->every_run && judge_stands && !compare_outputs(t, err))
        return false;
    if (call->inputs == NOT_LOOKED_AT)
        call->inputs = compare_inputs(call, &call->changed) ? KEPT : CHANGED;
    return call->inputs == KEPT || sb_fail(err, SB_EXIT_MISMATCH, "%s", call->changed.text);
}

static bool open_outputs(struct sb_bench_timed *t, struct sb_error *err)
{
    const struct sb_bench_call *call = t->call;
    for (int i = 0; i < call->n_out; i++)
        if (!sb_tensor_absent(&call->c->op->outputs[i], &call->data.out[i]) &&
            !make_copies(call->m, call->c->op->outputs[i].name, sb_tensor_span_bytes(sb_output_whole(&call->data, i)),
                         misalign(call->c, true, i), call->slots, &t->out[i], err))
            return false;
    return make_copies(call->m, "the status word", sizeof(struct sb_status), 0, call->slots, &t->status, err);
}

static bool open_workspace(struct sb_bench_timed *t, struct sb_error *err)
{
    struct tensors tensors;
    struct sb_gpu_call call = call_of(t, 0, &tensors);
    const struct sb_memory *m = t->call->m;
    const char *cannot = t->variant->cannot != NULL ? t->variant->cannot(&call, m->compute_capability) : NULL;
    if (cannot != NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s", cannot);
    const size_t bytes = t->variant->workspace != NULL ? t->variant->workspace(&call) : 0;
    return bytes == 0 || (make_copies(m, "the workspace", bytes, 0, t->call->slots, &t->workspace, err) &&
                          m->fill(t->workspace.base, GARBAGE, t->workspace.stride * (size_t)t->call->slots, err));
}

bool sb_bench_call_subject(struct sb_bench_call *call, const struct sb_variant *variant, struct sb_bench_subject *s,
                           struct sb_error *err)
{
    struct sb_bench_timed *t = calloc(1, sizeof *t);
    if (t == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
    *t = (struct sb_bench_timed){.call = call, .variant = variant, .next = call->timed};
    call->timed = t;
    t->poison = calloc((size_t)call->slots, 1);
    if (t->poison == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
    if (!open_outputs(t, err) || !open_workspace(t, err))
        return false;
    for (int slot = 0; slot < call->slots; slot++)
        if (!fill_slot(t, slot, slot % 2 == 0 ? FIRST_POISON : FIRST_POISON ^ 0xFF, err))
            return false;
    *s = (struct sb_bench_subject){
        .work = call->gpu->work(call->c, &call->data),
        .large = !call->every_run,
        .threads = 1,
        .state = t,
        .poison = poison,
        .run = run,
        .check = check,
        .conclude = conclude,
    };
    return true;
}
