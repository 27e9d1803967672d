/* device.h - GPUs: which are here, can this build run on them, and their memory. The only file of the harness that
 * calls the CUDA runtime; in a build without CUDA there are no devices, and the reason says so. */
#ifndef SAMEBITS_HARNESS_DEVICE_H
#define SAMEBITS_HARNESS_DEVICE_H

#include "memory.h"

enum { SB_MAX_DEVICES = 64 };

struct sb_device {
    int index;
    int compute_capability; /* 90, 100, 121 */
    char name[64];
    char label[96]; /* "0: NVIDIA H200 (sm_90)" */
    int64_t memory_bytes;
    int64_t l2_bytes;
    int multiprocessors;
    char pci[32]; /* "0000:0f:00.0": how the driver's own library knows it */
};

/* Fills in up to SB_MAX_DEVICES and returns their number. 0: `why` says why ("built without CUDA", "no NVIDIA driver
 * ..."). Creates no context: cheap, and safe before children are started. */
int sb_devices(struct sb_device devices[SB_MAX_DEVICES], char *why, size_t why_size);

/* "driver 13.0, runtime 13.0", or "none". Returns buf. */
const char *sb_device_driver(char *buf, size_t size);

/* Makes the device current and its memory usable. False with err: no kernel image for this GPU (which targets were
 * compiled, and how to build for it), or a CUDA error. */
bool sb_device_open(const struct sb_device *device, struct sb_memory *memory, struct sb_error *err);

/* Targets compiled in, comma-separated ("sm_90a,sm_100f"), or "" without CUDA. */
const char *sb_compiled_targets(void);
bool sb_have_cuda(void);

/* Name of the target a device belongs to: the compiled one with its number ("sm_90a"), else "sm_NN". Returns buf. */
const char *sb_target_of(int compute_capability, char *buf, size_t size);

/* May a variant with such `targets` ("any", "sm_90a", "sm_100f,sm_103f") run on this compute capability? A target with
 * "f" covers its family, one with "a" exactly itself, a plain one its number and later ones of the same major. */
bool sb_targets_cover(const char *targets, int compute_capability);

#endif
