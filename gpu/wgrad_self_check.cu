/* wgrad_self_check.cu - see wgrad_self_check.cuh. */
#include "wgrad_self_check.cuh"

#include <chrono>
#include <stdio.h>
#include <thread>

#include "launch.cuh"
#include "wgrad_varlen_k.h"

/* ---- The calls -----------------------------------------------------------------------------------------------------
 */

/* Two tiles of 128 x 256 each way, the second all but empty. Segments: none, one and many stages of 64 rows, every
 * number of steps of 16 in the last, whole and short; rows before and after all of them. */
constexpr int64_t M = 136, N = 264, gap = 8; // columns, and how much longer a row is
constexpr int32_t cu_seqlens[] = {5, 75, 75, 76, 399, 415, 462, 590, 647};
constexpr int64_t E = sizeof cu_seqlens / sizeof cu_seqlens[0] - 1, T = 720;
constexpr int64_t outputs = E * M * N;

struct option {
    const char *name;
    bool gathered, onto;
    enum sb_dtype out_dtype;
};

static const struct option options[] = {{"f32", false, false, SB_F32},
                                        {"f32, gathered", true, false, SB_F32},
                                        {"f32 onto main_grad", false, true, SB_F32},
                                        {"bf16 onto main_grad, gathered", true, true, SB_BF16}};

static int64_t words_of(const struct option *option)
{
    return option->out_dtype == SB_F32 ? outputs : outputs / 2;
}

/* ---- Data, made on the device --------------------------------------------------------------------------------------
 */

constexpr int fill_threads = 256;

static __device__ uint32_t mix(uint32_t value)
{
    value = (value ^ value >> 16) * 0x7FEB352Du;
    value = (value ^ value >> 15) * 0x846CA68Bu;
    return value ^ value >> 16;
}

/* A number with 8 significant bits and an exponent of -12 to 11, as upper half of an f32: sums lose bits everywhere.
 * One in 16 is zero. */
static __device__ uint32_t number(uint32_t seed, int64_t place)
{
    const uint32_t bits = mix(seed ^ mix((uint32_t)place));
    return bits % 16 == 0 ? 0 : (bits >> 31 << 15) | (115 + bits / 16 % 24) << 7 | (bits >> 16 & 0x7F);
}

/* Rows outside the segments, and what lies between rows, are NaN. */
static __global__ void fill_matrix(uint16_t *matrix, int64_t columns, int64_t begin, int64_t end, uint32_t seed)
{
    const int64_t stride = columns + gap;
    for (int64_t i = sb_first_item(); i < T * stride; i += sb_item_step()) {
        const bool inside = i / stride >= begin && i / stride < end && i % stride < columns;
        matrix[i] = (uint16_t)(inside ? number(seed, i) : 0x7FFF);
    }
}

static __global__ void fill_gradient(uint32_t *gradient, uint32_t seed)
{
    for (int64_t i = sb_first_item(); i < outputs; i += sb_item_step())
        gradient[i] = number(seed, i) << 16 | (uint16_t)mix((uint32_t)i);
}

/* Rows of the segments, in no order. */
static __global__ void fill_index(int32_t *index, int64_t begin, int64_t end, uint32_t seed)
{
    for (int64_t i = sb_first_item(); i < T; i += sb_item_step())
        index[i] = (int32_t)(begin + mix(seed ^ (uint32_t)i) % (end - begin));
}

/* Counts words that differ. */
static __global__ void compare_words(const uint32_t *got, const uint32_t *want, int64_t words, uint32_t *differing)
{
    for (int64_t i = sb_first_item(); i < words; i += sb_item_step())
        if (got[i] != want[i])
            atomicAdd(differing, 1u);
}

/* ---- Device memory -------------------------------------------------------------------------------------------------
 */

enum { OPTIONS = sizeof options / sizeof options[0] };

/* What comes back. */
struct findings {
    struct sb_status status[OPTIONS][2]; // of the path, of the judge
    uint32_t gave_up[OPTIONS], differing[OPTIONS];
};

struct memory {
    uint16_t dy[T * (M + gap)], x[T * (N + gap)];
    uint32_t main_grad[outputs];
    uint32_t got[outputs], want[outputs];
    int32_t x_gather_idx[T], cu_seqlens[E + 1];
    struct findings findings;
};
static_assert(offsetof(struct memory, x) % 16 == 0 && offsetof(struct memory, main_grad) % 16 == 0 &&
                  offsetof(struct memory, got) % 16 == 0 && offsetof(struct memory, want) % 16 == 0,
              "as the op's arguments are aligned");

static struct sb_wgrad_args args_of(const struct memory *memory, const struct option *option)
{
    struct sb_wgrad_args args = {};
    args.dy = memory->dy;
    args.x = memory->x;
    args.cu_seqlens = memory->cu_seqlens;
    args.x_gather_idx = option->gathered ? memory->x_gather_idx : NULL;
    args.main_grad = option->onto ? memory->main_grad : NULL;
    args.T = args.Tx = T;
    args.M = M;
    args.N = N;
    args.E = E;
    args.ld_dy = M + gap;
    args.ld_x = N + gap;
    args.out_dtype = option->out_dtype;
    return args;
}

/* ---- Running -------------------------------------------------------------------------------------------------------
 */

static cudaError_t fill(struct memory *memory, cudaStream_t stream)
{
    const int64_t begin = cu_seqlens[0], end = cu_seqlens[E];
    const dim3 grid = sb_stride_grid(outputs, fill_threads), block(fill_threads);
    cudaError_t error = sb_launch(fill_matrix, grid, block, 0, stream, memory->dy, M, begin, end, 1u);
    if (error == cudaSuccess)
        error = sb_launch(fill_matrix, grid, block, 0, stream, memory->x, N, begin, end, 2u);
    if (error == cudaSuccess)
        error = sb_launch(fill_gradient, grid, block, 0, stream, memory->main_grad, 3u);
    if (error == cudaSuccess)
        error = sb_launch(fill_index, grid, block, 0, stream, memory->x_gather_idx, begin, end, 4u);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(memory->cu_seqlens, cu_seqlens, sizeof cu_seqlens, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(&memory->findings, 0, sizeof memory->findings, stream);
    return error;
}

/* One option by both. The two outputs begin with bytes that no output has, and not the same. */
static cudaError_t run_option(struct memory *memory, int i, sb_wgrad_watched *run, cudaStream_t stream)
{
    struct findings *findings = &memory->findings;
    const struct sb_wgrad_args args = args_of(memory, &options[i]);
    const int64_t words = words_of(&options[i]);
    cudaError_t error = cudaMemsetAsync(memory->got, 0xFF, sizeof memory->got, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(memory->want, 0xFE, sizeof memory->want, stream);
    if (error == cudaSuccess)
        error = (cudaError_t)run(&args, memory->got, &findings->status[i][0], stream, &findings->gave_up[i]).cuda_error;
    if (error == cudaSuccess)
        error = (cudaError_t)sb_wgrad_varlen_k_judge(&args, memory->want, &findings->status[i][1], stream).cuda_error;
    if (error == cudaSuccess)
        error = sb_launch(compare_words, sb_stride_grid(words, fill_threads), dim3(fill_threads), 0, stream,
                          memory->got, memory->want, words, &findings->differing[i]);
    return error;
}

/* Waits for the stream, but not for ever: cudaErrorTimeout. */
static cudaError_t wait_bounded(cudaStream_t stream)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    cudaError_t error;
    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        if (std::chrono::steady_clock::now() > end)
            return cudaErrorTimeout;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return error;
}

static cudaError_t run_all(struct memory *memory, struct findings *findings, sb_wgrad_watched *run, cudaStream_t stream)
{
    cudaError_t error = fill(memory, stream);
    for (int i = 0; error == cudaSuccess && i < OPTIONS; i++)
        error = run_option(memory, i, run, stream);
    const cudaError_t ended = wait_bounded(stream); // what was launched before an error, too
    if (error == cudaSuccess || ended == cudaErrorTimeout)
        error = ended;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(findings, &memory->findings, sizeof *findings, cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

/* With memory and a stream of its own; both are left where they are if the device may still be at work there. */
static cudaError_t check_device(struct findings *findings, sb_wgrad_watched *run)
{
    struct memory *memory = NULL;
    cudaStream_t stream = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&memory, sizeof *memory);
    if (error == cudaSuccess)
        error = run_all(memory, findings, run, stream);
    if (error == cudaErrorTimeout)
        return error;
    cudaFree(memory);
    if (stream)
        cudaStreamDestroy(stream);
    return error;
}

/* ---- Findings ------------------------------------------------------------------------------------------------------
 */

static bool is_good(const struct findings *findings, int i)
{
    return findings->status[i][0].code == SB_OK && findings->status[i][1].code == SB_OK && findings->gave_up[i] == 0 &&
           findings->differing[i] == 0;
}

/* Some errors stay for the life of the process: nothing on this device will work again. */
static bool is_lost(cudaError_t error)
{
    return error != cudaSuccess && error != cudaErrorTimeout && cudaFree(NULL) != cudaSuccess;
}

/* Empty if all is well. */
static void explain(char *text, size_t size, cudaError_t error, const struct findings *findings)
{
    const char *const next = is_lost(error) ? "this process has lost the GPU" : "mma_sync serves instead";
    int bad = 0; // the first option that is
    while (bad < OPTIONS && is_good(findings, bad))
        bad++;
    if (error != cudaSuccess)
        snprintf(text, size, "self-check failed on this GPU: CUDA error %d, %s; %s", (int)error,
                 cudaGetErrorString(error), next);
    else if (bad < OPTIONS)
        snprintf(
            text, size,
            "self-check failed on this GPU: %s: %u of %lld words are not the judge's, %u threads waited in vain; %s",
            options[bad].name, findings->differing[bad], (long long)words_of(&options[bad]), findings->gave_up[bad],
            next);
}

const char *sb_wgrad_self_check(struct sb_wgrad_self_checks *checks, sb_wgrad_watched *run)
{
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device >= checks->most_devices)
        return "no self-check: no GPU, or one of a number past 63; mma_sync serves instead";
    const std::lock_guard<std::mutex> lock(checks->mutex);
    char *failure = checks->device[device].failure;
    if (!checks->device[device].done) {
        struct findings findings = {};
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        cudaThreadExchangeStreamCaptureMode(&mode);
        const cudaError_t error = check_device(&findings, run);
        if (error != cudaSuccess)
            cudaGetLastError(); // what does not stay is not for the caller's next look
        explain(failure, sizeof checks->device[device].failure, error, &findings); // asks the device, maybe
        cudaThreadExchangeStreamCaptureMode(&mode);
        checks->device[device].done = true;
    }
    return failure[0] != '\0' ? failure : NULL;
}
