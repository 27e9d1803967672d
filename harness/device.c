/* device.c - the CUDA runtime behind device.h and memory.h. */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "../gpu/variant.h"

#ifndef SAMEBITS_HAVE_CUDA

int sb_devices(struct sb_device devices[SB_MAX_DEVICES], char *why, size_t why_size)
{
    (void)devices;
    snprintf(why, why_size, "built without CUDA");
    return 0;
}

const char *sb_device_driver(char *buf, size_t size)
{
    snprintf(buf, size, "none");
    return buf;
}

bool sb_device_open(const struct sb_device *device, struct sb_memory *memory, struct sb_error *err)
{
    (void)memory;
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "GPU %d: built without CUDA", device->index);
}

#else

#include <cuda_runtime_api.h>

static bool cuda_ok(cudaError_t code, const char *what, struct sb_error *err)
{
    if (code == cudaSuccess)
        return true;
    return sb_fail(err, SB_EXIT_MISMATCH, "%s: CUDA error %d, %s", what, (int)code, cudaGetErrorString(code));
}

/* ---- memory --------------------------------------------------------------------------------------- */

static void *gpu_allocate(size_t bytes)
{
    void *p = NULL;
    if (cudaMalloc(&p, bytes) != cudaSuccess) {
        (void)cudaGetLastError(); /* a refusal is an answer here, not a pending error of the next call */
        return NULL;
    }
    return p;
}

static void gpu_release(void *p)
{
    (void)cudaFree(p);
}

static bool gpu_upload(void *device, const void *host, size_t bytes, struct sb_error *err)
{
    return cuda_ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device", err);
}

static bool gpu_download(void *host, const void *device, size_t bytes, struct sb_error *err)
{
    return cuda_ok(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy from the device", err);
}

static bool gpu_synchronise(struct sb_error *err)
{
    return cuda_ok(cudaDeviceSynchronize(), "the device stopped", err) &&
           cuda_ok(cudaGetLastError(), "an error was left pending", err);
}

static bool gpu_fill(void *device, int byte, size_t bytes, struct sb_error *err)
{
    return cuda_ok(cudaMemset(device, byte, bytes), "fill on the device", err) && gpu_synchronise(err);
}

static bool gpu_time_begin(const struct sb_memory *m, struct sb_error *err)
{
    return cuda_ok(cudaEventRecord(m->timer[0], m->stream), "start of a timing", err);
}

static bool gpu_time_end(const struct sb_memory *m, struct sb_error *err)
{
    return cuda_ok(cudaEventRecord(m->timer[1], m->stream), "end of a timing", err);
}

static bool gpu_time_read(const struct sb_memory *m, double *seconds, struct sb_error *err)
{
    float ms = 0;
    if (!cuda_ok(cudaEventSynchronize(m->timer[1]), "the device stopped", err) ||
        !cuda_ok(cudaEventElapsedTime(&ms, m->timer[0], m->timer[1]), "time between two events", err))
        return false;
    *seconds = 1e-3 * (double)ms;
    return true;
}

static const char *gpu_error_text(int code)
{
    return cudaGetErrorString((cudaError_t)code);
}

/* ---- devices -------------------------------------------------------------------------------------- */

static void version_text(int version, char *buf, size_t size)
{
    snprintf(buf, size, "%d.%d", version / 1000, version % 1000 / 10);
}

static void why_no_device(cudaError_t code, char *why, size_t size)
{
    char runtime[16], driver[16];
    int r = 0, d = 0;
    if (code == cudaErrorInsufficientDriver) {
        (void)cudaRuntimeGetVersion(&r);
        (void)cudaDriverGetVersion(&d);
        version_text(r, runtime, sizeof runtime);
        version_text(d, driver, sizeof driver);
        if (d == 0)
            snprintf(why, size, "no GPU on this machine: no NVIDIA driver is loaded");
        else
            snprintf(why, size,
                     "the NVIDIA driver is too old: it serves CUDA %s, this build needs %s; update the driver or build "
                     "with an older toolkit",
                     driver, runtime);
    } else if (code == cudaSuccess || code == cudaErrorNoDevice) {
        snprintf(why, size, "no GPU on this machine: the driver sees none (CUDA_VISIBLE_DEVICES?)");
    } else {
        snprintf(why, size, "no GPU can be used: CUDA error %d, %s", (int)code, cudaGetErrorString(code));
    }
}

int sb_devices(struct sb_device devices[SB_MAX_DEVICES], char *why, size_t why_size)
{
    int n = 0;
    const cudaError_t counted = cudaGetDeviceCount(&n);
    (void)cudaGetLastError();
    if (counted != cudaSuccess || n == 0) {
        why_no_device(counted, why, why_size);
        return 0;
    }
    int filled = 0;
    for (int i = 0; i < n && filled < SB_MAX_DEVICES; i++) {
        struct cudaDeviceProp p;
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
            (void)cudaGetLastError();
            continue;
        }
        struct sb_device *d = &devices[filled++];
        *d = (struct sb_device){.index = i, .compute_capability = p.major * 10 + p.minor};
        snprintf(d->name, sizeof d->name, "%.63s", p.name);
        snprintf(d->label, sizeof d->label, "%d: %s (sm_%d)", i, d->name, d->compute_capability);
        d->memory_bytes = (int64_t)p.totalGlobalMem;
        d->l2_bytes = p.l2CacheSize;
        d->multiprocessors = p.multiProcessorCount;
        snprintf(d->pci, sizeof d->pci, "%04x:%02x:%02x.0", (unsigned)p.pciDomainID, (unsigned)p.pciBusID,
                 (unsigned)p.pciDeviceID);
    }
    if (filled == 0)
        snprintf(why, why_size, "the driver lists %d GPUs but gives the properties of none", n);
    return filled;
}

/* "580.159.04" from the line that the kernel module shows ("NVRM version: ... Kernel Module  580.159.04  ..."). The
 * CUDA runtime knows only which CUDA a driver serves, and several drivers serve the same. */
static bool kernel_module_version(char *buf, size_t size)
{
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    const bool read = f != NULL && fgets(line, sizeof line, f) != NULL;
    if (f != NULL)
        fclose(f);
    for (const char *at = line; read && (at = strpbrk(at, "0123456789")) != NULL;) {
        const size_t length = strspn(at, "0123456789.");
        if (length < size && memchr(at, '.', length) != NULL) {
            snprintf(buf, size, "%.*s", (int)length, at);
            return true;
        }
        at += length;
    }
    return false;
}

const char *sb_device_driver(char *buf, size_t size)
{
    int runtime = 0, driver = 0;
    char r[16], d[16], module[32];
    (void)cudaRuntimeGetVersion(&runtime);
    (void)cudaDriverGetVersion(&driver);
    version_text(runtime, r, sizeof r);
    version_text(driver, d, sizeof d);
    if (driver == 0)
        snprintf(buf, size, "none (CUDA runtime %s)", r);
    else
        snprintf(buf, size, "%s (CUDA %s), CUDA runtime %s",
                 kernel_module_version(module, sizeof module) ? module : "of unknown version", d, r);
    return buf;
}

/* What to write after -DSAMEBITS_TARGETS= for a GPU. */
static const char *build_target(int compute_capability, char *buf, size_t size)
{
    if (compute_capability == 90)
        snprintf(buf, size, "90a");
    else if (compute_capability / 10 == 10 || compute_capability / 10 == 12)
        snprintf(buf, size, "%df", compute_capability / 10 * 10);
    else
        snprintf(buf, size, "%d", compute_capability);
    return buf;
}

static bool image_ok(const struct sb_device *device, struct sb_error *err)
{
    const int code = sb_gpu_image_check();
    if (code == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    const char *text = cudaGetErrorString((cudaError_t)code);
    char target[16];
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction ||
        code == cudaErrorInvalidPtx || code == cudaErrorUnsupportedPtxVersion || code == cudaErrorJitCompilerNotFound ||
        code == cudaErrorJitCompilationDisabled)
        return sb_fail(
            err, SB_EXIT_NOTHING_RAN,
            "GPU %s: this build holds no kernels for it (CUDA error %d, %s). Compiled: %s. Build for it with: "
            "cmake -S . -B build -DSAMEBITS_TARGETS=%s && cmake --build build",
            device->label, code, text, sb_compiled_targets(),
            build_target(device->compute_capability, target, sizeof target));
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "GPU %s cannot be used: CUDA error %d, %s", device->label, code, text);
}

bool sb_device_open(const struct sb_device *device, struct sb_memory *memory, struct sb_error *err)
{
    cudaStream_t stream = NULL;
    cudaEvent_t begin = NULL, end = NULL;
    if (!cuda_ok(cudaSetDevice(device->index), device->label, err) || !image_ok(device, err) ||
        /* Not ordered with the default stream: a kernel launched on the wrong stream has a chance to show. */
        !cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), device->label, err) ||
        !cuda_ok(cudaEventCreate(&begin), device->label, err) || !cuda_ok(cudaEventCreate(&end), device->label, err)) {
        err->exit = SB_EXIT_NOTHING_RAN;
        return false;
    }
    *memory = (struct sb_memory){.allocate = gpu_allocate,
                                 .release = gpu_release,
                                 .upload = gpu_upload,
                                 .download = gpu_download,
                                 .fill = gpu_fill,
                                 .synchronise = gpu_synchronise,
                                 .error_text = gpu_error_text,
                                 .launches = sb_gpu_launches,
                                 .time_begin = gpu_time_begin,
                                 .time_end = gpu_time_end,
                                 .time_read = gpu_time_read,
                                 .timer = {begin, end},
                                 .stream = stream,
                                 .compute_capability = device->compute_capability};
    return true;
}

#endif
