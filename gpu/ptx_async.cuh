/* ptx_async.cuh - barriers in shared memory, bulk tensor copies (TMA), clusters and register hand-over of sm_90 and
 * later targets, one documented device function each; see ptx.cuh.
 *
 * Addresses are .shared addresses of the own block (ptx_shared_address) unless a comment says otherwise. A barrier is 8
 * bytes, aligned; it completes a phase when all its arrivals and all announced bytes have come, and starts the next
 * one.
 */
#ifndef SAMEBITS_GPU_PTX_ASYNC_CUH
#define SAMEBITS_GPU_PTX_ASYNC_CUH

#include <cuda.h>
#include <stdint.h>

/* ---- Barriers -------------------------------------------------------------------------------------------------- */

/* Sets up a barrier whose phases take `arrivals` each. One thread, before ptx_fence_mbarrier_init() and a barrier of
 * all who use it. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier.init". */
static __device__ __forceinline__ void ptx_mbarrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals) : "memory");
}

/* Makes initialised barriers visible to the other blocks of the cluster and to bulk copies.
 * PTX ISA, "Parallel Synchronization and Communication Instructions: membar / fence". */
static __device__ __forceinline__ void ptx_fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

/* One arrival. What this thread wrote before is visible to whoever sees the phase complete.
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier.arrive". */
static __device__ __forceinline__ void ptx_mbarrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}

/* One arrival that announces `bytes` more for this phase, which bulk copies will bring. */
static __device__ __forceinline__ void ptx_mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(barrier), "r"(bytes)
                 : "memory");
}

/* One arrival at the barrier that stands at the same address in block `rank` of the cluster, this one's own included.
 * Relaxed: it says that this thread is done reading, and passes nothing on that was written (a release to the cluster
 * waits for all stores to global memory that are under way). */
static __device__ __forceinline__ void ptx_mbarrier_arrive_cluster(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n\t"
                 ".reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n\t"
                 "}"
                 :
                 : "r"(barrier), "r"(rank)
                 : "memory");
}

/* One of the arrivals that the barrier counts, made when all copies that this thread has started by cp.async have
 * landed; at once where none are under way.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async.mbarrier.arrive". */
static __device__ __forceinline__ void ptx_cp_async_mbarrier_arrive(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" : : "r"(barrier) : "memory");
}

/* Has the phase of this parity (0 for the first) completed? May sleep a while before it says no.
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier.try_wait". */
static __device__ __forceinline__ bool ptx_mbarrier_try_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, done;\n\t"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done != 0;
}

static __device__ __forceinline__ void ptx_mbarrier_wait(uint32_t barrier, uint32_t parity)
{
    while (!ptx_mbarrier_try_wait(barrier, parity))
        ;
}

/* Waits at barrier `number` (1..15) of this block for `threads` of its threads, whole warps.
 * PTX ISA, "Parallel Synchronization and Communication Instructions: bar". */
static __device__ __forceinline__ void ptx_bar_sync(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

/* Orders this thread's ordinary writes to shared memory before later asynchronous reads of them (wgmma, bulk copies).
 * PTX ISA, "Parallel Synchronization and Communication Instructions: membar / fence" (fence.proxy.async). */
static __device__ __forceinline__ void ptx_fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/* ---- Bulk tensor copies ------------------------------------------------------------------------------------------ */

/* Starts the copy of the map's box at (column, row) to `shared`; the whole box's bytes count towards the barrier, what
 * lies outside the tensor is written as zeros. One thread.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor". */
static __device__ __forceinline__ void ptx_bulk_load_2d(uint32_t shared, const CUtensorMap *map, int32_t column,
                                                        int32_t row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :
                 : "r"(shared), "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

/* The same to each block of the cluster whose bit is set in `blocks`: to the same address there, counted by the barrier
 * at the same address there. */
static __device__ __forceinline__ void ptx_bulk_load_2d_multicast(uint32_t shared, const CUtensorMap *map,
                                                                  int32_t column, int32_t row, uint32_t barrier,
                                                                  uint16_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 :
                 : "r"(shared), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
                 : "memory");
}

/* Starts the copy of a box of a three-dimensional map from `shared`, which this thread, or others before a barrier and
 * ptx_fence_proxy_async() each, have written; what lies outside the tensor is left out. One thread.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor". */
static __device__ __forceinline__ void ptx_bulk_store_3d(const CUtensorMap *map, int32_t column, int32_t row,
                                                         int32_t plane, uint32_t shared)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :
                 : "l"(map), "r"(column), "r"(row), "r"(plane), "r"(shared)
                 : "memory");
}

/* Closes this thread's group of such copies; waits until at most `pending` of its latest groups have shared memory
 * still to read. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.commit_group", "...wait_group". */
static __device__ __forceinline__ void ptx_bulk_commit_group()
{
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

template <int pending> static __device__ __forceinline__ void ptx_bulk_wait_group_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(pending) : "memory");
}

/* ---- Clusters ---------------------------------------------------------------------------------------------------- */

/* This block's number in its cluster. PTX ISA, "Special Registers: %cluster_ctarank". */
static __device__ __forceinline__ uint32_t ptx_cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* Waits for all threads of the cluster. PTX ISA, "Parallel Synchronization and Communication Instructions:
 * barrier.cluster". */
static __device__ __forceinline__ void ptx_cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;"
                 :
                 :
                 : "memory");
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

/* Gives registers back, or asks for more and waits for them: `registers` a thread from here on, a multiple of 8. Every
 * warp of a warpgroup. For targets with an architecture suffix (sm_90a, sm_100f, sm_120f).
 * PTX ISA, "Miscellaneous Instructions: setmaxnreg". */
template <int registers> static __device__ __forceinline__ void ptx_setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(registers));
}

template <int registers> static __device__ __forceinline__ void ptx_setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(registers));
}

#endif
