/* bench_gpu.c - see bench_gpu.h. What is timed is one call of a variant, from the moment that the stream reaches it to
 * the moment that it is through, on a device that had nothing else to do. */
#include "bench_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "bench_call.h"
#include "bench_clock.h"
#include "text.h"
#ifdef SAMEBITS_HAVE_CUDA
#include "../gpu/peak.h"
#endif

/* ---- the device ------------------------------------------------------------------------------------------------- */

/* The one that is timed on: opened once, by start. */
static struct {
    struct sb_device device;
    struct sb_memory memory;
    char why[1024];
} opened;

static bool find_device(long wanted, struct sb_device *device, struct sb_error *err)
{
    static struct sb_device all[SB_MAX_DEVICES];
    char why[300] = "";
    const int n = sb_devices(all, why, sizeof why);
    if (n == 0)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s", why);
    for (int i = 0; i < n; i++)
        if (all[i].index == wanted) {
            *device = all[i];
            return true;
        }
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "there is no GPU %ld: the driver does not list it", wanted);
}

/* Opens the GPU for `gpu`, or says in it why not. */
static bool open_device(struct sb_bench_gpu *gpu, const char *text, struct sb_error *err)
{
    struct sb_error why = {0};
    char *end = NULL;
    const long wanted = strtol(text, &end, 10);
    if (end == text || *end != '\0' || wanted < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--device %.60s: expected the number of a GPU", text);
    gpu->why = opened.why;
    if (!find_device(wanted, &opened.device, &why) || !sb_device_open(&opened.device, &opened.memory, &why)) {
        snprintf(opened.why, sizeof opened.why, "%s", why.text);
        return true;
    }
    gpu->device = &opened.device;
    gpu->memory = &opened.memory;
    gpu->l2_bytes = opened.device.l2_bytes;
    sb_bench_clock_of(opened.device.pci);
    return true;
}

static const struct sb_device *device_of(const struct sb_bench_impl *impl)
{
    return ((const struct sb_bench_gpu *)impl->calls)->device;
}

/* ---- paths ------------------------------------------------------------------------------------------------------ */

void sb_bench_gpu_paths(const struct sb_op_row *row, const char *paths[SB_BENCH_MAX_PATHS + 1])
{
    int count = 0;
    for (const struct sb_variant *v = row->variants; v->name != NULL && count < SB_BENCH_MAX_PATHS; v++)
        paths[count++] = v->name;
    paths[count] = NULL;
}

static const char *cannot(const struct sb_bench_impl *impl, int path)
{
    static char text[160];
    char target[24];
    const struct sb_bench_gpu *gpu = impl->calls;
    const struct sb_variant *v = &gpu->row->variants[path];
    if (gpu->memory == NULL)
        return gpu->why;
    if (v->run == NULL)
        return "built without CUDA";
    if (sb_targets_cover(v->targets, gpu->memory->compute_capability))
        return NULL;
    snprintf(text, sizeof text, "written for %s; this GPU is %s", v->targets,
             sb_target_of(gpu->memory->compute_capability, target, sizeof target));
    return text;
}

/* ---- one case --------------------------------------------------------------------------------------------------- */

struct gpu_case {
    const struct sb_bench_gpu *gpu;
    struct sb_bench_call *call;
    void *peak_result; /* device memory, or NULL */
};

static void close_case(void *user)
{
    struct gpu_case *g = user;
    if (g->peak_result != NULL)
        g->gpu->memory->release(g->peak_result);
    if (g->call != NULL)
        sb_bench_call_close(g->call);
    free(g);
}

static void *open_case(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                       struct sb_bench_about *about, struct sb_error *err)
{
    struct gpu_case *g = calloc(1, sizeof *g);
    (void)plan;
    if (g == NULL) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory");
        return NULL;
    }
    g->gpu = impl->calls;
    g->call = sb_bench_call_open(g->gpu, c, about, err);
    if (g->call != NULL)
        return g;
    close_case(g);
    return NULL;
}

static bool expect_case(void *user, const struct sb_bench_watch *watch, struct sb_error *err)
{
    struct gpu_case *g = user;
    return sb_bench_call_expect(g->call, watch, err);
}

static bool subject_of(void *user, int path, int threads, struct sb_bench_subject *s, struct sb_error *err)
{
    struct gpu_case *g = user;
    (void)threads;
    return sb_bench_call_subject(g->call, &g->gpu->row->variants[path], s, err);
}

static bool stands(void *user, struct sb_error *err)
{
    const struct gpu_case *g = user;
    return sb_bench_call_stands(g->call, err);
}

static void remark(void *user, char *buf, size_t size)
{
    const struct gpu_case *g = user;
    if (g->gpu->device != NULL)
        sb_bench_clock_text(buf, size);
}

/* ---- the ceiling ------------------------------------------------------------------------------------------------ */

#ifdef SAMEBITS_HAVE_CUDA

static const char *peak_kind(const struct sb_bench_impl *impl)
{
    const struct sb_bench_gpu *gpu = impl->calls;
    return gpu->memory == NULL ? "" : sb_peak_instruction_name(sb_peak_instruction_of(gpu->memory->compute_capability));
}

static bool check_peak(const struct gpu_case *g, enum sb_peak_instruction instruction, struct sb_error *err)
{
    enum { MOST = 1024 };
    struct sb_peak_result result[MOST];
    const int blocks = g->gpu->device->multiprocessors < MOST ? g->gpu->device->multiprocessors : MOST;
    if (!g->gpu->memory->download(result, g->peak_result, (size_t)blocks * sizeof *result, err))
        return false;
    for (int i = 0; i < blocks; i++)
        if (result[i].instruction != (uint32_t)instruction || result[i].digest != result[0].digest)
            return sb_fail(err, SB_EXIT_MISMATCH, "block %d did not end at the sums of block 0", i);
    return true;
}

static bool run_peak(const struct sb_bench_subject *s, double *seconds, struct sb_error *err)
{
    const struct gpu_case *g = s->state;
    const struct sb_memory *m = g->gpu->memory;
    const enum sb_peak_instruction instruction = sb_peak_instruction_of(m->compute_capability);
    const int blocks = g->gpu->device->multiprocessors;
    if (!m->fill(g->peak_result, 0, (size_t)blocks * sizeof(struct sb_peak_result), err) || !m->time_begin(m, err))
        return false;
    const struct sb_gpu_result launched = sb_peak_run(instruction, blocks, g->peak_result, m->stream);
    if (!m->time_end(m, err))
        return false;
    sb_bench_clock_read();
    if (launched.cuda_error != 0)
        return sb_fail(err, SB_EXIT_MISMATCH, "the launch failed: CUDA error %d, %s", launched.cuda_error,
                       m->error_text(launched.cuda_error));
    return m->time_read(m, seconds, err) && m->synchronise(err) && check_peak(g, instruction, err);
}

static bool peak_subject(void *user, int threads, struct sb_bench_subject *s, struct sb_error *err)
{
    struct gpu_case *g = user;
    const int blocks = g->gpu->device->multiprocessors;
    const struct sb_memory *m = g->gpu->memory;
    g->peak_result = m->allocate((size_t)blocks * sizeof(struct sb_peak_result));
    *s = (struct sb_bench_subject){.work = sb_peak_macs(sb_peak_instruction_of(m->compute_capability), blocks),
                                   .threads = threads,
                                   .state = g,
                                   .run = run_peak};
    return g->peak_result != NULL || sb_fail(err, SB_EXIT_NOTHING_RAN, "not enough device memory");
}

#endif

const struct sb_bench_impl sb_bench_gpu_functions = {
    .warm_ups = SB_BENCH_GPU_WARM_UPS,
    .device = device_of,
    .cannot = cannot,
    .open = open_case,
    .expect = expect_case,
    .subject = subject_of,
    .stands = stands,
    .remark = remark,
    .close = close_case,
#ifdef SAMEBITS_HAVE_CUDA
    .ceiling = "peak",
    .ceiling_kind = peak_kind,
    .ceiling_subject = peak_subject,
#endif
};

/* ---- wgrad_varlen_k --------------------------------------------------------------------------------------------- */

static int64_t wgrad_macs(const struct sb_case *c, const struct sb_data *d)
{
    const int64_t E = sb_case_int(c, "E");
    for (int i = 0; i < sb_op_input_count(c->op); i++)
        if (strcmp(c->op->inputs[i].name, "cu_seqlens") == 0) {
            const int32_t *cu = d->in[i].data;
            return (cu[E] - (int64_t)cu[0]) * sb_case_int(c, "M") * sb_case_int(c, "N");
        }
    return 0;
}

static const char *wgrad_unfit(const struct sb_case *c)
{
    if (strcmp(sb_case_text(c, "break"), "none") != 0)
        return "a call made to be rejected";
    return sb_case_int(c, "in_place") == 0 ? NULL : "in_place=1: main_grad is copied into dw first, within the call";
}

/* The shapes of the suite `production`, and two that end before a GPU is full. */
static const struct sb_bench_default wgrad_cases[] = {
    {"M=512,N=512,E=8,counts=equal,tokens=4096", "128 tiles of 128x128, fewer than a large GPU has multiprocessors: "
                                                 "launches, latency and the ends of the pipeline count"},
    {"M=768,N=2048,E=16,counts=skewed,tokens=8320,gather=random", "a rank's share of a small batch, gathered"},
    {"M=768,N=2048,E=128,counts=skewed,tokens=66560,sample=128",
     "Qwen3-30B: a few hundred tokens an expert, so writing dw takes a large part of the time"},
    {"M=768,N=2048,E=128,counts=skewed,tokens=66560,gather=random,accumulate=1,out_dtype=bf16,sample=128",
     "the same gathered, onto main_grad, BF16 output"},
    {"M=2048,N=7168,E=32,counts=skewed,tokens=65664,sample=128", "DeepSeek-V3, 32 experts a rank"},
    {"M=3584,N=7168,E=8,counts=equal,tokens=65536,sample=128", "8 experts of 8192 tokens: arithmetic alone decides"},
    {"M=1536,N=4096,E=128,counts=skewed,tokens=131072,sample=128", "Qwen3-235B: dw of 3.2 GB"},
    {"M=7168,N=7168,E=8,counts=equal,tokens=65536,sample=128", "the largest call: the GPU's power limit decides"},
    {"M=7168,N=7168,E=8,counts=skewed,tokens=65536,sample=128",
     "the same with uneven segments: what waits for the longest of them shows"},
    {NULL, NULL},
};

static struct sb_bench_gpu wgrad_gpu = {.why = "not opened", .work = wgrad_macs, .unfit = wgrad_unfit};

static bool start_wgrad(const struct sb_bench_impl *impl, const char *device, struct sb_error *err)
{
    (void)impl;
    return open_device(&wgrad_gpu, device, err);
}

const struct sb_bench_impl *sb_bench_wgrad_varlen_k_gpu(void)
{
    static const char *paths[SB_BENCH_MAX_PATHS + 1];
    static struct sb_bench_impl impl;
    wgrad_gpu.row = sb_op_row_find(sb_op_table(), "wgrad_varlen_k");
    sb_bench_gpu_paths(wgrad_gpu.row, paths);
    impl = sb_bench_gpu_functions;
    impl.op = "wgrad_varlen_k";
    impl.impl = "gpu";
    impl.summary = "the kernels, by each of their paths";
    impl.unit = "TFLOP/s";
    impl.unit_work = 0.5e12; /* a MAC is two operations */
    impl.cases = wgrad_cases;
    impl.paths = paths;
    impl.calls = &wgrad_gpu;
    impl.start = start_wgrad;
    return &impl;
}
