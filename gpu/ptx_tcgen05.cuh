/* ptx_tcgen05.cuh - tensor memory and the matrix instruction of the sm_100 family, one documented device function each;
 * see ptx.cuh.
 *
 * Tensor memory has 128 lanes by 512 columns of 32 bits a multiprocessor; an address is the lane in bits 31-16 and the
 * column in bits 15-0. Most of these instructions run on their own time. Between threads they are ordered like this:
 * the first thread ends its part with ptx_tcgen05_fence_before(), both meet at a barrier, the second begins its part
 * with ptx_tcgen05_fence_after(). Section titles are those of the PTX ISA reference (9.0), "TensorCore 5th Generation
 * Family Instructions".
 */
#ifndef SAMEBITS_GPU_PTX_TCGEN05_CUH
#define SAMEBITS_GPU_PTX_TCGEN05_CUH

#include <stdint.h>

#include "tcgen05_descriptor.h"

/* ---- Tensor memory ----------------------------------------------------------------------------------------------- */

/* Takes `columns` (a power of two, 32 to 512) of tensor memory and writes their address to the .shared word `shared`;
 * waits until other blocks have given up as many. One warp, converged.
 * "Tensor Memory Allocation and Management Instructions: tcgen05.alloc". */
static __device__ __forceinline__ void ptx_tcgen05_alloc(uint32_t shared, uint32_t columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                 :
                 : "r"(shared), "r"(columns)
                 : "memory");
}

/* This block takes no more: others may. One warp, converged.
 * "Tensor Memory Allocation and Management Instructions: tcgen05.relinquish_alloc_permit". */
static __device__ __forceinline__ void ptx_tcgen05_relinquish_alloc_permit()
{
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" : : : "memory");
}

/* Gives back what ptx_tcgen05_alloc() took, before the block ends. One warp, converged.
 * "Tensor Memory Allocation and Management Instructions: tcgen05.dealloc". */
static __device__ __forceinline__ void ptx_tcgen05_dealloc(uint32_t address, uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" : : "r"(address), "r"(columns) : "memory");
}

/* Writes value[j] of lane l to column j of lane l from `address` on. Warp w of a warpgroup reaches the lanes 32*(w % 4)
 * to 32*(w % 4) + 31 alone, and `address` names the first of them. The warp, converged; done after
 * ptx_tcgen05_wait_st(). "Tensor Memory and Register Load/Store Instructions: tcgen05.st". */
static __device__ __forceinline__ void ptx_tcgen05_st_32x32b_x8(uint32_t address, const uint32_t value[8])
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};"
                 :
                 : "r"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3]), "r"(value[4]),
                   "r"(value[5]), "r"(value[6]), "r"(value[7])
                 : "memory");
}

/* The same of 32 columns, all zeros. */
static __device__ __forceinline__ void ptx_tcgen05_st_zeros_32x32b_x32(uint32_t address)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], {%1, %1, %1, %1, %1, %1, %1, %1, "
                 "%1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, "
                 "%1, %1, %1, %1, %1, %1, %1, %1};"
                 :
                 : "r"(address), "r"(0)
                 : "memory");
}

/* Waits for this thread's tcgen05.st. "Tensor Memory and Register Load/Store Instructions: tcgen05.wait". */
static __device__ __forceinline__ void ptx_tcgen05_wait_st()
{
    asm volatile("tcgen05.wait::st.sync.aligned;" : : : "memory");
}

/* The way back of ptx_tcgen05_st_32x32b_x8(). It waits, too: the values are not there before, and the compiler does not
 * know that. "Tensor Memory and Register Load/Store Instructions: tcgen05.ld", "tcgen05.wait". */
static __device__ __forceinline__ void ptx_tcgen05_ld_32x32b_x8(uint32_t value[8], uint32_t address)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];\n\t"
                 "tcgen05.wait::ld.sync.aligned;"
                 : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3]), "=r"(value[4]), "=r"(value[5]),
                   "=r"(value[6]), "=r"(value[7])
                 : "r"(address)
                 : "memory");
}

#define TCGEN05_V4(i) "=r"(value[i]), "=r"(value[i + 1]), "=r"(value[i + 2]), "=r"(value[i + 3])

/* The same of 32 columns. */
static __device__ __forceinline__ void ptx_tcgen05_ld_32x32b_x32(uint32_t value[32], uint32_t address)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];\n\t"
                 "tcgen05.wait::ld.sync.aligned;"
                 : TCGEN05_V4(0), TCGEN05_V4(4), TCGEN05_V4(8), TCGEN05_V4(12), TCGEN05_V4(16), TCGEN05_V4(20),
                   TCGEN05_V4(24), TCGEN05_V4(28)
                 : "r"(address)
                 : "memory");
}

#undef TCGEN05_V4

/* ---- Order between threads -----------------------------------------------------------------------------------------
 */

/* "TensorCore 5th Generation Specialized Synchronization Operations: tcgen05.fence". */
static __device__ __forceinline__ void ptx_tcgen05_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" : : : "memory");
}

static __device__ __forceinline__ void ptx_tcgen05_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" : : : "memory");
}

/* One arrival at a barrier in shared memory when all matrix instructions that this thread has started are done.
 * "TensorCore 5th Generation of MMA instructions: tcgen05.commit". */
static __device__ __forceinline__ void ptx_tcgen05_commit(uint32_t barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :
                 : "r"(barrier)
                 : "memory");
}

/* ---- The matrix instruction ----------------------------------------------------------------------------------------
 */

/* d = d + a * b for a bf16 m x 16, b bf16 16 x n, d f32 m x n in tensor memory: row i of an m of 128 is lane i, column
 * j is column j from d's address on. One fused dot product of 16 pairs an element. One thread starts it for the block;
 * done when the barrier of a ptx_tcgen05_commit() by the same thread says so.
 * "TensorCore 5th Generation of MMA instructions: tcgen05.mma". */
static __device__ __forceinline__ void ptx_tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction)
{
    asm volatile("{\n\t"
                 ".reg .pred accumulate;\n\t"
                 "setp.eq.u32 accumulate, 0, 0;\n\t"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, accumulate;\n\t"
                 "}"
                 :
                 : "r"(d), "l"(a), "l"(b), "r"(instruction)
                 : "memory");
}

#endif
