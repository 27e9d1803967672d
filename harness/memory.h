/* memory.h - the memory a variant computes in, behind a few functions: a GPU's (device.c), or the host's
 * (memory_host.c), so that the runner and its checks can be tested without a GPU. */
#ifndef SAMEBITS_HARNESS_MEMORY_H
#define SAMEBITS_HARNESS_MEMORY_H

#include "../golden/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_memory {
    /* 256-byte aligned; NULL when there is not enough. */
    void *(*allocate)(size_t bytes);
    void (*release)(void *p);
    /* Host memory for what is downloaded, to be freed with free(); NULL here: malloc(). */
    void *(*host_allocate)(size_t bytes);
    /* Each: false with err (SB_EXIT_MISMATCH) after a device error. All are finished when they return. */
    bool (*upload)(void *device, const void *host, size_t bytes, struct sb_error *err);
    bool (*download)(void *host, const void *device, size_t bytes, struct sb_error *err);
    bool (*fill)(void *device, int byte, size_t bytes, struct sb_error *err);
    /* Waits for everything on the device, whatever the stream, and takes up pending errors. */
    bool (*synchronise)(struct sb_error *err);
    /* English text of a code that a launch function returned. Static storage. */
    const char *(*error_text)(int code);
    int64_t (*launches)(void); /* kernels launched so far, or -1: unknown */
    /* A span of the device's own time on `stream`: time_begin and time_end put its ends there and return, time_read
     * waits for the second and says what lies between. Each: false as above. */
    bool (*time_begin)(const struct sb_memory *m, struct sb_error *err);
    bool (*time_end)(const struct sb_memory *m, struct sb_error *err);
    bool (*time_read)(const struct sb_memory *m, double *seconds, struct sb_error *err);
    void *timer[2]; /* theirs */
    void *stream;
    int compute_capability; /* 90, 100, 121 */
};

/* Host memory: "launches" are not counted, the compute capability is 0. */
struct sb_memory sb_memory_host(void);

#endif
