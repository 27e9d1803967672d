/* ptx_wgmma.cuh - the warpgroup matrix instructions of sm_90a, one documented device function each; see ptx.cuh.
 *
 * A warpgroup is four warps, the first a multiple of four; all of them take part in every function here, converged.
 * wgmma reads shared memory and accumulators on its own time. What it reads must be there: written by a bulk tensor
 * copy whose mbarrier was waited for, or by ordinary stores followed by ptx_fence_proxy_async() in the writing threads
 * and a barrier. What it writes is there after ptx_wgmma_wait_group(): until then nobody touches the accumulators.
 */
#ifndef SAMEBITS_GPU_PTX_WGMMA_CUH
#define SAMEBITS_GPU_PTX_WGMMA_CUH

#include <stdint.h>

/* Columns of the widest instruction, and the accumulators that a thread then holds. */
constexpr int ptx_wgmma_n = 256;
constexpr int ptx_wgmma_accumulators = ptx_wgmma_n / 2;

/* Before the first wgmma, and after any other access to its accumulators.
 * PTX ISA, "Asynchronous warpgroup-level matrix instructions: wgmma.fence". */
static __device__ __forceinline__ void ptx_wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

/* Closes the group of all wgmma since the last commit.
 * PTX ISA, "Asynchronous warpgroup-level matrix instructions: wgmma.commit_group". */
static __device__ __forceinline__ void ptx_wgmma_commit_group()
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

/* Waits until at most `pending` of the latest groups are unfinished.
 * PTX ISA, "Asynchronous warpgroup-level matrix instructions: wgmma.wait_group". */
template <int pending> static __device__ __forceinline__ void ptx_wgmma_wait_group()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(pending) : "memory");
}

/* After the wait for the last group, before its sums are read: keeps the compiler from reading them earlier. No
 * instruction. */
static __device__ __forceinline__ void ptx_wgmma_results(float d[ptx_wgmma_accumulators])
{
#pragma unroll
    for (int i = 0; i < ptx_wgmma_accumulators; i++)
        asm volatile("" : "+f"(d[i]) : : "memory");
}

/* The matrix descriptor of an operand in shared memory, 128-byte swizzle, M or N fastest ("MN-major"): atoms of 64
 * elements of M or N by 8 rows of k, each row 128 bytes, its 16-byte chunk c standing at c XOR (row & 7).
 * `shared` is the .shared address of the first row wanted, in a buffer that starts on a multiple of 1024; the next row
 * of atoms along k is 1024 bytes further, the next 64 columns are `column_atom_bytes` further. PTX ISA, "Asynchronous
 * warpgroup-level matrix instructions: matrix descriptor format". */
static __device__ __forceinline__ uint64_t ptx_wgmma_descriptor(uint32_t shared, uint32_t column_atom_bytes)
{
    const uint64_t address = (shared & 0x3FFFF) >> 4;                  // bits 0-13
    const uint64_t leading = (uint64_t)(column_atom_bytes >> 4) << 16; // bits 16-29
    const uint64_t stride = (uint64_t)(1024 >> 4) << 32;               // bits 32-45
    const uint64_t swizzle_128 = (uint64_t)1 << 62;                    // bits 62-63
    return address | leading | stride | swizzle_128;
}

/* The descriptor of what lies `bytes` further, a multiple of 16. */
static __device__ __forceinline__ uint64_t ptx_wgmma_descriptor_at(uint64_t descriptor, uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

#define WGMMA_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_D16(i) WGMMA_D4(i), WGMMA_D4(i + 4), WGMMA_D4(i + 8), WGMMA_D4(i + 12)

/* d = a * b (+ d, with `accumulate`) for a bf16 64x16, b bf16 16x256 and d f32 64x256, both operands in shared memory
 * with M and N fastest: one fused dot product of 16 pairs an element. Thread t of the warpgroup, with warp w = t / 32,
 * g = t % 32 / 4 and c = 2*(t % 4), owns for each i in 0..31
 *   d[4i], d[4i+1]   (row 16w + g, columns 8i + c, 8i + c + 1)
 *   d[4i+2], d[4i+3] (row 16w + g + 8, the same columns)
 * Starts it; see the top of the file for when it is done.
 * PTX ISA, "Asynchronous warpgroup-level matrix instructions: wgmma.mma_async". */
static __device__ __forceinline__ void ptx_wgmma_m64n256k16_bf16(float d[ptx_wgmma_accumulators], uint64_t a,
                                                                 uint64_t b, bool accumulate)
{
    asm volatile("{\n\t"
                 ".reg .pred accumulate;\n\t"
                 "setp.ne.b32 accumulate, %130, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, accumulate, 1, 1, 1, 1;\n\t" // neither operand negated, both transposed
                 "}"
                 : WGMMA_D16(0), WGMMA_D16(16), WGMMA_D16(32), WGMMA_D16(48), WGMMA_D16(64), WGMMA_D16(80),
                   WGMMA_D16(96), WGMMA_D16(112)
                 : "l"(a), "l"(b), "r"((int)accumulate)
                 : "memory");
}

#undef WGMMA_D16
#undef WGMMA_D4

#endif
