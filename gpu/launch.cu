/* launch.cu - counts launches, and asks whether this build runs on the current device at all. */
#include "launch.cuh"

#include <atomic>

static std::atomic<int64_t> launches{0};

extern "C" void sb_count_launch(void)
{
    launches.fetch_add(1, std::memory_order_relaxed);
}

extern "C" int64_t sb_gpu_launches(void)
{
    return launches.load(std::memory_order_relaxed);
}

/* Never launched. All kernels are compiled for the same targets, so the image that serves this one serves all. */
static __global__ void image_probe() {}

extern "C" int sb_gpu_image_check(void)
{
    /* Modules load lazily: unasked, a missing image shows at the first launch, in the middle of work. */
    struct cudaFuncAttributes attributes;
    return (int)cudaFuncGetAttributes(&attributes, image_probe);
}
