/* wgrad_call.cu - see wgrad_call.cuh. */
#include "wgrad_call.cuh"

#include "launch.cuh"

/* ---- Arrays, on the device ------------------------------------------------------------------------------------- */

constexpr int check_threads = 1024;

/* Lowers *lowest, in shared memory, to the smallest value any thread brings; all threads get it. */
static __device__ long long block_lowest(long long value, long long *lowest)
{
    if (threadIdx.x == 0)
        *lowest = INT64_MAX;
    __syncthreads();
    if (value != INT64_MAX)
        atomicMin(lowest, value);
    __syncthreads();
    return *lowest;
}

/* Checks cu_seqlens, then x_gather_idx inside the segments, and writes the status word. One block: the lowest place
 * wins whatever the timing, with nothing to initialise beforehand. */
static __global__ void __launch_bounds__(check_threads)
    wgrad_check_arrays(const struct sb_wgrad_args args, struct sb_status *status)
{
    __shared__ long long lowest_descent, lowest_row;
    const int32_t *cu = args.cu_seqlens;

    long long descent = INT64_MAX;
    for (int64_t e = threadIdx.x; e < args.E; e += check_threads) {
        if (cu[e] > cu[e + 1]) {
            descent = e;
            break; // this thread's later ones are higher
        }
    }
    descent = block_lowest(descent, &lowest_descent);

    struct sb_status verdict = {SB_OK, 0, {0, 0, 0}, 0};
    if (cu[0] < 0) {
        verdict = {SB_SEGMENT_ORDER, 0, {0, cu[0], 0}, 0};
    } else if (descent != INT64_MAX) {
        verdict = {SB_SEGMENT_ORDER, 0, {descent, cu[descent], cu[descent + 1]}, 0};
    } else if (cu[args.E] > args.T) {
        verdict = {SB_SEGMENT_ORDER, 0, {args.E, cu[args.E], args.T}, 0};
    } else if (args.x_gather_idx) { // segments ascend without gaps: their rows are cu[0] .. cu[E]-1
        long long row = INT64_MAX;
        const int64_t end = cu[args.E];
#pragma unroll 8 // loads in flight: one block has to stream the whole index
        for (int64_t k = cu[0] + (int64_t)threadIdx.x; k < end; k += check_threads) {
            const int32_t source = args.x_gather_idx[k];
            if ((source < 0 || source >= args.Tx) && k < row)
                row = k;
        }
        row = block_lowest(row, &lowest_row);
        if (row != INT64_MAX)
            verdict = {SB_GATHER_RANGE, 0, {row, args.x_gather_idx[row], args.Tx}, 0};
    }
    if (threadIdx.x == 0)
        *status = verdict;
}

cudaError_t sb_wgrad_launch_check(const struct sb_wgrad_args *args, struct sb_status *status, cudaStream_t stream)
{
    return sb_launch(wgrad_check_arrays, dim3(1), dim3(check_threads), 0, stream, *args, status);
}

/* ---- Launch ---------------------------------------------------------------------------------------------------- */

int64_t sb_wgrad_count_tiles(const struct sb_wgrad_args *args, int64_t tile_m, int64_t tile_n)
{
    int64_t tiles;
    if (__builtin_mul_overflow(args->E, sb_cdiv(args->M, tile_m), &tiles) ||
        __builtin_mul_overflow(tiles, sb_cdiv(args->N, tile_n), &tiles))
        return INT64_MAX;
    return tiles;
}

struct sb_status sb_wgrad_check_tiles(const struct sb_wgrad_args *args, const void *dw, int64_t tile_m, int64_t tile_n)
{
    const int64_t most_columns = INT32_MAX / 2;
    const struct sb_status status = sb_wgrad_check_args(args, dw);
    if (status.code != SB_OK)
        return status;
    if (args->M > most_columns || args->N > most_columns)
        return sb_reject(SB_TOO_LARGE, args->M > most_columns ? args->M : args->N, most_columns, 0);
    const int64_t tiles = sb_wgrad_count_tiles(args, tile_m, tile_n);
    return tiles > INT32_MAX ? sb_reject(SB_TOO_LARGE, tiles, INT32_MAX, 0) : status;
}

cudaError_t sb_wgrad_ask_device(int *major, int *multiprocessors)
{
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(multiprocessors, cudaDevAttrMultiProcessorCount, device);
    return error;
}

struct sb_gpu_result sb_wgrad_run(const struct sb_wgrad_args *args, void *dw, struct sb_status *status, void *stream,
                                  sb_wgrad_check *check, sb_wgrad_compute *compute)
{
    const struct sb_status checked = check(args, dw);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);
    const cudaStream_t on = (cudaStream_t)stream;
    const cudaError_t error = sb_wgrad_launch_check(args, status, on);
    return sb_result_of(error == cudaSuccess ? compute(args, dw, status, on) : error);
}

/* ---- Adapter --------------------------------------------------------------------------------------------------- */

/* Elements between the rows of a rank-2 tensor: its width where it is dense. */
static int64_t row_stride(const struct sb_tensor *t)
{
    return t->row_stride ? t->row_stride : t->shape[1];
}

static struct sb_wgrad_args args_of(const struct sb_gpu_call *call)
{
    const struct sb_tensor *dy = sb_call_in(call, "dy");
    const struct sb_tensor *x = sb_call_in(call, "x");
    const struct sb_tensor *cu_seqlens = sb_call_in(call, "cu_seqlens");
    struct sb_wgrad_args args = {};
    args.dy = (const uint16_t *)dy->data;
    args.x = (const uint16_t *)x->data;
    args.cu_seqlens = (const int32_t *)cu_seqlens->data;
    args.x_gather_idx = (const int32_t *)sb_call_in(call, "x_gather_idx")->data;
    args.main_grad = (const uint32_t *)sb_call_in(call, "main_grad")->data;
    args.T = dy->shape[0];
    args.Tx = x->shape[0];
    args.M = dy->shape[1];
    args.N = x->shape[1];
    args.E = cu_seqlens->shape[0] - 1;
    args.ld_dy = row_stride(dy);
    args.ld_x = row_stride(x);
    args.out_dtype = sb_call_out(call, "dw")->dtype;
    return args;
}

/* Makes dw the memory of main_grad: its values are copied there first, on the stream. A call that is to be rejected on
 * the device would find dw overwritten, so `in_place` goes with calls that are accepted. */
static cudaError_t move_grad(struct sb_wgrad_args *args, const struct sb_tensor *dw, cudaStream_t stream)
{
    if (args->main_grad == NULL || args->out_dtype != SB_F32)
        return cudaErrorInvalidValue; /* nothing to be in the place of, or no room for it */
    const void *grad = args->main_grad;
    args->main_grad = (const uint32_t *)dw->data;
    return cudaMemcpyAsync(dw->data, grad, sb_tensor_span_bytes(dw), cudaMemcpyDeviceToDevice, stream);
}

struct sb_gpu_result sb_wgrad_run_call(const struct sb_gpu_call *call, sb_wgrad_check *check, sb_wgrad_launch *launch)
{
    struct sb_wgrad_args args = args_of(call);
    const struct sb_tensor *dw = sb_call_out(call, "dw");
    /* Checked before anything is copied: a rejected call writes nothing. */
    if (sb_call_int(call, "in_place") != 0 && check(&args, dw->data).code == SB_OK) {
        const cudaError_t error = move_grad(&args, dw, (cudaStream_t)call->stream);
        if (error != cudaSuccess)
            return sb_result_of(error);
    }
    return launch(&args, dw->data, call->status, call->stream);
}
