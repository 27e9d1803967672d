/* probe_gpu.h - tensor-core instructions of a GPU as arithmetics to probe. */
#ifndef SAMEBITS_HARNESS_PROBE_GPU_H
#define SAMEBITS_HARNESS_PROBE_GPU_H

#include "../gpu/tc_probe.h"
#include "device.h"
#include "probe_impl.h"

struct sb_probe_instruction {
    const char *targets;       /* GPUs that have it: "sm_90a"; NULL: those of sm_80 and later */
    sb_tc_probe_launch launch; /* NULL in a build without CUDA */
};

/* Number of an instruction: impl->number. */
enum { SB_PROBE_MMA_SYNC, SB_PROBE_WGMMA, SB_PROBE_WGMMA_D0, SB_PROBE_TCGEN05, SB_PROBE_INSTRUCTIONS };

/* ---- on a given device ------------------------------------------------------------------------ */

/* Why a GPU, or a build for `compiled` (comma-separated targets), has no such instruction; "" where it has. An
 * instruction of a target with a suffix needs an image with one: a plain image leaves it out. Returns buf. */
const char *sb_probe_gpu_lacks(const char *targets, int compute_capability, const char *compiled, char *buf,
                               size_t size);

/* What is kept on a device from batch to batch: each buffer only grows. All zero but for `memory` at first. */
struct sb_probe_gpu {
    struct sb_memory memory;
    struct sb_probe_gpu_buffer {
        void *data;
        size_t bytes;
    } a, b, c, d, unfinished;
};

/* One batch: up, computed, down again. With impl->zero_c a dot product whose c is not +0 is skipped. False with err:
 * too little memory, an error of the device, or tiles that were given up; d is then of no use. */
bool sb_probe_gpu_run_on(struct sb_probe_gpu *gpu, sb_tc_probe_launch launch, const struct sb_probe_impl *impl,
                         const struct sb_probe_batch *batch, uint32_t *d, uint8_t *skipped, struct sb_error *err);
void sb_probe_gpu_release(struct sb_probe_gpu *gpu);

/* ---- on this machine's ------------------------------------------------------------------------ */

/* From here on GPU number `index` is meant, at first 0. False with err (SB_EXIT_NOTHING_RAN): it is not there, or not
 * usable. One thread, as all that follows. */
bool sb_probe_gpu_choose(int index, struct sb_error *err);

/* For the table of implementations. The GPU is opened at the first question. */
bool sb_probe_gpu_available(const struct sb_probe_impl *impl, char *text, size_t size);
bool sb_probe_gpu_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                      uint8_t *skipped, struct sb_error *err);

/* Gives back the memory on it. */
void sb_probe_gpu_close(void);

#endif
