/* ptx.cuh - every inline-PTX instruction of the suite, one documented device function each.
 *
 * The kernels contain no asm of their own: what a target must support can be read off here, and a reader who
 * knows the instruction set finds each by its own name. Section titles are those of the PTX ISA reference (9.0).
 * A comment states operand shapes and which lane owns what, because the compiler checks neither.
 *
 * Every asm that touches memory is volatile with a "memory" clobber, so that the compiler keeps it on its side of
 * barriers and of the other functions here.
 */
#ifndef SAMEBITS_GPU_PTX_CUH
#define SAMEBITS_GPU_PTX_CUH

#include <stdint.h>

/* ---- Arithmetic: every target ------------------------------------------------------------------------------- */

/* a + b, rounded to nearest even, subnormals kept. The instruction is written out because -ftz=true, which
 * -use_fast_math implies, makes add.ftz of every addition that the compiler emits, __fadd_rn included.
 * PTX ISA, "Floating Point Instructions: add". */
static __device__ __forceinline__ float ptx_add_rn_f32(float a, float b)
{
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}

/* Two f32 rounded to bf16, nearest even, `low` in the low half; every NaN becomes 0x7FFF, subnormals are kept.
 * PTX ISA, "Data Movement and Conversion Instructions: cvt". */
static __device__ __forceinline__ uint32_t ptx_cvt_rn_bf16x2_f32(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* ---- Shared-memory staging and warp matrices: sm_80 and every later target, no architecture suffix --------- */

/* The .shared address of a pointer into shared memory, as the instructions below take it.
 * PTX ISA, "Data Movement and Conversion Instructions: cvta". */
static __device__ __forceinline__ uint32_t ptx_shared_address(const void *shared)
{
    uint32_t address;
    asm("{\n\t"
        ".reg .u64 wide;\n\t"
        "cvta.to.shared.u64 wide, %1;\n\t"
        "cvt.u32.u64 %0, wide;\n\t"
        "}"
        : "=r"(address)
        : "l"(shared));
    return address;
}

/* Starts a copy of 16 bytes from global to shared memory, past L1; both addresses 16-byte aligned. With `valid`
 * false nothing is read and 16 zero bytes are written (src-size 0); `global` is still a pointer into global memory.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async". */
static __device__ __forceinline__ void ptx_cp_async_16(uint32_t shared, const void *global, bool valid)
{
    const uint32_t source_bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared), "l"(global), "r"(source_bytes)
                 : "memory");
}

/* Closes this thread's group of copies started since the last commit; the group may be empty.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async.commit_group". */
static __device__ __forceinline__ void ptx_cp_async_commit_group()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* Waits until at most `pending` of this thread's latest groups are unfinished. Other threads' copies become
 * visible only after a barrier that follows their wait.
 * PTX ISA, "Data Movement and Conversion Instructions: cp.async.wait_group". */
template <int pending> static __device__ __forceinline__ void ptx_cp_async_wait_group()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
}

/* Loads four 8x8 matrices of 16-bit elements, each transposed. Lane l gives the address of row l % 8 of matrix
 * l / 8 (16 bytes, aligned). Lane l receives in fragment[i] the elements (row 2*(l % 4), column l / 4) in the low
 * half and (row 2*(l % 4) + 1, column l / 4) in the high half of matrix i as it lies in memory. All 32 lanes.
 * PTX ISA, "Warp-level matrix load instruction: ldmatrix". */
static __device__ __forceinline__ void ptx_ldmatrix_x4_trans(uint32_t fragment[4], uint32_t shared_row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(shared_row)
                 : "memory");
}

/* Stores four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix l / 8 (16 bytes,
 * aligned), and in fragment[i] the elements (row l / 4, columns 2*(l % 4) and + 1) of matrix i. All 32 lanes. sm_90 and
 * later. PTX ISA, "Warp-level matrix store instruction: stmatrix". */
static __device__ __forceinline__ void ptx_stmatrix_x4(uint32_t shared_row, const uint32_t fragment[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_row), "r"(fragment[0]), "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
                 : "memory");
}

/* Stores 8 bytes, aligned, to shared memory. PTX ISA, "Data Movement and Conversion Instructions: st". */
static __device__ __forceinline__ void ptx_st_shared_v2(uint32_t shared, uint32_t low, uint32_t high)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" : : "r"(shared), "r"(low), "r"(high) : "memory");
}

/* d += a * b for a bf16 16x16, b bf16 16x8 and d f32 16x8: one fused dot product of 16 pairs an element. All 32
 * lanes; lane l with g = l / 4, t = 2*(l % 4) owns, two bf16 a register, the lower index in the low half:
 *   a[0] (row g,   k t, t+1)    a[1] (row g+8, k t, t+1)   a[2] (row g, k t+8, t+9)   a[3] (row g+8, k t+8, t+9)
 *   b0   (k t, t+1, column g)   b1   (k t+8, t+9, column g)
 *   d[0], d[1] (row g, columns t, t+1)                     d[2], d[3] (row g+8, columns t, t+1)
 * PTX ISA, "Matrix multiply-accumulate operation using mma instruction: mma.m16n8k16". */
static __device__ __forceinline__ void ptx_mma_m16n8k16_bf16(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    // volatile: the compiler must not sink it into a branch that only some lanes take
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
