/* tcgen05_descriptor.h - the two words that tell tcgen05.mma what its operands are, in plain C: a test on the CPU holds
 * them to values worked out by others. Section titles are those of the PTX ISA reference (9.0), "TensorCore 5th
 * Generation Family Instructions". */
#ifndef SAMEBITS_GPU_TCGEN05_DESCRIPTOR_H
#define SAMEBITS_GPU_TCGEN05_DESCRIPTOR_H

#include <stdint.h>

#ifdef __CUDACC__
#define SB_TCGEN05_FUNCTION static constexpr __host__ __device__ __forceinline__
#else
#define SB_TCGEN05_FUNCTION static inline
#endif

/* An operand in shared memory, bf16, M or N fastest ("MN-major"), 128-byte swizzle: atoms of 64 elements of M or N by 8
 * rows of k, each row 128 bytes, its 16-byte chunk c standing at c XOR (row & 7). `shared` is the .shared address of
 * the first row wanted, in a buffer that starts on a multiple of 1024; the next row of atoms along k is 1024 bytes
 * further, the next 64 columns are `column_atom_bytes` further. "Shared memory descriptor". */
SB_TCGEN05_FUNCTION uint64_t ptx_tcgen05_descriptor(uint32_t shared, uint32_t column_atom_bytes)
{
    return (uint64_t)((shared & 0x3FFFF) >> 4)        /* bits 0-13: address */
           | (uint64_t)(column_atom_bytes >> 4) << 16 /* bits 16-29: leading offset */
           | (uint64_t)(1024 >> 4) << 32              /* bits 32-45: stride offset */
           | (uint64_t)1 << 46                        /* bits 46-48: a constant */
           | (uint64_t)2 << 61;                       /* bits 61-63: 128-byte swizzle */
}

/* The operand that lies `bytes` further, a multiple of 16. */
SB_TCGEN05_FUNCTION uint64_t ptx_tcgen05_descriptor_at(uint64_t descriptor, uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

/* kind::f16 for bf16 operands, both with M and N fastest, and f32 sums. "Instruction descriptor". */
SB_TCGEN05_FUNCTION uint32_t ptx_tcgen05_bf16_descriptor(int m, int n)
{
    return 1u << 4                     /* bits 4-5: D is f32 */
           | 1u << 7 | 1u << 10        /* bits 7-9, 10-12: A, B are bf16 */
           | 1u << 15 | 1u << 16       /* A, B are transposed */
           | (uint32_t)(n >> 3) << 17  /* bits 17-22 */
           | (uint32_t)(m >> 4) << 24; /* bits 24-28 */
}

#endif
