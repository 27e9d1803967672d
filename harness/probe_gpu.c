/* probe_gpu.c - see probe_gpu.h. */
#include "probe_gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "probe_run.h"
#include "text.h"

#ifdef SAMEBITS_HAVE_CUDA
#define KERNEL(function) function
#else
#define KERNEL(function) NULL
#endif

static const struct sb_probe_instruction instruction[SB_PROBE_INSTRUCTIONS] = {
    [SB_PROBE_MMA_SYNC] = {NULL, KERNEL(sb_tc_probe_mma_sync)},
    [SB_PROBE_WGMMA] = {"sm_90a", KERNEL(sb_tc_probe_wgmma)},
    [SB_PROBE_WGMMA_D0] = {"sm_90a", KERNEL(sb_tc_probe_wgmma_d0)},
    [SB_PROBE_TCGEN05] = {"sm_100f", KERNEL(sb_tc_probe_tcgen05)},
};

/* ---- which GPU has what ----------------------------------------------------------------------- */

static bool has_suffix(const char *target)
{
    const size_t length = strlen(target);
    return length > 0 && (target[length - 1] == 'a' || target[length - 1] == 'f');
}

const char *sb_probe_gpu_lacks(const char *targets, int compute_capability, const char *compiled, char *buf,
                               size_t size)
{
    char word[32];
    buf[0] = '\0';
    if (targets == NULL) {
        if (compute_capability < 80)
            snprintf(buf, size, "of sm_80 and later; this GPU is sm_%d", compute_capability);
        return buf;
    }
    if (!sb_targets_cover(targets, compute_capability)) {
        snprintf(buf, size, "written for %s; this GPU is sm_%d", targets, compute_capability);
        return buf;
    }
    for (const char *cursor = compiled; sb_next_word(&cursor, ',', word, sizeof word);)
        if (has_suffix(word) && sb_targets_cover(word, compute_capability))
            return buf;
    snprintf(buf, size, "this build holds no image of %s, only of: %s", targets, compiled);
    return buf;
}

/* ---- a batch on a device ---------------------------------------------------------------------- */

static bool grow(const struct sb_memory *m, struct sb_probe_gpu_buffer *buffer, size_t bytes, struct sb_error *err)
{
    if (buffer->bytes >= bytes)
        return true;
    if (buffer->data != NULL)
        m->release(buffer->data);
    buffer->data = m->allocate(bytes);
    buffer->bytes = buffer->data != NULL ? bytes : 0;
    return buffer->data != NULL ||
           sb_fail(err, SB_EXIT_NOTHING_RAN, "too little memory on the GPU: %zu bytes were asked for", bytes);
}

static bool put(const struct sb_memory *m, struct sb_probe_gpu_buffer *buffer, const void *host, size_t bytes,
                struct sb_error *err)
{
    return grow(m, buffer, bytes, err) && m->upload(buffer->data, host, bytes, err);
}

/* d is as before a run: what the batch before left there must not pass for this one's. The fills come last: after one
 * of them all copies are finished too. */
static bool fill_in(struct sb_probe_gpu *gpu, const struct sb_probe_batch *batch, size_t dots_bytes,
                    struct sb_error *err)
{
    const struct sb_memory *const m = &gpu->memory;
    const size_t depth = (size_t)batch->tiles * SB_TC_K * sizeof(uint16_t);
    return put(m, &gpu->a, batch->a, depth * (size_t)batch->rows, err) &&
           put(m, &gpu->b, batch->b, depth * (size_t)batch->cols, err) && put(m, &gpu->c, batch->c, dots_bytes, err) &&
           grow(m, &gpu->d, dots_bytes, err) && grow(m, &gpu->unfinished, sizeof(uint32_t), err) &&
           m->fill(gpu->d.data, SB_PROBE_UNWRITTEN, dots_bytes, err) &&
           m->fill(gpu->unfinished.data, 0, sizeof(uint32_t), err);
}

static bool compute(struct sb_probe_gpu *gpu, sb_tc_probe_launch launch, const struct sb_probe_batch *batch,
                    struct sb_error *err)
{
    const struct sb_memory *const m = &gpu->memory;
    const struct sb_tc_probe_tiles tiles = {.tiles = batch->tiles,
                                            .a = gpu->a.data,
                                            .b = gpu->b.data,
                                            .c = gpu->c.data,
                                            .d = gpu->d.data,
                                            .unfinished = gpu->unfinished.data};
    const int code = launch(&tiles, m->stream);
    uint32_t unfinished = 0;
    if (code != 0)
        return sb_fail(err, SB_EXIT_MISMATCH, "it could not be launched: CUDA error %d, %s", code, m->error_text(code));
    if (!m->synchronise(err) || !m->download(&unfinished, gpu->unfinished.data, sizeof unfinished, err))
        return false;
    return unfinished == 0 ||
           sb_fail(err, SB_EXIT_MISMATCH,
                   "%" PRIu32 " of %" PRId64 " tiles were given up: the instruction was not done within about a "
                   "second, or the image for this GPU lacks it",
                   unfinished, batch->tiles);
}

/* What an instruction without an accumulator cannot be asked. */
static void skip_nonzero_c(const struct sb_probe_batch *batch, uint8_t *skipped)
{
    const int64_t dots = sb_probe_dots(batch);
#pragma omp parallel for
    for (int64_t i = 0; i < dots; i++)
        skipped[i] = batch->c[i] != 0;
}

bool sb_probe_gpu_run_on(struct sb_probe_gpu *gpu, sb_tc_probe_launch launch, const struct sb_probe_impl *impl,
                         const struct sb_probe_batch *batch, uint32_t *d, uint8_t *skipped, struct sb_error *err)
{
    const size_t bytes = (size_t)sb_probe_dots(batch) * sizeof d[0];
    if (impl->zero_c)
        skip_nonzero_c(batch, skipped);
    return fill_in(gpu, batch, bytes, err) && compute(gpu, launch, batch, err) &&
           gpu->memory.download(d, gpu->d.data, bytes, err);
}

void sb_probe_gpu_release(struct sb_probe_gpu *gpu)
{
    struct sb_probe_gpu_buffer *const all[] = {&gpu->a, &gpu->b, &gpu->c, &gpu->d, &gpu->unfinished};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i]->data != NULL)
            gpu->memory.release(all[i]->data);
        *all[i] = (struct sb_probe_gpu_buffer){0};
    }
}

/* ---- this machine's GPU ----------------------------------------------------------------------- */

static struct {
    int index;   /* the one that is meant */
    bool looked; /* was it opened, or tried? */
    bool usable;
    char text[1024]; /* its label, or why it is not usable */
    struct sb_probe_gpu gpu;
} chosen;

static bool open_device(int index, struct sb_error *err)
{
    struct sb_device all[SB_MAX_DEVICES];
    char why[256];
    const int count = sb_devices(all, why, sizeof why);
    if (count == 0)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%s", why);
    for (int i = 0; i < count; i++)
        if (all[i].index == index) {
            snprintf(chosen.text, sizeof chosen.text, "%s", all[i].label);
            return sb_device_open(&all[i], &chosen.gpu.memory, err);
        }
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "there is no such GPU; the driver lists %d (0 to %d)", count, count - 1);
}

static bool look(void)
{
    struct sb_error err = {0};
    if (chosen.looked)
        return chosen.usable;
    chosen.looked = true;
    chosen.usable = open_device(chosen.index, &err);
    if (!chosen.usable)
        snprintf(chosen.text, sizeof chosen.text, "%.1000s", err.text);
    return chosen.usable;
}

bool sb_probe_gpu_choose(int index, struct sb_error *err)
{
    sb_probe_gpu_close();
    chosen.index = index;
    return look() || sb_fail(err, SB_EXIT_NOTHING_RAN, "--device %d: %.900s", index, chosen.text);
}

bool sb_probe_gpu_available(const struct sb_probe_impl *impl, char *text, size_t size)
{
    char lacks[160] = "";
    const struct sb_probe_instruction *const i = &instruction[impl->number];
    const bool usable = look();
    if (usable)
        sb_probe_gpu_lacks(i->targets, chosen.gpu.memory.compute_capability, sb_compiled_targets(), lacks,
                           sizeof lacks);
    snprintf(text, size, "%.*s", (int)size - 1, lacks[0] != '\0' ? lacks : chosen.text);
    return usable && lacks[0] == '\0';
}

bool sb_probe_gpu_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                      uint8_t *skipped, struct sb_error *err)
{
    if (!look())
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "%.900s", chosen.text);
    return sb_probe_gpu_run_on(&chosen.gpu, instruction[impl->number].launch, impl, batch, d, skipped, err);
}

void sb_probe_gpu_close(void)
{
    if (chosen.usable)
        sb_probe_gpu_release(&chosen.gpu);
    chosen.looked = chosen.usable = false;
}
