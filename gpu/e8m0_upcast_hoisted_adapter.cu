/* e8m0_upcast_hoisted_adapter.cu - the adapter of e8m0_upcast's `hoisted`, and the histories that its cases ask for.
 *
 * A hoisted copy goes wrong over time, not within one call: it outlives the content or the tensor that it was made
 * from. So the adapter acts out, before the call that counts, what the case's parameter `history` names. The kernels
 * and the cache are in e8m0_upcast.cu; whoever uses them needs nothing of this file. */
#include "e8m0_upcast.h"

#include "launch.cuh"
#include "variants.h"

/* What happened at the scale tensor's address before the call that counts: nothing; the tensor held other content,
 * was upcast, and was then written in place; or another tensor was upcast there and freed.
 * In the order of the names of the parameter `history`, which golden/e8m0_upcast.c has. */
enum history { HISTORY_FRESH, HISTORY_UPDATED, HISTORY_REUSED };

constexpr int earlier_content = 0x5A; // every byte of the scales that stood there before

static enum history history_of(const struct sb_gpu_call *call)
{
    return (enum history)sb_call_int(call, "history");
}

/* ---- The two caches --------------------------------------------------------------------------------------------- */

/* What a cache is made of. */
struct cached {
    struct sb_tensor scale;
    enum sb_e8m0_semantics semantics;
    enum sb_dtype out_dtype;
};

static struct cached cached_of(const struct sb_gpu_call *call)
{
    return {*sb_call_in(call, "scale"), (enum sb_e8m0_semantics)sb_call_int(call, "semantics"),
            sb_call_out(call, "out")->dtype};
}

/* The tensor that lay at the address before: other semantics and another output type, so that a cache has to tell these
 * apart too; and never empty, so that there is a copy to be served by mistake. */
static struct cached predecessor_of(const struct cached *later)
{
    struct cached earlier = *later;
    earlier.semantics = (enum sb_e8m0_semantics)((later->semantics + 1) % SB_E8M0_SEMANTICS_COUNT);
    earlier.out_dtype = later->out_dtype == SB_F32 ? SB_BF16 : SB_F32;
    if (sb_tensor_count(&later->scale) == 0)
        earlier.scale.rank = 0; /* one element */
    return earlier;
}

/* ---- Workspace -------------------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The copy; and, where there is a history, the place where the scale tensors lie one after the other. */
struct hoisted_workspace {
    size_t copy_bytes;
    size_t scratch_bytes; /* 0: no history */
    size_t bytes;         /* of all */
    void *copy;
    uint8_t *scratch; /* as far from a 16-byte boundary as the case's own tensor */
};

static struct hoisted_workspace parts_of(const struct sb_gpu_call *call)
{
    const struct cached later = cached_of(call);
    const struct cached earlier = predecessor_of(&later);
    struct hoisted_workspace parts = {};
    parts.copy = call->workspace;
    parts.copy_bytes = sb_e8m0_cache_bytes(&later.scale, later.out_dtype);
    parts.bytes = parts.copy_bytes;
    if (history_of(call) == HISTORY_FRESH)
        return parts;
    parts.copy_bytes = larger(parts.copy_bytes, sb_e8m0_cache_bytes(&earlier.scale, earlier.out_dtype));
    parts.scratch_bytes = larger(sb_tensor_span_bytes(&later.scale), sb_tensor_span_bytes(&earlier.scale));
    const size_t scratch_at = sb_workspace_part(parts.copy_bytes);
    parts.scratch = (uint8_t *)call->workspace + scratch_at + (uintptr_t)later.scale.data % 16;
    parts.bytes = scratch_at + 15 + parts.scratch_bytes; /* enough wherever the tensor comes to lie */
    return parts;
}

extern "C" size_t sb_workspace_e8m0_upcast_hoisted(const struct sb_gpu_call *call)
{
    return parts_of(call).bytes;
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

/* What a model does per call: takes the cached copy, and hoists only where the cache refuses. */
static struct sb_gpu_result take_copy(struct sb_e8m0_cache *cache, const void **copy, void *stream)
{
    if (sb_e8m0_cache_get(cache, copy))
        return sb_result_of(cudaSuccess);
    const struct sb_gpu_result hoisted = sb_e8m0_cache_hoist(cache, stream);
    if (!sb_result_is_ok(hoisted))
        return hoisted;
    return sb_result_of(sb_e8m0_cache_get(cache, copy) ? cudaSuccess : cudaErrorUnknown);
}

/* The call that counts. Its copy is copied on to `out` to be compared: a stale one shows there. */
static struct sb_gpu_result serve(struct sb_e8m0_cache *cache, void *out, void *stream)
{
    const void *copy;
    const struct sb_gpu_result taken = take_copy(cache, &copy, stream);
    const size_t bytes = sb_e8m0_cache_bytes(&cache->scale, cache->out_dtype);
    if (!sb_result_is_ok(taken) || bytes == 0)
        return taken;
    return sb_result_of(cudaMemcpyAsync(out, copy, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream));
}

static struct sb_status create(struct sb_e8m0_cache *cache, const struct cached *what,
                               const struct hoisted_workspace *parts)
{
    return sb_e8m0_cache_create(cache, &what->scale, what->semantics, what->out_dtype, parts->copy, parts->copy_bytes);
}

/* The scale tensor that stood at parts->scratch, filled in and upcast; `cache` is left current. */
static struct sb_gpu_result live_earlier(struct sb_e8m0_cache *cache, const struct cached *earlier,
                                         const struct hoisted_workspace *parts, void *stream)
{
    const struct sb_status status = create(cache, earlier, parts);
    if (status.code != SB_OK)
        return sb_result_rejected(status);
    const cudaError_t error =
        cudaMemsetAsync(parts->scratch, earlier_content, parts->scratch_bytes, (cudaStream_t)stream);
    if (error != cudaSuccess)
        return sb_result_of(error);
    const void *copy;
    return take_copy(cache, &copy, stream);
}

/* The case's content, to where the tensor of the history lies. */
static cudaError_t move_in(const struct sb_tensor *content, const struct hoisted_workspace *parts, void *stream)
{
    const size_t bytes = sb_tensor_span_bytes(content);
    if (bytes == 0)
        return cudaSuccess;
    return cudaMemcpyAsync(parts->scratch, content->data, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

/* One tensor and one cache, written in place in between. */
static struct sb_gpu_result serve_updated(const struct sb_gpu_call *call, const struct hoisted_workspace *parts)
{
    struct cached what = cached_of(call);
    struct sb_e8m0_cache cache;
    what.scale.data = parts->scratch;
    const struct sb_gpu_result lived = live_earlier(&cache, &what, parts, call->stream);
    if (!sb_result_is_ok(lived))
        return lived;
    const cudaError_t error = move_in(sb_call_in(call, "scale"), parts, call->stream);
    if (error != cudaSuccess)
        return sb_result_of(error);
    sb_e8m0_cache_updated(&cache);
    return serve(&cache, sb_call_out(call, "out")->data, call->stream);
}

/* Two tensors at one address, and their caches in one storage: nothing but the object tells the two apart. */
static struct sb_gpu_result serve_reused(const struct sb_gpu_call *call, const struct hoisted_workspace *parts)
{
    struct cached what = cached_of(call);
    struct sb_e8m0_cache earlier, later;
    what.scale.data = parts->scratch;
    const struct sb_status status = create(&later, &what, parts); /* a call to be rejected is, with nothing launched */
    if (status.code != SB_OK)
        return sb_result_rejected(status);

    const struct cached predecessor = predecessor_of(&what);
    const struct sb_gpu_result lived = live_earlier(&earlier, &predecessor, parts, call->stream);
    if (!sb_result_is_ok(lived))
        return lived;
    sb_e8m0_cache_release(&earlier);
    const void *copy;
    if (sb_e8m0_cache_get(&earlier, &copy))
        return sb_result_of(cudaErrorUnknown);

    const cudaError_t error = move_in(sb_call_in(call, "scale"), parts, call->stream);
    if (error != cudaSuccess)
        return sb_result_of(error);
    (void)create(&later, &what, parts);
    return serve(&later, sb_call_out(call, "out")->data, call->stream);
}

static struct sb_gpu_result serve_fresh(const struct sb_gpu_call *call, const struct hoisted_workspace *parts)
{
    const struct cached what = cached_of(call);
    struct sb_e8m0_cache cache;
    const struct sb_status status = create(&cache, &what, parts);
    if (status.code != SB_OK)
        return sb_result_rejected(status);
    return serve(&cache, sb_call_out(call, "out")->data, call->stream);
}

extern "C" struct sb_gpu_result sb_run_e8m0_upcast_hoisted(const struct sb_gpu_call *call)
{
    const struct hoisted_workspace parts = parts_of(call);
    if (call->workspace_bytes < parts.bytes)
        return sb_result_of(cudaErrorInvalidValue);
    switch (history_of(call)) {
    case HISTORY_UPDATED:
        return sb_result_with_ok_status(call, serve_updated(call, &parts));
    case HISTORY_REUSED:
        return sb_result_with_ok_status(call, serve_reused(call, &parts));
    default:
        return sb_result_with_ok_status(call, serve_fresh(call, &parts));
    }
}
