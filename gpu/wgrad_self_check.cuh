/* wgrad_self_check.cuh - does a path of wgrad_varlen_k give the contract's bits on this GPU? Asked once a process and
 * device, before the path is trusted. */
#ifndef SAMEBITS_GPU_WGRAD_SELF_CHECK_CUH
#define SAMEBITS_GPU_WGRAD_SELF_CHECK_CUH

#include <mutex>

#include "../ref/wgrad_varlen_k.h"
#include "variant.h"

/* A path's launch function. Where it can, it bounds its kernel's waits and counts those given up in *gave_up (device
 * memory). */
typedef struct sb_gpu_result sb_wgrad_watched(const struct sb_wgrad_args *args, void *dw, struct sb_status *status,
                                              void *stream, uint32_t *gave_up);

/* What is known of a path, by device: zeros at first, for the life of the process. */
struct sb_wgrad_self_checks {
    static constexpr int most_devices = 64;
    std::mutex mutex;
    struct {
        bool done;
        char failure[256]; // a sentence, or empty
    } device[most_devices];
};

/* Runs a few small calls by `run` and by wgrad_varlen_k's judge on the current device and compares all bits, unless
 * that was done before. NULL: they are the same. Else why the path is not to be used there: a text that stays.
 * Allocates a few MB on the device, on a stream of its own, waits for it and frees them; other threads that ask
 * meanwhile wait. A capture that is under way on another stream is left as it is. */
const char *sb_wgrad_self_check(struct sb_wgrad_self_checks *checks, sb_wgrad_watched *run);

#endif
