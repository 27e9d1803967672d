/* e8m0_upcast.cu - E8M0 block scales to FP32 or BF16 bits. Contract: ref/CONTRACTS.md section 1.
 *
 * Bytes 1..254 are shifted into the exponent field; 0x00 and 0xFF depend on the semantics. Integers from end to end,
 * loads and stores included: 2^-127 and a signalling NaN do not survive every floating-point move.
 *
 * A thread takes four consecutive elements of the output: one 4-byte load and one 16-byte store (f32) where the
 * addresses allow it, single elements where they do not.
 */
#include "e8m0_upcast.h"

#include "launch.cuh"
#include "variants.h"

constexpr int threads = 256;
constexpr int quad = 4; // elements a thread takes at a time: 16 bytes of f32, the widest store

/* ---- Device side ------------------------------------------------------------------------------------------------ */

/* One semantics for one output type: the shift of the ordinary bytes and the bits of the two odd ones. */
struct upcast_rule {
    int shift;
    uint32_t byte_00, byte_ff;
};

static __device__ __forceinline__ uint32_t upcast_bits(uint32_t scale, struct upcast_rule rule)
{
    if (scale == 0x00)
        return rule.byte_00;
    if (scale == 0xFF)
        return rule.byte_ff;
    return scale << rule.shift;
}

/* The tensor as rows of bytes: leading axes are folded into the rows, a dense tensor into one row. */
struct scale_rows {
    const uint8_t *data;
    int64_t count;      /* elements altogether */
    int64_t cols;       /* elements a row */
    int64_t row_stride; /* bytes between rows */
    bool aligned_words; /* four elements from a multiple of four on are an aligned 4-byte word */
};

static __device__ __forceinline__ void load_scales(const struct scale_rows &scale, int64_t first, uint32_t values[quad])
{
    if (scale.aligned_words && first + quad <= scale.count) {
        const uint32_t word = *(const uint32_t *)(scale.data + first);
        for (int i = 0; i < quad; i++)
            values[i] = (word >> (8 * i)) & 0xFF;
        return;
    }
    int64_t row, col;
    sb_split(first, scale.cols, &row, &col);
    for (int i = 0; i < quad; i++) {
        values[i] = 0;
        if (first + i >= scale.count)
            continue;
        values[i] = scale.data[row * scale.row_stride + col];
        if (++col == scale.cols) {
            col = 0;
            row++;
        }
    }
}

/* Two overloads for the two widths: a quad of u32 is a 16-byte store, one of u16 an 8-byte store. */
static __device__ __forceinline__ void store_quad(uint32_t *out, const uint32_t values[quad])
{
    *(uint4 *)out = make_uint4(values[0], values[1], values[2], values[3]);
}

static __device__ __forceinline__ void store_quad(uint16_t *out, const uint32_t values[quad])
{
    *(uint2 *)out = make_uint2(values[0] | values[1] << 16, values[2] | values[3] << 16);
}

template <typename Out>
static __device__ __forceinline__ void store_values(Out *out, int64_t first, int64_t count, const uint32_t values[quad])
{
    if (first + quad <= count && sb_is_aligned(out, quad * sizeof(Out))) {
        store_quad(out + first, values);
        return;
    }
    for (int i = 0; i < quad; i++)
        if (first + i < count)
            out[first + i] = (Out)values[i];
}

template <typename Out>
static __global__ void __launch_bounds__(threads)
    e8m0_upcast(struct scale_rows scale, struct upcast_rule rule, Out *out)
{
    for (int64_t first = quad * sb_first_item(); first < scale.count; first += quad * sb_item_step()) {
        uint32_t values[quad];
        load_scales(scale, first, values);
        for (int i = 0; i < quad; i++)
            values[i] = upcast_bits(values[i], rule);
        store_values(out, first, scale.count, values);
    }
}

/* First pass of two: u8 to i32, the value unchanged. */
static __global__ void __launch_bounds__(threads) e8m0_widen(struct scale_rows scale, uint32_t *widened)
{
    for (int64_t first = quad * sb_first_item(); first < scale.count; first += quad * sb_item_step()) {
        uint32_t values[quad];
        load_scales(scale, first, values);
        store_values(widened, first, scale.count, values);
    }
}

/* Second pass. `out` may be `widened` itself: a thread reads its elements before it writes them. */
template <typename Out>
static __global__ void __launch_bounds__(threads)
    e8m0_shift_widened(const uint32_t *widened, int64_t count, struct upcast_rule rule, Out *out)
{
    for (int64_t first = quad * sb_first_item(); first < count; first += quad * sb_item_step()) {
        uint32_t values[quad];
        for (int i = 0; i < quad; i++)
            values[i] = upcast_bits(first + i < count ? widened[first + i] : 0, rule);
        store_values(out, first, count, values);
    }
}

/* ---- Host side -------------------------------------------------------------------------------------------------- */

static struct upcast_rule rule_of(enum sb_e8m0_semantics semantics, enum sb_dtype out_dtype)
{
    if (out_dtype == SB_F32)
        return {23, sb_e8m0_f32_bits(0x00, semantics), sb_e8m0_f32_bits(0xFF, semantics)};
    return {7, sb_e8m0_bf16_bits(0x00, semantics), sb_e8m0_bf16_bits(0xFF, semantics)};
}

static struct scale_rows rows_of(const struct sb_tensor *scale)
{
    const int64_t count = sb_tensor_count(scale);
    const int64_t cols = scale->rank >= 1 ? scale->shape[scale->rank - 1] : 1;
    const bool strided = scale->rank >= 2 && scale->row_stride != 0 && scale->row_stride != cols;
    struct scale_rows rows = {};
    rows.data = (const uint8_t *)scale->data;
    rows.count = count;
    rows.cols = strided ? cols : count;
    rows.row_stride = strided ? scale->row_stride : count;
    rows.aligned_words = !strided && sb_is_aligned(scale->data, quad);
    return rows;
}

static dim3 quad_grid(int64_t count)
{
    return sb_stride_grid(sb_cdiv(count, quad), threads);
}

extern "C" struct sb_gpu_result sb_e8m0_upcast_fused(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                                     enum sb_dtype out_dtype, void *out, void *stream)
{
    const struct sb_status status = sb_e8m0_check_args(scale, semantics, out_dtype);
    const int64_t count = sb_tensor_count(scale);
    if (status.code != SB_OK || count == 0)
        return sb_result_rejected(status);

    const struct upcast_rule rule = rule_of(semantics, out_dtype);
    const struct scale_rows rows = rows_of(scale);
    const dim3 grid = quad_grid(count);
    if (out_dtype == SB_F32)
        return sb_result_of(sb_launch(e8m0_upcast<uint32_t>, grid, dim3(threads), 0, (cudaStream_t)stream, rows, rule,
                                      (uint32_t *)out));
    return sb_result_of(
        sb_launch(e8m0_upcast<uint16_t>, grid, dim3(threads), 0, (cudaStream_t)stream, rows, rule, (uint16_t *)out));
}

extern "C" size_t sb_e8m0_upcast_two_pass_workspace(const struct sb_tensor *scale, enum sb_dtype out_dtype)
{
    return out_dtype == SB_BF16 ? (size_t)sb_tensor_count(scale) * sizeof(uint32_t) : 0;
}

extern "C" struct sb_gpu_result sb_e8m0_upcast_two_pass(const struct sb_tensor *scale, enum sb_e8m0_semantics semantics,
                                                        enum sb_dtype out_dtype, void *out, void *workspace,
                                                        size_t workspace_bytes, void *stream)
{
    const struct sb_status status = sb_e8m0_check_args(scale, semantics, out_dtype);
    const int64_t count = sb_tensor_count(scale);
    if (status.code != SB_OK || count == 0)
        return sb_result_rejected(status);
    if (workspace_bytes < sb_e8m0_upcast_two_pass_workspace(scale, out_dtype))
        return sb_result_of(cudaErrorInvalidValue);

    const struct upcast_rule rule = rule_of(semantics, out_dtype);
    uint32_t *widened = (uint32_t *)(out_dtype == SB_F32 ? out : workspace);
    const dim3 grid = quad_grid(count);
    const cudaError_t error =
        sb_launch(e8m0_widen, grid, dim3(threads), 0, (cudaStream_t)stream, rows_of(scale), widened);
    if (error != cudaSuccess)
        return sb_result_of(error);
    if (out_dtype == SB_F32)
        return sb_result_of(sb_launch(e8m0_shift_widened<uint32_t>, grid, dim3(threads), 0, (cudaStream_t)stream,
                                      widened, count, rule, (uint32_t *)out));
    return sb_result_of(sb_launch(e8m0_shift_widened<uint16_t>, grid, dim3(threads), 0, (cudaStream_t)stream, widened,
                                  count, rule, (uint16_t *)out));
}

/* ---- The hoisted copy ------------------------------------------------------------------------------------------- */

extern "C" size_t sb_e8m0_cache_bytes(const struct sb_tensor *scale, enum sb_dtype out_dtype)
{
    return (size_t)sb_tensor_count(scale) * sb_dtype_size(out_dtype);
}

extern "C" struct sb_status sb_e8m0_cache_create(struct sb_e8m0_cache *cache, const struct sb_tensor *scale,
                                                 enum sb_e8m0_semantics semantics, enum sb_dtype out_dtype,
                                                 void *storage, size_t storage_bytes)
{
    struct sb_status status = sb_e8m0_check_args(scale, semantics, out_dtype);
    if (status.code == SB_OK && storage_bytes < sb_e8m0_cache_bytes(scale, out_dtype))
        status = sb_reject(SB_TOO_LARGE, (int64_t)sb_e8m0_cache_bytes(scale, out_dtype), (int64_t)storage_bytes, 0);
    const bool usable = status.code == SB_OK;
    *cache = {*scale, semantics, out_dtype, storage, usable ? SB_E8M0_CACHE_UNFILLED : SB_E8M0_CACHE_RELEASED};
    return status;
}

extern "C" struct sb_gpu_result sb_e8m0_cache_hoist(struct sb_e8m0_cache *cache, void *stream)
{
    if (cache->state == SB_E8M0_CACHE_RELEASED)
        return sb_result_of(cudaErrorInvalidValue);
    cache->state = SB_E8M0_CACHE_STALE; /* what the storage holds if the launch fails */
    const struct sb_gpu_result result =
        sb_e8m0_upcast_fused(&cache->scale, cache->semantics, cache->out_dtype, cache->storage, stream);
    if (sb_result_is_ok(result))
        cache->state = SB_E8M0_CACHE_CURRENT;
    return result;
}

extern "C" bool sb_e8m0_cache_get(const struct sb_e8m0_cache *cache, const void **copy)
{
    const bool current = cache->state == SB_E8M0_CACHE_CURRENT;
    *copy = current ? cache->storage : NULL;
    return current;
}

extern "C" void sb_e8m0_cache_updated(struct sb_e8m0_cache *cache)
{
    if (cache->state == SB_E8M0_CACHE_CURRENT)
        cache->state = SB_E8M0_CACHE_STALE;
}

extern "C" void sb_e8m0_cache_release(struct sb_e8m0_cache *cache)
{
    cache->state = SB_E8M0_CACHE_RELEASED;
}

/* ---- Adapters (that of `hoisted` is in e8m0_upcast_hoisted_adapter.cu) ------------------------------------------ */

static enum sb_e8m0_semantics semantics_of(const struct sb_gpu_call *call)
{
    return (enum sb_e8m0_semantics)sb_call_int(call, "semantics");
}

extern "C" struct sb_gpu_result sb_run_e8m0_upcast_fused(const struct sb_gpu_call *call)
{
    const struct sb_tensor *out = sb_call_out(call, "out");
    return sb_result_with_ok_status(
        call, sb_e8m0_upcast_fused(sb_call_in(call, "scale"), semantics_of(call), out->dtype, out->data, call->stream));
}

extern "C" struct sb_gpu_result sb_run_e8m0_upcast_two_pass(const struct sb_gpu_call *call)
{
    const struct sb_tensor *out = sb_call_out(call, "out");
    return sb_result_with_ok_status(call, sb_e8m0_upcast_two_pass(sb_call_in(call, "scale"), semantics_of(call),
                                                                  out->dtype, out->data, call->workspace,
                                                                  call->workspace_bytes, call->stream));
}

extern "C" size_t sb_workspace_e8m0_upcast_two_pass(const struct sb_gpu_call *call)
{
    return sb_e8m0_upcast_two_pass_workspace(sb_call_in(call, "scale"), sb_call_out(call, "out")->dtype);
}
