/* peak.h - what this GPU's tensor cores do in BF16 when nothing else is in their way, as a launch to be timed: operands
 * that stay in registers or shared memory, one accumulator chain after the other. No variant of an op: it computes
 * nothing that anybody wants. Plain C. */
#ifndef SAMEBITS_GPU_PEAK_H
#define SAMEBITS_GPU_PEAK_H

#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sb_peak_instruction { SB_PEAK_MMA_SYNC = 1, SB_PEAK_WGMMA };

/* The fastest instruction that there is a kernel for on this GPU, and its name: "wgmma m64n256k16", or "mma.sync
 * m16n8k16", which is not all that the sm_100 family has. Static storage. */
enum sb_peak_instruction sb_peak_instruction_of(int compute_capability);
const char *sb_peak_instruction_name(enum sb_peak_instruction instruction);

/* Multiply-adds of one launch on so many multiprocessors: some 10 ms. */
int64_t sb_peak_macs(enum sb_peak_instruction instruction, int multiprocessors);

/* What each block leaves: which instruction it ran, and a digest of its sums, the same in every block and launch. */
struct sb_peak_result {
    uint32_t instruction, digest;
};

/* One launch. `result`: device memory for one sb_peak_result a multiprocessor. */
struct sb_gpu_result sb_peak_run(enum sb_peak_instruction instruction, int multiprocessors,
                                 struct sb_peak_result *result, void *stream);

#ifdef __cplusplus
}
#endif
#endif
